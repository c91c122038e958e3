"""Where values come from: inputs, states, constants, symbolic sizes and counted numbers.

``input`` and ``state`` name what a program is given and what it keeps; ``arange`` of any size is
a view of iota, so comparisons between two of them are conditions on indices, never data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir import dim as dims
from photic.ir import graph, view
from photic.ir.dim import Dim, Int
from photic.ir.dtype import DType, dtype_of
from photic.tensor.axes import as_integer, as_size, as_sizes
from photic.tensor.tensor import (
    Array,
    DTypeLike,
    Scalar,
    Tensor,
    expanded,
    fixed,
    in_dtype,
    joined_dtype,
    seen,
    size_value,
    tensor,
    whole,
)


def dim(name: str, low: int, high: int) -> Int:
    """A symbolic size, ``low <= size <= high`` (both included, ``low >= 0``)."""
    return dims.symbol(name, *(as_integer("dim", "range", one) for one in (low, high)))


def checked_shape(op: str, shape: Dim | Sequence[Dim]) -> view.Shape:
    """A shape as a tuple; BadArgument for a negative or non-integer size."""
    sizes = as_sizes(op, "shape", shape)
    if any(dims.bounds(one)[1] < 0 for one in sizes):
        raise BadArgument(op=op, argument="shape", given=sizes, expected="sizes of 0 or more")
    return sizes


def input(name: str, shape: Dim | Sequence[Dim], dtype: DTypeLike = "float32") -> Tensor:
    """A value given at each call of the program, by its name."""
    checked = checked_shape("input", shape)
    return whole(graph.input_node(_checked_name("input", name), checked, dtype_of(dtype)))


def state(name: str, shape: Dim | Sequence[Dim], dtype: DTypeLike = "float32") -> Tensor:
    """A value kept between calls, zeros at first; ``compile`` is told its next value by name."""
    checked = checked_shape("state", shape)
    return whole(graph.state_node(_checked_name("state", name), checked, dtype_of(dtype)))


def _checked_name(op: str, name: str) -> str:
    if not isinstance(name, str) or not name:
        raise BadArgument(op=op, argument="name", given=repr(name), expected="a string")
    return name


def constant(value: Array | Scalar | Sequence[object], dtype: DTypeLike | None = None) -> Tensor:
    """A value known now. Arrays are not copied and must not change; lists go through NumPy.

    Without ``dtype``, arrays keep theirs, Python floats (alone or in a list) are float32.
    """
    if not isinstance(value, list | tuple):
        result = tensor(value, "constant")  # type: ignore[arg-type]
    else:
        array = np.asarray(value)
        result = tensor(array.astype(np.float32) if array.dtype == np.float64 else array)
    if dtype is None or dtype_of(dtype) == result.dtype:
        return result
    if isinstance(value, bool | int | float | np.generic):
        return in_dtype(value, dtype_of(dtype))
    return result.astype(dtype)


def size(extent: Dim) -> Tensor:
    """The number that a symbolic size has at the call, as int64 of rank 0."""
    return size_value(as_size("size", "extent", extent))


# --- filled ---------------------------------------------------------------------------------


def full(shape: Dim | Sequence[Dim], value: Scalar, dtype: DTypeLike | None = None) -> Tensor:
    """One number everywhere; without ``dtype``, float32, int64 or bool by the number's kind."""
    filled = tensor(value) if dtype is None else in_dtype(value, dtype_of(dtype))
    return expanded(filled, checked_shape("full", shape))


def zeros(shape: Dim | Sequence[Dim], dtype: DTypeLike = "float32") -> Tensor:
    """0 everywhere."""
    return full(shape, 0, dtype)


def ones(shape: Dim | Sequence[Dim], dtype: DTypeLike = "float32") -> Tensor:
    """1 everywhere."""
    return full(shape, 1, dtype)


def full_like(x: Tensor, value: Scalar, dtype: DTypeLike | None = None) -> Tensor:
    """One number in the shape (and, unless given, dtype) of a tensor."""
    like = tensor(x, "full_like")
    return full(like.shape, value, like.dtype if dtype is None else dtype)


def zeros_like(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """0 in the shape of a tensor."""
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """1 in the shape of a tensor."""
    return full_like(x, 1, dtype)


def empty(shape: Dim | Sequence[Dim], dtype: DTypeLike = "float32") -> Tensor:
    """As ``zeros``: nothing here is left as memory happens to be."""
    return zeros(shape, dtype)


def empty_like(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """As ``zeros_like``."""
    return zeros_like(x, dtype)


# --- counted --------------------------------------------------------------------------------


def counted(start: Dim, stop: Dim) -> Tensor:
    """The int64 numbers ``start, ..., stop - 1`` as a window of iota (``0 <= start <= stop``)."""
    first, end = (as_size("counted", "range", one) for one in (start, stop))
    numbers = whole(graph.iota_node(end))
    if first == 0:
        return numbers
    return seen(numbers, movement.shrink(numbers.operand.view, 0, first, 1, end - first))


def arange(
    start: Dim | float,
    stop: Dim | float | None = None,
    step: int | float = 1,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """``start, start + step, ...`` before ``stop``; with one argument, ``0 .. start - 1``.

    Integers, of which ``start`` and ``stop`` may be symbolic, are int64 unless ``dtype`` is given;
    with a float among them ``start + k*step`` are float32, rounded once. BadArgument.
    """
    first, last = (0, start) if stop is None else (start, stop)
    if any(isinstance(one, float | np.floating) for one in (first, last, step)):
        return _float_steps(first, last, step, dtype or "float32")  # type: ignore[arg-type]
    start, stop = (as_size("arange", "range", one) for one in (first, last))
    return _whole_steps(start, stop, as_integer("arange", "step", step), dtype or "int64")


def _float_steps(first: float, last: float, step: float, dtype: DTypeLike) -> Tensor:
    """A constant; the count is the exact quotient rounded up."""
    known = all(isinstance(one, int | float | np.number) for one in (first, last, step))
    if not known or step == 0 or not np.isfinite([first, last, step]).all():
        raise BadArgument(
            op="arange",
            argument="range",
            given=f"{first}, {last}, {step}",
            expected="finite, a step",
        )
    count = max(0, math.ceil((float(last) - float(first)) / float(step)))
    return constant(float(first) + np.arange(count) * float(step), dtype)


def _whole_steps(first: Dim, last: Dim, step: int, dtype: DTypeLike) -> Tensor:
    if step == 0:
        raise BadArgument(op="arange", argument="step", given=step, expected="an integer, not 0")
    count = _steps(first, last, step)
    if step == 1 and dims.at_most(0, first):
        return counted(first, first + count).astype(dtype)
    numbers = counted(0, count) * step + size_value(first)
    return numbers.astype(dtype)


def _steps(first: Dim, last: Dim, step: int) -> Dim:
    """``max(0, ceil((last - first) / step))``."""
    reach = last - first if step > 0 else first - last
    count = dims.floordiv(reach + (abs(step) - 1), abs(step))
    if dims.at_most(0, count):
        return count
    if isinstance(count, int) or dims.at_most(count, 0):
        return 0
    raise BadArgument(
        op="arange", argument="stop", given=last, expected=f"at least {first} for every size"
    )


def _places(op: str, num: int) -> int:
    """How many numbers are asked for; BadArgument below 0."""
    count = fixed(op, num)
    if count < 0:
        raise BadArgument(op=op, argument="num", given=num, expected="0 or more")
    return count


def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike = "float32"
) -> Tensor:
    """``num`` numbers from ``start`` to ``stop`` (included if ``endpoint``), a constant."""
    count = _places("linspace", num)
    array = np.linspace(start, stop, count, endpoint=endpoint, dtype=np.float64)
    return tensor(array.astype(dtype_of(dtype).numpy))


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """``base`` to the powers of ``linspace(start, stop, num, endpoint)``, a constant."""
    count = _places("logspace", num)
    return constant(np.logspace(start, stop, count, endpoint, base, np.float64), dtype)


def geomspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: DTypeLike = "float32"
) -> Tensor:
    """``num`` numbers from ``start`` to ``stop``, each the same factor from the one before.

    BadArgument where they are not of one sign.
    """
    if not start * stop > 0:
        raise BadArgument(
            op="geomspace", argument="stop", given=stop, expected=f"of the sign of {start}, not 0"
        )
    count = _places("geomspace", num)
    return constant(np.geomspace(start, stop, count, endpoint, np.float64), dtype)


def eye(rows: Dim, columns: Dim | None = None, k: int = 0, dtype: DTypeLike = "float32") -> Tensor:
    """1 on the diagonal ``column - row == k``, 0 elsewhere."""
    height, width = as_sizes("eye", "size", (rows, rows if columns is None else columns))
    place = as_integer("eye", "k", k)
    right, below = max(0, -place), max(0, place)
    across, down = counted(right, width + right), counted(below, height + below)
    return (across == down[:, None]).astype(dtype)


def identity(n: Dim, dtype: DTypeLike = "float32") -> Tensor:
    """The square matrix of 1 on the diagonal, 0 elsewhere."""
    return eye(n, dtype=dtype)


def result_type(*values: object) -> DType:
    """The dtype to which values promote: kinds first (bool, integer, float), then sizes."""
    return joined_dtype(values, "result_type")  # type: ignore[arg-type]
