"""com.microsoft's attention: heads side by side in one axis, caches, masks, rotary positions.

What is masked counts as ``mask_filter_value``, as in onnxruntime, or is left out where the operator
says so (causal, windows, what lies behind a sequence's end). Quantised caches, packed batches and
the outputs of scores are refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim, at_most
from photic.ir.dtype import FLOAT32, INT64
from photic.tensor import attention as attending
from photic.tensor import (
    compare,
    creation,
    indexing,
    linear,
    norms,
    padding,
    primitive,
    rope,
    shapes,
)
from photic.tensor.tensor import Tensor

FILTER = -10000.0  # what is added to the score of a key that is masked, unless said
NORM_EPSILON = 1e-6


def heads_of(x: Tensor, count: int) -> Tensor:
    """(batch, places, heads*width) as (batch, heads, places, width)."""
    batch, places, _ = x.shape
    return shapes.swapaxes(shapes.reshape(x, (batch, places, count, -1)), 1, 2)


def _joined(x: Tensor) -> Tensor:
    """(batch, heads, places, width) as (batch, places, heads*width)."""
    batch, _, places, _ = x.shape
    return shapes.reshape(shapes.swapaxes(x, 1, 2), (batch, places, -1))


# --- masks ----------------------------------------------------------------------------------


def _padding_mask(call: Call, number: int, keys: Dim, batch: Dim) -> Tensor | None:
    """What a mask of keys adds to scores: (batch, 1, 1 or rows, keys)."""
    given = call.optional(number)
    if given is None:
        return None
    if given.ndim == 1:
        return _filtered(call, _by_ends(call, given, keys, batch))
    if given.ndim > 3:
        raise call.wrong(f"a mask of shape {given.shape}; supported: 1 to 3 axes")
    seen = compare.not_equal(given, 0)
    return _filtered(call, seen[:, None, None] if given.ndim == 2 else seen[:, None])


def _by_ends(call: Call, ends: Tensor, keys: Dim, batch: Dim) -> Tensor:
    """True before each sequence's end, and from its beginning on where these follow the ends."""
    place = creation.arange(keys)
    if ends.shape[0] == batch:
        return (place < ends.astype(INT64)[:, None])[:, None, None]
    if ends.shape[0] != 2 * batch:
        expected = "one end for each sequence, perhaps as many beginnings"
        raise call.wrong(f"a mask of shape {ends.shape}; supported: {expected}")
    both = shapes.reshape(ends.astype(INT64), (2, batch, 1))
    seen = compare.logical_and(place < both[0], place >= both[1])
    return seen[:, None, None]


def _filtered(call: Call, seen: Tensor) -> Tensor:
    return primitive.where(seen, 0.0, call.number("mask_filter_value", FILTER)).astype(FLOAT32)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


# --- one sequence looks at another ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Looking:
    """Queries, keys and values with their heads apart."""

    query: Tensor
    key: Tensor
    value: Tensor


def _attended(call: Call, one: _Looking, mask: Tensor | None) -> Tensor:
    scale = call.number("scale", 0.0) or None
    causal = call.flag("unidirectional")
    return _joined(attending.attention(one.query, one.key, one.value, mask, causal, scale))


def _with_past(past: Tensor | None, new: Tensor) -> Tensor:
    return new if past is None else shapes.concat([past.astype(new.dtype), new], 2)


def _multi_head(call: Call) -> list[Tensor]:
    """MultiHeadAttention: queries, keys, values apart, or together along an axis of their own."""
    for number in (8, 9):
        if call.has(number):
            raise call.wrong(
                f"input {number} is not supported: a buffer that past and present share"
            )
    one = _projected(call, call.integer("num_heads"))
    one = _Looking(
        one.query,
        _with_past(call.optional(6), one.key),
        _with_past(call.optional(7), one.value),
    )
    batch, keys = one.key.shape[0], one.key.shape[2]
    mask = _sum(_padding_mask(call, 4, keys, batch), call.optional(5))
    return [_attended(call, one, mask), one.key, one.value]


def _projected(call: Call, count: int) -> _Looking:
    """The inputs of MultiHeadAttention with their heads apart, the bias added."""
    query, bias = call.tensor(0), call.optional(3)
    if query.ndim == 5:
        parts = [shapes.swapaxes(query[:, :, :, k], 1, 2) for k in range(3)]
        return _Looking(*_biased(parts, bias))
    parts = [heads_of(query, count)]
    key = call.tensor(1)
    if key.ndim == 5:
        parts += [shapes.swapaxes(key[:, :, :, k], 1, 2) for k in range(2)]
    else:
        pair = (key, call.tensor(2))
        parts += [one if one.ndim == 4 else heads_of(one, count) for one in pair]
    return _Looking(*_biased(parts, bias))


def _biased(parts: list[Tensor], bias: Tensor | None) -> list[Tensor]:
    """Each part plus its share of a bias that lies in one row for all three."""
    if bias is None:
        return parts
    found, first = [], 0
    for one in parts:
        heads, width = int(one.shape[1]), int(one.shape[3])
        own = bias[first : first + heads * width]
        found.append(one + shapes.reshape(own, (heads, 1, width)))
        first += heads * width
    return found


def _self_attention(call: Call) -> list[Tensor]:
    """Attention: one input times weights of queries, keys and values side by side."""
    if call.flag("do_rotary") or call.flag("past_present_share_buffer"):
        raise call.wrong("do_rotary and past_present_share_buffer are not supported")
    x, weight, count = call.tensor(0), call.tensor(1), call.integer("num_heads")
    mixed = linear.matmul(x, weight)
    bias = call.optional(2)
    mixed = mixed if bias is None else mixed + bias
    whole = weight.shape[1]
    if not isinstance(whole, int):
        raise call.wrong(f"weights of shape {weight.shape}; their sizes must be known")
    widths = call.ints("qkv_hidden_sizes") or (whole // 3,) * 3
    ends = (0, widths[0], widths[0] + widths[1], sum(widths))
    parts = [heads_of(mixed[:, :, a:b], count) for a, b in pairwise(ends)]
    past = call.optional(4)
    keys, values = (
        _with_past(None if past is None else past[k], one) for k, one in enumerate(parts[1:])
    )
    mask = _sum(_padding_mask(call, 3, keys.shape[2], x.shape[0]), call.optional(5))
    result = _attended(call, _Looking(parts[0], keys, values), mask)
    return [result, shapes.stack([keys, values], 0)] if widths[1] == widths[2] else [result]


# --- rotary positions -----------------------------------------------------------------------


def _turned(x: Tensor, places: Tensor, call: Call, tables: tuple[int, int], name: str) -> Tensor:
    """(batch, heads, places, width) turned by the tables' angles at (batch, places)."""
    cos, sin = (
        indexing.take(call.tensor(number), places.astype(INT64), 0)[:, None] for number in tables
    )
    turn = rope.rope_pairs if call.flag(name) else rope.rope_halves
    return turn(x, cos, sin)


def _rotary(call: Call) -> Value:
    """RotaryEmbedding: with heads apart, or side by side."""
    value = call.value(0)
    x, places = value.tensor, call.tensor(1)
    if call.flag("is_packed_batching"):
        raise call.attribute_error("is_packed_batching", 1, "0")
    width = call.tensor(2).shape[-1]
    if x.ndim == 4:
        apart = x
    else:
        own = call.integer("num_heads", 0)
        apart = heads_of(x, own) if own else _by_width(x, 2 * width)
    places = places.astype(INT64)
    if places.ndim == 1:
        places = (places + creation.arange(apart.shape[2]))[None]
    turned = _turned(apart, places, call, (2, 3), "interleaved")
    return Value(turned if x.ndim == 4 else _joined(turned), value.kind)


def _by_width(x: Tensor, width: Dim) -> Tensor:
    """Heads of a known width apart."""
    batch, places, _ = x.shape
    return shapes.swapaxes(shapes.reshape(x, (batch, places, -1, width)), 1, 2)


# --- grouped queries ------------------------------------------------------------------------

UNREAD = {12: "k_scale", 13: "v_scale", 16: "query_seqlens"}  # inputs of GroupQueryAttention


def _grouped(call: Call) -> list[Tensor]:
    """GroupQueryAttention: each sequence's new keys behind its own past, in the cache's places."""
    for number, name in UNREAD.items():
        if call.has(number):
            raise call.wrong(f"{name} is not supported")
    if call.flag("sliding_window_cache") or call.flag("qk_output"):
        raise call.wrong("sliding_window_cache and qk_output are not supported")
    query, key, value = _normed(call, _parted(call))
    rows, total = query.shape[2], call.sizes(6)[0]
    past = call.optional(3)
    held = 0 if past is None else past.shape[2]
    ends = shapes.reshape(call.tensor(5), (-1,)).astype(INT64) + 1
    first = creation.zeros_like(ends) if rows == total else ends - rows
    if call.flag("do_rotary"):
        places = first[:, None] + creation.arange(rows)
        places = call.tensor(9) if call.has(9) else places
        query, key = (
            _turned(one, places, call, (7, 8), "rotary_interleaved") for one in (query, key)
        )
    extent = held if at_most(total, held) else total
    keys = _cached(past, key, first, extent)
    values = _cached(call.optional(4), value, first, extent)
    mask = _seen(call, first, ends, rows, extent)
    mixed = attending.attention(
        *(query, keys, values, mask),
        scale=call.number("scale", 0.0) or None,
        softcap=call.number("softcap", 0.0) or None,
        sinks=_sinks(call, query),
    )
    return [_joined(mixed), keys, values]


def _parted(call: Call) -> _Looking:
    heads, groups = call.integer("num_heads"), call.integer("kv_num_heads")
    query = call.tensor(0)
    if call.has(1):
        pair = (heads_of(call.tensor(number), groups) for number in (1, 2))
        return _Looking(heads_of(query, heads), *pair)
    apart = heads_of(query, heads + 2 * groups)
    ends = (0, heads, heads + groups, heads + 2 * groups)
    return _Looking(*(apart[:, a:b] for a, b in pairwise(ends)))


def _normed(call: Call, one: _Looking) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys over their norms where the call has weights for them."""
    query, key = one.query, one.key
    usual = call.number("qk_norm_epsilon", NORM_EPSILON)
    if call.has(14):
        query = norms.rms_norm(query, call.tensor(14), call.number("q_norm_epsilon", usual))
    if call.has(15):
        key = norms.rms_norm(key, call.tensor(15), call.number("k_norm_epsilon", usual))
    return query, key, one.value


def _cached(past: Tensor | None, new: Tensor, first: Tensor, extent: Dim) -> Tensor:
    """The cache (batch, heads, extent, width) with the new part from each sequence's place on."""
    batch, heads, rows, width = new.shape
    if past is None and rows == extent:
        return new
    place = creation.arange(extent) - first[:, None]
    is_new = compare.logical_and(place >= 0, place < creation.size(rows))
    index = primitive.where(is_new, place, 0)[:, None, :, None]
    index = shapes.broadcast_to(index, (batch, heads, extent, width))
    shifted = indexing.take_along_axis(new, index, 2)
    if past is None:
        old = creation.zeros_like(shifted)
    else:
        old = padding.pad(past.astype(new.dtype), {2: (0, extent - past.shape[2])})
    return primitive.where(is_new[:, None, :, None], shifted, old)


def _seen(call: Call, first: Tensor, ends: Tensor, rows: Dim, extent: Dim) -> Tensor:
    """What is added to scores: the call's bias, and -inf for keys that a row does not see."""
    key = creation.arange(extent)
    row = (first[:, None] + creation.arange(rows))[:, :, None]
    seen = key < ends[:, None, None]
    if call.flag("causal", True):
        seen = compare.logical_and(seen, key <= row)
    window = call.integer("local_window_size", -1)
    if window >= 0:
        seen = compare.logical_and(seen, key > row - window)
    bias = call.optional(10)
    added = creation.zeros((), FLOAT32) if bias is None else bias.astype(FLOAT32)
    return primitive.where(seen[:, None], added, -math.inf)


def _sinks(call: Call, query: Tensor) -> Tensor | None:
    if call.has(11):
        return call.tensor(11)
    return creation.zeros((query.shape[1],), FLOAT32) if call.flag("smooth_softmax") else None


ATTENTION: tuple[Op, ...] = (
    Op("Attention", _self_attention, domain=MICROSOFT),
    Op("MultiHeadAttention", _multi_head, domain=MICROSOFT),
    Op("GroupQueryAttention", _grouped, domain=MICROSOFT),
    Op("RotaryEmbedding", _rotary, domain=MICROSOFT),
)
