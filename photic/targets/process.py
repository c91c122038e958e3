"""A worker process that runs trials for the search: it may crash or hang without harm to us.

``Remote`` starts the process when it is needed, and again after it was lost; the call that lost it
returns ``Crashed`` or ``Hung``. The process and all that it starts form a group, which ends when
``close`` is called, when a call takes too long, or when we end in whatever way. What is done with
a trial is up to the ``Worker`` of a module that the process imports by name: each target has one.
Needs process groups: Linux and macOS.
"""

from __future__ import annotations

import importlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Protocol, TypeAlias

import numpy as np

from photic.base.errors import PhoticError
from photic.base.settings import child_environment
from photic.targets.measure import Crashed, Failure, Hung, OutOfBounds, Refused, Slot, Trial

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
Lost: TypeAlias = Crashed | Hung

START_SECONDS = 60.0  # for Python and NumPy to load on a busy machine
PARENT_SECONDS = 1.0  # how often a worker looks whether its parent is still there
CODE = "from photic.targets.process import serve; serve({descriptor}, {parent}, {module!r})"
SHOWN_CHARACTERS = 500
LEAST_NOISE = 0.25
NOISE_COUNT = 65_537  # numbers that differ, then they repeat; a prime, so that no stride meets one


class Worker(Protocol):
    """What a target's module must define under this name: the far side of ``Remote``."""

    def build(self, trials: Sequence[Trial]) -> list[str]:
        """Make these ready and forget all others; what is wrong with each, or ""."""

    def sample(self, trial: Trial, calls: int, series: int) -> float | OutOfBounds:
        """As ``Remote.sample``."""

    def run(
        self,
        trial: Trial,
        buffers: Mapping[int, Array],
        sizes: Sequence[int],
        wanted: Sequence[int],
    ) -> dict[int, Array] | OutOfBounds:
        """As ``Remote.run``."""


# --- our side -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Process:
    started: subprocess.Popen[bytes]
    connection: Connection


class Remote:
    """The stopwatch of a target in a process of its own, which also gives a trial's results.

    Not thread-safe. Use it in a ``with`` statement, or call ``close``.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: _Process | None = None
        self._built: dict[Trial, None] = {}  # what the process knows, or the next one should

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> float:
        """Seconds since some moment."""
        return time.perf_counter()

    def build(self, trials: Sequence[Trial], seconds: float) -> list[Failure | None]:
        """Compile and load trials (what is loaded already stays so); forget all others."""
        wanted = list(dict.fromkeys(trials))
        found = self._call("build", (wanted,), seconds)
        problems = dict.fromkeys(wanted, str(found)) if isinstance(found, Lost) else {}
        if isinstance(found, list):
            problems = dict(zip(wanted, found, strict=True))
        self._built = {one: None for one in wanted if not problems[one]}
        return [Refused(problems[one]) if problems[one] else None for one in trials]

    def sample(self, trial: Trial, calls: int, series: int, seconds: float) -> float | Failure:
        """The seconds of so many calls in a row, in the fastest of several series.

        Before a series of several calls there is one that does not count.
        """
        found = self._on(trial, "sample", (calls, series), seconds)
        assert isinstance(found, float | Failure)
        return found

    def run(
        self,
        trial: Trial,
        buffers: Mapping[int, Array],
        sizes: Sequence[int],
        wanted: Sequence[int],
        seconds: float,
    ) -> dict[int, Array] | Failure:
        """Call once on these arrays by slot, and on zeros in all other slots.

        Returns those ``wanted`` as they are afterwards. Every buffer ends at memory that may not be
        touched. What is given may only change if it is wanted.
        """
        found = self._on(trial, "run", (dict(buffers), tuple(sizes), tuple(wanted)), seconds)
        assert isinstance(found, dict | Failure)
        return found

    def close(self) -> None:
        """End the process, if there is one; a later call starts another."""
        if self._process is not None:
            self._end(self._process)

    def _on(self, trial: Trial, name: str, arguments: tuple[object, ...], seconds: float) -> object:
        """A call about one trial. A new process is first told of all trials in use."""
        if self._process is None or trial not in self._built:
            problem = self.build([*self._built, trial], seconds + START_SECONDS)[-1]
            if problem is not None:
                return problem
        found = self._call(name, (trial, *arguments), seconds)
        if isinstance(found, Lost):
            self._built.pop(trial)
        return found

    def _call(self, name: str, arguments: tuple[object, ...], seconds: float) -> object:
        """The worker's answer; it raises what the worker raised."""
        if self._process is None:
            self._process = self._started()
            seconds += START_SECONDS
        process, answer, is_lost, how = self._process, None, False, ""
        try:
            process.connection.send((name, arguments))
            if process.connection.poll(seconds):
                answer = process.connection.recv()
        except (EOFError, OSError):
            is_lost = True
        finally:
            if answer is None:  # also where an interrupt parts question and answer
                how = self._end(process)
        if answer is None:
            return Crashed(how) if is_lost else Hung(seconds)
        if isinstance(answer, PhoticError | MemoryError):
            raise answer
        return answer

    def _started(self) -> _Process:
        ours, theirs = Pipe()
        descriptor = theirs.fileno()
        code = CODE.format(descriptor=descriptor, parent=os.getpid(), module=self._module)
        started = subprocess.Popen(
            (sys.executable, "-P", "-c", code),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(descriptor,),
            env=child_environment(PYTHONPATH=os.pathsep.join(sys.path)),
            start_new_session=True,
        )
        theirs.close()
        return _Process(started, ours)

    def _end(self, process: _Process) -> str:
        """End the process and its group; how it had ended, if it had."""
        self._process = None
        process.connection.close()
        if process.started.returncode is None:  # not reaped: the number is still its own
            with suppress(ProcessLookupError, PermissionError):  # macOS: a group of the dead
                os.killpg(process.started.pid, signal.SIGKILL)
        said = process.started.communicate()[1].decode(errors="replace").strip()
        status = process.started.returncode
        how = f"exit status {status}" if status >= 0 else signal.Signals(-status).name
        return f"{how}: {said[-SHOWN_CHARACTERS:]}" if said else how


# --- the process's side ---------------------------------------------------------------------


def serve(descriptor: int, parent: int, module: str) -> None:
    """Answer calls until the other side is gone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected: no files of them
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection = Connection(descriptor)
    name, _, given = module.partition(":")
    worker: Worker = importlib.import_module(name).Worker(*filter(None, [given]))
    answers: dict[str, Callable[..., object]] = {
        "build": worker.build,
        "sample": worker.sample,
        "run": worker.run,
    }
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = answers[name](*arguments)
        except (PhoticError, MemoryError) as error:
            answer = error
        connection.send(answer)


def _end_with(parent: int) -> None:
    """End the group when the parent is gone; a compiler at work or a kernel that hangs, too."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.killpg(0, signal.SIGKILL)


def noise(slot: Slot, rng: np.random.Generator) -> Array:
    """What a buffer holds while it is timed: no zeros, no subnormals, nothing all alike.

    Floats have either sign and a magnitude from 1/4 to 1.
    """
    count = min(slot.count, NOISE_COUNT)
    if slot.dtype.kind == "float":
        values = rng.uniform(LEAST_NOISE, 1, count) * rng.choice((-1, 1), count)
    else:
        values = rng.integers(slot.low, slot.high, count, np.int64, endpoint=True)
    found: Array = np.resize(values.astype(slot.dtype.numpy), slot.count)
    return found


def with_zeros(trial: Trial, buffers: Mapping[int, Array]) -> dict[int, Array]:
    """An array for every slot of a trial: one of these, or zeros."""
    return {
        number: buffers[number] if number in buffers else np.zeros(one.count, one.dtype.numpy)
        for number, one in enumerate(trial.slots)
    }
