"""``photic tune``: a search that later starts profit from, and records that move elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from cli.fakes import FakeOpening, FakeSession, fake_program, turn
from language.tiny_llama import write_talking
from typer.testing import CliRunner

from photic.base.trace import Event, emit, listening
from photic.cli.main import app
from photic.storage import files
from photic.storage.record import Record, line_of, record_key
from photic.storage.records import RECORDS_FILE, Records

runner = CliRunner()
KEYS = tuple(record_key(name, "c", "") for name in "abc")
WARM = """
import sys
from photic.cli.main import app
app(["run", {model!r}, "hello", "--raw", "--max-tokens", "4"], standalone_mode=False)
print(sorted({{"egglog", "ziglang", "photic.compiler.passes"}} & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, about which this process knows nothing."""
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def record(key: str, seconds: float) -> str:
    return line_of(key, Record((("stay", "yes"),), seconds, (seconds,), 8, "test"))


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


# --- searching ------------------------------------------------------------------------------


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> FakeOpening:
    """Searches for no time at all; one region got twice as fast."""

    def search() -> None:
        emit("search", "turn", **turn("aa", 8, 2e-3, 50.0))
        emit("search", "turn", **turn("aa", 24, 1e-3, 30.0))

    session = types.ModuleType("photic.language.session")
    opening = FakeOpening(FakeSession(programs={"step": fake_program()}), meanwhile=search)
    session.open_session = opening  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "photic.language.session", session)
    return opening


def test_the_summary_of_a_search_goes_to_stdout(opening: FakeOpening) -> None:
    result = runner.invoke(app, ["tune", "m"])
    assert result.exit_code == 0, result.output
    assert [line.split() for line in result.stdout.splitlines() if line] == [
        ["m:", "24", "candidates", "in", "5.25", "s", "(out", "of", "time)"],
        ["region", "stores", "turns", "best", "as", "fast", "as", "before"],
        ["aa", "3", "2", "1", "ms", "2.00", "times"],
    ]


def test_options_reach_the_search(opening: FakeOpening) -> None:
    runner.invoke(app, ["tune", "m"])
    options = "--search 2.5 --seed 7 --context 64 --cache int8 --precision exact"
    runner.invoke(app, ["tune", "m", *options.split()])
    assert opening.searches == [(60.0, 0), (2.5, 7)]
    assert opening.calls == [("m", None), ("m", 64)]
    assert opening.rounding == [("auto", "bf16"), ("int8", "exact")]


def test_a_search_without_a_turn_says_what_would_help(
    opening: FakeOpening, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening.meanwhile = lambda: None
    result = runner.invoke(app, ["tune", "m"])
    assert "no region had a turn: a longer search finds more" in result.stdout


@pytest.mark.parametrize("command", ["run", "tune", "compile"])
@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_seconds_that_are_none_are_a_usage_error(command: str, seconds: str) -> None:
    given = [command, "m", "-o", "x"] if command == "compile" else [command, "m"]
    result = runner.invoke(app, [*given, "--search", seconds], input="Why?")
    assert result.exit_code == 2
    assert "--search" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m", "--search", "0"], "a search needs more than 0 seconds"),
        (["export"], "photic tune export needs a file"),
        (["m", "records.jsonl"], "only export and import take one"),
    ],
)
def test_arguments_that_do_not_fit_are_a_usage_error(arguments: list[str], message: str) -> None:
    result = runner.invoke(app, ["tune", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_model_that_is_not_known_is_a_users_error() -> None:
    result = runner.invoke(app, ["tune", "nobody"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: [P403] no model is called 'nobody'")


def test_run_searches_only_if_asked_to(opening: FakeOpening) -> None:
    runner.invoke(app, ["run", "m", "Why?"])
    runner.invoke(app, ["run", "m", "Why?", "--search", "3", "--seed", "5"])
    assert opening.searches == [(0.0, 0), (3.0, 0)]  # the seed is the sampler's


# --- what later starts profit from ----------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    write_talking(path)
    return str(path)


def answered(model: str) -> tuple[str, bool]:
    """A run's answer, and whether it compiled."""
    result = runner.invoke(app, ["run", model, "hello", "--raw", "--max-tokens", "4"])
    assert result.exit_code == 0, result.output
    return result.stdout, "Compiling" in result.stderr


def test_after_a_search_a_start_needs_neither_compiler_nor_search(model: str) -> None:
    result = runner.invoke(app, ["tune", model, "--search", "1"])
    assert result.exit_code == 0, result.output
    assert "Searching ..." in result.stderr
    done = subprocess.run(
        [sys.executable, "-c", WARM.format(model=model)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_records_that_come_in_later_are_taken_up_once(model: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def hear(event: Event) -> None:
        if (event.stage, event.name) == ("files", "record"):
            asked.append(str(event.data["key"]))

    with listening(hear):
        first, was_compiled = answered(model)
    assert was_compiled and asked
    assert answered(model) == (first, False)
    moved = written(tmp_path / "records.jsonl", record(asked[0], 1e-9))
    assert runner.invoke(app, ["tune", "import", str(moved)]).exit_code == 0
    assert answered(model) == (first, True)
    assert answered(model) == (first, False)
    other = written(tmp_path / "others.jsonl", record(KEYS[0], 1e-9))
    assert runner.invoke(app, ["tune", "import", str(other)]).exit_code == 0
    assert answered(model) == (first, False)


# --- moving records -------------------------------------------------------------------------


def known(cache: Path) -> Records:
    return Records(files.cache_folder("records") / RECORDS_FILE, print)


def test_what_is_exported_can_be_imported(cache: Path, tmp_path: Path) -> None:
    lines = [record(key, 1e-3) for key in KEYS]
    given, back = written(tmp_path / "given", *lines), tmp_path / "back"
    result = runner.invoke(app, ["tune", "import", str(given)])
    assert (result.exit_code, result.stdout) == (0, f"{given}: 3 records read\n")
    result = runner.invoke(app, ["tune", "export", str(back)])
    assert (result.exit_code, result.stdout) == (0, f"{back}: 3 records written\n")
    assert sorted(back.read_text().splitlines()) == sorted(lines)


def test_records_pass_through_pipes(cache: Path) -> None:
    line = record(KEYS[0], 1e-3)
    result = runner.invoke(app, ["tune", "import", "-"], input=f"{line}\n")
    assert result.stdout == "-: 1 record read\n"
    assert runner.invoke(app, ["tune", "export", "-"]).stdout == f"{line}\n"


def test_an_export_of_no_records_is_an_empty_file(cache: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["tune", "export", str(tmp_path / "none")])
    assert result.stdout.endswith("none: 0 records written\n")
    assert (tmp_path / "none").read_bytes() == b""
    assert not cache.exists()


def test_an_import_keeps_the_faster_of_two_records(cache: Path, tmp_path: Path) -> None:
    for seconds in (2e-3, 1e-3, 3e-3):
        file = written(tmp_path / "one", record(KEYS[0], seconds))
        assert runner.invoke(app, ["tune", "import", str(file)]).exit_code == 0
    best = known(cache).best(KEYS[0])
    assert best is not None and best.seconds == 1e-3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "it is no JSON"),
        (b"", "it is no JSON"),
        (b"\xff", "it is no UTF-8 text"),
        (json.dumps({"key": KEYS[1]}).encode(), "expected an object with the fields"),
        (record(KEYS[1], 1e-3).replace("0.001", "-1.0").encode(), "seconds is -1.0"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_nothing_is_added(
    cache: Path, tmp_path: Path, line: bytes, problem: str
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_bytes(record(KEYS[0], 1e-3).encode() + b"\n" + line + b"\n")
    result = runner.invoke(app, ["tune", "import", str(file)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: [P501] {file}, line 2: {problem}")
    assert known(cache).best(KEYS[0]) is None


def test_files_that_cannot_be_read_or_written_are_users_errors(tmp_path: Path) -> None:
    gone = runner.invoke(app, ["tune", "import", str(tmp_path / "gone")])
    assert gone.exit_code == 1 and "no such file" in gone.stderr
    folder = runner.invoke(app, ["tune", "import", str(tmp_path)])
    assert folder.exit_code == 1 and "is a directory" in folder.stderr
    nowhere = runner.invoke(app, ["tune", "export", str(tmp_path / "no" / "where")])
    assert nowhere.exit_code == 1 and "[P308]" in nowhere.stderr


def test_records_that_cannot_be_kept_are_an_error(cache: Path, tmp_path: Path) -> None:
    (files.cache_folder("records") / RECORDS_FILE).mkdir()
    file = written(tmp_path / "one", record(KEYS[0], 1e-3))
    result = runner.invoke(app, ["tune", "import", str(file)])
    assert result.exit_code == 1
    assert f"{RECORDS_FILE}: cannot write records" in result.stderr
