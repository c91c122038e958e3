"""DLPack's capsules for memory on a device: one that others made is read, one is made for others.

The structures are those of DLPack before version 1.0, which every exporter makes when it is not
asked for a newer one: https://dmlc.github.io/dlpack/latest/c_api.html. Nothing is copied. What a
capsule shows lives as long as the capsule, or as long as whoever took it needs it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from math import prod
from typing import Any

import numpy as np

from photic.ir.dtype import DTYPES

NAME = b"dltensor"  # of a capsule that nobody took yet
BITS = 8
KINDS = {"i": 0, "u": 1, "f": 2, "V": 4, "b": 6}  # codes of types by NumPy's letters; V is bfloat16
CODES = {(KINDS[one.numpy.kind], BITS * one.numpy.itemsize): one.numpy for one in DTYPES.values()}


class Shown(ctypes.Structure):
    """DLTensor: where the elements lie, and how."""

    _fields_ = (
        ("data", c_void_p),
        ("kind", c_int32),
        ("number", c_int32),
        ("axes", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensor: the same, with what ends it."""


Ended = ctypes.CFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = (("shown", Shown), ("context", c_void_p), ("ended", Ended))

_destroyed = ctypes.CFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (c_void_p, c_char_p, _destroyed)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)
# The same for the address of a capsule whose end has begun, which may not be counted as used.
_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_at = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

_held: dict[int, tuple[object, ...]] = {}
"""What exported capsules show, by the address of their structure, until they are ended."""


def read(capsule: Any) -> tuple[int, tuple[int, ...], np.dtype[np.generic] | None, bool]:
    """Address, shape, dtype (None for one that is not ours), and whether rows lie in order.

    The capsule stays whole: its owner keeps it as long as the memory is used.
    """
    shown = Managed.from_address(_pointer(capsule, NAME)).shown
    shape = tuple(shown.shape[k] for k in range(shown.axes))
    address = (shown.data or 0) + shown.offset
    dtype = CODES.get((shown.code, shown.bits)) if shown.lanes == 1 else None
    in_order = not shown.strides or _is_in_order(
        shape, [shown.strides[k] for k in range(len(shape))]
    )
    return address, shape, dtype, in_order


def made(
    owner: object,
    address: int,
    shape: Sequence[int],
    dtype: np.dtype[np.generic],
    device: tuple[int, int],
) -> Any:
    """A capsule for elements in order at an address, which is the ``owner``'s."""
    axes = (c_int64 * max(1, len(shape)))(*shape)
    code, bits = KINDS[dtype.kind], BITS * dtype.itemsize
    shown = Shown(address, *device, len(shape), code, bits, 1, axes, None, 0)
    managed = Managed(shown, None, _END)
    place = ctypes.addressof(managed)
    _held[place] = managed, axes, owner
    return _new(place, NAME, _END_UNTAKEN)


def _ended(managed: Any) -> None:
    _held.pop(ctypes.addressof(managed.contents), None)


def _end_untaken(capsule: int) -> None:
    """A capsule ends: what it shows too, if nobody took it (and gave it another name)."""
    if _valid_at(capsule, NAME):
        _held.pop(_pointer_at(capsule, NAME), None)


_END, _END_UNTAKEN = Ended(_ended), _destroyed(_end_untaken)


def _is_in_order(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """True if the last axis moves by one element, and each other by all that is inside it."""
    steps = (prod(shape[k + 1 :]) for k in range(len(shape)))
    moving = zip(shape, strides, steps, strict=True)
    return 0 in shape or all(extent == 1 or given == step for extent, given, step in moving)
