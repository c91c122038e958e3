"""One of the programs that ``photic bench`` measures, in a process of its own.

Arguments: the kind of program, the model, a file of arrays to feed by name, a file for the arrays
that come out, threads, and the sizes of a model as JSON. The first answer tells the version, the
seconds to open the model and those of the first run; a job ``{"runs": n}`` gives the seconds of
n runs together, and the peak of memory so far.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from photic import __version__
from photic.cli.peer_process import answering, jobs
from photic.language.memory import peak_bytes

if TYPE_CHECKING:
    from photic.storage.artifact import Array

    Feeds = Mapping[str, Array]
    Run = Callable[[], Sequence[Array]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A program: ``open`` gets model, arrays, threads and sizes; it gives version and run."""

    name: str
    package: str
    open: Callable[[str, Feeds, int, Mapping[str, Any]], tuple[str, Run]]


def _program(path: str, feeds: Feeds, threads: int, sizes: Mapping[str, Any]) -> tuple[str, Run]:
    """A saved program; the threads are those of PHOTIC_THREADS."""
    from photic.tensor.compiling import load

    program = load(path)
    return __version__, lambda: list(program(**feeds, **sizes).values())


def _session(path: str, feeds: Feeds, threads: int, sizes: Mapping[str, Any]) -> tuple[str, Run]:
    """A model that is no one program."""
    from photic.frontends.onnx import Session

    session = Session(path)
    return __version__, lambda: session.run(None, feeds)


def _onnxruntime(
    path: str, feeds: Feeds, threads: int, sizes: Mapping[str, Any]
) -> tuple[str, Run]:
    package = importlib.import_module("onnxruntime")
    options = package.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors
    session = package.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return package.__version__, lambda: session.run(None, feeds)


def _openvino(path: str, feeds: Feeds, threads: int, sizes: Mapping[str, Any]) -> tuple[str, Run]:
    """In float32, and for the shapes that are fed."""
    return _by_openvino(path, feeds, threads, {"INFERENCE_PRECISION_HINT": "f32"})


def _openvino_alone(
    path: str, feeds: Feeds, threads: int, sizes: Mapping[str, Any]
) -> tuple[str, Run]:
    """As it computes by itself: in bfloat16 where it can."""
    return _by_openvino(path, feeds, threads, {})


def _by_openvino(
    path: str, feeds: Feeds, threads: int, hints: Mapping[str, str]
) -> tuple[str, Run]:
    package = importlib.import_module("openvino")
    core = package.Core()
    model = core.read_model(path)
    model.reshape({name: list(one.shape) for name, one in feeds.items()})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, **hints})
    given = dict(feeds)

    def run() -> Sequence[Array]:
        found = compiled(given)
        return [found[one] for one in compiled.outputs]

    return package.__version__.partition("-")[0], run


KINDS: Mapping[str, Kind] = {
    one.name: one
    for one in (
        Kind("photic", "photic", _program),
        Kind("photic session", "photic", _session),
        Kind("onnxruntime", "onnxruntime", _onnxruntime),
        Kind("openvino", "openvino", _openvino),
        Kind("openvino bf16", "openvino", _openvino_alone),
    )
}


def main() -> None:
    """Open the model, then do jobs until stdin ends."""
    say = answering()
    kind, model, given, results, threads, sizes = sys.argv[1:]
    with np.load(given, allow_pickle=False) as arrays:
        feeds = {name: arrays[name] for name in arrays.files}
    start = time.perf_counter()
    try:
        version, run = KINDS[kind].open(model, feeds, int(threads), json.loads(sizes))
    except ImportError as error:
        say(missing=str(error))
        return
    opened = time.perf_counter()
    outputs = run()
    first = time.perf_counter()
    np.savez(results, *(np.asarray(one) for one in outputs))
    say(version=version, opening=opened - start, first=first - opened)
    for job in jobs():
        start = time.perf_counter()
        for _ in range(job["runs"]):
            run()
        say(seconds=time.perf_counter() - start, peak_bytes=peak_bytes())


if __name__ == "__main__":
    main()
