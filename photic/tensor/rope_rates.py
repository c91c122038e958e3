"""How fast each pair of a head turns, as tensors, also where it depends on the length of now.

The scalings are ``rope_scalings.py``'s. Two kinds depend on how long the sequence is: their
``length`` may be symbolic, and is the length of now, never that of the memory set aside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT64
from photic.tensor.compare import maximum
from photic.tensor.primitive import exp2, less, log2, where
from photic.tensor.rope_scalings import (
    RopeDynamic,
    RopeLong,
    RopeScaling,
    bad_scaling,
    check_scaling,
    fixed_rates,
    unscaled_rates,
)
from photic.tensor.tensor import Tensor, Value, tensor


@dataclass(frozen=True, slots=True)
class Rope:
    """Radians by which each pair turns from one token to the next, and the gain of cos and sin."""

    rates: Tensor
    gain: Value


def rope_rates(scaling: RopeScaling, length: Dim | Tensor | None = None) -> Rope:
    """The rates of ``width/2`` pairs, and the gain.

    ``length``, the number of tokens seen so far, is for RopeDynamic and RopeLong, which need it.
    Raises BadArgument for a width that is odd or below 2 and for numbers without sense.
    """
    check_scaling(scaling)
    if isinstance(scaling, RopeDynamic | RopeLong):
        if length is None:
            raise BadArgument(
                op="rope_rates",
                argument="length",
                given=None,
                expected=f"the length of now, for {type(scaling).__name__}",
            )
        now = tensor(length, "rope_rates")
        return _dynamic(scaling, now) if isinstance(scaling, RopeDynamic) else _long(scaling, now)
    rates, gain = fixed_rates(scaling)
    return Rope(tensor(rates), gain)


# --- by length ------------------------------------------------------------------------------


def _dynamic(one: RopeDynamic, length: Tensor) -> Rope:
    """The base times ``growth**(width/(width - 2))``: so that the slowest pair goes over growth."""
    rates = unscaled_rates(one.width, one.base)
    reach = maximum(length, one.trained).astype(FLOAT64)
    growth = reach * (one.factor / one.trained) - (one.factor - 1)
    exponents = -np.arange(0, one.width, 2, dtype=np.float64) / (one.width - 2)
    return Rope(exp2(log2(growth) * exponents) * rates, 1.0)


def _long(one: RopeLong, length: Tensor) -> Rope:
    rates = unscaled_rates(one.width, one.base)
    for name, factors in (("short", one.short), ("long", one.long)):
        if len(factors) != len(rates) or min(factors) <= 0:
            raise bad_scaling(name, f"{len(factors)} numbers", f"{len(rates)} of them, above 0")
    is_long = less(one.trained, length)
    gains = [_long_gain(one) if g is None else g for g in (one.short_gain, one.long_gain)]
    short, long = (rates / np.array(factors) for factors in (one.short, one.long))
    gain: Value = gains[0]
    if gains[0] != gains[1]:
        gain = where(is_long, np.array(gains[1]), np.array(gains[0]))
    return Rope(where(is_long, long, short), gain)


def _long_gain(one: RopeLong) -> float:
    if one.factor <= 1:
        return 1.0
    return math.sqrt(1 + math.log(one.factor) / math.log(one.trained))
