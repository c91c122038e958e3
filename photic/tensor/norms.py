"""Norms, rotary position, attention: compositions that models share.

Nothing here is known to the compiler: each is written as its definition says, and the search finds
the fast forms. Halves are computed in float32 throughout and rounded once at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, exact_div
from photic.ir.dtype import BOOL
from photic.tensor.creation import counted
from photic.tensor.elementary import rsqrt
from photic.tensor.linear import contracted
from photic.tensor.primitive import accumulated, as_float, less, where
from photic.tensor.reductions import mean, softmax
from photic.tensor.shapes import concat, expand_dims, reshape, stack, swapaxes, window
from photic.tensor.tensor import Tensor, Value, fixed, joined_dtype, tensor


def rms_norm(x: Value, weight: Value | None = None, eps: float = 1e-5, axis: int = -1) -> Tensor:
    """x over the root of its mean square (plus ``eps``) along an axis, times ``weight``."""
    given = as_float(x, "rms_norm")
    value = given.astype(accumulated(given.dtype))
    scaled = value * rsqrt(mean(value * value, axis, keepdims=True) + eps)
    return _weighted(scaled, weight).astype(given.dtype)


def layer_norm(
    x: Value,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    axis: int | Sequence[int] = -1,
) -> Tensor:
    """x less its mean, over the root of its variance (plus ``eps``), times weight, plus bias."""
    given = as_float(x, "layer_norm")
    value = given.astype(accumulated(given.dtype))
    distance = value - mean(value, axis, keepdims=True)
    scaled = distance * rsqrt(mean(distance * distance, axis, keepdims=True) + eps)
    result = _weighted(scaled, weight)
    return (result if bias is None else result + in_dtype_of(result, bias)).astype(given.dtype)


def _weighted(x: Tensor, weight: Value | None) -> Tensor:
    return x if weight is None else x * in_dtype_of(x, weight)


def in_dtype_of(x: Tensor, value: Value) -> Tensor:
    """The value in the dtype of ``x``."""
    return tensor(value).astype(x.dtype)


# --- rotary position ------------------------------------------------------------------------


def rope_halves(x: Value, cos: Value, sin: Value) -> Tensor:
    """Pairs (k, k + half) of the last axis turned by angles; ``cos``, ``sin`` end in its half.

    The layout of GPT-NeoX and of Hugging Face's llama.
    """
    value, c, s = _rotary(x, cos, sin)
    half = _half(value)
    first = window(value, value.ndim - 1, 0, half, "rope")
    second = window(value, value.ndim - 1, half, half + half, "rope")
    turned = concat((first * c - second * s, second * c + first * s), -1)
    return turned.astype(tensor(x).dtype)


def rope_pairs(x: Value, cos: Value, sin: Value) -> Tensor:
    """Neighbours (2k, 2k + 1) of the last axis turned by angles; ``cos``, ``sin`` end in its half.

    The layout of the llama paper and of GGUF files of llama.
    """
    value, c, s = _rotary(x, cos, sin)
    pairs = reshape(value, (*value.shape[:-1], _half(value), 2))
    first, second = pairs[..., 0], pairs[..., 1]
    turned = stack((first * c - second * s, second * c + first * s), -1)
    return reshape(turned, (*turned.shape[:-2], value.shape[-1])).astype(tensor(x).dtype)


def _rotary(x: Value, cos: Value, sin: Value) -> tuple[Tensor, Tensor, Tensor]:
    value = as_float(x, "rope")
    wide = value.astype(accumulated(value.dtype))
    return wide, in_dtype_of(wide, cos), in_dtype_of(wide, sin)


def _half(x: Tensor) -> int:
    extent = fixed("rope", x.shape[-1])
    if extent % 2:
        raise BadArgument(op="rope", argument="last axis", given=extent, expected="an even size")
    return extent // 2


# --- attention ------------------------------------------------------------------------------


def attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query key^T * scale + mask) value, for (..., heads, rows, depth).

    ``key`` and ``value`` may have fewer heads: each serves as many query heads in a row. ``mask``
    broadcasts to (..., heads, rows, keys): bool (true = seen) or added floats. ``causal``: row i
    sees keys ``j <= i + keys - rows``, so that the last row sees all. ``scale`` is
    1/sqrt(depth) unless given. A row that sees no key is nan.
    """
    dtype = joined_dtype((query, key, value), "attention")
    q, k, v = (tensor(one).astype(accumulated(dtype)) for one in (query, key, value))
    groups = _groups(q, k, v)
    factor = 1 / math.sqrt(fixed("attention", q.shape[-1])) if scale is None else scale
    grouped = reshape(q, (*q.shape[:-3], k.shape[-3], groups, *q.shape[-2:]))
    scores = contracted(expand_dims(grouped, -2), expand_dims(k, (-4, -3))) * factor
    rows, keys = scores.shape[-2:]
    if mask is not None:
        scores = _masked(scores, tensor(mask), groups)
    if causal:
        scores = where(causal_mask(rows, keys), scores, -math.inf)
    weights = softmax(scores, -1)
    mixed = contracted(expand_dims(weights, -2), expand_dims(swapaxes(v, -1, -2), (-4, -3)))
    return reshape(mixed, (*mixed.shape[:-4], q.shape[-3], *mixed.shape[-2:])).astype(dtype)


def _groups(q: Tensor, k: Tensor, v: Tensor) -> Dim:
    """How many query heads a key head serves."""
    for one in (k, v):
        if one.ndim < 3 or q.ndim < 3:
            raise BadArgument(
                op="attention",
                argument="rank",
                given=one.ndim,
                expected="(..., heads, rows, depth)",
            )
    if k.shape[-3:-1] != v.shape[-3:-1] or q.shape[-1] != k.shape[-1]:
        raise ShapeMismatch(op="attention", left=k.shape, right=v.shape)
    groups = exact_div(q.shape[-3], k.shape[-3])
    if groups is None:
        raise BadArgument(
            op="attention",
            argument="heads",
            given=f"{q.shape[-3]} queries, {k.shape[-3]} keys",
            expected="a multiple",
        )
    return groups


def _masked(scores: Tensor, mask: Tensor, groups: Dim) -> Tensor:
    """The mask, its heads split into key heads and groups, laid on the scores."""
    heads = scores.shape[-4] * groups
    lead = mask.shape[-3] if mask.ndim > 2 else 1
    plain = reshape(mask, (1,) * (3 - mask.ndim) + mask.shape)
    split = (scores.shape[-4], groups) if lead == heads and lead != 1 else (lead, 1)
    laid = reshape(plain, (*plain.shape[:-3], *split, *plain.shape[-2:]))
    if laid.dtype == BOOL:
        return where(laid, scores, -math.inf)
    return scores + laid.astype(scores.dtype)


def causal_mask(rows: Dim, keys: Dim) -> Tensor:
    """A bool (rows, keys): row i sees key j where ``j <= i + keys - rows``.

    Written as ``j + rows < i + keys + 1``, so that both sides are windows of iota.
    """
    key = counted(rows, rows + keys)
    row = counted(keys + 1, keys + 1 + rows)
    return less(key, row[:, None])
