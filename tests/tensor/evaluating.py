"""What a handle is worth: the evaluator's array for a tensor, its inputs given as arrays.

``value(f, a, b)`` makes an input of each array, builds ``f`` over the handles and evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import photic as ph
from photic.ir.eval import Array, evaluate
from photic.ir.graph import Graph


def of(x: ph.Tensor, inputs: dict[str, Array] | None = None, **sizes: int) -> Array:
    """The elements of a tensor; inputs by name, symbolic sizes by keyword."""
    graph = Graph((("y", x.operand),))
    outputs, _ = evaluate(graph, inputs or {}, {}, sizes, widen=False)
    return outputs["y"]


def value(function: Callable[..., ph.Tensor], *arrays: object) -> Array:
    """``function`` of inputs that hold these arrays."""
    given = {f"x{k}": np.asarray(one) for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in given.items()]
    return of(function(*handles), given)


def widened(function: Callable[..., ph.Tensor], *arrays: object) -> Array:
    """As ``value``, every float computed in float64."""
    given = {f"x{k}": np.asarray(one) for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in given.items()]
    graph = Graph((("y", function(*handles).operand),))
    outputs, _ = evaluate(graph, given, {}, {}, widen=True)
    return outputs["y"]


def ulps(got: Array, exact: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The distance in units of the last place of ``got``'s dtype at ``exact`` (a float64 array).

    0 where both are nan or the same infinity; where the exact value rounds to infinity, too.
    """
    dtype = got.dtype
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - exact) / unit
    same = (np.isnan(got) & np.isnan(exact)) | (got == rounded)
    return np.where(same, np.minimum(np.nan_to_num(distance, nan=0.0, posinf=0.0), 0.5), distance)
