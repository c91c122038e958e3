"""The user's handle: a value that a program will compute, with NumPy's operators and methods.

A ``Tensor`` is a frozen view of a graph's node. Nothing is computed here: an operator records
nodes, and a question about elements (``bool``, ``float``) is an error. What a method does stands in
the topic files (arithmetic, shapes, reductions, ...), which enter their functions into ``METHODS``;
so this file imports none of them. It also says how Python numbers and NumPy arrays join in: numbers
take the tensor's dtype as in PyTorch, arrays keep theirs.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import EllipsisType
from typing import Any, TypeAlias, TypeVar, Union

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument, NoTruthValue, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim, Int
from photic.ir.dtype import BOOL, FLOAT32, INT64, DType, dtype_of
from photic.ir.graph import Node, Operand, cast, constant_node, iota_node, operand
from photic.ir.view import Shape, View
from photic.tensor.axes import as_integer
from photic.tensor.errors import NotATensor
from photic.tensor.other_names import METHOD_HINTS, hint_of
from photic.tensor.promotion import promote as promote_dtypes

Array: TypeAlias = npt.NDArray[np.generic]
Scalar: TypeAlias = bool | int | float | np.generic
Value: TypeAlias = Union["Tensor", Scalar, Int, Array]
DTypeLike: TypeAlias = DType | str | np.dtype[np.generic] | type
Axes: TypeAlias = int | Sequence[int] | None
Index: TypeAlias = Union[int, Int, slice, EllipsisType, "Tensor", Array, list[int], None]


class _Methods(dict[str, "Callable[..., Tensor]"]):
    """By name; asking imports the topic files first, which a program that only runs does without.

    Those ask for nothing while they are imported.
    """

    is_whole = False

    def _fill(self) -> None:
        if not self.is_whole:
            self.is_whole = True
            importlib.import_module("photic.tensor.methods")

    def __getitem__(self, name: str) -> Callable[..., Tensor]:
        self._fill()
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._fill()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return super().__iter__()


METHODS = _Methods()
_F = TypeVar("_F", bound=Callable[..., "Tensor"])


def method(function: _F) -> _F:
    """Enter a function into ``METHODS`` under its own name; the handle's methods call it."""
    METHODS[function.__name__] = function
    return function


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tensor:
    """A value of the graph with a shape and a dtype; frozen, and never a number.

    Sizes in ``shape`` are integers or symbolic (``ph.dim``). Operators broadcast and promote (see
    docs/numbers.md). ``x[...]`` takes what NumPy's arrays take, masks only if they are known; and
    symbolic bounds. Functions that PyTorch and NumPy have as methods too are so here
    (``methods.py``).
    """

    operand: Operand

    # NumPy arrays on the left leave operators to us
    __array_ufunc__ = None

    @property
    def shape(self) -> Shape:
        """The size of each axis."""
        return self.operand.shape

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self.operand.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.operand.view.rank

    @property
    def T(self) -> Tensor:
        """All axes in the opposite order."""
        return METHODS["transpose"](self)

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        return METHODS["swapaxes"](self, -2, -1)

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}[{', '.join(map(str, self.shape))}] of {self.operand.node.op})"

    __hash__ = object.__hash__

    # --- questions that have no answer before the program runs ---

    def __bool__(self) -> bool:
        raise NoTruthValue(kind="tensor", what="truth value")

    def __int__(self) -> int:
        raise NoTruthValue(kind="tensor", what="integer value")

    def __index__(self) -> int:
        raise NoTruthValue(kind="tensor", what="integer value")

    def __float__(self) -> float:
        raise NoTruthValue(kind="tensor", what="floating-point value")

    def __array__(self, dtype: object = None, copy: object = None) -> Array:
        raise NoTruthValue(kind="tensor", what="elements")

    def __contains__(self, item: object) -> bool:
        raise NoTruthValue(kind="tensor", what="elements to look among")

    def __len__(self) -> int:
        if not self.shape:
            raise BadArgument(op="len", argument="tensor", given="of rank 0", expected="an axis")
        return fixed("len", self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        return (self[k] for k in range(len(self)))

    # --- operators ---

    def __add__(self, other: Value) -> Tensor:
        return METHODS["add"](self, other)

    def __radd__(self, other: Value) -> Tensor:
        return METHODS["add"](other, self)

    def __sub__(self, other: Value) -> Tensor:
        return METHODS["subtract"](self, other)

    def __rsub__(self, other: Value) -> Tensor:
        return METHODS["subtract"](other, self)

    def __mul__(self, other: Value) -> Tensor:
        return METHODS["multiply"](self, other)

    def __rmul__(self, other: Value) -> Tensor:
        return METHODS["multiply"](other, self)

    def __truediv__(self, other: Value) -> Tensor:
        return METHODS["divide"](self, other)

    def __rtruediv__(self, other: Value) -> Tensor:
        return METHODS["divide"](other, self)

    def __floordiv__(self, other: Value) -> Tensor:
        return METHODS["floor_divide"](self, other)

    def __rfloordiv__(self, other: Value) -> Tensor:
        return METHODS["floor_divide"](other, self)

    def __mod__(self, other: Value) -> Tensor:
        return METHODS["mod"](self, other)

    def __rmod__(self, other: Value) -> Tensor:
        return METHODS["mod"](other, self)

    def __pow__(self, other: Value) -> Tensor:
        return METHODS["power"](self, other)

    def __rpow__(self, other: Value) -> Tensor:
        return METHODS["power"](other, self)

    def __matmul__(self, other: Value) -> Tensor:
        return METHODS["matmul"](self, other)

    def __rmatmul__(self, other: Value) -> Tensor:
        return METHODS["matmul"](other, self)

    def __and__(self, other: Value) -> Tensor:
        return METHODS["bitwise_and"](self, other)

    def __rand__(self, other: Value) -> Tensor:
        return METHODS["bitwise_and"](other, self)

    def __or__(self, other: Value) -> Tensor:
        return METHODS["bitwise_or"](self, other)

    def __ror__(self, other: Value) -> Tensor:
        return METHODS["bitwise_or"](other, self)

    def __xor__(self, other: Value) -> Tensor:
        return METHODS["bitwise_xor"](self, other)

    def __rxor__(self, other: Value) -> Tensor:
        return METHODS["bitwise_xor"](other, self)

    def __lshift__(self, other: Value) -> Tensor:
        return METHODS["left_shift"](self, other)

    def __rlshift__(self, other: Value) -> Tensor:
        return METHODS["left_shift"](other, self)

    def __rshift__(self, other: Value) -> Tensor:
        return METHODS["right_shift"](self, other)

    def __rrshift__(self, other: Value) -> Tensor:
        return METHODS["right_shift"](other, self)

    def __invert__(self) -> Tensor:
        return METHODS["bitwise_not"](self)

    def __neg__(self) -> Tensor:
        return METHODS["negative"](self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return METHODS["abs"](self)

    def __round__(self, decimals: int = 0) -> Tensor:
        return METHODS["round"](self, decimals)

    def __divmod__(self, other: Value) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Value) -> tuple[Tensor, Tensor]:
        return METHODS["floor_divide"](other, self), METHODS["mod"](other, self)

    def __lt__(self, other: Value) -> Tensor:
        return METHODS["less"](self, other)

    def __le__(self, other: Value) -> Tensor:
        return METHODS["less_equal"](self, other)

    def __gt__(self, other: Value) -> Tensor:
        return METHODS["greater"](self, other)

    def __ge__(self, other: Value) -> Tensor:
        return METHODS["greater_equal"](self, other)

    def __eq__(self, other: Value) -> Tensor:  # type: ignore[override]
        return METHODS["equal"](self, other)

    def __ne__(self, other: Value) -> Tensor:  # type: ignore[override]
        return METHODS["not_equal"](self, other)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Tensor:
        return METHODS["getitem"](self, index)

    # --- methods ---

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Any other function of ``METHODS``, the tensor its first argument."""
        if name in METHODS:
            return partial(METHODS[name], self)
        raise AttributeError(
            f"'Tensor' object has no attribute {name!r}{hint_of(name, METHOD_HINTS)}",
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *METHODS})

    def astype(self, dtype: DTypeLike) -> Tensor:
        """The elements in another dtype: nearest even; float to integer truncates and saturates."""
        wanted = dtype_of(dtype)
        return self if wanted == self.dtype else whole(cast(self.operand, wanted))

    def reshape(self, *shape: Dim | Sequence[Dim]) -> Tensor:
        """Same elements in row-major order; one size may be -1."""
        return METHODS["reshape"](self, shape[0] if _is_sequence(shape) else shape)

    def permute(self, *axes: int | Sequence[int]) -> Tensor:
        """Axes in the given order."""
        return METHODS["transpose"](self, axes[0] if _is_sequence(axes) else axes)

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """Axes in the given order; without one, in the opposite order."""
        return METHODS["transpose"](self, axes[0] if _is_sequence(axes) else (axes or None))

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Two axes exchanged."""
        return METHODS["swapaxes"](self, axis1, axis2)

    def expand(self, *shape: Dim | Sequence[Dim]) -> Tensor:
        """Broadcast to a shape; sizes of -1 stay."""
        return METHODS["expand"](self, shape[0] if _is_sequence(shape) else shape)

    def squeeze(self, axis: Axes = None) -> Tensor:
        """Without the axes of size 1 (all, or those named)."""
        return METHODS["squeeze"](self, axis)

    def sum(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Tensor:
        """As ``ph.sum``."""
        return METHODS["sum"](self, axis, keepdims, dtype=dtype)

    def mean(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Tensor:
        """As ``ph.mean``."""
        return METHODS["mean"](self, axis, keepdims, dtype=dtype)

    def prod(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: DTypeLike | None = None
    ) -> Tensor:
        """As ``ph.prod``."""
        return METHODS["prod"](self, axis, keepdims, dtype=dtype)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """As ``ph.max``."""
        return METHODS["max"](self, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """As ``ph.min``."""
        return METHODS["min"](self, axis, keepdims)

    def any(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """As ``ph.any``."""
        return METHODS["any"](self, axis, keepdims)

    def all(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """As ``ph.all``."""
        return METHODS["all"](self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """As ``ph.argmax``."""
        return METHODS["argmax"](self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """As ``ph.argmin``."""
        return METHODS["argmin"](self, axis, keepdims)

    def clip(self, min: Value | None = None, max: Value | None = None) -> Tensor:
        """As ``ph.clip``."""
        return METHODS["clip"](self, min, max)


def _is_sequence(given: tuple[object, ...]) -> bool:
    return len(given) == 1 and isinstance(given[0], Sequence | np.ndarray)


# --- making handles -------------------------------------------------------------------------


def whole(node: Node) -> Tensor:
    """The handle of a node as it is."""
    return Tensor(operand(node))


def seen(x: Tensor, view: View) -> Tensor:
    """The handle of the same node through another view."""
    return Tensor(Operand(x.operand.node, view))


def expanded(x: Tensor, shape: Shape) -> Tensor:
    """Broadcast to a shape; ShapeMismatch where it does not fit."""
    return x if x.shape == shape else seen(x, movement.expand(x.operand.view, shape))


def size_value(dim: Dim) -> Tensor:
    """A size as an int64 number of rank 0; a symbolic one is an element of iota."""
    if isinstance(dim, int):
        return number(dim, INT64)
    counted = whole(iota_node(dim + 1))
    return seen(counted, movement.select(counted.operand.view, 0, dim))


def number(value: Scalar, dtype: DType) -> Tensor:
    """A constant of rank 0; BadArgument if an integer's dtype does not hold it."""
    is_held = dtype.kind != "int" or (
        math.isfinite(value) and dtype.low <= int(value) <= dtype.high
    )
    if not is_held:
        raise BadArgument(
            op="number",
            argument="value",
            given=value,
            expected=f"{dtype.low}..{dtype.high}, what {dtype} holds",
        )
    with np.errstate(over="ignore"):  # 1e60 is the infinity of float32
        return whole(constant_node(np.array(value).astype(dtype.numpy)))


def tensor(value: Value, op: str = "tensor") -> Tensor:
    """The handle of a value: Python floats are float32, integers int64; arrays keep their dtype."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Int):
        return size_value(value)
    if isinstance(value, bool | np.bool_):
        return number(bool(value), BOOL)
    if isinstance(value, int):
        return number(value, INT64)
    if isinstance(value, float):
        return number(value, FLOAT32)
    if isinstance(value, np.generic | np.ndarray):
        return whole(constant_node(np.asarray(value)))
    raise NotATensor(op=op, given=type(value).__name__)


def is_weak(value: Value) -> bool:
    """True for numbers, which take the dtype of the tensor that they meet."""
    return isinstance(value, bool | int | float | np.generic | Int)


_WEAK_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "bool"),
    ((int, np.integer, Int), "int"),
)


def meeting_dtype(value: Value, dtype: DType) -> DType:
    """The dtype of an operation on a weak number and a tensor of ``dtype``."""
    kind = next((name for types, name in _WEAK_KINDS if isinstance(value, types)), "float")
    if kind == "float":
        return dtype if dtype.kind == "float" else FLOAT32
    if kind == "int":
        return INT64 if dtype == BOOL else dtype
    return dtype


def in_dtype(value: Value, dtype: DType) -> Tensor:
    """A value in a dtype; a weak number becomes a constant of that dtype directly."""
    if is_weak(value) and not isinstance(value, Int):
        assert isinstance(value, bool | int | float | np.generic)
        return number(value, dtype)
    return tensor(value).astype(dtype)


def joined_dtype(values: Sequence[Value], op: str) -> DType:
    """The dtype to which all values promote, weak numbers last."""
    strong = [tensor(one, op).dtype for one in values if not is_weak(one)]
    weak = [one for one in values if is_weak(one)]
    if not strong:
        strong = [tensor(one, op).dtype for one in weak]
    result = strong[0]
    for dtype in strong[1:]:
        result = promote_dtypes(result, dtype)
    for one in weak:
        result = meeting_dtype(one, result)
    return result


def together(op: str, *values: Value) -> tuple[Tensor, ...]:
    """All values in their common dtype, broadcast to their common shape."""
    dtype = joined_dtype(values, op)
    cast_values = [in_dtype(one, dtype) for one in values]
    shape = broadcast_shape(op, *(one.shape for one in cast_values))
    return tuple(expanded(one, shape) for one in cast_values)


def broadcast_shape(op: str, *shapes: Shape) -> Shape:
    """The common shape: aligned from the right, equal or 1. Raises ShapeMismatch."""
    result: Shape = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        a = (1,) * (rank - len(result)) + result
        b = (1,) * (rank - len(shape)) + shape
        if any(m != n and m != 1 and n != 1 for m, n in zip(a, b)):
            raise ShapeMismatch(op=op, left=result, right=shape)
        result = tuple(n if m == 1 else m for m, n in zip(a, b))
    return result


def fixed(op: str, size: Dim) -> int:
    """A size that must be a plain integer here; UnknownSize otherwise."""
    return as_integer(op, "size", size)
