"""Arrays on a device, by address: those that others made are read, results are left there.

Others are shown through DLPack and ``__cuda_array_interface__``, in both directions, and nothing is
copied. All work on a result has ended when a program hands it out. Work that others still have in
a stream of theirs is waited for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from photic.targets import dlpack

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
MAIN_MEMORY = (1, 0)  # DLPack's device of NumPy's arrays
INTERFACE = 3  # of __cuda_array_interface__
DEFAULT_STREAM = 1  # CUDA's, which our streams wait for


class Held(Protocol):
    """Memory of a device, given back when nobody holds this."""

    @property
    def address(self) -> int:
        """Where it begins."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The memory of a device: ``device`` is DLPack's pair of a kind and a number.

    ``stream`` is the number by which exporters know the default stream. ``wait`` waits for a stream
    of others, ``take`` copies bytes to an address of ours; all that is entered with ``using``.
    """

    device: tuple[int, int]
    stream: int
    using: Callable[[], AbstractContextManager[None]]
    new: Callable[[int], Held]
    take: Callable[[Held, int, int], None]
    wait: Callable[[int], None]

    def empty(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> DeviceArray:
        """An array on the device that holds anything. Raises TooLarge."""
        with self.using():
            memory = self.new(prod(shape) * dtype.itemsize)
        return DeviceArray(self, memory, tuple(shape), dtype)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """An array that a program left on its device. ``numpy()`` copies it to an array of NumPy's."""

    place: Place
    memory: Held
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Its bytes on the device."""
        return prod(self.shape) * self.dtype.itemsize

    def view(self) -> Array:
        """Shape, dtype and address as NumPy has them; the elements cannot be read."""
        return view_of(self.memory.address, self.shape, self.dtype)

    def numpy(self) -> Array:
        """A copy in our memory."""
        found: Array = np.empty(self.shape, self.dtype)
        if found.nbytes:
            with self.place.using():
                self.place.take(self.memory, found.ctypes.data, found.nbytes)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array on a device is not read without copying it")
        return self.numpy().astype(dtype or self.dtype, copy=False)

    @property
    def __cuda_array_interface__(self) -> Mapping[str, object]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.memory.address, False),
            "strides": None,
            "stream": None,
            "version": INTERFACE,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place.device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy or dl_device not in (None, self.place.device):
            raise BufferError("an array on a device is shared there, not copied")
        return dlpack.made(
            self.memory, self.memory.address, self.shape, self.dtype, self.place.device
        )


def memory_at(address: int, count: int) -> Array:
    """So many bytes at an address, as an array; they are not looked at."""
    return np.frombuffer(memoryview((ctypes.c_char * count).from_address(address)), np.uint8)


@dataclass(frozen=True, slots=True)
class Lent:
    """Others' elements on the device: a view by address, which nobody here may read."""

    view: Array
    owner: object


def lent(place: Place, value: object) -> Lent | None:
    """What lies on the device already, or None. Raises ValueError with what is wrong with it."""
    if isinstance(value, np.ndarray):
        return None
    if hasattr(value, "__dlpack_device__") and hasattr(value, "__dlpack__"):
        return _by_capsule(place, value)
    if hasattr(value, "__cuda_array_interface__"):
        return _by_interface(place, value.__cuda_array_interface__, value)
    return None


def _by_capsule(place: Place, value: Any) -> Lent | None:
    kind, number = (int(one) for one in value.__dlpack_device__())
    if (kind, number) != place.device:
        if kind == MAIN_MEMORY[0]:
            return None
        raise ValueError(f"it is on device {kind}:{number} of DLPack's, not on {place.device}")
    capsule = value.__dlpack__(stream=place.stream)
    address, shape, dtype, in_order = dlpack.read(capsule)
    if dtype is None:
        raise ValueError("its dtype is none of photic's")
    if not in_order:
        raise ValueError("its elements do not lie in order")
    return Lent(view_of(address, shape, dtype), (capsule, value))


def _by_interface(place: Place, told: Mapping[str, Any], owner: object) -> Lent:
    dtype, shape = np.dtype(told["typestr"]), tuple(told["shape"])
    if told.get("mask") is not None:
        raise ValueError("it has a mask")
    in_order = [prod(shape[k + 1 :]) * dtype.itemsize for k in range(len(shape))]
    if told.get("strides") not in (None, tuple(in_order)) and 0 not in shape:
        raise ValueError("its elements do not lie in order")
    if (stream := told.get("stream")) is not None:
        with place.using():
            place.wait(stream)
    return Lent(view_of(told["data"][0] or 0, shape, dtype), owner)


def view_of(address: int, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
    """An array at an address of the device: its shape and dtype can be asked for, nothing else."""
    flat = memory_at(address, prod(shape) * dtype.itemsize)
    found: Array = flat.view(dtype).reshape(tuple(shape))
    return found
