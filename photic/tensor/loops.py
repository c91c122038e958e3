"""Loops over an axis: ``scan``, and the product of an axis.

``scan`` is a region of the graph, its body built once over placeholders. Running values, which need
no loop, are in ``running.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir import graph, view
from photic.ir.dim import Dim
from photic.tensor.axes import as_size
from photic.tensor.primitive import in_totals
from photic.tensor.reductions import over_axes
from photic.tensor.shapes import concat, moveaxis, reshape, window
from photic.tensor.tensor import (
    Axes,
    DTypeLike,
    Tensor,
    Value,
    expanded,
    method,
    number,
    tensor,
    whole,
)

Tensors = tuple[Tensor, ...]
Body = Callable[[Tensors, Tensors], tuple[Sequence[Value], Sequence[Value]]]

_depth: ContextVar[int] = ContextVar("depth of nested scans", default=0)


@contextmanager
def _deeper() -> Iterator[int]:
    """The depth of the scan that is being built: placeholders of nested bodies differ by it."""
    depth = _depth.get()
    token = _depth.set(depth + 1)
    try:
        yield depth
    finally:
        _depth.reset(token)


def scan(
    body: Body,
    first: Sequence[Value],
    sequences: Sequence[Value] = (),
    trips: Dim | None = None,
) -> tuple[Tensors, Tensors]:
    """Run ``body(carried, slices) -> (next carried, outputs)`` once for each trip.

    ``carried`` starts as ``first`` and keeps its shapes and dtypes; ``slices`` are ``seq[trip]``.
    Returns the last carried values, and each output stacked along a new leading axis. ``trips``
    is the sequences' leading size unless given. Raises BadArgument, ShapeMismatch.
    """
    start = [tensor(one, "scan") for one in first]
    rows = [tensor(one, "scan") for one in sequences]
    count = _trips(rows, trips)
    with _deeper() as depth:
        carried = [_slot(f"@{depth}.carried{k}", x.shape, x) for k, x in enumerate(start)]
        sliced = [_slot(f"@{depth}.slice{k}", x.shape[1:], x) for k, x in enumerate(rows)]
        following, outputs = body(_handles(carried), _handles(sliced))
    after = [tensor(one, "scan") for one in following]
    if len(after) != len(start):
        raise BadArgument(
            op="scan", argument="body", given=f"{len(after)} carried", expected=len(start)
        )
    stacked = [tensor(one, "scan") for one in outputs]
    results = graph.scan(
        count,
        [one.operand for one in start],
        [one.operand for one in rows],
        carried,
        sliced,
        [one.operand for one in (*after, *stacked)],
    )
    handles = tuple(whole(one) for one in results)
    return handles[: len(start)], handles[len(start) :]


def _slot(name: str, shape: view.Shape, like: Tensor) -> graph.Node:
    return graph.input_node(name, shape, like.dtype)


def _handles(nodes: Sequence[graph.Node]) -> Tensors:
    return tuple(whole(one) for one in nodes)


def _trips(rows: Sequence[Tensor], trips: Dim | None) -> Dim:
    trips = None if trips is None else as_size("scan", "trips", trips)
    for one in rows:
        if one.ndim == 0:
            raise BadArgument(op="scan", argument="sequence", given="rank 0", expected="an axis")
        trips = one.shape[0] if trips is None else trips
        if one.shape[0] != trips:
            raise ShapeMismatch(op="scan", left=(trips,), right=one.shape)
    if trips is None:
        raise BadArgument(op="scan", argument="trips", given=None, expected="a size")
    return trips


# --- products -------------------------------------------------------------------------------


@method
def prod(
    x: Value, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The product; 1 of nothing. Dtypes as ``sum``. Halves of an axis multiply, again and again."""
    wide, result = in_totals(tensor(x, "prod"), dtype)
    return over_axes(wide, axis, keepdims, "prod", _product).astype(result)


def _product(x: Tensor, axis: int) -> Tensor:
    """The product over one axis: a tree where its size is known, else one after another."""
    extent = x.shape[axis]
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    one = expanded(number(1, x.dtype), rest)
    if not isinstance(extent, int):
        (result,), _ = scan(lambda c, s: ((c[0] * s[0],), ()), (one,), (moveaxis(x, axis, 0),))
        return result
    if extent == 0:
        return one
    while extent > 1:
        half = extent // 2
        low, high = (window(x, axis, k * half, (k + 1) * half, "prod") for k in range(2))
        rest_of = [window(x, axis, 2 * half, extent, "prod")] if extent % 2 else []
        x, extent = concat([low * high, *rest_of], axis), half + extent % 2
    return reshape(x, rest)
