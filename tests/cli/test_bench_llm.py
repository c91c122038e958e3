"""``photic bench-llm``: what is run and in which turns, tables, JSON, and a peer in a process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from language.tiny_llama import write_talking
from typer.testing import CliRunner, Result

from photic.cli.bench_llm_runs import Contestant, Figures, Task, race
from photic.cli.main import app

runner = CliRunner()

# A package of the peer's name that computes nothing, and says on stdout what it should not.
FAKE_PEER = """
import ctypes
__version__ = "0.0.fake"
class Llama:
    def __init__(self, model_path, n_ctx, n_threads, n_threads_batch, verbose):
        print("loading", model_path)
        if n_threads == 7:
            raise ValueError("seven threads are too many")
        self.ctx, self.fed, self.room = object(), 0, n_ctx
    def reset(self):
        self.fed = 0
    def eval(self, tokens):
        self.fed += len(tokens)
        assert self.fed <= self.room
        assert all(type(one) is int for one in tokens)
    def n_vocab(self):
        return 4
def llama_get_logits_ith(ctx, place):
    return (ctypes.c_float * 4)(0, 1, 3, 2)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "tiny.gguf"
    write_talking(path, context=512)
    return str(path)


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llama_cpp.py").write_text(FAKE_PEER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def bench(*options: str) -> Result:
    return runner.invoke(app, ["bench-llm", *options])


def test_json_has_every_run(model: str) -> None:
    result = bench(model, "-p", "20", "-n", "4", "-r", "3", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["model"] == {"file": "tiny.gguf", "bytes": Path(model).stat().st_size}
    assert [one["test"] for one in found["results"]] == ["pp20", "tg4"]
    for one in found["results"]:
        rates = [one["tokens"] / seconds for seconds in one["seconds"]]
        assert len(rates) == 3
        assert one["tokens_per_second"] == pytest.approx(sum(rates) / 3)
        assert one["peak_bytes"] > 0


def test_the_table_names_drafts_as_a_contestant(model: str) -> None:
    result = bench(model, "-p", "9", "-n", "3", "-r", "1", "--speculative", "2")
    lines = result.stdout.splitlines()
    assert lines[0].split()[:4] == ["program", "version", "test", "threads"]
    assert [line.split("  ")[0] for line in lines[1:]] == ["photic", "photic, 2 drafts"] * 2


def test_a_test_of_no_tokens_is_left_out(model: str) -> None:
    assert "pp" not in bench(model, "-p", "0", "-n", "3", "-r", "1").stdout
    assert "tg" not in bench(model, "-p", "9", "-n", "0", "-r", "1").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-p", "0", "-n", "0"), "nothing to measure"),
        (("--vs", "ollama"), "known: llama.cpp"),
        (("-r", "0"), "-r"),
    ],
)
def test_wrong_options_are_usage_errors(model: str, options: tuple[str, ...], said: str) -> None:
    result = bench(model, *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_tests_that_do_not_fit_the_context_are_refused(model: str) -> None:
    result = bench(model, "-p", "513")
    assert result.exit_code == 1
    assert "the context is 512 tokens, expected 513 or more" in result.stderr


def test_a_peer_runs_in_turns_and_in_a_process_of_its_own(model: str, peer: None) -> None:
    result = bench(model, "-p", "20", "-n", "4", "-r", "2", "--vs", "llama.cpp", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["results"]
    assert [one["program"] for one in found] == ["photic", "llama.cpp"] * 2
    assert [one["version"] for one in found[1::2]] == ["0.0.fake"] * 2
    assert all(len(one["seconds"]) == 2 and one["peak_bytes"] > 0 for one in found)


def test_a_peer_that_is_not_installed_is_named(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llama_cpp.py").write_text("raise ImportError('no such library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = bench(model, "-p", "9", "-n", "1", "--vs", "llama.cpp")
    assert result.exit_code == 1
    assert "[P506] llama.cpp cannot be run: no such library" in result.stderr
    assert f"{sys.executable} -m pip install llama-cpp-python" in result.stderr


def test_a_peer_that_fails_is_no_fault_of_ours(
    model: str, peer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_THREADS", "0")
    result = bench(model, "-p", "9", "-n", "1", "--vs", "llama.cpp", "--threads", "7")
    assert result.exit_code == 1
    assert "[P507] llama.cpp ended:" in result.stderr
    assert "seven threads are too many" in result.stderr


# --- rounds ---------------------------------------------------------------------------------


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    ran: list[str] = []

    def one(name: str) -> Contestant:
        def run(kind: str) -> float:
            ran.append(f"{name} {kind}")
            return float(len(ran))

        return Contestant(name, "1", lambda _: run("pp"), lambda _: run("tg"), lambda: 5)

    found = race([one("a"), one("b")], Task((1, 2), (3,), 4), 2)
    assert ran == ["a pp", "b pp", "a tg", "b tg"] * 3
    assert [(one.name, one.test, one.seconds) for one in found] == [
        ("a", "pp2", [5, 9]),
        ("b", "pp2", [6, 10]),
        ("a", "tg4", [7, 11]),
        ("b", "tg4", [8, 12]),
    ]


def test_the_spread_is_the_standard_deviation_of_the_rates() -> None:
    figures = Figures("a", "1", "pp8", 8, [1.0, 2.0, 4.0])
    assert figures.rates == [8.0, 4.0, 2.0]
    assert figures.mean == pytest.approx(14 / 3)
    # of 8, 4 and 2, by hand: the squares of the distances add up to 168 / 9
    assert figures.spread == pytest.approx((168 / 9 / 2) ** 0.5)
    assert Figures("a", "1", "pp8", 8, [1.0]).spread == 0
