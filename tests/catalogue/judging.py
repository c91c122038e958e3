"""Is a result right: shape, dtype, and every element within what its entry allows.

Floats are measured in units in the last place of the result's dtype at the true answer, which is
given in float64. A finite answer beyond the dtype's range stands for its first power of two, so
that the largest number and infinity are a unit apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from catalogue.entry import Array, Case, Dtype, Entry
from catalogue.inputs import is_float

# Float32 has 13 bits more than float16 and 16 more than bfloat16: what it errs by shows as less.
HALF_UNITS = 2.0**-13
# The same answer rounded to float64 first may lie this far past a half.
TWICE_ROUNDED = 2.0**-20
# NumPy's float64 functions err by about one unit themselves.
ORACLE_UNITS = 1.0
DOUBLE = 2.0**-29  # of float64's unit to float32's


@dataclass(frozen=True, slots=True)
class Format:
    """A float dtype: bits of its significand, smallest and largest exponent."""

    bits: int
    least: int
    most: int


FORMATS = {
    "float64": Format(53, -1022, 1023),
    "float32": Format(24, -126, 127),
    "float16": Format(11, -14, 15),
    "bfloat16": Format(8, -126, 127),
}


def unit(exact: Array, form: Format) -> Array:
    """The unit in the last place at finite float64 values."""
    _, exponent = np.frexp(exact)
    kept = np.clip(exponent - 1, form.least, form.most)
    return np.ldexp(1.0, kept - (form.bits - 1))


def faults(
    entry: Entry, given: Dtype, case: Case, got: Sequence[Array], exact: Sequence[Array]
) -> list[str]:
    """What is wrong with an entry's results of a case, each with its worst element."""
    if len(got) != len(exact):
        return [f"{len(got)} results, expected {len(exact)}"]
    dtypes = _expected_dtypes(entry, given, len(got))
    scales = _scales(entry, case, exact)
    results = zip(got, exact, dtypes, scales, strict=True)
    found = [_fault(entry, *one) for one in results]
    labels = [f"result {k}: " if len(got) > 1 else "" for k in range(len(got))]
    return [label + one for label, one in zip(labels, found, strict=True) if one]


def _expected_dtypes(entry: Entry, given: Dtype, count: int) -> Sequence[Dtype]:
    expected = given if entry.result_dtype is None else entry.result_dtype(given)
    many = expected if isinstance(expected, tuple) else (expected,) * count
    return [np.dtype(one) for one in many]


def _scales(entry: Entry, case: Case, exact: Sequence[Array]) -> Sequence[Array]:
    if entry.scale is None:
        return [np.abs(one) if one.dtype.kind == "f" else one for one in exact]
    made = entry.scale(*widened(case))
    return [np.asarray(one) for one in (made if isinstance(made, tuple | list) else (made,))]


def widened(case: Case) -> Case:
    """The arrays as oracles get them: floats as float64."""
    return tuple(one.astype(np.float64) if is_float(one.dtype) else one for one in case)


def _fault(entry: Entry, got: Array, exact: Array, dtype: Dtype, scale: Array) -> str:
    if got.dtype != dtype:
        return f"dtype {got.dtype}, expected {dtype}"
    if got.shape != exact.shape:
        return f"shape {got.shape}, expected {exact.shape}"
    if not is_float(dtype):
        return _described(got, exact, np.where(got != exact, math.inf, 0.0), 0.0)
    wide, true = got.astype(np.float64), exact.astype(np.float64)
    with np.errstate(all="ignore"):
        error, allowed, ulp = _errors(entry, wide, true, dtype, scale)
        bad = np.where(error > allowed, error / np.maximum(ulp, np.finfo(np.float64).tiny), 0.0)
    if entry.zero_signs and not (entry.rtol or entry.atol):
        other_sign = (wide == 0) & (np.signbit(wide) != np.signbit(true)) & ~np.isnan(true)
        bad = np.where((bad == 0) & other_sign, math.inf, bad)
    return _described(wide, true, bad, limit_of(entry, dtype))


def limit_of(entry: Entry, dtype: Dtype) -> float:
    """The units in the last place that an entry allows in a dtype."""
    if entry.ulps == 0:
        return 0.0
    if dtype.name in ("float16", "bfloat16"):
        own = 0.5 + entry.ulps * HALF_UNITS if entry.half_ulps is None else entry.half_ulps
        return own + TWICE_ROUNDED
    if dtype.name == "float64":
        return entry.ulps + (ORACLE_UNITS if entry.ulps > 0.5 else 0.0)
    return entry.ulps + TWICE_ROUNDED


def _errors(
    entry: Entry, got: Array, true: Array, dtype: Dtype, scale: Array
) -> tuple[Array, Array, Array]:
    """Of each element its error, what is allowed, and a unit in the last place."""
    form = FORMATS[dtype.name]
    is_finite = np.isfinite(true)
    if dtype != np.float64:
        end = 2.0 ** (form.most + 1)
        near = np.where(is_finite, np.clip(true, -end, end), true)
        got = np.where(is_finite & np.isinf(got), np.copysign(end, got), got)
    else:
        near = true
    ulp = unit(np.where(is_finite, near, 0.0), form)
    part = DOUBLE if dtype == np.float64 else 1.0
    loose = (entry.rtol * scale.astype(np.float64) + entry.atol) * part
    if dtype.name in ("float16", "bfloat16"):
        loose = loose + entry.half_eps * 2.0 ** (1 - form.bits) * scale.astype(np.float64)
    allowed = limit_of(entry, dtype) * ulp + (loose if entry.rtol or entry.atol else 0.0)
    error = np.where(got == near, 0.0, np.abs(got - near))
    both_nan = np.isnan(got) & np.isnan(true)
    error = np.where(both_nan, 0.0, np.where(np.isnan(error), math.inf, error))
    return error, np.where(np.isnan(allowed), 0.0, allowed), ulp


def _described(got: Array, exact: Array, bad: Array, limit: float) -> str:
    """The worst element; nothing if none is bad."""
    bad = np.asarray(bad, np.float64)
    if not np.any(bad):
        return ""
    count = int(np.count_nonzero(np.isnan(bad) | (bad != 0)))
    place = np.unravel_index(int(np.nanargmax(bad)), bad.shape)
    where = [int(one) for one in place]
    off = f", {bad[place]:.4g} ulp off (limit {limit:.4g})" if np.isfinite(bad[place]) else ""
    return f"{count} of {bad.size} wrong; at {where} {got[place]!r}, expected {exact[place]!r}{off}"
