"""What elements span: the smallest and the largest, and how far apart they are."""

from __future__ import annotations

from photic.tensor.primitive import accumulated
from photic.tensor.reductions import max, min
from photic.tensor.tensor import Axes, Tensor, Value, tensor


def aminmax(x: Value, axis: Axes = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest, as ``min`` and ``max``."""
    value = tensor(x, "aminmax")
    return min(value, axis, keepdims), max(value, axis, keepdims)


def ptp(x: Value, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest; integers wrap; nan if one is nan. DtypeMismatch for bool."""
    value = tensor(x, "ptp")
    wide = value.astype(accumulated(value.dtype)) if value.dtype.kind == "float" else value
    low, high = aminmax(wide, axis, keepdims)
    return (high - low).astype(value.dtype)
