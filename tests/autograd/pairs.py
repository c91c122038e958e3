"""Functions beside torch's, where the catalogue's own entries hold no call of torch's.

A row is a name, the shapes of its arrays ("3 5, 5"), and both calls; ``same`` is for functions that
torch knows by the same name and arguments. Arrays lie evenly in -1..1, or in ``positive``'s range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import photic as ph

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """``call`` and ``peer(torch, ...)`` on float64 arrays of these shapes, in ``low .. high``."""

    name: str
    shapes: str
    call: Call
    peer: Call
    low: float = -1.0
    high: float = 1.0

    def arrays(self, random: np.random.Generator) -> list[np.ndarray]:
        shapes = [tuple(map(int, one.split())) for one in self.shapes.split(",")]
        return [random.uniform(self.low, self.high, one) for one in shapes]


# --- by one name ----------------------------------------------------------------------------

MODULES = ("", "nn.functional", "linalg", "special", "fft")


def torchs(torch: Any, name: str) -> Call:
    """torch's function of a name, wherever torch keeps it."""
    for module in MODULES:
        home: Any = torch
        for part in filter(None, module.split(".")):
            home = getattr(home, part)
        if hasattr(home, name):
            found: Call = getattr(home, name)
            return found
    raise AttributeError(name)


def same(name: str, shapes: str, *args: Any, low: float = -1.0, **options: Any) -> Pair:
    """One name, the arrays first and then these arguments, in both; arrays become tensors."""

    def peer(torch: Any, *arrays: Any) -> Any:
        more = [torch.tensor(one) if isinstance(one, np.ndarray) else one for one in args]
        return torchs(torch, name)(*arrays, *more, **options)

    return Pair(name, shapes, lambda *xs: getattr(ph, name)(*xs, *args, **options), peer, low)


def joined(name: str, shapes: str, *args: Any) -> Pair:
    """As ``same``, the arrays together as the first argument."""
    return Pair(
        name,
        shapes,
        lambda *xs: getattr(ph, name)(list(xs), *args),
        lambda torch, *xs: getattr(torch, name)(xs, *args),
    )


PLACES = np.array([4, 0, 2, 0])
GRID = np.array([[0, 2, 1, 0, 1], [2, 2, 0, 1, 0], [1, 0, 2, 2, 2]])
MASK = np.array([[True, False, True, False, True], [False] * 5, [True] * 5])

SAME = (
    same("addbmm", "3 5, 2 3 4, 2 4 5", beta=0.5, alpha=2.0),
    same("addcdiv", "3 5, 5, 3 5", value=0.5, low=0.2),
    same("addcmul", "3 5, 5, 3 5", value=0.5),
    same("addmm", "5, 3 4, 4 5", beta=0.5, alpha=2.0),
    same("addmv", "3, 3 4, 4", beta=0.5),
    same("addr", "3 5, 3, 5", alpha=2.0),
    same("baddbmm", "2 3 5, 2 3 4, 2 4 5", beta=0.5),
    same("bilinear", "7 3, 7 4, 5 3 4, 5"),
    same("bmm", "2 3 4, 2 4 5"),
    same("mv", "3 4, 4"),
    same("inner", "3 4, 5 4"),
    same("linear", "2 3 4, 5 4, 5"),
    same("vdot", "7, 7"),
    same("atleast_1d", ""),
    same("atleast_2d", "3"),
    same("atleast_3d", "3 5"),
    same("block_diag", "2 3, 1 1, 3 2"),
    same("cartesian_prod", "3, 2"),
    same("combinations", "5", 2),
    same("channel_shuffle", "2 6 3 3", 3),
    same("chunk", "7 2", 3),
    same("diag", "5", 1),
    same("diag", "4 7", -1),
    same("diag_embed", "2 3", 1),
    same("diagflat", "2 3", -1),
    same("diagonal", "3 5 2", 1),
    same("diagonal_scatter", "3 5, 3", 1),
    same("trace", "5 5"),
    same("flatten", "2 3 5", 1),
    same("unflatten", "6 5", 0, (2, 3)),
    same("ravel", "3 5"),
    same("reshape", "3 5", (5, 3)),
    same("squeeze", "3 1 5", 1),
    same("unsqueeze", "3 5", 1),
    same("swapaxes", "3 5 2", 0, 2),
    same("moveaxis", "3 5 2", 0, 2),
    same("fliplr", "3 5"),
    same("flipud", "3 5"),
    same("hsplit", "3 4", 2),
    same("vsplit", "4 3", 2),
    same("dsplit", "3 2 4", 2),
    same("unbind", "3 5", 1),
    same("narrow", "3 7", 1, 2, 3),
    same("index_select", "3 5", 1, PLACES),
    same("index_fill", "3 5", 1, PLACES, 0.5),
    same("select_scatter", "3 5, 5", 0, 1),
    same("slice_scatter", "3 7, 3 2", 1, 1, 5, 2),
    same("cov", "3 7"),
    same("corrcoef", "3 7"),
    same("cumulative_trapezoid", "3 7"),
    same("trapezoid", "3 7"),
    same("lgamma", "3 7", low=0.1),
    same("digamma", "3 7", low=0.1),
    same("entr", "3 7", low=0.1),
    same("ndtr", "3 7"),
    same("xlog1py", "3 7, 3 7", low=-0.9),
    same("fftshift", "3 7"),
    same("ifftshift", "3 7"),
    same("logdet", "1 1", low=0.1),
    same("matrix_exp", "2 4 4"),
    same("matrix_power", "2 4 4", 3),
    same("slogdet", "2 4 4"),
    same("svdvals", "5 3"),
    same("pinv", "5 3"),
    same("tensorinv", "4 6 8 3"),
    same("tensorsolve", "2 3 6, 2 3"),
    same("vector_norm", "3 5"),
    same("sum", "3 7", 1),
    same("mean", "3 7", 1),
    same("prod", "3 7", 1),
    same("fold", "2 12 12", (4, 5), (2, 2)),
    same("group_norm", "2 6 5", 3),
    same("max_unpool1d", "2 3 4", np.tile(np.array([0, 3, 4, 7]), (2, 3, 1)), 2),
    same("affine_grid", "2 2 3", (2, 3, 4, 5), align_corners=False),
    joined("column_stack", "3, 3 2"),
    joined("concatenate", "3 5, 3 2", 1),
    joined("hstack", "3 5, 3 2"),
    joined("vstack", "3 5, 5"),
    joined("dstack", "3 5, 3 5"),
)
