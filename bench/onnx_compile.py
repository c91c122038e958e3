"""How long real ONNX models take to compile with an empty cache, and to start with a filled one.

Each figure is of a new process, from its first breath to the outputs. ``cold`` reads the model,
compiles it and runs it once, while the cache is empty; ``again`` does the same with what ``cold``
left there; ``start`` loads the saved program, and runs it once. Each has seconds on the clock,
which other work on the machine changes, and of processors: ``python`` for the process, ``clang``
for the compilers that it started. A row is of the sizes of a model's input, and with ``--open`` of
the ranges that its tests ask for.
``error`` is the largest difference from onnxruntime, as a part of the largest number. The search
has the default budget, unless ``--search`` says otherwise. Models are fetched on first use.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import common
import numpy as np

from photic.base.settings import child_environment
from photic.frontends.onnx.errors import OnnxSegments
from photic.frontends.onnx.kept import compile
from photic.frontends.onnx.session import Session
from photic.tensor.store import load_program

if TYPE_CHECKING:
    from onnx_models import Workload

CHILD = "--child"
MODEL, PROGRAM, FEEDS, OUTPUTS = "model.onnx", "model.photic", "feeds.npz", "outputs.npz"

Feeds = Mapping[str, Any]
Row = dict[str, str | int | float]


# --- in a process of its own ----------------------------------------------------------------


def made(feeds: Feeds, asked: Mapping[str, Any]) -> Sequence[Any]:
    """Compile the model in this folder, run it, and save the program where it is one."""
    search = asked["search"]
    if "inputs" not in asked:
        return Session(MODEL, search=search or 0.0).run(None, feeds)
    constants = {name: feeds[name] for name in asked["constants"]}
    model = compile(MODEL, asked["sizes"], constants, search=search)
    found = model.program(**{one.key: feeds[one.name] for one in model.inputs})
    if not Path(PROGRAM).exists():
        model.program.save(PROGRAM)
    return [found[one.key] for one in model.outputs]


def started(feeds: Feeds, asked: Mapping[str, Any]) -> Sequence[Any]:
    """Load the program in this folder, and run it."""
    program = load_program(Path(PROGRAM))
    return list(program(**{one: feeds[name] for one, name in asked["inputs"].items()}).values())


JOBS: Mapping[str, Callable[[Feeds, Mapping[str, Any]], Sequence[Any]]] = {
    "cold": made,
    "again": made,
    "start": started,
}


def child(job: str, asked: Mapping[str, Any]) -> None:
    """Do a job in this folder; print its figures as JSON."""
    with np.load(FEEDS, allow_pickle=False) as arrays:
        feeds = {name: arrays[name] for name in arrays.files}
    outputs = JOBS[job](feeds, asked)
    figures = {
        "seconds": time.time() - asked["begun"],
        "python": used(resource.RUSAGE_SELF),
        "clang": used(resource.RUSAGE_CHILDREN),
    }
    np.savez(OUTPUTS, *map(np.asarray, outputs))
    print(json.dumps(figures))


def used(who: int) -> float:
    """Processor seconds."""
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime


# --- rows -----------------------------------------------------------------------------------


def row(one: Workload, sizes: Mapping[str, Any], title: str, search: float | None) -> Row:
    """The figures of a model with these sizes."""
    from frontends.onnx.onnx_peer import peer_outputs  # heavy, and of no use to a child

    from photic.cli.bench_runs import largest_error
    from photic.frontends.onnx.model import load

    with tempfile.TemporaryDirectory() as name:
        folder, data, feeds = Path(name), one.data(), dict(one.feeds())
        (folder / MODEL).write_bytes(data)
        np.savez(folder / FEEDS, **feeds)
        asked: dict[str, Any] = {"sizes": dict(sizes), "search": search}
        asked["constants"] = one.constants
        with contextlib.suppress(OnnxSegments):
            known = {name: feeds[name] for name in one.constants}
            ports = load(folder / MODEL, sizes, known).inputs
            asked["inputs"] = {port.key: port.name for port in ports}
        found: Row = {"name": title}
        for job in JOBS:
            if job == "start" and not (folder / PROGRAM).exists():
                continue  # data decide its sizes: no program is kept in a file
            figures = run(job, folder, asked)
            found.update({f"{job}_{key}": value for key, value in figures.items()})
        with np.load(folder / OUTPUTS, allow_pickle=False) as arrays:
            ours = [arrays[name] for name in arrays.files]
        found["error"] = largest_error(ours, list(peer_outputs(data, feeds).values()))
        return found


def run(job: str, folder: Path, asked: Mapping[str, Any]) -> Mapping[str, float]:
    """A job's figures; its process sees no other cache."""
    told = json.dumps({**asked, "begun": time.time()})
    command = [sys.executable, str(Path(__file__).resolve()), CHILD, job, told]
    environment = child_environment(PHOTIC_CACHE=str(folder / "cache"))
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{job}: {done.stderr}")
    figures: Mapping[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Measure, print, write JSON where asked."""
    if sys.argv[1:2] == [CHILD]:
        job, asked = sys.argv[2:]
        child(job, json.loads(asked))
        return
    from _pytest.outcomes import Skipped
    from onnx_models import sizes_of_feeds, workloads

    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="NAME", nargs="*", default=[], help="these models")
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--search", type=float, help="seconds for each model")
    arguments = parser.parse_args()
    os.environ.pop("PHOTIC_SEARCH", None)
    rows: list[Row] = []
    for one in workloads():
        if arguments.only and one.name not in arguments.only:
            continue
        kinds = [(one.name, sizes_of_feeds(one.feeds(), one.constants))]
        kinds += [(f"{one.name}, open", one.dims)] if one.dims and arguments.open else []
        for title, sizes in kinds:
            with contextlib.suppress(Skipped):
                rows.append(row(one, sizes, title, arguments.search))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    common.report(rows, arguments.json)


if __name__ == "__main__":
    main()
