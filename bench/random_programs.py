"""Is a search worth its seconds for programs that nobody had in mind?

Programs from a grammar at a fixed seed: rows of one or two inputs, changed element by element,
masked, reduced and combined again, in products with a shared matrix: one to four reductions each.
Every program is compiled without a search, then with one that remembers nothing of it, and the two
are timed in turns: their ratio, its geometric mean, and how many are slower by more than 5%.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import common
import numpy as np
from workloads import inputs_of

import photic as ph
from photic.base.settings import override_setting

PROGRAMS, SECONDS = 100, 20.0
MOST_REDUCTIONS, STEPS = 4, 3  # steps element by element before each reduction
ROWS, COLUMNS = (64, 256, 1024), (128, 256, 512)
NEAR = 8  # of the columns one in so many is near, to either side
SAMPLE_SECONDS = 0.01
SLOWER = 1.05  # a ratio of times that counts as slower


@dataclass(slots=True)
class Grammar:
    """A program under way: inputs and values of so many rows and columns."""

    rng: random.Random
    rows: int
    columns: int
    values: list[ph.Tensor] = field(default_factory=list)

    def value(self) -> ph.Tensor:
        """One of the values so far, later ones more likely."""
        return self.values[-1 - min(int(self.rng.expovariate(1.0)), len(self.values) - 1)]

    def step(self) -> ph.Tensor:
        """Something done to each element."""
        one, other = self.value(), self.value()
        found: Sequence[Callable[[], ph.Tensor]] = (
            lambda: one * other,
            lambda: one + 0.5 * other,
            lambda: ph.tanh(one),
            lambda: ph.maximum(one, other),
            lambda: one * ph.input("g", (self.columns,)),
            lambda: ph.where(self.mask(), one, 0.0),
        )
        return self.rng.choice(found)()

    def mask(self) -> ph.Tensor:
        """What a row sees: no later column, or only near ones."""
        rows, columns = ph.arange(self.rows)[:, None], ph.arange(self.columns)
        later = columns <= rows
        near = ph.abs(columns - ph.mod(rows, self.columns)) < self.columns // NEAR
        return self.rng.choice((later, near))

    def reduction(self) -> ph.Tensor:
        """Something of each row, combined with a value again."""
        one, other = self.value(), self.value()
        seen = ph.where(self.mask(), one, -math.inf)
        powers = ph.exp2(seen - ph.max(seen, axis=-1, keepdims=True))
        found: Sequence[Callable[[], ph.Tensor]] = (
            lambda: other - ph.mean(one, axis=-1, keepdims=True),
            lambda: other / (1.0 + ph.sum(one * one, axis=-1, keepdims=True)),
            lambda: ph.minimum(other, ph.max(seen, axis=-1, keepdims=True)),
            lambda: powers / ph.sum(powers, axis=-1, keepdims=True),
            lambda: one @ ph.input("w", (self.columns, self.columns)) * (1 / self.columns),
        )
        return self.rng.choice(found)()


def program(seed: int) -> tuple[str, ph.Tensor]:
    """A random program, and what it is called."""
    rng = random.Random(seed)
    made = Grammar(rng, rng.choice(ROWS), rng.choice(COLUMNS))
    shape = made.rows, made.columns
    made.values += [ph.input(name, shape) for name in ("x", "y")[: rng.choice((1, 2))]]
    reductions = rng.randint(1, MOST_REDUCTIONS)
    for _ in range(reductions):
        for _ in range(rng.randrange(STEPS)):
            made.values.append(made.step())
        made.values.append(made.reduction())
    return f"{seed}: {reductions} of {made.rows} x {made.columns}", made.values[-1]


def compared(seed: int, seconds: float, repeats: int) -> common.Figure:
    """One line of the table."""
    name, result = program(seed)
    plain = ph.compile({"y": result}, search=0)
    found = ph.compile({"y": result}, search=seconds, seed=seed)
    arrays = inputs_of(plain, seed)
    calls = {"plain": lambda: plain(**arrays), "found": lambda: found(**arrays)}
    once = common.race(calls, repeats=2, calls_per_sample=1)
    count = max(1, round(SAMPLE_SECONDS / min(one.minimum for one in once.values())))
    timings = common.race(calls, repeats=repeats, calls_per_sample=count)
    pairs = zip(timings["plain"].seconds, timings["found"].seconds, strict=True)
    return {
        "program": name,
        "plain_ms": 1000 * timings["plain"].median,
        "found_ms": 1000 * timings["found"].median,
        "plain/found": float(np.median([a / b for a, b in pairs])),
        "kernels": len(plain.report.kernels),
        "kernels_found": len(found.report.kernels),
        "candidates": found.report.candidates,
        "stopped": found.report.stopped,
    }


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--programs", metavar="N", type=int, default=PROGRAMS, help="how many")
    parser.add_argument("--first", metavar="SEED", type=int, default=0, help="of the first one")
    parser.add_argument("--search", metavar="S", type=float, default=SECONDS, help="of each search")
    given = parser.parse_args()
    figures: list[common.Figure] = []
    with tempfile.TemporaryDirectory(prefix="photic-random-") as folder:
        override_setting("cache", folder)
        for seed in range(given.first, given.first + given.programs):
            figures.append(compared(seed, given.search, given.repeats))
            print(common.table(figures[-1:]), flush=True)
    ratios = [float(one["plain/found"]) for one in figures]
    mean = float(np.exp(np.mean(np.log(ratios))))
    slower = sum(one < 1 / SLOWER for one in ratios)
    figures.append({"program": "geometric mean", "plain/found": mean, "kernels_found": slower})
    common.report(figures, given.json)


if __name__ == "__main__":
    main()
