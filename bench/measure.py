"""How far the search's decisions can be trusted: races of one kernel with itself, and with less.

A/A: one kernel, compiled twice as two sources, raced as the search does, ``--races`` times for each
of several kernels; and the kernel with seven copies of itself. A win of a copy is a false win: the
noise, or where code happens to lie, was taken for speed. A/B: the same kernel with a part of its
work left out, known to be faster by that part: how often the race says so.
"""

from __future__ import annotations

from collections.abc import Callable

import common
import numpy as np

import photic as ph
from photic.ir.dtype import FLOAT32
from photic.targets.measure import (
    Outcome,
    Slot,
    Timed,
    Trial,
    beats,
    measure,
    ratio,
)
from photic.targets.process import Remote
from photic.targets.registry import target_named
from photic.tensor.artifacts import make_artifact
from photic.tensor.compiling import graph_of

WORKER = "photic.targets.c.worker"
RACE_SECONDS = 20.0
COPIES = 7
LEFT_OUT = (0.03, 0.05, 0.1, 0.2)
ROWS, COLUMNS = 1000, 512

ROWS_SOURCE = """\
typedef long long int64_t;
typedef float vector __attribute__((ext_vector_type(16)));
void photic_entry(void *const *buffers, const int64_t *sizes, char *arena, char *scratch,
                  void *pool) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t row = 0; row < sizes[0]; row++) {
    vector total = 0;
    for (int64_t i = 0; i < 512; i += 16) total += *(const vector *)(x + row * 512 + i);
    for (int64_t i = 0; i < 512; i += 16) *(vector *)(y + row * 512 + i) = total;
  }
}
"""


def rows(count: int) -> Trial:
    """Sums of so many rows, on one thread."""
    slot = Slot(FLOAT32, ROWS * COLUMNS, 0, 0, False)
    return Trial(ROWS_SOURCE, (slot, slot), (count,), 0, 0)


def compiled(outputs: dict[str, ph.Tensor]) -> Trial:
    """A program of photic's own as a trial."""
    made = make_artifact(graph_of(outputs, {}), target_named("c"))
    slots: dict[int, Slot] = {}
    for one in (*made.inputs, *made.outputs):
        count = int(np.prod([int(extent) for extent in one.shape]))
        slots[one.slot] = Slot(one.dtype, count, 0, 0, False)
    for name, number in made.constant_slots.items():
        slots[number] = Slot(FLOAT32, made.constants[name].size, 0, 0, False)
    ordered = tuple(slots[number] for number in range(made.slots))
    return Trial(made.source, ordered, (), made.arena_bytes, 0)


def product(size: int) -> Trial:
    left, right = ph.input("left", (size, size)), ph.input("right", (size, size))
    return compiled({"y": left @ right})


def normalised() -> Trial:
    return compiled({"y": ph.softmax(ph.input("x", (1024, 1024)), axis=1)})


KERNELS: dict[str, Callable[[], Trial]] = {
    "rows, one thread": lambda: rows(ROWS),
    "rows, 16 of them": lambda: rows(16),
    "product 128": lambda: product(128),
    "product 512": lambda: product(512),
    "softmax 1024x1024": normalised,
}


def copy(trial: Trial, number: int) -> Trial:
    """The same as another source, which is compiled anew."""
    text = f"{trial.text}\n/* copy {number} */\n"
    return Trial(text, trial.slots, trial.sizes, trial.arena_bytes, trial.scratch_bytes)


def raced(
    remote: Remote, first: Trial, others: list[Trial], seed: int
) -> tuple[bool, list[Outcome]]:
    """Whether any of the others wins; and what was measured."""
    found = measure(remote, [first, *others], RACE_SECONDS, seed)
    return any(beats(one, found[0]) for one in found[1:]), found


def series(name: str, kind: str, first: Trial, others: list[Trial], races: int) -> common.Figure:
    """Wins in so many races; each begins with another compilation of everything."""
    wins, ratios, failed = 0, [], 0
    with Remote(WORKER) as remote:
        for number in range(races):
            copies = [copy(one, races * k + number) for k, one in enumerate((first, *others))]
            won, found = raced(remote, copies[0], copies[1:], number)
            wins += won
            failed += sum(not isinstance(one, Timed) for one in found)
            if isinstance(found[0], Timed) and isinstance(found[1], Timed):
                early = (one.samples[: one.early] for one in (found[1], found[0]))
                ratios.append(ratio(*early).median)
    spread = np.percentile(ratios, (10, 50, 90)) if ratios else (np.nan,) * 3
    low, middle, high = map(float, spread)
    return {
        "kernel": name,
        "race": kind,
        "races": races,
        "wins": wins,
        "ratio_p10": low,
        "ratio_median": middle,
        "ratio_p90": high,
        "not_timed": failed,
    }


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--races", metavar="N", type=int, default=50, help="races of each kind")
    options = parser.parse_args()
    figures = []
    for name, make in KERNELS.items():
        trial = make()
        figures.append(series(name, "A/A", trial, [trial], options.races))
        figures.append(series(name, "A/7A", trial, [trial] * COPIES, options.races // 5))
    for part in LEFT_OUT:
        less = rows(round(ROWS * (1 - part)))
        figures.append(series(f"rows - {part:.0%}", "A/B", rows(ROWS), [less], options.races // 2))
    common.report(figures, options.json)


if __name__ == "__main__":
    main()
