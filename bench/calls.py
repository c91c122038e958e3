"""What a call costs beside its work: programs of one small kernel, called plainly and bound.

The work is eight additions. A plain call checks its inputs and makes new results; a bound one
(``program.bind(...)``, then ``run()``) does neither. NumPy's addition of the same arrays tells what
Python and NumPy cost by themselves; ``above`` is what a call takes more, in the same round: at most
5 microseconds are meant for plain calls and 2 for bound ones. Contestants take turns in samples of
100 calls, so short that most meet no other work; the median counts, the least is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import common
import numpy as np

import photic as ph

ROWS = 8
CALLS = 100
ROUNDS = 1000
MICROSECONDS = 1e6
NUMPY = "NumPy's addition"
PLAIN_BAR, BOUND_BAR = 5.0, 2.0  # microseconds above NumPy

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Kind:
    """A program of one small kernel, and arrays for it."""

    name: str
    make: Callable[[], ph.Program]
    inputs: int
    rows: int = ROWS

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is called with."""
        return {f"x{k}": np.ones(self.rows, np.float32) for k in range(self.inputs)}


def summed(count: int, rows: int | ph.Tensor) -> ph.Tensor:
    total = ph.input("x0", (rows,)) + 1.0
    for number in range(1, count):
        total = total + ph.input(f"x{number}", (rows,))
    return total


def several_results() -> ph.Program:
    x = ph.input("x0", (ROWS,))
    return ph.compile({f"y{number}": x + float(number) for number in range(4)}, search=0)


def with_state() -> ph.Program:
    total = ph.state("total", (ROWS,))
    return ph.compile({"y": total}, {total: total + ph.input("x0", (ROWS,))}, search=0)


KINDS = (
    Kind("one input", lambda: ph.compile(summed(1, ROWS), search=0), 1),
    Kind("two inputs", lambda: ph.compile(summed(2, ROWS), search=0), 2),
    Kind("eight inputs", lambda: ph.compile(summed(8, ROWS), search=0), 8),
    Kind("a symbolic size", lambda: ph.compile(summed(1, ph.dim("n", 1, 64)), search=0), 1),
    Kind("four results", several_results, 1),
    Kind("a state", with_state, 1),
)


def contestants() -> dict[str, Call]:
    """Plain and bound calls of every kind, after NumPy's."""
    ones, others = np.ones(ROWS, np.float32), np.ones(ROWS, np.float32)
    found: dict[str, Call] = {NUMPY: lambda: np.add(ones, others)}
    for kind in KINDS:
        program, arrays = kind.make(), kind.arrays()
        found[f"{kind.name}, plain"] = _plain(program, arrays)
        found[f"{kind.name}, bound"] = program.bind(**arrays).run
    return found


def _plain(program: ph.Program, arrays: Mapping[str, np.ndarray]) -> Call:
    """As a caller would write it: the arrays by name."""
    if len(arrays) == 1:
        one = arrays["x0"]
        return lambda: program(x0=one)
    return lambda: program(**arrays)


def figure_of(timing: common.Timing, numpy: common.Timing) -> common.Figure:
    """In microseconds, with what the call takes above NumPy's and how much it may."""
    above = np.array(timing.seconds) - np.array(numpy.seconds)
    figure: dict[str, str | int | float] = {
        "call": timing.name,
        "median_us": MICROSECONDS * timing.median,
        "least_us": MICROSECONDS * timing.minimum,
    }
    if timing.name != NUMPY:
        figure["above_us"] = MICROSECONDS * float(np.median(above))
        figure["least_above_us"] = MICROSECONDS * (timing.minimum - numpy.minimum)
        figure["bar_us"] = BOUND_BAR if timing.name.endswith("bound") else PLAIN_BAR
    return figure


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.set_defaults(repeats=ROUNDS)
    options = parser.parse_args()
    timings = common.race(contestants(), repeats=options.repeats, calls_per_sample=CALLS)
    figures = [figure_of(one, timings[NUMPY]) for one in timings.values()]
    common.report(figures, options.json)


if __name__ == "__main__":
    main()
