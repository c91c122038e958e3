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
sys.modules["photic.language.session"] = session
sys.argv = ["photic", "run", "m", "Why?"]
main.run()
"""


def fake_run(pieces: str, stages: str) -> str:
    """Python code that runs ``photic run``; ``pieces`` and ``stages`` are source text of tuples."""
    return _PROGRAM.format(tests=str(TESTS), pieces=pieces, stages=stages)
