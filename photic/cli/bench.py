"""``photic bench``: how fast a model or a saved program runs, beside other runtimes.

Everything measured is in a process of its own, with the same inputs and threads. An ONNX model is
compiled here first; the program's process loads what was made, as a warm start does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.base.settings import int_setting
from photic.cli.ending import endings
from photic.cli.explain import PROGRAM_SUFFIX
from photic.cli.onnx_file import ONNX_SUFFIX, sizes_of
from photic.cli.options import (
    AsJson,
    Dims,
    Inputs,
    Measured,
    Peers,
    Rounds,
    Search,
    SearchSeed,
    TargetName,
    Threads,
    require_target,
    use_target,
    use_threads,
)
from photic.cli.progress import progress
from photic.cli.run_program import pairs, read_array
from photic.cli.show import showing
from photic.cli.table import duration, quantity, table

if TYPE_CHECKING:
    import numpy as np

    from photic.cli.bench_runs import Entrant, Figures
    from photic.forms.dim_eval import Lookup
    from photic.frontends.onnx.records import Port
    from photic.frontends.onnx.sizes import Given
    from photic.ir.dim import Data, Symbol, Var
    from photic.storage.artifact import Array

PEERS = ("onnxruntime", "openvino")
ROUNDS = 15
FEW = 2  # integers that are made up are below it: places in small tables, masks
HEADS = (
    *("program", "version", "threads", "a run", "spread", "fastest"),
    *("speed", "error", "memory", "start"),
)


def bench(
    file: Measured,
    vs: Peers = "",
    dim: Dims = None,
    input: Inputs = None,
    runs: Rounds = ROUNDS,
    threads: Threads = None,
    target: TargetName = "",
    search: Search = 0.0,
    seed: SearchSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure a model or a saved program, beside other runtimes.

    Programs run in turns, each in its own process. A run is the median; the spread is half the
    distance of the quartiles; speed is that of medians, photic's being 1; the error is the largest
    difference from photic's outputs as a part of the largest number; the memory is the peak of the
    process; the start is to load the model, and the first run. OpenVINO is asked for float32.
    Inputs that are not given are random; sizes of which nothing is said are 1, and of a range the
    largest is run.

    \b
    Examples:
      photic bench model.onnx --vs onnxruntime,openvino --dim batch=1 --search 60
      photic bench model.onnx --vs onnxruntime --input image=photo.npy --threads 2
      photic bench model.photic --dim n=128
    """
    with endings(), showing(), tempfile.TemporaryDirectory() as folder:
        peers = [one.strip() for one in vs.split(",") if one.strip()]
        for one in peers:
            if one not in PEERS:
                problem = f"{one!r}; known: {', '.join(PEERS)}"
                raise typer.BadParameter(problem, param_hint="--vs")
        use_threads(threads)
        use_target(target)
        given = {name: read_array(path) for name, path in pairs(input or [], "--input").items()}
        if file.suffix == ONNX_SUFFIX:
            entrants = _of_model(file, dim or [], given, peers, (search, seed), Path(folder))
        elif peers:
            problem = f"{', '.join(peers)} cannot run {file.name}; give the .onnx model"
            raise typer.BadParameter(problem, param_hint="--vs")
        else:
            entrants = [_of_program(file, dim or [], given, target)]
        from photic.cli.bench_runs import race

        found = race(entrants, _threads(), runs, Path(folder))
        print(_json(found, file) if as_json else _shown(found, entrants[0]))


def _threads() -> int:
    from photic.targets.c.facts import usable_cores

    return int_setting("threads") or usable_cores()


# --- what is measured -----------------------------------------------------------------------


def _of_model(
    path: Path,
    dims: Sequence[str],
    given: Mapping[str, Array],
    peers: Sequence[str],
    options: tuple[float, int],
    folder: Path,
) -> list[Entrant]:
    """photic's program of a model, or its session where data decide sizes; and the peers."""
    from photic.cli.bench_runs import Entrant
    from photic.frontends.onnx.errors import OnnxSegments
    from photic.frontends.onnx.files import opened
    from photic.frontends.onnx.kept import compile
    from photic.frontends.onnx.kinds import carried, kind_of_array
    from photic.frontends.onnx.sizes import unsaid

    model = opened(path)
    ports, sizes = model.outline.asked, sizes_of(dims)
    sizes.update(dict.fromkeys(unsaid(ports, sizes), 1))
    feeds = _feeds(ports, sizes, given)
    others = [Entrant(name, path, feeds) for name in peers]
    search, seed = options
    try:
        with progress() as report:
            if search > 0:
                report("search", 0, max(1, round(search)))
            made = compile(model, sizes, search=search, seed=seed, progress=report)
    except OnnxSegments as error:
        print(f"note: run in segments: {error.fields['where']}", file=sys.stderr)
        return [Entrant("photic session", path, feeds), *others]
    saved = folder / f"model{PROGRAM_SUFFIX}"
    made.program.save(saved)
    arrays = {one.key: feeds[one.name] for one in made.inputs}
    mine = {key: carried(one, kind_of_array(one, key)) for key, one in arrays.items()}
    return [Entrant("photic", saved, mine), *others]


def _feeds(
    ports: Sequence[Port], sizes: Mapping[str, Given], given: Mapping[str, Array]
) -> dict[str, Array]:
    """An array for each input: what is given, or random numbers of the largest shape."""
    from photic.base.errors import BadArgument
    from photic.frontends.onnx.sizes import Naming

    names = [one.name for one in ports]
    for name in given:
        if name not in names:
            fields = {"given": name, "expected": ", ".join(names)}
            raise BadArgument(op="bench", argument="--input", **fields)
    naming = Naming({name: one if isinstance(one, int) else one[1] for name, one in sizes.items()})
    found = {}
    for one in ports:
        shape = [int(extent) for extent in naming.shape(one)]
        made = None if one.kind is None else _random(shape, one.kind.numpy)
        found[one.name] = given.get(one.name, made)
    naming.require_all_used()
    return {name: array for name, array in found.items() if array is not None}


def _random(shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """The same numbers each time: floats around 0, small integers."""
    import numpy as np

    random = np.random.default_rng(0)
    if dtype.kind in "biu":
        return random.integers(0, FEW, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _of_program(
    path: Path, dims: Sequence[str], given: Mapping[str, Array], target: str
) -> Entrant:
    """A saved program, its sizes as given or the largest."""
    from photic.base.errors import BadArgument
    from photic.cli.bench_runs import Entrant
    from photic.forms.dim_eval import number_of
    from photic.tensor.store import load_program

    artifact = load_program(path).artifact
    require_target(path, artifact.target, target)
    sizes = {one.name: one.high for one in artifact.sizes}
    for name, one in sizes_of(dims).items():
        if name not in sizes:
            fields = {"given": name, "expected": ", ".join(sizes) or "none: all sizes are fixed"}
            raise BadArgument(op="bench", argument="--dim", **fields)
        sizes[name] = one if isinstance(one, int) else one[1]
    feeds = {}
    for port in artifact.inputs:
        shape = [number_of(extent, _lookup(sizes)) for extent in port.shape]
        feeds[port.name] = given.get(port.name, _random(shape, port.dtype.numpy))
    return Entrant("photic", path, feeds, sizes)


def _lookup(sizes: Mapping[str, int]) -> Lookup:
    """The number of a symbolic size."""

    from photic.ir.dim import Symbol

    def number(atom: Symbol | Var | Data) -> int:
        assert isinstance(atom, Symbol)
        return sizes[atom.name]

    return number


# --- what is shown --------------------------------------------------------------------------


def _shown(found: Sequence[Figures], first: Entrant) -> str:
    shapes = (f"{name} {one.dtype}{list(one.shape)}" for name, one in first.feeds.items())
    return f"{', '.join(shapes)}\n{table(HEADS, [_row(one, found[0]) for one in found])}"


def _row(one: Figures, own: Figures) -> tuple[str, ...]:
    from photic.cli.bench_runs import largest_error

    error = "" if one is own else f"{largest_error(one.outputs, own.outputs):.1e}"
    return (
        one.name,
        one.version,
        str(_threads()),
        duration(one.median),
        f"± {one.spread:.1%}",
        duration(min(one.seconds)),
        f"{own.median / one.median:.2f}",
        error,
        quantity(one.peak_bytes, "B"),
        duration(one.opening),
    )


def _json(found: Sequence[Figures], path: Path) -> str:
    from photic.cli.bench_runs import largest_error

    results = [
        {
            "program": one.name,
            "version": one.version,
            "median": one.median,
            "spread": one.spread,
            "seconds": one.seconds,
            "start": one.opening,
            "error": largest_error(one.outputs, found[0].outputs),
            "peak_bytes": one.peak_bytes,
        }
        for one in found
    ]
    return json.dumps({"model": path.name, "threads": _threads(), "results": results}, indent=1)
