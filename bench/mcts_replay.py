"""The methods of bench/mcts.py over times that it measured before: many seeds in little time.

``bench/mcts.py --cache FOLDER`` leaves a table of each workload there. What is drawn here is one of
its candidates, so that hundreds of runs cost seconds and all see the same times. A table holds
what was best predicted of several draws; so fewer are drawn here (``--draws``), and only one turn
begins with the likeliest. For each workload: the area of the tree search over that of the others
with its standard error, over seeds.

Then what there is to learn from times at all: by how much prediction and time disagree (the
standard deviation of the logarithm of their ratio), and the share of that which a fit of the
choices explains for other candidates, learnt from so many. Below 0 it makes predictions worse.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import common
import numpy as np
from baselines import Blind, Mutation
from mcts import BATCH, Shuffled
from ways import Table

from photic.search import tree
from photic.search.tree import Pool, Tree
from photic.tuning.drawing import Likely, Proposer

CANDIDATES, SEEDS, DRAWS = 24, 100, 2
LEARNT = (24, 64)  # candidates, and three quarters of all
SPLITS = 20
SMOOTHING = 5.0  # of the fit: how many shared choices weigh as much as what is not known
ALIKE = 20.0  # the weight of candidates that share all choices
MOST_OFF = 1.0  # of a logarithm: what is off by more counts as this


def begun() -> Pool:
    return Pool(iter(Likely(BATCH)))


METHODS: dict[str, Callable[[random.Random], Proposer]] = {
    "tree": lambda rng: Tree(rng, begun()),
    "blind": lambda rng: Blind(rng, begun()),
    "mutation": lambda rng: Mutation(rng, begun()),
    "shuffled": lambda rng: Shuffled(Tree(rng, begun()), random.Random(rng.random())),
}


def area(table: Table, proposer: Proposer, candidates: int) -> float:
    """The mean of the logarithm of the best so far."""
    best, curve = table.first, []
    for _ in range(0, candidates, BATCH):
        for drawn in [proposer.propose(table.draw) for _ in range(BATCH)]:
            if drawn is not None:
                assert isinstance(drawn.made, float)
                proposer.learn(drawn, drawn.made)
                best = min(best, drawn.made)
            curve.append(math.log(best))
    return float(np.mean(curve))


def compared(table: Table, candidates: int, seeds: int) -> common.Figure:
    """The tree search over each other method."""
    areas = {
        name: np.array(
            [area(table, make(random.Random(f"{n} {name}")), candidates) for n in range(seeds)]
        )
        for name, make in METHODS.items()
    }
    found: dict[str, str | int | float] = {}
    for name in list(METHODS)[1:]:
        over = areas["tree"] - areas[name]
        found[f"area/{name}"] = math.exp(float(over.mean()))
        found[f"+-{name}"] = float(over.std()) / math.sqrt(seeds)
    return found


def learnable(table: Table) -> common.Figure:
    """How far predictions are off, and the share of it that choices explain."""
    ways = list(table.ways.values())
    off = np.array([math.log(one.seconds / one.predicted) for one in ways])
    off = np.clip(off - np.median(off), -MOST_OFF, MOST_OFF)
    chosen = [set(one.trail) for one in ways]
    alike = ALIKE * np.array([[len(a & b) / len(a | b) for b in chosen] for a in chosen])
    found: dict[str, str | int | float] = {"rows": len(ways), "off": float(off.std())}
    for count in (*LEARNT, 3 * len(ways) // 4):
        name = str(count) if count in LEARNT else "3/4"
        found[f"explained {name}"] = explained(alike, off, count)
    return found


def explained(alike: np.ndarray, off: np.ndarray, count: int) -> float:
    """The share of the variance that a fit to some of the rows explains of the others, on average.

    A ridge regression on choices, in its dual form.
    """
    rng, shares = np.random.default_rng(0), []
    for _ in range(SPLITS):
        order = rng.permutation(len(off))
        some, rest = order[:count], order[count:]
        mean = off[some].mean()
        smoothed = alike[np.ix_(some, some)] + SMOOTHING * np.eye(count)
        weights = np.linalg.solve(smoothed, off[some] - mean)
        wrong = off[rest] - mean - alike[np.ix_(rest, some)] @ weights
        shares.append(1 - np.mean(wrong**2) / np.var(off[rest]))
    return float(np.mean(shares))


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("tables", metavar="TABLE", type=Path, nargs="+", help="of bench/mcts.py")
    parser.add_argument("--candidates", metavar="N", type=int, default=CANDIDATES, help="of a run")
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS, help="runs of each method")
    parser.add_argument("--draws", metavar="N", type=int, default=DRAWS, help="for each candidate")
    given = parser.parse_args()
    tree.DRAWS = given.draws
    figures = []
    for path in given.tables:
        table = Table(path)
        methods = compared(table, given.candidates, given.seeds)
        figures.append({"workload": path.stem, **methods, **learnable(table)})
    common.report(figures, given.json)


if __name__ == "__main__":
    main()
