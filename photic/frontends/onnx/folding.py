"""Shape arithmetic while a graph is read: small integer arrays in NumPy, symbolic sizes among them.

``folded`` gives what an operator makes of arrays that are known, or None: then its entry in the
table builds it as any other value, which is right too, but its elements are no sizes any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from photic.base.errors import PhoticError
from photic.frontends.onnx.kinds import BY_CODE, NATIVE, Array
from photic.frontends.onnx.value import Value, is_symbolic, tidy
from photic.ir.dim import Int, at_most
from photic.ir.dtype import BOOL, INT32, INT64

if TYPE_CHECKING:
    from photic.frontends.onnx.call import Call

MOST_ELEMENTS = 4096  # of an array that counts as shape arithmetic
DTYPES = (INT64.numpy, INT32.numpy, BOOL.numpy, np.dtype(object))
Fold = Callable[["Call", list[Any]], Any]


def folded(call: Call) -> Value | None:
    """The operator's only result, if it is shape arithmetic on arrays that are known."""
    fold = FOLDS.get(call.node.op) if not call.node.domain else None
    if fold is None or not call.inputs or call.inputs[0] is None:
        return None
    arrays = [_small(one) for one in call.inputs if one is not None]
    known = [one for one in arrays if one is not None]
    if len(known) != len(call.inputs):
        return None
    try:
        found = fold(call, known)
    except (PhoticError, TypeError, ValueError, IndexError, ZeroDivisionError):
        return None  # the entry of the table says what is wrong, if anything is
    if found is None:
        return None
    array = tidy(np.asarray(found))
    return Value(array, _kind(call, array))


def _small(value: Value) -> Array | None:
    held = value.held
    if not isinstance(held, np.ndarray) or value.kind.form != "native":
        return None
    return held if held.dtype in DTYPES and held.size <= MOST_ELEMENTS else None


def _kind(call: Call, array: Array) -> Any:
    """Comparisons give bools, casts what they say, all else the kind of the first input."""
    if array.dtype == bool:
        return NATIVE[BOOL]
    if call.node.op == "Cast":
        return BY_CODE[call.integer("to")]
    first = call.value(1 if call.node.op == "Where" else 0).kind
    return first if first.carrier != BOOL else NATIVE[INT64]


# --- the folds ------------------------------------------------------------------------------


def _elementwise(function: Callable[..., Any]) -> Fold:
    def fold(call: Call, arrays: list[Any]) -> Any:
        if not any(map(is_symbolic, arrays)):
            return function(*arrays) if arrays[0].dtype == INT64.numpy else None
        return np.frompyfunc(function, len(arrays), 1)(*arrays)

    return fold


def _divided(left: Any, right: Any) -> Any:
    """The quotient, rounded to 0; where a sign is open, none."""
    if isinstance(left, np.ndarray):
        return (np.abs(left) // np.abs(right)) * np.sign(left) * np.sign(right)
    if isinstance(left, Int) or isinstance(right, Int):
        if not (at_most(0, left) and at_most(1, right)):
            raise ValueError("a sign that sizes leave open")
        return left // right
    return int(Fraction(int(left), int(right)))


def _moduli(call: Call, arrays: list[Any]) -> Any:
    return None if call.flag("fmod") else _elementwise(lambda x, y: x % y)(call, arrays)


def _smaller(left: Any, right: Any) -> Any:
    return np.minimum(left, right) if isinstance(left, np.ndarray) else _ordered(left, right)[0]


def _larger(left: Any, right: Any) -> Any:
    return np.maximum(left, right) if isinstance(left, np.ndarray) else _ordered(left, right)[1]


def _ordered(left: Any, right: Any) -> tuple[Any, Any]:
    """The smaller and the larger; ValueError where sizes leave that open."""
    if at_most(left, right):
        return left, right
    if at_most(right, left):
        return right, left
    raise ValueError("an order that sizes leave open")


def _compared(compare: Callable[[Any, Any], Any]) -> Fold:
    def fold(call: Call, arrays: list[Any]) -> Any:
        return np.asarray(np.frompyfunc(compare, 2, 1)(*arrays)).astype(bool)

    return fold


def _equal(left: Any, right: Any) -> bool:
    """True or False where that holds for every size; else ValueError."""
    if not isinstance(left, Int) and not isinstance(right, Int):
        return bool(left == right)
    if left == right:
        return True
    if at_most(left + 1, right) or at_most(right + 1, left):
        return False
    raise ValueError("an equality that sizes leave open")


def _axes(call: Call, arrays: list[Any]) -> tuple[int, ...] | None:
    """Axes as an attribute, or as the second input."""
    if len(arrays) > 1:
        return tuple(int(one) for one in arrays[1].reshape(-1))
    return call.ints("axes")


def _cast(call: Call, arrays: list[Any]) -> Any:
    to = BY_CODE.get(call.integer("to"))
    if to is None or to.form != "native":
        return None
    if is_symbolic(arrays[0]):
        return arrays[0] if to.carrier in (INT64, INT32) else None
    return arrays[0].astype(to.carrier.numpy) if to.carrier in (INT64, INT32, BOOL) else None


def _gather(call: Call, arrays: list[Any]) -> Any:
    return np.take(arrays[0], arrays[1].astype(np.int64), call.integer("axis", 0))


def _concat(call: Call, arrays: list[Any]) -> Any:
    if all(one.dtype == arrays[0].dtype for one in arrays) or any(map(is_symbolic, arrays)):
        return np.concatenate(arrays, call.integer("axis", 1 if call.version < 4 else -1))
    return None


def _squeeze(call: Call, arrays: list[Any]) -> Any:
    return np.squeeze(arrays[0], _axes(call, arrays))


def _unsqueeze(call: Call, arrays: list[Any]) -> Any:
    axes = _axes(call, arrays)
    return None if axes is None else np.expand_dims(arrays[0], axes)


def _slice(call: Call, arrays: list[Any]) -> Any:
    x, *rest = arrays
    if call.version < 10 or any(map(is_symbolic, rest)):
        return None
    starts, ends, *more = (one.astype(np.int64).reshape(-1) for one in rest)
    axes = more[0] if more else np.arange(len(starts))
    steps = more[1] if len(more) > 1 else np.ones(len(starts), np.int64)
    places = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        is_whole_back = step < 0 and end < -x.shape[axis]
        places[axis] = slice(int(start), None if is_whole_back else int(end), int(step))
    return x[tuple(places)]


def _reshape(call: Call, arrays: list[Any]) -> Any:
    x, shape = arrays
    sizes = [int(one) for one in shape]
    if not call.flag("allowzero"):
        sizes = [x.shape[k] if one == 0 else one for k, one in enumerate(sizes)]
    return x.reshape(sizes)


def _expand(call: Call, arrays: list[Any]) -> Any:
    sizes = tuple(int(one) for one in arrays[1])
    shape = np.broadcast_shapes(arrays[0].shape, sizes)
    return np.broadcast_to(arrays[0], shape) if np.prod(shape) <= MOST_ELEMENTS else None


def _range(call: Call, arrays: list[Any]) -> Any:
    first, last, step = (one.reshape(()).item() for one in arrays)
    if any(isinstance(one, Int) for one in (first, last, step)) or step == 0:
        return None
    if (last - first) / step > MOST_ELEMENTS or arrays[0].dtype != INT64.numpy:
        return None
    return np.arange(int(first), int(last), int(step), dtype=np.int64)


def _product(call: Call, arrays: list[Any]) -> Any:
    axes = _axes(call, arrays)
    if len(arrays) > 1 and not axes:
        axes = None
    if call.flag("noop_with_empty_axes") and axes is None:
        return arrays[0]
    return np.prod(arrays[0], axis=axes, keepdims=call.flag("keepdims", True))


def _sum(call: Call, arrays: list[Any]) -> Any:
    axes = _axes(call, arrays)
    if len(arrays) > 1 and not axes:
        axes = None
    if call.flag("noop_with_empty_axes") and axes is None:
        return arrays[0]
    return np.sum(arrays[0], axis=axes, keepdims=call.flag("keepdims", True))


def _where(call: Call, arrays: list[Any]) -> Any:
    condition, yes, no = arrays
    if is_symbolic(condition):
        return None
    symbolic = any(map(is_symbolic, (yes, no)))
    chosen = np.where(condition, yes, no)
    return chosen.astype(object) if symbolic else chosen


def _transpose(call: Call, arrays: list[Any]) -> Any:
    return np.transpose(arrays[0], call.ints("perm"))


FOLDS: Mapping[str, Fold] = {
    "Identity": lambda call, arrays: arrays[0],
    "Add": _elementwise(lambda x, y: x + y),
    "Sub": _elementwise(lambda x, y: x - y),
    "Mul": _elementwise(lambda x, y: x * y),
    "Div": _elementwise(_divided),
    "Mod": _moduli,
    "Neg": _elementwise(lambda x: -x),
    "Min": _elementwise(_smaller),
    "Max": _elementwise(_larger),
    "Equal": _compared(_equal),
    "Less": _compared(lambda x, y: x < y),
    "LessOrEqual": _compared(lambda x, y: x <= y),
    "Greater": _compared(lambda x, y: x > y),
    "GreaterOrEqual": _compared(lambda x, y: x >= y),
    "Not": lambda call, arrays: ~arrays[0],
    "And": lambda call, arrays: arrays[0] & arrays[1],
    "Or": lambda call, arrays: arrays[0] | arrays[1],
    "Cast": _cast,
    "Where": _where,
    "Gather": _gather,
    "Concat": _concat,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Expand": _expand,
    "Range": _range,
    "ReduceProd": _product,
    "ReduceSum": _sum,
}
