"""Real processes that run the cli with a fake session: for pipes, signals and terminals."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

_PROGRAM = """
import signal, sys, types
sys.path.insert(0, {tests!r})
from cli.fakes import FakeOpening, FakeSession
from photic.cli import main
session = types.ModuleType("photic.language.session")
session.open_session = FakeOpening(FakeSession(({pieces})), ({stages}))
session.Session = FakeSession
sys.modules["photic.language.session"] = session
sys.argv = {arguments}
main.run()
"""


def fake_run(pieces: str, stages: str) -> str:
    """Python code that runs ``photic run``; ``pieces`` and ``stages`` are source text of tuples."""
    arguments = ["photic", "run", "m", "Why?"]
    return _PROGRAM.format(tests=str(TESTS), pieces=pieces, stages=stages, arguments=arguments)


def fake_chat(pieces: str) -> str:
    """Python code that runs ``photic chat``, where every answer has these pieces."""
    arguments = ["photic", "chat", "m"]
    return _PROGRAM.format(tests=str(TESTS), pieces=pieces, stages="", arguments=arguments)


_SEARCH = """
import sys, types
sys.path.insert(0, {tests!r})
from cli.fakes import FakeOpening, FakeSession, fake_program, turn
from photic.base.trace import emit
from photic.cli import main
def search():
    for one in (turn("aa", 8, 2e-3, 50.0), turn("bb", 16, 1e-6, 40.0), turn("aa", 24, 1e-3, 30.0)):
        emit("search", "turn", **one)
session = types.ModuleType("photic.language.session")
opened = FakeSession(programs={{"step": fake_program()}})
session.open_session = FakeOpening(opened, (("search", 0, 60),), search)
sys.modules["photic.language.session"] = session
sys.argv = ["photic", "tune", "m"]
main.run()
"""


def fake_search() -> str:
    """Python code that runs ``photic tune`` with a search of three turns that takes no time."""
    return _SEARCH.format(tests=str(TESTS))
