"""The arithmetic of quantised blocks: from the fields of a block, as stored, to its values.

Every function takes tensors [..., blocks, count], one a field, and gives float32 [..., blocks,
values]. Codes are whole numbers below 256 and exact in float32, so the result has the bits of
``gguf.dequantize``. Where the fields lie in a block is the table's of ``blocks.py``.
"""

from __future__ import annotations

from photic.tensor.creation import zeros
from photic.tensor.primitive import less, masked, reduced, where
from photic.tensor.shapes import concat, stack
from photic.tensor.tensor import Tensor

BYTE_BITS = 8
NIBBLE_BITS = 4
NIBBLE = 1 << NIBBLE_BITS
# The codes of 0.0, where codes are not signed.
Q4_ZERO, Q5_ZERO, SIX_BIT_ZERO = 8, 16, 32
HIGH_BIT_OF_3 = 4
# Values that share a scale within a block of 256.
GROUP_16, GROUP_32 = 16, 32
# The values of IQ4 codes (ggml's kvalues_iq4nl) are -127, -104, -83, -65, -49, -35, -22, -10, 1,
# 13, 25, 38, 53, 69, 89, 113: this polynomial of ``code - 7.5``, never further off than 0.45, at
# the nearest whole number. Arithmetic goes into the loop over the weights, a look-up in a loop of
# its own.
IQ4_POLYNOMIAL = (-4.301, 11.517, -0.137, 0.0787, 0.00159)
IQ4_MIDDLE, IQ4_LOWEST = 7.5, -127.0


# --- parts of bytes -------------------------------------------------------------------------


def _bits(packed: Tensor, first: int, count: int) -> Tensor:
    """``count`` bits of each byte, from bit ``first`` on, as float32 (exact)."""
    end = first + count
    kept = packed if end == BYTE_BITS else packed % (1 << end)
    if first == 0:
        return kept.astype("float32")
    below = (packed % (1 << first)).astype("float32")
    return (kept.astype("float32") - below) * (1 / (1 << first))


def _split(packed: Tensor, count: int, axis: int) -> Tensor:
    """All parts of ``count`` bits of each byte, the lowest first, along a new axis."""
    return stack([_bits(packed, first, count) for first in range(0, BYTE_BITS, count)], axis)


def _apart(packed: Tensor, run: int, count: int, group: int) -> Tensor:
    """[..., k] to [..., groups, group]: of each ``run`` bytes all lowest parts, then the next."""
    *lead, size = packed.shape
    runs = packed.reshape((*lead, int(size) // run, run))
    values = int(size) * BYTE_BITS // count
    return _split(runs, count, -2).reshape((*lead, values // group, group))


def _byte_by_byte(packed: Tensor, count: int) -> Tensor:
    """[..., k] to [..., k*8/count]: all parts of the first byte, then of the second."""
    *lead, size = packed.shape
    return _split(packed, count, -1).reshape((*lead, int(size) * BYTE_BITS // count))


def _nibbles(pairs: Tensor) -> Tensor:
    """uint8 [..., k] to float32 [..., 2*k]: all low nibbles, then all high ones."""
    *lead, count = pairs.shape
    return _split(pairs, NIBBLE_BITS, -2).reshape((*lead, 2 * int(count)))


def _flags(packed: Tensor, axis: int) -> Tensor:
    """All bits of each byte, the lowest first, as bools along a new axis."""
    bits = [less((1 << k) - 1, packed % (2 << k)) for k in range(BYTE_BITS - 1)]
    return stack([*bits, less((1 << (BYTE_BITS - 1)) - 1, packed)], axis)


def _codes(low: Tensor, high: Tensor) -> Tensor:
    """``low + 16 * high`` as uint8: the codes of scales, whose bits lie here and there.

    As a sum they are worth being computed once: of constants the compiler keeps the codes.
    """
    return reduced("sum", stack([low, high * NIBBLE], -1).astype("uint8"), -1)


def _column(values: Tensor) -> Tensor:
    return values[..., None]


def _flat(groups: Tensor) -> Tensor:
    """[..., groups, group] as one axis."""
    *lead, count, size = groups.shape
    return groups.reshape((*lead, int(count) * int(size)))


# --- blocks of 32 ---------------------------------------------------------------------------


def plain(values: Tensor) -> Tensor:
    """Elements that are floats already."""
    return values.astype("float32")


def scaled(scale: Tensor, codes: Tensor) -> Tensor:
    """``scale * code``, signed codes of a byte."""
    return scale.astype("float32") * codes.astype("float32")


def nibbles(scale: Tensor, pairs: Tensor) -> Tensor:
    """``scale * (code - 8)``."""
    return scale.astype("float32") * (_nibbles(pairs) - Q4_ZERO)


def nibbles_from(scale: Tensor, minimum: Tensor, pairs: Tensor) -> Tensor:
    """``scale * code + minimum``."""
    return scale.astype("float32") * _nibbles(pairs) + minimum.astype("float32")


def fives(scale: Tensor, high: Tensor, pairs: Tensor) -> Tensor:
    """``scale * (code - 16)``, the fifth bits apart, one after another."""
    return scale.astype("float32") * (_five_bits(high, pairs) - Q5_ZERO)


def fives_from(scale: Tensor, minimum: Tensor, high: Tensor, pairs: Tensor) -> Tensor:
    """``scale * code + minimum``, the fifth bits apart."""
    return scale.astype("float32") * _five_bits(high, pairs) + minimum.astype("float32")


def _five_bits(high: Tensor, pairs: Tensor) -> Tensor:
    *lead, count = high.shape
    fifth = _flags(high, -1).reshape((*lead, int(count) * BYTE_BITS))
    return _nibbles(pairs) + masked(fifth, float(NIBBLE))


def curved(scale: Tensor, pairs: Tensor) -> Tensor:
    """``scale * value``, the values of IQ4 codes."""
    return scale.astype("float32") * _iq4_values(_nibbles(pairs))


def _iq4_values(codes: Tensor) -> Tensor:
    place = codes - IQ4_MIDDLE
    value = place * IQ4_POLYNOMIAL[-1]
    for coefficient in IQ4_POLYNOMIAL[-2:0:-1]:
        value = (value + coefficient) * place
    above = value + (IQ4_POLYNOMIAL[0] - IQ4_LOWEST + 1 / 2)  # 0 or more: a cast rounds down
    return above.astype("uint8").astype("float32") + IQ4_LOWEST


# --- blocks of 256 --------------------------------------------------------------------------


def two_bits(scales: Tensor, codes: Tensor, scale: Tensor, minimum: Tensor) -> Tensor:
    """Q2_K: groups of 16, each with a scale and a minimum of 4 bits."""
    factor = _column(scale.astype("float32") * _bits(scales, 0, NIBBLE_BITS))
    offset = _column(minimum.astype("float32") * _bits(scales, NIBBLE_BITS, NIBBLE_BITS))
    return _flat(factor * _apart(codes, GROUP_32, 2, GROUP_16) - offset)


def three_bits(high: Tensor, codes: Tensor, scales: Tensor, scale: Tensor) -> Tensor:
    """Q3_K: groups of 16, each with a scale of 6 bits; a third bit that is 0 takes 4 off."""
    low = _nibbles(scales[..., :8])
    upper = _split(scales[..., 8:], 2, -2).reshape(low.shape)
    codes_of_scales = _codes(low, upper).astype("float32") - SIX_BIT_ZERO
    factor = _column(scale.astype("float32") * codes_of_scales)
    kept = _apart(codes, GROUP_32, 2, GROUP_16)
    third = _flags(high, -2).reshape(kept.shape)
    return _flat(factor * (kept + where(third, 0.0, -float(HIGH_BIT_OF_3))))


def four_bits(scale: Tensor, minimum: Tensor, packed: Tensor, pairs: Tensor) -> Tensor:
    """Q4_K: groups of 32, each with a scale and a minimum of 6 bits."""
    factor, offset = _six_bit_scales(scale, minimum, packed)
    return _flat(factor * _apart(pairs, GROUP_32, NIBBLE_BITS, GROUP_32) - offset)


def five_bits(
    scale: Tensor, minimum: Tensor, packed: Tensor, high: Tensor, pairs: Tensor
) -> Tensor:
    """Q5_K: as Q4_K, with the fifth bits apart: bit g of each byte is of group g."""
    factor, offset = _six_bit_scales(scale, minimum, packed)
    low = _apart(pairs, GROUP_32, NIBBLE_BITS, GROUP_32)
    return _flat(factor * (low + masked(_flags(high, -2), float(NIBBLE))) - offset)


def _six_bit_scales(scale: Tensor, minimum: Tensor, packed: Tensor) -> tuple[Tensor, Tensor]:
    """Scales and minimums [..., 8, 1] of the groups; the upper four of each lie in three bytes."""
    first, second, rest = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    none = zeros(first.shape)
    factors = _codes(
        concat([_bits(first, 0, 6), _bits(rest, 0, NIBBLE_BITS)], -1),
        concat([none, _bits(first, 6, 2)], -1),
    )
    offsets = _codes(
        concat([_bits(second, 0, 6), _bits(rest, NIBBLE_BITS, NIBBLE_BITS)], -1),
        concat([none, _bits(second, 6, 2)], -1),
    )
    return (
        _column(scale.astype("float32") * factors.astype("float32")),
        _column(minimum.astype("float32") * offsets.astype("float32")),
    )


def six_bits(pairs: Tensor, high: Tensor, scales: Tensor, scale: Tensor) -> Tensor:
    """Q6_K: groups of 16, each with a signed scale of a byte."""
    factor = _column(scale.astype("float32") * scales.astype("float32"))
    low = _apart(pairs, 2 * GROUP_32, NIBBLE_BITS, GROUP_16)
    codes = low + _apart(high, GROUP_32, 2, GROUP_16) * NIBBLE - SIX_BIT_ZERO
    return _flat(factor * codes)


def curved_groups(scale: Tensor, high: Tensor, low: Tensor, pairs: Tensor) -> Tensor:
    """IQ4_XS: groups of 32 with a scale of 6 bits, values as of IQ4_NL."""
    codes = _codes(_byte_by_byte(low, NIBBLE_BITS), _byte_by_byte(high, 2))
    factor = _column(scale.astype("float32") * (codes.astype("float32") - SIX_BIT_ZERO))
    return _flat(factor * _iq4_values(_apart(pairs, GROUP_16, NIBBLE_BITS, GROUP_32)))
