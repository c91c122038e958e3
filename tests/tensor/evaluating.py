"""What a handle is worth: the evaluator's array for a tensor, its inputs given as arrays.

``value(f, a, b)`` makes an input of each array, builds ``f`` over the handles and evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import photic as ph
from photic.forms.eval import Array, evaluate
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


def values(function: Callable[..., Sequence[ph.Tensor]], *arrays: object) -> list[Array]:
    """As ``value``, of a function with several results."""
    given = {f"x{k}": np.asarray(one) for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in given.items()]
    return [of(one, given) for one in function(*handles)]


def widened(function: Callable[..., ph.Tensor], *arrays: object) -> Array:
    """As ``value``, every float computed in float64."""
    given = {f"x{k}": np.asarray(one) for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in given.items()]
    graph = Graph((("y", function(*handles).operand),))
    outputs, _ = evaluate(graph, given, {}, {}, widen=True)
    return outputs["y"]


def spread(dtype: type, count: int) -> Array:
    """Finite floats over the whole range: bit patterns, ordinary sizes, near 0, and the ends."""
    random = np.random.default_rng(0)
    words = {np.float32: np.uint32, np.float64: np.uint64}[dtype]
    patterns = random.integers(0, np.iinfo(words).max, count, dtype=words).view(dtype)
    ordinary = random.uniform(-1, 1, count) * np.repeat([2, 10, 110, 1e4], -(-count // 4))[:count]
    small = random.normal(size=count // 4) * 2.0 ** random.uniform(-140, -2, count // 4)
    info = np.finfo(dtype)
    ends = [0.0, -0.0, info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal]
    everything = np.concatenate([ordinary, small, ends]).astype(dtype)
    return np.concatenate([patterns[np.isfinite(patterns)], everything])


def ulps(got: Array, exact: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The distance in units of the last place of ``got``'s dtype at ``exact`` (a float64 array).

    At most 0.5 where ``got`` is the exact value rounded (infinities and nan included); infinite
    where one of them is nan or infinite and the other is not.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - exact) / unit
    right = (np.isnan(got) & np.isnan(exact)) | (got == rounded)
    return np.where(right, 0.5, np.nan_to_num(distance, nan=np.inf))
