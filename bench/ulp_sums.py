"""logaddexp and logaddexp2 where their two parts cancel, beside NumPy's and PyTorch's.

The result is the larger value and a logarithm. Near a result of 0 these cancel, and an error in
the last place of either is many units in the last place of the result; so the table has both: the
largest error in units of the result's last place, and in 2^-24 of the larger of the result and
the larger value (a number rounded once is within 1 of these). float32 pairs of four kinds: ordinary
ones, ones below 0, ones that nearly cancel, and ones of every size. True answers are NumPy's in
long double. One seed; no times are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import common
import numpy as np

import photic as ph

PAIRS = 2**20
UNIT = 2.0**-24
Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


# What cancels with a number below 0 exactly, for each function.
CANCELS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "logaddexp": lambda x: np.log(-np.expm1(x)),
    "logaddexp2": lambda x: np.log2(-np.expm1(x * np.log(2))),
}


def pairs(name: str, count: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each kind of pairs of a function, with the kind's name."""
    random = np.random.default_rng(1)
    yield "ordinary", *random.normal(0, 10, (2, count))
    yield "below 0", *-np.abs(random.normal(0, 1, (2, count)))
    larger = -(10.0 ** random.uniform(-7, 0, count))
    apart = 10.0 ** random.uniform(-7, 0, count)
    yield "cancelling", larger, CANCELS[name](larger) * (1 + random.choice([-1, 1]) * apart)
    sizes = 10.0 ** random.uniform(-30, 30, (2, count))
    yield "every size", *(sizes * random.choice([-1, 1], (2, count)))


def compiled(name: str, count: int) -> Function:
    x, y = ph.input("x", (count,)), ph.input("y", (count,))
    program = ph.compile({"z": getattr(ph, name)(x, y)}, search=0)
    return lambda a, b: program(x=a, y=b)["z"]


def torchs(name: str) -> Function:
    import torch

    return lambda a, b: getattr(torch, name)(torch.tensor(a), torch.tensor(b)).numpy()


def exact(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """In long double, whose digits outlast the cancelling."""
    a, b = x.astype(np.longdouble), y.astype(np.longdouble)
    difference, base = -np.abs(a - b), np.longdouble(2)
    if name == "logaddexp":
        return np.maximum(a, b) + np.log1p(np.exp(difference))
    return np.maximum(a, b) + np.log1p(np.exp2(difference)) / np.log(base)


def errors(got: np.ndarray, true: np.ndarray, larger: np.ndarray) -> dict[str, float]:
    """The largest, in both measures."""
    error = np.abs(got - true).astype(np.float64)
    unit = np.spacing(np.abs(true.astype(np.float32))).astype(np.float64)
    size = np.maximum(np.abs(true), np.abs(larger)).astype(np.float64)
    return {
        "max_ulp": float((error / unit).max()),
        "of the larger, 2^-24": float((error / size).max()) / UNIT,
    }


def main() -> None:
    parser = common.parser(__doc__.splitlines()[0])
    parser.add_argument("--pairs", metavar="N", type=int, default=PAIRS, help="of each kind")
    options = parser.parse_args()
    figures: list[common.Figure] = []
    for name in CANCELS:
        rivals: Mapping[str, Function] = {
            "photic": compiled(name, options.pairs),
            "numpy": getattr(np, name),
            "torch": torchs(name),
        }
        for kind, *given in pairs(name, options.pairs):
            x, y = (one.astype(np.float32) for one in given)
            true = exact(name, x, y)
            for rival, function in rivals.items():
                found = errors(function(x, y), true, np.maximum(x, y))
                figures.append({"function": name, "pairs": kind, "by": rival, **found})
    common.report(figures, options.json)


if __name__ == "__main__":
    main()
