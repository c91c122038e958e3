"""``photic run``: what reaches stdout, stderr and the session, and the exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from cli.fakes import FakeOpening, FakeSession
from cli.processes import fake_run
from typer.testing import CliRunner

from photic.base.errors import PhoticWarning
from photic.base.trace import emit
from photic.cli.answer import statistics
from photic.cli.main import app
from photic.language.errors import ModelUnknown
from photic.language.sampling import SamplingOptions
from photic.language.session import Stats

runner = CliRunner()


def install(monkeypatch: pytest.MonkeyPatch, opening: FakeOpening) -> FakeOpening:
    session = types.ModuleType("photic.language.session")
    session.open_session = opening  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "photic.language.session", session)
    return opening


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    session = FakeSession()
    install(monkeypatch, FakeOpening(session))
    return session


def test_only_the_answer_and_a_newline_reach_stdout(session: FakeSession) -> None:
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert result.exit_code == 0
    assert result.stdout == "Because of light.\n"
    assert result.stderr == ""


def test_an_answer_that_ends_its_line_gets_no_second_newline(session: FakeSession) -> None:
    session.pieces = ("a\n", "")
    assert runner.invoke(app, ["run", "m", "Why?"]).stdout == "a\n"


def test_every_option_reaches_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession()
    opening = install(monkeypatch, FakeOpening(session))
    monkeypatch.setenv("PHOTIC_THREADS", "0")
    options = (
        "--max-tokens 7 --temperature 0.5 --top-k 40 --top-p 0.9 --min-p 0.05 --seed 3 --raw "
        "--repetition-penalty 1.1 --stop END --stop STOP --system Short. --context 64 --threads 1 "
        "--speculative 4 --cache float16 --precision exact"
    )
    result = runner.invoke(app, ["run", "m", "Why?", *options.split()])
    assert result.exit_code == 0, result.output
    assert (opening.calls, opening.drafts) == ([("m", 64)], [4])
    assert opening.rounding == [("float16", "exact")]
    assert os.environ["PHOTIC_THREADS"] == "1"
    assert session.calls == [
        {
            "text": "Why?",
            "system": "Short.",
            "raw": True,
            "max_tokens": 7,
            "sampling": SamplingOptions(0.5, 40, 0.9, 0.05, 1.1, 3),
            "stops": ("END", "STOP"),
        }
    ]


def test_unless_told_the_cache_is_as_precise_as_products(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = install(monkeypatch, FakeOpening(FakeSession()))
    runner.invoke(app, ["run", "m", "Why?"])
    runner.invoke(app, ["run", "m", "Why?", "--precision", "exact"])
    assert opening.rounding == [("auto", "bf16"), ("auto", "exact")]


@pytest.mark.parametrize("command", ["run m Why?", "chat m", "bench-llm m", "tune m"])
@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("--cache", "auto, float32, float16, bfloat16, int8"),
        ("--precision", "bf16, int8, int16, exact"),
    ],
)
def test_an_unknown_rounding_is_a_usage_error_that_names_the_known(
    command: str, option: str, known: str
) -> None:
    result = runner.invoke(app, [*command.split(), option, "int4"])
    assert result.exit_code == 2
    assert f"'int4'; known: {known}" in " ".join(result.stderr.split())


def test_without_options_sampling_is_as_the_library_does_it(session: FakeSession) -> None:
    runner.invoke(app, ["run", "m", "Why?"])
    assert session.calls[0]["sampling"] == SamplingOptions()


@pytest.mark.parametrize("arguments", [["run", "m"], ["run", "m", "-"]])
def test_the_prompt_comes_from_a_pipe(session: FakeSession, arguments: list[str]) -> None:
    assert runner.invoke(app, arguments, input="Grüße\nzwei\n").exit_code == 0
    assert session.calls[0]["text"] == "Grüße\nzwei"


def test_an_empty_pipe_is_a_usage_error(session: FakeSession) -> None:
    result = runner.invoke(app, ["run", "m"], input="")
    assert result.exit_code == 2
    assert "stdin holds no prompt" in result.stderr


def test_stdin_that_is_no_utf8_is_a_users_error(session: FakeSession) -> None:
    result = runner.invoke(app, ["run", "m"], input=b"\xff\xfe")
    assert result.exit_code == 1
    assert "expected UTF-8 text" in result.stderr


@pytest.mark.parametrize(
    "option",
    ["--max-tokens=0", "--temperature=-1", "--top-p=1.5", "--min-p=-0.1", "--threads=0", "--what"],
)
def test_a_wrong_option_is_a_usage_error(session: FakeSession, option: str) -> None:
    result = runner.invoke(app, ["run", "m", "Why?", option])
    assert result.exit_code == 2
    assert option.split("=")[0] in result.stderr
    assert session.calls == []


@pytest.mark.parametrize("while_opening", [True, False])
def test_a_users_error_is_a_message_on_stderr(
    monkeypatch: pytest.MonkeyPatch, while_opening: bool
) -> None:
    error = ModelUnknown(name="m", expected="smollm2-135m")
    install(monkeypatch, FakeOpening(error if while_opening else FakeSession((error,))))
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: [P403] no model is called 'm'")
    assert "Traceback" not in result.output


def test_a_fault_of_our_own_keeps_its_traceback(session: FakeSession) -> None:
    session.pieces = (ZeroDivisionError(),)
    assert isinstance(runner.invoke(app, ["run", "m", "Why?"]).exception, ZeroDivisionError)


def test_an_interrupt_ends_the_line_and_exits_with_130(session: FakeSession) -> None:
    session.pieces = ("Because", KeyboardInterrupt())
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert result.exit_code == 130
    assert result.stdout == "Because\n"
    assert result.stderr == ""


def test_statistics_go_to_stderr(session: FakeSession) -> None:
    result = runner.invoke(app, ["run", "m", "Why?", "--stats"])
    assert result.stdout == "Because of light.\n"
    assert result.stderr.splitlines() == [
        "            tokens  seconds             tok/s",
        "prompt          10     0.50              20.0",
        "generation       3     0.00  too fast to time",
        "ended by: stop",
        "peak memory: 412.0 MB",
    ]


def test_statistics_tell_what_the_cache_and_drafts_saved() -> None:
    stats = Stats(30, 0.5, 8, 0.25, 1000, "length", cached_tokens=20, drafted_tokens=9)
    lines = statistics(replace(stats, accepted_tokens=5)).splitlines()
    assert lines[1].split() == ["prompt", "10", "0.50", "20.0"]
    assert lines[3:] == [
        "from the cache: 20 tokens of the prompt",
        "drafts: 5 of 9 tokens were right",
        "ended by: length",
        "peak memory: 1.0 kB",
    ]


def test_a_full_disk_behind_stdout_is_a_users_error() -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("needs /dev/full, which only Linux has")
    code = fake_run("'a', 'b'", "")
    with full.open("w") as stdout:
        result = subprocess.run(
            [sys.executable, "-c", code],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1
    assert result.stderr == "error: [P305] stdout: no space left while writing a file\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_fault_of_ours(closed: str) -> None:
    code = fake_run("'a', 'b'", "")
    result = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_prompt_from_a_closed_stdin_is_a_usage_error() -> None:
    code = fake_run("'a'", "").replace("'Why?'", "'-'")
    result = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 2
    assert "stdin is closed" in result.stderr and "Traceback" not in result.stderr


def test_a_log_file_gets_one_line_per_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = (("pull", 0, 0), ("pull", 5, 10), ("compile", 1, 3), ("compile", 3, 3))
    install(monkeypatch, FakeOpening(FakeSession(), stages))
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert result.stderr == "Fetching the model ...\nCompiling ...\n"


def test_photic_show_prints_the_events_of_the_named_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tell() -> None:
        emit("times", "pass", seconds=1.5)
        emit("source", "kernel", text="a\nb")
        emit("graph", "not shown")

    install(monkeypatch, FakeOpening(FakeSession(), meanwhile=tell))
    monkeypatch.setenv("PHOTIC_SHOW", "times,source")
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert result.stderr == "[times] pass seconds=1.5\n[source] kernel\ntext:\na\nb\n"


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn() -> None:
        warnings.warn("the cache is read-only", PhoticWarning, stacklevel=2)

    install(monkeypatch, FakeOpening(FakeSession(), meanwhile=warn))
    result = runner.invoke(app, ["run", "m", "Why?"])
    assert (result.exit_code, result.stderr) == (0, "warning: the cache is read-only\n")


def test_a_reader_that_leaves_early_ends_the_run_quietly() -> None:
    code = fake_run("'word ' for _ in range(10**6)", "")
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(9) == b"word word"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 141


def test_characters_that_the_terminal_cannot_show_do_not_stop_the_answer() -> None:
    result = subprocess.run(
        [sys.executable, "-c", fake_run("'a', '\\U0001f44d', 'b'", "")],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (0, b"a?b\n")


def test_ctrl_c_in_a_real_process_exits_with_130() -> None:
    code = fake_run("signal.raise_signal(signal.SIGINT) or 'a' for _ in '1'", "")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert result.returncode == 128 + signal.SIGINT
    assert result.stderr == b""
