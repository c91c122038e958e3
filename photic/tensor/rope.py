"""Rotary position: pairs of a head turned by angles that grow with a token's place.

The angles come as tables of cos and sin, which ``rope_tables`` makes from places and from how fast
each pair turns (``rope_rates.py``). Tables narrower than half a head turn its first pairs only.
Halves are computed in float32 and rounded once. Source: Su and others 2021, section 3.2.2.
"""

from __future__ import annotations

from photic.base.errors import BadArgument
from photic.ir.dtype import DType, dtype_of
from photic.tensor.norms import in_dtype_of
from photic.tensor.primitive import accumulated, as_float, sin
from photic.tensor.rope_rates import Rope
from photic.tensor.shapes import concat, reshape, stack, window
from photic.tensor.tensor import DTypeLike, Tensor, Value, expanded, fixed, tensor
from photic.tensor.waves import cos


def rope_tables(places: Value, rope: Rope, dtype: DTypeLike = "float32") -> tuple[Tensor, Tensor]:
    """cos and sin of ``place * rate``, times the gain: (..., pairs) for places (...).

    After ``past`` tokens the places are ``arange(past, past + count)``. Angles are computed in
    ``dtype``, float32 as models are trained with.
    """
    wanted: DType = dtype_of(dtype)
    rates = tensor(rope.rates).astype(wanted)
    angle = tensor(places, "rope_tables").astype(wanted)[..., None] * rates
    across, along = cos(angle), sin(angle)
    if isinstance(rope.gain, float) and rope.gain == 1:
        return across, along
    gain = in_dtype_of(angle, rope.gain)
    return across * gain, along * gain


def rope_halves(x: Value, cos: Value, sin: Value) -> Tensor:
    """Pairs (k, k + half) of the last axis turned by angles; ``cos``, ``sin`` end in its half.

    The layout of GPT-NeoX and of Hugging Face's llama. Tables that end in fewer numbers turn as
    many pairs of the first ``2*pairs`` elements; the rest stays.
    """
    value, c, s = _rotary(x, cos, sin)
    pairs = _pairs(value, c, s)
    axis = value.ndim - 1
    first = window(value, axis, 0, pairs, "rope")
    second = window(value, axis, pairs, pairs + pairs, "rope")
    turned = [first * c - second * s, second * c + first * s]
    return _with_rest(concat(turned, -1), value).astype(as_float(x, "rope").dtype)


def rope_pairs(x: Value, cos: Value, sin: Value) -> Tensor:
    """Neighbours (2k, 2k + 1) of the last axis turned by angles; ``cos``, ``sin`` end in its half.

    The layout of the llama paper and of GGUF files of llama. Tables that end in fewer numbers turn
    the first ``pairs`` neighbours; the rest stays.
    """
    value, c, s = _rotary(x, cos, sin)
    pairs = _pairs(value, c, s)
    couples = window(value, value.ndim - 1, 0, pairs + pairs, "rope")
    couples = reshape(couples, (*value.shape[:-1], pairs, 2))
    first, second = couples[..., 0], couples[..., 1]
    turned = stack((first * c - second * s, second * c + first * s), -1)
    flat = reshape(turned, (*turned.shape[:-2], pairs + pairs))
    return _with_rest(flat, value).astype(as_float(x, "rope").dtype)


def _rotary(x: Value, cos: Value, sin: Value) -> tuple[Tensor, Tensor, Tensor]:
    value = as_float(x, "rope")
    if not value.ndim:
        raise BadArgument(op="rope", argument="rank of x", given=0, expected="an axis of pairs")
    wide = value.astype(accumulated(value.dtype))
    return wide, in_dtype_of(wide, cos), in_dtype_of(wide, sin)


def _pairs(x: Tensor, cos: Tensor, sin: Tensor) -> int:
    """How many pairs turn, all of them by a single angle; BadArgument where they are not in x."""
    width = fixed("rope", x.shape[-1])
    if not (cos.ndim and sin.ndim):
        if width % 2:
            raise BadArgument(
                op="rope", argument="last axis of x", given=width, expected="an even size"
            )
        return width // 2
    pairs = fixed("rope", cos.shape[-1])
    if sin.shape[-1] != pairs or pairs + pairs > width:
        raise BadArgument(
            op="rope",
            argument="last axis of cos and sin",
            given=f"{pairs} and {sin.shape[-1]}",
            expected=f"both alike, at most half of {width}",
        )
    return pairs


def _with_rest(turned: Tensor, x: Tensor) -> Tensor:
    """The turned part, and behind it what of ``x`` does not turn."""
    done, width = fixed("rope", turned.shape[-1]), fixed("rope", x.shape[-1])
    if done == width:
        return turned
    rest = window(x, x.ndim - 1, done, width, "rope")
    return concat([turned, expanded(rest, (*turned.shape[:-1], width - done))], -1)
