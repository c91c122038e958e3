"""The view of a search: what is read off its events, and how it is shown in logs and terminals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from cli.fakes import turn
from cli.processes import fake_search

from photic.base.trace import Event, emit
from photic.cli import progress as shown
from photic.cli.table import duration
from photic.cli.watch import Watch

Clock = Callable[[float], None]


def heard(*turns: dict[str, object]) -> Watch:
    watch = Watch(60.0, 60.0)
    for number, told in enumerate(turns):
        watch.hear(Event("search", "turn", told), float(number))
    return watch


def test_before_the_first_turn_a_search_is_preparing() -> None:
    assert re.fullmatch(r"Searching: preparing; 60 s left, until \d\d:\d\d:\d\d", heard().line(0.0))


def test_a_line_tells_region_gain_candidates_and_time() -> None:
    watch = heard(turn("aa", 8, 2e-3, 50.0), turn("bb", 16, 1e-6, 40.0), turn("aa", 24, 1e-3, 30.0))
    line = watch.line(12.0)
    assert line.startswith(
        "Searching: region aa (3 stores): 1 ms, 2.00 times as fast as before; "
        "24 candidates in 2 of 12 regions; 20 s left, until "
    )


def test_a_region_that_could_not_be_timed_says_so() -> None:
    assert "region aa (3 stores): not timed yet;" in heard(turn("aa", 8, None, 50.0)).line(1.0)


def test_the_end_is_the_one_that_the_search_itself_tells() -> None:
    watch = heard(turn("aa", 8, 1e-3, 5.0))
    assert watch.ends == 5.0
    assert watch.times(2.0).startswith("3 s left, until ")
    assert watch.times(6.0) == "finishing"


def test_rows_begin_with_the_region_of_the_last_turn() -> None:
    watch = heard(turn("aa", 8, None, 50.0), turn("bb", 16, 3e-6, 40.0), turn("bb", 24, 2e-6, 4.0))
    assert watch.rows() == [("bb", "3", "2", "2 us", "1.50 times"), ("aa", "3", "1", "-", "-")]


def test_other_events_are_passed_over() -> None:
    watch = heard()
    watch.hear(Event("search", "saturate", {"rows": 4}), 1.0)
    watch.hear(Event("times", "turn", {}), 1.0)
    assert watch.rows() == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (1.5e-9, "1.5 ns"), (1.25e-5, "12.5 us"), (2e-3, "2 ms"), (61.25, "61.2 s")],
)
def test_a_duration_has_the_largest_unit_of_which_there_is_one(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# --- a log file -----------------------------------------------------------------------------


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock of the view."""
    now = [100.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])

    def set_clock(seconds: float) -> None:
        now[0] = seconds

    return set_clock


def test_a_log_file_gets_at_most_one_line_a_second(
    at: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown.progress() as report:
        report("search", 0, 60)
        for tenth in range(30):
            at(100.0 + tenth / 10)
            emit("search", "turn", **turn("aa", tenth, 1e-3, 50.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Searching ..."
    assert [re.findall(r"(\d+) candidates", line)[0] for line in lines[1:]] == ["0", "10", "20"]


def test_events_of_a_search_that_nobody_asked_for_are_not_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A compilation without a search saturates regions too, to replay what is known of them."""
    with shown.progress():
        emit("search", "saturate", rows=4)
        emit("search", "turn", **turn("aa", 8, 1e-3, 50.0))
    assert capsys.readouterr().err == ""


# --- a terminal -----------------------------------------------------------------------------


def drawn(environment: dict[str, str]) -> tuple[str, bytes]:
    """What ``photic tune`` draws on a terminal, and its stdout."""
    pty = pytest.importorskip("pty", reason="needs a Unix terminal")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", fake_search()],
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **environment},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    answer, _ = process.communicate(timeout=60)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert process.returncode == 0, text
    return text, answer


def test_a_terminal_shows_regions_and_when_the_search_ends() -> None:
    text, answer = drawn({})
    assert "Searching" in text and "24 candidates in 2 of 12 regions" in text
    assert re.search(r"\d+ s left, until \d\d:\d\d:\d\d", text)
    assert "as fast as before" in text and "2.00 times" in text
    assert answer.startswith(b"m: 24 candidates in 5.25 s (out of time)\n")


def test_shown_events_and_the_live_view_share_a_terminal() -> None:
    text, _ = drawn({"PHOTIC_SHOW": "search"})
    assert text.count("[search] turn region=") == 3
