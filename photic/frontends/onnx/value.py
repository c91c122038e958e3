"""A value of an ONNX graph while it is read: an array that is known, or a tensor of the program.

An array may hold symbolic sizes (then its dtype is object): what ``Shape`` gives, and what shape
arithmetic makes of it. Arrays and tensors are in the dtype that carries their kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from photic.frontends.onnx.kinds import NATIVE, Array, Kind
from photic.ir.dim import Dim, Int
from photic.ir.dtype import INT64, dtype_of
from photic.tensor import shapes
from photic.tensor.tensor import Tensor, size_value, tensor


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a name of an ONNX graph stands for; ``held`` is an array or a tensor."""

    held: Array | Tensor
    kind: Kind

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The size of each axis, some of them symbolic."""
        return tuple(self.held.shape)

    @property
    def is_known(self) -> bool:
        """True for an array; some of its elements may be symbolic sizes."""
        return isinstance(self.held, np.ndarray)

    @property
    def tensor(self) -> Tensor:
        """The value as a tensor of the program."""
        if isinstance(self.held, Tensor):
            return self.held
        return _of_sizes(self.held) if is_symbolic(self.held) else tensor(self.held)


Result: TypeAlias = Value | Tensor | Array


def is_symbolic(array: Array) -> bool:
    """True if some element is a symbolic size."""
    return array.dtype == object


def _of_sizes(array: Array) -> Tensor:
    """Sizes as numbers that the program computes."""
    if array.ndim == 0:
        return size_value(array.reshape(-1).tolist()[0])
    flat = [size_value(one) for one in array.ravel().tolist()]
    return shapes.reshape(shapes.stack(flat), array.shape)


def sizes_array(sizes: Sequence[Dim]) -> Array:
    """Sizes as an array: int64 if all are known."""
    return tidy(np.array([*sizes, None], object)[:-1])


def tidy(array: Array) -> Array:
    """An array of objects as int64 where none of them is symbolic."""
    if array.dtype != object or any(isinstance(one, Int) for one in array.ravel()):
        return array
    return array.astype(INT64.numpy)


def native(result: Result) -> Value:
    """A result of one of photic's own dtypes."""
    if isinstance(result, Value):
        return result
    if isinstance(result, Tensor):
        return Value(result, NATIVE[result.dtype])
    dtype = INT64 if is_symbolic(result) else dtype_of(result.dtype)
    return Value(result, NATIVE[dtype])
