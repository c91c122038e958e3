"""llama.cpp in a process of its own, through ``llama-cpp-python``, for ``photic bench-llm``.

Its memory and its threads are then its own. Every line of stdin is a job in JSON, and has a line of
JSON on stdout as its answer: ``{"prompt": [ids]}`` or ``{"generate": count, "after": [ids]}``, both
from an empty context, give seconds, tokens and peak memory. What llama.cpp itself prints goes to
stderr.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from types import ModuleType
from typing import Protocol

import numpy as np

from photic.base.settings import child_environment
from photic.cli.errors import PeerFailed, PeerMissing
from photic.language.memory import peak_bytes

NAME = "llama.cpp"
MODULE, PACKAGE = "llama_cpp", "llama-cpp-python"
TOLD_CHARACTERS = 300  # of what a peer said before it ended


class Llama(Protocol):
    """What is used of ``llama_cpp.Llama``."""

    @property
    def ctx(self) -> object:
        """What its C functions are given."""

    def n_vocab(self) -> int:
        """The tokens that there are."""

    def reset(self) -> None:
        """Nothing is in the context."""

    def eval(self, tokens: Sequence[int]) -> None:
        """Feed tokens after those in the context."""


class Peer:
    """The process. Raises PeerMissing where the package cannot be imported, else PeerFailed."""

    def __init__(self, model: Path, context: int, threads: int) -> None:
        command = [sys.executable, "-m", __name__, str(model), str(context), str(threads)]
        # Not this program's folder, as -m would have it: modules lie there.
        environment = child_environment(PYTHONSAFEPATH="1")
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # a pipe that nobody reads would fill
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=self._said, env=environment)
        greeting = self._answer()
        if "missing" in greeting:
            self.close()
            fields = {"problem": greeting["missing"], "python": sys.executable, "package": PACKAGE}
            raise PeerMissing(name=NAME, **fields)
        self.version = str(greeting["version"])

    def prompt(self, ids: Sequence[int]) -> dict[str, float]:
        """``seconds`` to feed a prompt into an empty context, and ``peak_bytes``."""
        return self._job({"prompt": [*ids]})

    def generate(self, ids: Sequence[int], count: int) -> dict[str, float]:
        """``seconds`` for the likeliest ``count`` tokens after a prompt, without those of it."""
        return self._job({"after": [*ids], "generate": count})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):  # it may have ended by itself
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._said.close()

    def _job(self, job: dict[str, object]) -> dict[str, float]:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()
        return {key: float(str(value)) for key, value in self._answer().items()}

    def _answer(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip()
            self.close()
            raise PeerFailed(name=NAME, problem=said[-TOLD_CHARACTERS:] or "it said nothing")
        answer: dict[str, object] = json.loads(line)
        return answer


# --- in the process -------------------------------------------------------------------------


def main() -> None:
    """Load the model, then do jobs until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp writes to stdout as it likes
    model, context, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    def say(**answer: object) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        package = importlib.import_module(MODULE)
    except (ImportError, OSError, RuntimeError) as error:  # the latter: its library does not load
        say(missing=str(error))
        return
    llama = package.Llama(
        model_path=model, n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
    )
    say(version=package.__version__)
    for line in sys.stdin:
        job = json.loads(line)
        llama.reset()
        if "generate" in job:
            seconds = _generated(package, llama, job["after"], job["generate"])
        else:
            start = time.perf_counter()
            llama.eval(job["prompt"])
            seconds = time.perf_counter() - start
        say(seconds=seconds, peak_bytes=peak_bytes())


def _generated(package: ModuleType, llama: Llama, after: Sequence[int], count: int) -> float:
    """Seconds of ``count`` steps, each the choice of the likeliest token and its evaluation."""
    llama.eval(after)
    start = time.perf_counter()
    for _ in range(count):
        last = package.llama_get_logits_ith(llama.ctx, -1)  # where llama.cpp has them
        logits = np.ctypeslib.as_array(last, shape=(llama.n_vocab(),))
        llama.eval([int(np.argmax(logits))])
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
