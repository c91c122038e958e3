"""llama.cpp in a process of its own, through ``llama-cpp-python``, for ``photic bench-llm``.

Its memory and its threads are then its own. Its jobs are ``{"prompt": [ids]}`` and
``{"generate": count, "after": [ids]}``; both start from an empty context and give seconds and peak
memory.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from photic.cli.peer_process import Answer, PeerProcess, answering, jobs
from photic.language.memory import peak_bytes

NAME = "llama.cpp"
MODULE, PACKAGE = "llama_cpp", "llama-cpp-python"
TAKES = "(it is built from source, which takes minutes)"


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
        arguments = (str(model), str(context), str(threads))
        self._process = PeerProcess(NAME, f"{PACKAGE} {TAKES}", __name__, arguments)
        self.version = str(self._process.greeting["version"])

    def prompt(self, ids: Sequence[int]) -> dict[str, float]:
        """``seconds`` to feed a prompt into an empty context, and ``peak_bytes``."""
        return _numbers(self._process.job(prompt=[*ids]))

    def generate(self, ids: Sequence[int], count: int) -> dict[str, float]:
        """``seconds`` for the likeliest ``count`` tokens after a prompt, without those of it."""
        return _numbers(self._process.job(after=[*ids], generate=count))

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _numbers(answer: Answer) -> dict[str, float]:
    return {key: float(str(value)) for key, value in answer.items()}


# --- in the process -------------------------------------------------------------------------


def main() -> None:
    """Load the model, then do jobs until stdin ends."""
    say = answering()  # llama.cpp writes to stdout as it likes
    model, context, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    try:
        package = importlib.import_module(MODULE)
    except (ImportError, OSError, RuntimeError) as error:  # the latter: its library does not load
        say(missing=str(error))
        return
    llama = package.Llama(
        model_path=model, n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
    )
    say(version=package.__version__)
    for job in jobs():
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
