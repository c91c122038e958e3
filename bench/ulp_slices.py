"""The largest float32 errors over every input, in slices that may be run one by one and go on.

`--slice 3/64` takes every 64th of the 2^32 bit patterns, from the third on: each slice goes over
all exponents, and all slices together over every input. Without it (`--full`) every slice is run,
in turn. What is measured is appended to `--keep FILE` at once, one line for a function and slice;
lines that are there are not measured again, so a run that was ended goes on where it was. A line
holds for the function as it is composed now: after a change it counts no more, and is measured
anew. The table has the worst of all lines that hold, and how many inputs they cover.

The errors are taken as in `ulp.py`, whose functions of one value these are, its primitives as
programs too. Not measured: functions of two values, float64.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import common
import numpy as np
from ulp import COMPOSED, COMPOSED_PIECE, PATTERNS, Worst, limits_of, source, worsts_within

import photic as ph
from photic.forms.graph_text import print_graph
from photic.ir.graph import Graph
from photic.targets.c.toolchain import build_kernels, load_library

KEPT = "ulp_slices.jsonl"
SLICES = 64
FUNCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp2": np.exp2,
    "log2": np.log2,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    **COMPOSED,
}


@dataclass(frozen=True, slots=True)
class Line:
    """The worst error of a function in one slice; ``made`` is a mark of how it is composed."""

    function: str
    limit: float  # of the magnitude of inputs
    part: int
    parts: int
    inputs: int
    max_ulp: float
    at: float
    seconds: float
    made: str

    @property
    def place(self) -> tuple[str, float, int, int, str]:
        """Which measurement it is of."""
        return self.function, self.limit, self.part, self.parts, self.made


def mark_of(name: str, primitives: str) -> str:
    """A digest of a function's graph and of the primitives' source text."""
    made = getattr(ph, name)(ph.input("x", (COMPOSED_PIECE,)))
    text = print_graph(Graph((("y", made.operand),)))
    return hashlib.sha256((text + primitives).encode()).hexdigest()[:16]


def pieces(part: int, parts: int) -> Iterator[np.ndarray]:
    """The bit patterns ``part, part + parts, ...``, a program's inputs at a time."""
    for first in range(part, PATTERNS, parts * COMPOSED_PIECE):
        numbers = first + np.arange(COMPOSED_PIECE, dtype=np.uint64) * np.uint64(parts)
        yield np.where(numbers < PATTERNS, numbers, part).astype(np.uint32)


@lru_cache(1)
def inputs_of(part: int, parts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pieces as float32 and as float64: a slice's functions share them, 0.8 GB of a 64th."""
    with np.errstate(invalid="ignore"):  # signalling nan
        return [
            (x, x.astype(np.float64))
            for x in (bits.view(np.float32) for bits in pieces(part, parts))
        ]


def measure_slice(
    library: ctypes.CDLL, name: str, part: int, parts: int, threads: int, made: str
) -> list[Line]:
    """One line for each limit of the function."""
    given = inputs_of(part, parts)
    program = ph.compile({"y": getattr(ph, name)(ph.input("x", (COMPOSED_PIECE,)))}, search=0)
    limits, exact = limits_of(name), FUNCTIONS[name]
    start = time.perf_counter()

    def worst_of(piece: tuple[np.ndarray, np.ndarray]) -> list[Worst]:
        return worsts_within(library, program, exact, *piece, limits)

    with ThreadPoolExecutor(threads) as pool:
        columns = zip(*pool.map(worst_of, given), strict=True)
    worst = [max(column, key=lambda one: one.ulp) for column in columns]
    inputs = len(range(part, PATTERNS, parts))
    seconds = time.perf_counter() - start
    return [
        Line(name, limit, part, parts, inputs, one.ulp, one.at, seconds, made)
        for limit, one in zip(limits, worst, strict=True)
    ]


# --- what is kept ---------------------------------------------------------------------------


def read_lines(path: Path) -> list[Line]:
    """The lines of a file, none if it is missing; one cut off in writing is left out."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(Line(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return found


def write_lines(path: Path, lines: Sequence[Line]) -> None:
    """Append them, each with its end of line before it, so that no cut-off line spoils one."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines("\n" + json.dumps(asdict(line)) for line in lines)


def table_of(lines: Sequence[Line], marks: Mapping[str, str]) -> list[common.Figure]:
    """The worst of each function over the lines that hold; of slices of the most common number."""
    figures: list[common.Figure] = []
    for name, made in marks.items():
        for limit in limits_of(name):
            held = {
                one.place: one
                for one in lines
                if (one.function, one.limit, one.made) == (name, limit, made)
            }
            if held:
                worst = max(held.values(), key=lambda one: one.max_ulp)
                covered = covered_share({(one.part, one.parts) for one in held.values()})
                label = name if limit == math.inf else f"{name} to {limit:g}"
                figures.append(
                    {"function": label, "covered": f"{covered:.2%}", "max_ulp": worst.max_ulp}
                    | {"at": worst.at.hex(), "seconds": sum(o.seconds for o in held.values())}
                )
    return figures


def covered_share(slices: set[tuple[int, int]]) -> float:
    """The share of all inputs that slices cover: those of the number of parts that covers most."""
    counts = {parts: sum(one[1] == parts for one in slices) for _, parts in slices}
    return max(count / parts for parts, count in counts.items())


def chosen_slice(text: str) -> tuple[int, int]:
    """``3/64`` as the third of 64, counted from 0."""
    part, _, parts = text.partition("/")
    number, count = int(part), int(parts)
    if not 1 <= number <= count:
        raise ValueError(f"slice {text}: expected 1/{count} .. {count}/{count}")
    return number - 1, count


def main() -> None:
    parser = common.parser(__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--full", action="store_true", help=f"all of {SLICES} slices")
    chosen.add_argument("--slice", metavar="I/N", type=chosen_slice, help="one slice")
    chosen.add_argument("--table", action="store_true", help="only show what is kept")
    parser.add_argument("--keep", metavar="FILE", type=Path, default=Path(KEPT))
    parser.add_argument("--only", metavar="NAME", choices=sorted(FUNCTIONS), action="append")
    parser.add_argument("--threads", metavar="N", type=int, default=2)
    options = parser.parse_args()
    slices = [options.slice] if options.slice else [(k, SLICES) for k in range(SLICES)]
    primitives = source()
    library = load_library(build_kernels(primitives))
    marks = {name: mark_of(name, primitives) for name in options.only or FUNCTIONS}
    done = {line.place for line in read_lines(options.keep)}
    for part, parts in [] if options.table else slices:
        for name, made in marks.items():
            wanted = {(name, limit, part, parts, made) for limit in limits_of(name)}
            if wanted <= done:
                continue
            lines = measure_slice(library, name, part, parts, options.threads, made)
            write_lines(options.keep, lines)
            for line in lines:
                print(f"slice {part + 1}/{parts} {name} {line.max_ulp:.3f} ulp", flush=True)
    common.report(table_of(read_lines(options.keep), marks), options.json)


if __name__ == "__main__":
    main()
