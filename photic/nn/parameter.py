"""Values that a module holds: parameters, which are trained, and buffers, which are only kept.

Each holds a NumPy array outside of graphs and is one tensor inside of a graph, ``.tensor``: a state
while a train step is built, else a constant. Arrays are replaced, never written into, since a
compiled program may hold them.
"""

from __future__ import annotations

import numpy as np

from photic.ir.dtype import DType, dtype_of
from photic.nn.building import building_now
from photic.nn.errors import NotTraining, StateMismatch
from photic.tensor.creation import constant
from photic.tensor.tensor import Array, DTypeLike, Tensor


class Held:
    """An array with a place in a module."""

    def __init__(self, value: object) -> None:
        self._value: Array = np.asarray(value)

    @property
    def value(self) -> Array:
        """The array; assign another of the same shape, which takes this dtype."""
        return self._value

    @value.setter
    def value(self, new: object) -> None:
        array = np.asarray(new)
        if array.shape != self._value.shape:
            raise StateMismatch(
                what="value", name="shape", given=array.shape, expected=self._value.shape
            )
        self._value = array.astype(self._value.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self._value.shape

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return dtype_of(self._value.dtype)

    @property
    def tensor(self) -> Tensor:
        """The value in the graph that is being built."""
        now = building_now()
        found = None if now is None else now.current.get(id(self))
        return constant(self._value) if found is None else found

    def to(self, dtype: DTypeLike) -> None:
        """Keep the elements in another dtype."""
        self._value = self._value.astype(dtype_of(dtype).numpy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}{list(self.shape)})"


class Parameter(Held):
    """Weights, by their initial value; trained where ``requires_grad``."""

    def __init__(self, value: object, requires_grad: bool = True) -> None:
        super().__init__(value)
        self.requires_grad = requires_grad


class Buffer(Held):
    """What a module keeps beside its weights, such as running statistics.

    One that is not ``persistent`` has no place in ``state_dict``.
    """

    def __init__(self, value: object, persistent: bool = True) -> None:
        super().__init__(value)
        self.persistent = persistent

    def become(self, new: Tensor) -> None:
        """The value from here on, in this graph and at the next step. NotTraining outside one."""
        now = building_now()
        if now is None or id(self) not in now.current:
            raise NotTraining(what="a buffer is changed")
        now.current[id(self)] = new.astype(self.dtype)
