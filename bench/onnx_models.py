"""Real ONNX models on real inputs, beside onnxruntime and OpenVINO in float32.

Each program has a process and threads of its own and is timed in turns with the others. ``compile``
is the seconds to read and compile the model for the shapes of its input; ``start`` those to load
what was made, and run it once; a model whose sizes data decide is compiled while it starts.
``best`` is how many times as fast photic is as the fastest peer, by medians, and by the fastest
runs. Errors, photic's and those of further peers, are against the first peer, as a part of the
largest number. With ``--precision bf16`` photic may round to bfloat16, and OpenVINO is left to do
so where it does by itself. Models are fetched on first use.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
import numpy as np
from _pytest.outcomes import Skipped
from frontends.onnx import onnx_real as real
from frontends.onnx.test_onnx_real import CASES
from frontends.onnx.test_onnx_real_words import DETECTORS, TEXTS, stretch, voice

from photic.base.errors import PhoticError
from photic.cli.bench_runs import Entrant, Figures, largest_error, race
from photic.frontends.onnx.errors import OnnxSegments
from photic.frontends.onnx.model import load

REPEATS = 15
PEERS = {"exact": ("onnxruntime", "openvino"), "bf16": ("onnxruntime", "openvino bf16")}
# those whose geometric mean is told beside that of all
CHOSEN = (
    *("focus", "pages-4", "lines-4", "nsfw"),
    *("blazeface-front", "silero_vad_op18_ifless", "basic-pitch"),
    *("efficientnet-lite0", "minilm"),
)
SPEECH = "silero_vad/data/{}.onnx"
SEQUENCE, STEPS = "silero_vad_16k_sequence", 30  # the detector of whole stretches: a second
SEVERAL, VOICES = "silero_vad_16k_op15", {"batch": (1, 4), "sequence": 576}
MILLISECONDS, MEGABYTE = 1e3, 1e6

Feeds = Mapping[str, Any]


@dataclass(frozen=True)
class Workload:
    """A model's file and what it is fed."""

    name: str
    data: Callable[[], bytes]
    feeds: Callable[[], Feeds]
    dims: Mapping[str, Any] = field(default_factory=dict)  # ranges that its sizes may have
    constants: tuple[str, ...] = ()  # inputs that decide what the program is


def speech(file: str) -> Workload:
    """A detector of speech, on a step of a sentence."""

    def feeds() -> Feeds:
        step = np.ascontiguousarray(real.speech()[None, 10240 : 10240 + 576])
        return {"input": step, "state": np.zeros((2, 1, 128), np.float32), **DETECTORS[file]}

    dims = VOICES if file == SEVERAL else {}
    data = functools.partial(real.member, real.SILERO, SPEECH.format(file))
    return Workload(file, data, feeds, dims, tuple(DETECTORS[file]))


def workloads() -> Iterator[Workload]:
    """All of them; the largest come last."""
    for case in CASES:
        yield Workload(case.name, case.data, case.feeds, case.dims)
    for file in DETECTORS:
        yield speech(file)
    data = functools.partial(real.member, real.SILERO, SPEECH.format(SEQUENCE))
    yield Workload(SEQUENCE, data, lambda: stretch(STEPS), {"sequence_length": (1, 64)})
    for name, (data, feeds, dims) in TEXTS.items():
        yield Workload(name, data, feeds, dims)
    yield Workload("kokoro", real.kokoro, voice)


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="NAME", nargs="*", default=[], help="these models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--search", type=float, default=0.0, help="seconds for each model")
    parser.add_argument("--precision", choices=PEERS, default="exact")
    parser.add_argument("--vs", help="the peers, with commas")
    parser.set_defaults(repeats=REPEATS)
    arguments = parser.parse_args()
    found: list[dict[str, str | int | float]] = []
    for one in workloads():
        if not arguments.only or one.name in arguments.only:
            with contextlib.suppress(Skipped):
                found.append(measured(one, arguments))
                print(found[-1], file=sys.stderr, flush=True)
    common.report([*found, *means(found)], arguments.json)


def measured(one: Workload, arguments: argparse.Namespace) -> dict[str, str | int | float]:
    """One row, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(one.data())
        feeds = dict(one.feeds())
        try:
            own, seconds = compiled(path, feeds, one.constants, arguments)
        except (PhoticError, AssertionError) as error:  # a fault of ours costs one row
            return {"name": one.name, "fault": repr(error).partition("\n")[0]}
        entrants = [own, *(Entrant(peer, path, feeds) for peer in peers_of(arguments))]
        results = []
        while True:  # a peer that cannot run a model is left out
            try:
                results = race(entrants, arguments.threads, arguments.repeats, Path(folder))
            except PhoticError as error:
                refusing = str(error.fields.get("name", ""))
                left = [entrant for entrant in entrants if entrant.kind != refusing]
                if len(left) == len(entrants) or entrants[0].kind == refusing:
                    return {"name": one.name, "fault": str(error).partition("\n")[0]}
                entrants = left
                continue
            return row(one.name, results, seconds, peers_of(arguments))


def peers_of(arguments: argparse.Namespace) -> Sequence[str]:
    """The peers that are asked for, or those that fit the precision."""
    if arguments.vs is None:
        return PEERS[arguments.precision]
    return [one for one in arguments.vs.split(",") if one]


def compiled(
    path: Path, feeds: Feeds, constants: Sequence[str], arguments: argparse.Namespace
) -> tuple[Entrant, float]:
    """photic's program for these shapes, and the seconds it took."""
    start = time.perf_counter()
    try:
        given = {name: feeds[name] for name in constants}
        model = load(path, sizes_of_feeds(feeds, constants), given)
    except OnnxSegments:
        return Entrant("photic session", path, feeds), 0.0
    program = model.compile(search=arguments.search, precision=arguments.precision)
    seconds = time.perf_counter() - start
    saved = path.with_suffix(".photic")
    program.save(saved)
    return Entrant("photic", saved, {one.key: feeds[one.name] for one in model.inputs}), seconds


def sizes_of_feeds(feeds: Feeds, without: Sequence[str] = ()) -> dict[str, int]:
    """Every size of a model, as it is fed."""
    return {
        f"{name}_{axis}": extent
        for name, one in feeds.items()
        if name not in without
        for axis, extent in enumerate(one.shape)
    }


def row(
    name: str, results: Sequence[Figures], compiling: float, asked: Sequence[str]
) -> dict[str, str | int | float]:
    """Milliseconds of each, and what follows."""
    own, *peers = results
    found: dict[str, str | int | float] = {"name": name, "photic": own.median * MILLISECONDS}
    found.update({one.name: one.median * MILLISECONDS for one in peers})
    for peer in asked:
        found.setdefault(peer, "")
    if peers:
        found["best"] = min(one.median for one in peers) / own.median
        found["best_fastest"] = min(min(one.seconds) for one in peers) / min(own.seconds)
        found["error"] = largest_error(own.outputs, peers[0].outputs)
        for one in peers[1:]:
            found[f"{one.name} error"] = largest_error(one.outputs, peers[0].outputs)
    found["compile_seconds"], found["start_seconds"] = compiling, own.opening
    found["megabytes"] = own.peak_bytes / MEGABYTE
    for one in peers[:1]:
        found["peer_megabytes"] = one.peak_bytes / MEGABYTE
    return found


def means(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str | int | float]]:
    """The geometric means of what was measured."""
    made: list[dict[str, str | int | float]] = []
    for title, names in (("mean of all", None), ("mean of the chosen", CHOSEN)):
        kept = [one for one in rows if "best" in one and (names is None or one["name"] in names)]
        if kept:
            mean = {key: _mean([one[key] for one in kept]) for key in ("best", "best_fastest")}
            made.append({"name": f"{title} ({len(kept)})", **mean})
    return made


def _mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


if __name__ == "__main__":
    main()
