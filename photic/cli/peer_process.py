"""A process of its own for what is measured beside photic: its memory and threads are its own.

Every line of its stdin is a job in JSON, and has a line of JSON on its stdout as the answer. The
first answer says what it is, or under ``missing`` why it cannot be run. What its libraries print
goes to stderr, of which the end is told if it fails.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE, Popen
from typing import Any

from photic.base.settings import child_environment
from photic.cli.errors import PeerFailed, PeerMissing

TOLD_CHARACTERS = 300  # of what a process said before it ended
Answer = Mapping[str, object]


class PeerProcess:
    """``module`` run with arguments; ``package`` is what to install, and perhaps how long it takes.

    Raises PeerMissing where it cannot be run, PeerFailed where it ends.
    """

    def __init__(
        self, name: str, package: str, module: str, arguments: Sequence[str], **settings: str
    ) -> None:
        self.name = name
        # Not this program's folder, as -m would have it: modules lie there.
        environment = child_environment(PYTHONSAFEPATH="1", **settings)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe that nobody reads would fill
        command = [sys.executable, "-m", module, *arguments]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=self._said, env=environment)
        self.greeting = self._answer()
        if "missing" in self.greeting:
            self.close()
            problem = self.greeting["missing"]
            raise PeerMissing(name=name, problem=problem, python=sys.executable, package=package)

    def job(self, **job: object) -> Answer:
        """The answer to a job."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):  # it may have ended by itself
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._said.close()

    def _answer(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip()
            self.close()
            problem = said[-TOLD_CHARACTERS:] or "it said nothing"
            raise PeerFailed(name=self.name, problem=problem)
        answer: dict[str, object] = json.loads(line)
        return answer


# --- in the process -------------------------------------------------------------------------


def answering() -> Callable[..., None]:
    """How answers are written; what else is written to stdout goes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**answer: object) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    return say


def jobs() -> Iterator[dict[str, Any]]:
    """The jobs, until stdin ends."""
    for line in sys.stdin:
        yield json.loads(line)
