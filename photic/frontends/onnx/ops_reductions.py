"""Operators that reduce axes, or run along them."""

from __future__ import annotations

from collections.abc import Callable

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT32
from photic.tensor import (
    creation,
    elementary,
    loops,
    ordering,
    padding,
    primitive,
    reductions,
    rounding,
    shapes,
)
from photic.tensor import running as running_functions
from photic.tensor.tensor import Tensor

Reduce = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def axes_of(call: Call, number: int = 1) -> tuple[int, ...] | None:
    """Axes as an attribute or, in newer versions, an input; None where neither is there."""
    if call.has(number):
        return call.integers(number)
    return call.ints("axes")


def reduction(
    function: Reduce, prepare: Callable[[Tensor], Tensor] | None = None
) -> Callable[[Call], Tensor]:
    """A reduction over axes, or over all of them; with no axes perhaps over none."""

    def run(call: Call) -> Tensor:
        x = call.tensor(0)
        axes = axes_of(call)
        if not axes and call.flag("noop_with_empty_axes"):
            return x if prepare is None else prepare(x)
        chosen = tuple(axes) if axes else tuple(range(x.ndim))
        return function(x, chosen, call.flag("keepdims", True))

    return run


def _square_sum(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return reductions.sum(rounding.square(x), axes, keep)


def _magnitudes(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return reductions.sum(rounding.abs(x), axes, keep)


def _lengths(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return primitive.sqrt(reductions.sum(rounding.square(x), axes, keep))


def _log_sum(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return elementary.log(reductions.sum(x, axes, keep))


def _log_sum_exp(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return reductions.logsumexp(x if x.dtype.kind == "float" else x.astype(FLOAT32), axes, keep)


def _mean(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    """The mean; that of integers as NumPy's, cut to an integer."""
    return reductions.mean(x, axes, keep)


def _places(find: Callable[[Tensor, int, bool], Tensor]) -> Callable[[Call], Tensor]:
    """The place of the first extreme, or of the last one."""

    def run(call: Call) -> Tensor:
        x, axis, keep = call.tensor(0), call.integer("axis", 0), call.flag("keepdims", True)
        if not call.flag("select_last_index"):
            return find(x, axis, keep)
        return creation.size(x.shape[axis] - 1) - find(shapes.flip(x, axis), axis, keep)

    return run


def running(function: Callable[[Tensor, int], Tensor]) -> Callable[[Call], Tensor]:
    """Running sums or products: the element itself left out, or from the end, if so said."""

    def run(call: Call) -> Tensor:
        x, axis = call.tensor(0), int(call.scalar(1)) % max(1, call.tensor(0).ndim)
        backward = call.flag("reverse")
        value = shapes.flip(x, axis) if backward else x
        if call.flag("exclusive"):
            ends = [(0, 0)] * x.ndim
            ends[axis] = (1, -1)
            neutral = 0 if function is running_functions.cumsum else 1
            value = padding.pad(value, ends, constant_values=neutral)
        result = function(value, axis).astype(x.dtype)
        return shapes.flip(result, axis) if backward else result

    return run


def _softmax(function: Callable[[Tensor, int], Tensor]) -> Callable[[Call], Tensor]:
    """Along one axis; before version 13 along all from an axis on."""

    def run(call: Call) -> Tensor:
        x = call.tensor(0)
        if call.version >= 13:
            return function(x, call.integer("axis", -1))
        axis = call.integer("axis", 1) % max(1, x.ndim)
        if axis == x.ndim - 1:
            return function(x, -1)
        rows = shapes.reshape(x, (*x.shape[:axis], -1))
        return shapes.reshape(function(rows, -1), x.shape)

    return run


def _hardmax(x: Tensor, axis: int) -> Tensor:
    place = reductions.argmax(x, axis, keepdims=True)
    counted = creation.arange(x.shape[axis])
    lined = shapes.reshape(counted, [-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    return (lined == place).astype(x.dtype)


def _top(call: Call) -> list[Tensor | Value]:
    x = call.tensor(0)
    count = call.integer("k") if call.version < 10 else int(call.scalar(1))
    largest, in_order = call.flag("largest", True), call.flag("sorted", True)
    values, places = ordering.topk(x, count, call.integer("axis", -1), largest, in_order)
    return [Value(values, call.value(0).kind), places]


REDUCTIONS: tuple[Op, ...] = (
    Op("ReduceSum", reduction(reductions.sum), wraps=True),
    Op("ReduceMean", reduction(_mean)),
    Op("ReduceMax", reduction(reductions.max)),
    Op("ReduceMin", reduction(reductions.min)),
    Op("ReduceProd", reduction(loops.prod), wraps=True),
    Op("ReduceSumSquare", reduction(_square_sum, rounding.square), wraps=True),
    Op("ReduceL1", reduction(_magnitudes, rounding.abs)),
    Op("ReduceL2", reduction(_lengths, rounding.abs)),
    Op("ReduceLogSum", reduction(_log_sum, elementary.log)),
    Op("ReduceLogSumExp", reduction(_log_sum_exp)),
    Op("ArgMax", _places(reductions.argmax)),
    Op("ArgMin", _places(reductions.argmin)),
    Op("CumSum", running(running_functions.cumsum)),
    Op("CumProd", running(running_functions.cumprod)),
    Op("Softmax", _softmax(reductions.softmax)),
    Op("LogSoftmax", _softmax(reductions.log_softmax)),
    Op("Hardmax", _softmax(_hardmax)),
    Op("TopK", _top),
)
