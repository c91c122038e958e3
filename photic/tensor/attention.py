"""Attention: a softmax of scores between rows and keys, and what decides who sees whom.

Nothing here is known to the compiler: it is written as its definition says, and the search finds
the streaming form. Positions count from the end of the keys: row i of r stands at key
``i + keys - r``, so that the last row is the newest, as with a cache. What a mask hides is hidden
by selection: its score may be nan or infinite (a value that is so still shows, as 0 times it).
Halves are computed with in float32; what stays of a score, at most 1, is rounded to the half before
values are multiplied by it, and so is the result.
"""

from __future__ import annotations

import math

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, bounds, exact_div
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, DType
from photic.tensor.activations import tanh
from photic.tensor.axes import as_integer, as_many, as_size
from photic.tensor.creation import constant, counted
from photic.tensor.linear import contracted
from photic.tensor.primitive import accumulated, exp2, less, masked, negated, reciprocal, where
from photic.tensor.reductions import LOG2_E, below_maximum, sum
from photic.tensor.rounding import abs
from photic.tensor.shapes import expand_dims, reshape, swapaxes
from photic.tensor.tensor import Tensor, Value, fixed, joined_dtype, tensor

Window = tuple[Dim | None, Dim | None]
LARGEST = {FLOAT32: float(np.finfo(np.float32).max), FLOAT64: float(np.finfo(np.float64).max)}


def attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    causal: bool = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    sinks: Value | None = None,
) -> Tensor:
    """softmax(query key^T * scale + mask) value, for (..., heads, rows, depth).

    ``key`` and ``value`` may have fewer heads: each serves as many query heads in a row; the depth
    of ``value`` is its own. ``mask`` broadcasts to (..., heads, rows, keys): bool (true = seen) or
    added floats. ``causal``: row i sees keys ``j <= i + keys - rows``, so that the last row sees
    all. ``window``: how many keys before and after its own a row sees, None for all; causal of
    the w newest is ``(w - 1, 0)``. ``scale`` is 1/sqrt(depth) unless given. ``softcap`` makes
    scores ``softcap*tanh(score/softcap)`` before masks. ``sinks`` (heads,) adds to each row of a
    head a score that has no value. A row that sees no key is 0, as in PyTorch.

    Raises BadArgument and ShapeMismatch. Sizes may be symbolic, all but the depth of ``query``.
    """
    dtype = joined_dtype((query, key, value), "attention")
    q, k, v = (tensor(one).astype(accumulated(dtype)) for one in (query, key, value))
    groups = _groups(q, k, v)
    factor = 1 / math.sqrt(fixed("attention", q.shape[-1])) if scale is None else scale
    grouped = reshape(q, (*q.shape[:-3], k.shape[-3], groups, *q.shape[-2:]))
    scores = contracted(expand_dims(grouped, -2), expand_dims(k, (-4, -3))) * factor
    if softcap is not None:
        scores = _capped(scores, softcap)
    if mask is not None:
        scores = _masked(scores, tensor(mask), groups)
    rows, keys = scores.shape[-2:]
    for seen in _positional(rows, keys, causal, window):
        scores = where(seen, scores, -math.inf)
    mixed = _mixed(scores, v, sinks, dtype)
    return reshape(mixed, (*mixed.shape[:-4], q.shape[-3], *mixed.shape[-2:])).astype(dtype)


def _groups(q: Tensor, k: Tensor, v: Tensor) -> Dim:
    """How many query heads a key head serves."""
    for one in (q, k, v):
        if one.ndim < 3:
            raise BadArgument(
                op="attention",
                argument="rank",
                given=one.ndim,
                expected="(..., heads, rows, depth)",
            )
    if k.shape[-3:-1] != v.shape[-3:-1]:
        raise ShapeMismatch(op="attention", left=k.shape, right=v.shape)
    if q.shape[-1] != k.shape[-1]:
        raise ShapeMismatch(op="attention", left=q.shape, right=k.shape)
    groups = exact_div(q.shape[-3], k.shape[-3])
    if groups is None:
        raise BadArgument(
            op="attention",
            argument="heads",
            given=f"{q.shape[-3]} queries, {k.shape[-3]} keys",
            expected="a multiple",
        )
    return groups


def _capped(scores: Tensor, cap: float) -> Tensor:
    if not cap > 0:
        raise BadArgument(op="attention", argument="softcap", given=cap, expected="above 0")
    return tanh(scores * (1 / cap)) * cap


def _masked(scores: Tensor, mask: Tensor, groups: Dim) -> Tensor:
    """The mask, its heads split into key heads and groups, laid on the scores."""
    heads = scores.shape[-4] * groups
    lead = mask.shape[-3] if mask.ndim > 2 else 1
    plain = reshape(mask, (1,) * (3 - mask.ndim) + mask.shape)
    split = (scores.shape[-4], groups) if lead == heads and lead != 1 else (lead, 1)
    laid = reshape(plain, (*plain.shape[:-3], *split, *plain.shape[-2:]))
    if laid.dtype == BOOL:
        return where(laid, scores, -math.inf)
    added = laid.astype(scores.dtype)
    # what a mask of -inf hides is hidden by selection too, whatever its score is
    return where(_is_lowest(added), -math.inf, scores + added)


def _is_lowest(x: Tensor) -> Tensor:
    """True where -inf: below every finite number."""
    return less(x, -LARGEST[x.dtype])


def _mixed(scores: Tensor, value: Tensor, sinks: Value | None, dtype: DType) -> Tensor:
    """The values, each by its weight: (..., key heads, groups, rows, depth)."""
    below, top = below_maximum(scores, -1, "attention")
    weights = exp2(below * LOG2_E).astype(dtype).astype(scores.dtype)
    total = sum(weights, -1, keepdims=True)
    if sinks is not None:
        total = total + _lost(top, sinks)
    columns = expand_dims(swapaxes(value, -1, -2), (-4, -3))
    if dtype.is_half:  # a share of the whole would be rounded once more
        mixed = contracted(expand_dims(weights, -2), columns) * reciprocal(total)
    else:
        mixed = contracted(expand_dims(weights * reciprocal(total), -2), columns)
    return masked(negated(_is_lowest(top)), mixed)


def _lost(top: Tensor, sinks: Value) -> Tensor:
    """What a score without a value takes of each row's total."""
    key_heads, groups = top.shape[-4:-2]
    sink = tensor(sinks).astype(top.dtype)
    if sink.shape != (key_heads * groups,):
        raise ShapeMismatch(op="attention sinks", left=sink.shape, right=(key_heads * groups,))
    # a sink far above the row overflows here, and then no key has any weight
    return exp2((reshape(sink, (key_heads, groups, 1, 1)) - top) * LOG2_E)


# --- who sees whom by place -----------------------------------------------------------------


def _positional(rows: Dim, keys: Dim, causal: bool, window: Window | None) -> list[Tensor]:
    """What bounds the keys of a row: from above, from below."""
    pair = as_many(window or (None, None))
    if len(pair) != 2:
        expected = "two sizes, before and after; None for no bound"
        raise BadArgument(op="attention", argument="window", given=window, expected=expected)
    before, after = (None if one is None else as_size("attention", "window", one) for one in pair)
    for one in (before, after):
        if one is not None and bounds(one)[0] < 0:
            raise BadArgument(
                op="attention", argument="window", given=window, expected="0 or more, or None"
            )
    ahead = 0 if causal else after
    above = [] if ahead is None else [causal_mask(rows, keys, ahead)]
    below = [] if before is None else [_is_recent(rows, keys, before)]
    return above + below


def causal_mask(rows: Dim, keys: Dim, ahead: Dim = 0) -> Tensor:
    """A bool (rows, keys): row i sees key j where ``j <= i + keys - rows + ahead``.

    Written as ``j + rows < i + keys + ahead + 1``, so that both sides are windows of iota.
    """
    key = counted(rows, rows + keys)
    row = counted(keys + ahead + 1, keys + ahead + 1 + rows)
    return less(key, row[:, None])


def _is_recent(rows: Dim, keys: Dim, before: Dim) -> Tensor:
    """A bool (rows, keys): row i sees key j where ``j >= i + keys - rows - before``."""
    key = counted(rows + before, rows + before + keys)
    row = counted(keys, keys + rows)
    return negated(less(key, row[:, None]))


# --- a bias by distance ---------------------------------------------------------------------


def alibi_slopes(heads: int) -> tuple[float, ...]:
    """How fast each head's scores fall with distance (Press, Smith, Lewis 2022, section 3).

    Powers of ``2**(-8/heads)`` for a power of two; else those of the next smaller one, and every
    second one of the next larger, as the authors' code has it.
    """
    heads = as_integer("alibi_slopes", "heads", heads)
    if heads < 1:
        raise BadArgument(op="alibi_slopes", argument="heads", given=heads, expected="1 or more")
    whole = 1 << (heads.bit_length() - 1)
    return (*_powers(whole), *_powers(2 * whole)[0::2][: heads - whole])


ALIBI_SPAN = 8.0  # the last head's slope is 2**-8


def _powers(heads: int) -> tuple[float, ...]:
    return tuple(2.0 ** (-ALIBI_SPAN * (k + 1) / heads) for k in range(heads))


def alibi_bias(heads: int, rows: Dim, keys: Dim) -> Tensor:
    """A float32 (heads, rows, keys) to add as ``mask``: ``-slope*|key - row's own key|``."""
    # both places counted from ``rows`` before the first key
    distance = counted(rows, rows + keys) - counted(keys, keys + rows)[:, None]
    slopes = constant(alibi_slopes(heads))
    return abs(distance).astype(FLOAT32) * -slopes[:, None, None]
