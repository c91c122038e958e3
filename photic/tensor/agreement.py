"""Whether all elements of two tensors agree."""

from __future__ import annotations

from photic.base.errors import ShapeMismatch
from photic.ir.dim import Int
from photic.ir.dtype import BOOL
from photic.tensor.compare import equal, isclose, isnan
from photic.tensor.reductions import all
from photic.tensor.tensor import Tensor, Value, number, tensor


def allclose(
    left: Value, right: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """True (of rank 0) if ``isclose`` holds for all elements, which broadcast."""
    return all(isclose(left, right, rtol, atol, equal_nan))


def array_equal(left: Value, right: Value, equal_nan: bool = False) -> Tensor:
    """True (of rank 0) if both have one shape and equal elements; -0.0 equals 0.0.

    nan equals nothing, with ``equal_nan`` nan. ShapeMismatch where sizes leave open whether shapes
    are equal.
    """
    a, b = tensor(left, "array_equal"), tensor(right, "array_equal")
    if a.shape != b.shape:
        if a.ndim == b.ndim and any(isinstance(n, Int) for n in (*a.shape, *b.shape)):
            raise ShapeMismatch(op="array_equal", left=a.shape, right=b.shape)
        return number(False, BOOL)
    same = equal(a, b)
    return all(same + isnan(a) * isnan(b) if equal_nan else same)
