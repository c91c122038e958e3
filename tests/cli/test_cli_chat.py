"""``photic chat``: lines in, answers out, commands, interrupts, errors, files, a terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from cli.fakes import FakeOpening, FakeSession
from cli.processes import fake_chat
from typer.testing import CliRunner, Result

from photic.cli.chat_commands import COMMANDS
from photic.cli.main import app
from photic.language.errors import ContextOverflow, ModelUnknown
from photic.language.sampling import SamplingOptions

runner = CliRunner()
ANSWER = "Because of light.\n"
# Real processes: slow starts on a busy machine are no failure.
PATIENCE = 60


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> FakeOpening:
    module = types.ModuleType("photic.language.session")
    opening = FakeOpening(FakeSession())
    module.open_session = opening  # type: ignore[attr-defined]
    module.Session = FakeSession  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "photic.language.session", module)
    return opening


@pytest.fixture
def session(opening: FakeOpening) -> FakeSession:
    assert isinstance(opening.session, FakeSession)
    return opening.session


def chat(text: str | bytes, *options: str) -> Result:
    return runner.invoke(app, ["chat", "m", *options], input=text)


def prompts(session: FakeSession) -> list[str]:
    return [str(call["text"]) for call in session.calls]


def turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


NEXT = "<|im_start|>assistant\n"


# --- through a pipe -------------------------------------------------------------------------


def test_every_line_is_answered_and_nothing_else_is_written(session: FakeSession) -> None:
    result = chat("Why?\n\nAnd?\n")
    assert (result.exit_code, result.stdout, result.stderr) == (0, ANSWER * 2, "")
    assert prompts(session)[0] == turn("user", "Why?") + NEXT


def test_a_question_comes_after_all_that_was_said(session: FakeSession) -> None:
    chat("Why?\nAnd?\n", "--system", "Short.")
    said = turn("system", "Short.") + turn("user", "Why?")
    assert prompts(session)[1] == (
        said + turn("assistant", ANSWER.strip()) + turn("user", "And?") + NEXT
    )


def test_the_last_line_may_lack_its_end(session: FakeSession) -> None:
    assert chat("Why?\r\nAnd?").stdout == ANSWER * 2
    assert turn("user", "Why?") in prompts(session)[0]


def test_every_option_reaches_the_session(
    opening: FakeOpening, session: FakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_THREADS", "0")
    options = (
        "--max-tokens 7 --temperature 0.5 --top-k 40 --top-p 0.9 --min-p 0.05 --seed 3 "
        "--repetition-penalty 1.1 --stop END --context 64 --threads 1 --speculative 5 --cache int8 "
        "--precision exact"
    )
    result = chat("Why?\n", *options.split())
    assert result.exit_code == 0, result.output
    assert (opening.calls, opening.drafts) == ([("m", 64)], [5])
    assert opening.rounding == [("int8", "exact")]
    assert os.environ["PHOTIC_THREADS"] == "1"
    del session.calls[0]["text"]
    sampling = SamplingOptions(0.5, 40, 0.9, 0.05, 1.1, 3)
    assert session.calls == [{"max_tokens": 7, "sampling": sampling, "stops": ("END",)}]


def test_figures_follow_each_answer_on_stderr(session: FakeSession) -> None:
    result = chat("Why?\nAnd?\n", "--stats")
    assert result.stdout == ANSWER * 2
    assert result.stderr.count("peak memory: 412.0 MB") == 2


def test_an_error_ends_the_turn_and_shows_in_the_exit_code(session: FakeSession) -> None:
    error = ContextOverflow(given=99, expected=64, maximum=64)
    session.pieces = (error,)
    result = chat("Why?\nAnd?\n")
    assert result.exit_code == 1
    assert result.stderr.count("error: [P408] 99 tokens do not fit the context of 64") == 2
    assert turn("user", "Why?") not in prompts(session)[1]


def test_a_line_that_is_no_utf8_is_refused_and_the_next_is_read(session: FakeSession) -> None:
    result = chat(b"\xff\xfe\nWhy?\n")
    assert (result.exit_code, result.stdout) == (1, ANSWER)
    assert "expected UTF-8 text" in result.stderr


def test_an_unknown_model_is_a_message(opening: FakeOpening) -> None:
    opening.session = ModelUnknown(name="m", expected="smollm2-135m")
    result = chat("Why?\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: [P403] no model is called 'm'")


@pytest.mark.parametrize(
    ("context", "note"),
    [(13, "the context of 13 tokens is full: /reset begins anew"), (64, "cut after 3 tokens")],
)
def test_why_an_answer_was_cut_is_said(session: FakeSession, context: int, note: str) -> None:
    session.finish_reason, session.context = "length", context
    assert note in chat("Why?\n").stderr


# --- commands -------------------------------------------------------------------------------


def test_help_names_every_command(session: FakeSession) -> None:
    result = chat("/help\n")
    assert result.stdout == ""
    for command in COMMANDS:
        assert f"/{command.word}" in result.stderr


def test_exit_ends_before_later_lines(session: FakeSession) -> None:
    assert chat("/exit\nWhy?\n").stdout == ""


def test_system_sets_the_message_and_takes_it_back(session: FakeSession) -> None:
    chat("/system  Be brief. \nWhy?\n/system\n/reset\nWhy?\n")
    assert prompts(session) == [
        turn("system", "Be brief.") + turn("user", "Why?") + NEXT,
        turn("user", "Why?") + NEXT,
    ]


def test_reset_forgets_what_was_said_but_for_the_system_message(session: FakeSession) -> None:
    chat("Why?\n/reset\nAnd?\n", "--system", "Short.")
    assert prompts(session)[1] == turn("system", "Short.") + turn("user", "And?") + NEXT


def test_two_slashes_begin_a_message(session: FakeSession) -> None:
    chat("//etc?\n")
    assert prompts(session) == [turn("user", "/etc?") + NEXT]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("/fly", "[P504] there is no command /fly; there are /system, /reset"),
        ("/", "[P504] there is no command /;"),
        ("/save", "[P505] /save needs FILE"),
        ("/load  ", "[P505] /load needs FILE"),
    ],
)
def test_a_wrong_command_is_an_error_and_no_message(
    session: FakeSession, line: str, problem: str
) -> None:
    result = chat(f"{line}\n")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {problem}")
    assert session.calls == []


# --- files ----------------------------------------------------------------------------------


def test_a_saved_conversation_goes_on_where_it_was(session: FakeSession, tmp_path: Path) -> None:
    file = tmp_path / "talk é.json"
    chat(f"Why?\n/save {file}\nAnd?\n", "--system", "Kürzer.")
    result = chat(f"/load {file}\nAnd?\n")
    assert result.exit_code == 0
    assert prompts(session)[2] == prompts(session)[1]
    messages = json.loads(file.read_text(encoding="utf-8"))["messages"]
    assert [one["role"] for one in messages] == ["system", "user", "assistant"]
    assert messages[0]["content"] == "Kürzer."


def test_an_empty_conversation_can_be_saved(session: FakeSession, tmp_path: Path) -> None:
    result = chat(f"/save {tmp_path}/a\n/load {tmp_path}/a\n")
    assert result.stderr == f"({tmp_path}/a: 0 messages written)\n({tmp_path}/a: 0 messages read)\n"


def test_files_that_cannot_be_written_or_read_are_errors(
    session: FakeSession, tmp_path: Path
) -> None:
    result = chat(f"/save {tmp_path}/no/file\n/load {tmp_path}/none\n/load {tmp_path}\n")
    assert result.exit_code == 1
    errors = result.stderr.splitlines()
    assert "cannot write a file: no such file or directory" in errors[0].lower()
    assert f"{tmp_path}/none: no such file or directory" in errors[1]
    assert "is a directory" in errors[2]


def test_a_pipe_or_device_is_written_into_and_not_replaced(
    session: FakeSession, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    result = chat(f"Why?\n/save {pipe}\n")
    assert (result.exit_code, pipe.is_fifo()) == (0, True)
    assert json.loads(os.read(reader, 1 << 16))["messages"][0]["content"] == "Why?"
    os.close(reader)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is no JSON"),
        ("\0\1", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", 'no list of "messages"'),
        ('{"messages": {}}', 'no list of "messages"'),
        ('{"messages": [1]}', "messages[0] has no content that is text"),
        ('{"messages": [{"role": "user"}]}', "messages[0] has no content that is text"),
        ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "no content that is text"),
        ('{"messages": [{"role": "dog", "content": ""}]}', "'dog', not of user or system"),
        ('{"messages": [{"role": "assistant", "content": ""}]}', "not of user or system"),
        ('{"messages": [{"role": "user", "content": ""}]}', "the last message has no answer"),
        (
            '{"messages": [{"role": "user", "content": ""}, {"role": "user", "content": ""}]}',
            "messages[1] is of 'user', not of assistant",
        ),
    ],
)
def test_a_file_without_a_conversation_is_refused_whole(
    session: FakeSession, tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "talk.json"
    file.write_text(text)
    result = chat(f"Why?\n/load {file}\nAnd?\n")
    assert result.exit_code == 1
    assert problem in result.stderr and "[P503]" in result.stderr
    assert turn("user", "Why?") in prompts(session)[1]


# --- real processes -------------------------------------------------------------------------


def test_an_interrupt_stops_the_answer_and_the_next_line_is_read() -> None:
    code = fake_chat("'a'").replace(
        "main.run()",
        "import time\n"
        "def slow(self, text, **options):\n"
        "    print(text.count('said'), file=sys.stderr, flush=True)\n"
        "    yield 'said '\n"
        "    time.sleep(60 if text.count('user') == 1 else 0)\n"
        "FakeSession.generate = slow\n"
        "main.run()",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert process.stdout.read(5) == b"said "
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(b"two\n", timeout=PATIENCE)
    assert (process.returncode, out) == (0, b"\nsaid \n")
    assert errors == b"0\n(stopped)\n1\n"


def test_an_interrupt_while_nothing_is_asked_ends_a_pipe() -> None:
    code = fake_chat("'a'").replace("main.run()", "print('up', flush=True); main.run()")
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert process.stdout.readline() + process.stdout.readline() == b"up\na\n"
    time.sleep(0.1)  # it goes on to read
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, b"")


def test_a_closed_stdin_is_a_usage_error() -> None:
    result = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, fake_chat("'a'")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 2
    assert "stdin is closed" in result.stderr and "Traceback" not in result.stderr


def test_a_terminal_has_a_prompt_and_lines_that_go_on() -> None:
    pty = pytest.importorskip("pty", reason="needs a Unix terminal")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", fake_chat("'Light.',")],
        env={**os.environ, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    for line in (b"Why\\\n", b"so?\n", b"", b"/help\n", b"\x04"):
        while not shown.endswith((b"> ", b"... ")):
            shown += read_soon(ours)
        shown += b"|"
        if line:
            os.write(ours, line)
        else:
            interrupt(process, ours)
    while more := read_soon(ours):
        shown += more
    os.close(ours)
    text = shown.decode()
    assert process.wait(timeout=PATIENCE) == 0
    assert "(m: /help lists the commands" in text
    assert text.count("Light.") == 1 and "... " in text
    assert "/reset" in text and "(/exit or Ctrl-D ends)" in text and "Traceback" not in text


def read_soon(terminal: int) -> bytes:
    """What comes next; nothing where the other end is gone. It does not wait for ever."""
    assert select.select([terminal], [], [], PATIENCE)[0], "nothing is shown"
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def interrupt(process: subprocess.Popen[bytes], terminal: int) -> None:
    """Ctrl-C at a prompt; again where it came before Python waited for a key (it then waits on)."""
    for _ in range(PATIENCE):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        if select.select([terminal], [], [], 2)[0]:
            return
