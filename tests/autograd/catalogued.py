"""Entries of the catalogue that claim a gradient, and their cases moved off special places."""

from __future__ import annotations

import numpy as np
from catalogue.entry import NO_GRADIENT, Entry
from catalogue.running import entries

import photic as ph
from photic.forms.eval import Array

FEW = 2  # cases of an entry that are checked
LARGE = 1e3  # beyond, an input is replaced: differences would drown in rounding


def differentiable() -> list[Entry]:
    """Those that claim one; a few are for float64 alone, or not for it, all are checked in it."""
    return [one for one in entries() if not one.gradient.startswith(NO_GRADIENT)]


def moved_off(case: tuple[Array, ...], random: np.random.Generator) -> list[Array]:
    """The case's arrays, floats replaced where they are not plain numbers, and shifted a little."""
    arrays = []
    for one in case:
        if one.dtype == np.float64:
            plain = np.isfinite(one) & (np.abs(one) < LARGE)
            one = np.where(plain, one, random.normal(size=one.shape))
            one = one + random.uniform(-0.03, 0.03, one.shape)
        arrays.append(np.array(one))
    return arrays


def is_float(x: ph.Tensor) -> bool:
    return x.dtype.kind == "float"
