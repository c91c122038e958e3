"""Floats of 8 and 4 bits by their codes: a table to read them, borders between neighbours to write.

A code is read by lookup. To write, the magnitude is compared with the border between each two
neighbours; a value on a border takes the even code of the two, as rounding to nearest does.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from photic.frontends.onnx.kinds import Array, Kind
from photic.ir.dtype import FLOAT64, UINT8
from photic.tensor import compare, creation, indexing, primitive, rounding, searching
from photic.tensor.tensor import Tensor

CODES = 256
E8M0 = "float8_e8m0fnu"
NEGATIVE_ZERO_IS_NAN = "fnuz"


@cache
def _table(kind: Kind) -> Array:
    """The value of each code, in float32."""
    codes = np.arange(1 << kind.bits, dtype=np.uint8)
    return codes.view(kind.numpy).astype(np.float32)


def decoded(codes: Tensor, kind: Kind) -> Tensor:
    """Codes to float32."""
    return indexing.take(creation.constant(_table(kind)), codes)


@cache
def _positive(kind: Kind) -> tuple[Array, int]:
    """The finite values of the codes without a sign, rising; the number of the sign's bit."""
    half = CODES if kind.name == E8M0 else 1 << (kind.bits - 1)
    values = _table(kind)[:half]
    return values[np.isfinite(values)], half


def _borders(values: Array) -> Array:
    """Between each two neighbours the largest number that goes to the lower one, in float64."""
    wide = values.astype(np.float64)
    middle = (wide[:-1] + wide[1:]) / 2
    is_odd = np.arange(len(middle)) % 2 == 1
    return np.where(is_odd, np.nextafter(middle, -np.inf), middle)


def encoded(x: Tensor, kind: Kind, saturate: bool) -> Tensor:
    """Floats to codes, to nearest even; what is too large becomes the largest, or not finite."""
    if kind.name == E8M0:
        return _encoded_exponent(x, kind)
    values, sign = _positive(kind)
    wide = x.astype(FLOAT64)
    size = rounding.abs(wide)
    code = searching.searchsorted(creation.constant(_borders(values)), size)
    largest = len(values) - 1
    code = compare.minimum(code, largest)
    if kind.bits == UINT8.bytes * 8:
        code = _not_finite(code, size, kind, values, saturate)
    is_negative = rounding.signbit(wide)
    if kind.name.endswith(NEGATIVE_ZERO_IS_NAN):
        is_negative = compare.logical_and(is_negative, code > 0)
        code = primitive.where(code == sign, 0, code)
        signed = primitive.where(is_negative, code + sign, code)
        too_large = _is_past(size, values)
        lost = (
            compare.isnan(wide) if saturate else compare.logical_or(compare.isnan(wide), too_large)
        )
        signed = primitive.where(lost, sign, signed)
    else:
        signed = primitive.where(is_negative, code + sign, code)
        if kind.bits < UINT8.bytes * 8:
            signed = primitive.where(compare.isnan(wide), sign, signed)
    return signed.astype(UINT8)


def _is_past(size: Tensor, values: Array) -> Tensor:
    """True for what rounds to more than the largest value."""
    wide = values.astype(np.float64)
    step = wide[-1] - wide[-2]
    limit = wide[-1] + step / 2
    is_even = (len(values) - 1) % 2 == 0
    return compare.greater(size, limit) if is_even else compare.greater_equal(size, limit)


def _not_finite(code: Tensor, size: Tensor, kind: Kind, values: Array, saturate: bool) -> Tensor:
    """Codes of nan and infinities of the formats that have a negative 0."""
    if kind.name.endswith(NEGATIVE_ZERO_IS_NAN):
        return code
    table = _table(kind)[: CODES // 2]
    nan = int(np.flatnonzero(np.isnan(table))[-1])
    if not saturate:
        infinite = np.flatnonzero(np.isinf(table))
        past = int(infinite[0]) if infinite.size else nan
        code = primitive.where(_is_past(size, values), past, code)
    return primitive.where(compare.isnan(size), nan, code)


def _encoded_exponent(x: Tensor, kind: Kind) -> Tensor:
    """Powers of 2: the next larger one of a magnitude that is none."""
    values = _table(kind)[: CODES - 1].astype(np.float64)
    size = rounding.abs(x.astype(FLOAT64))
    code = compare.minimum(searching.searchsorted(creation.constant(values), size), len(values) - 1)
    return primitive.where(compare.isnan(size), CODES - 1, code).astype(UINT8)
