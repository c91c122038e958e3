"""The catalogue's entries for attention, rotary position and bags of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.by_torch import by_torch, cases, chosen, exactly, floats, speed_of, whole
from catalogue.entry import Array, Entry, gives

import photic as ph

ROUNDINGS = 4e-6  # sums of tens of products of numbers up to 2, through exponentials
WHY = "roundings of scores of up to 20, relative to the largest value"

# --- attention ------------------------------------------------------------------------------


def values(*arrays: Array) -> Array:
    """The largest magnitude of the values, which results do not pass."""
    return np.asarray(np.abs(arrays[2]).max(initial=1.0))


def attended(torch: Any, q: Any, k: Any, v: Any, mask: Any = None, **options: Any) -> Any:
    """Attention by its definition; ``band`` is (before, after), ``sinks`` a score per head."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = (one.repeat_interleave(groups, -3) for one in (k, v))
    scores = q @ k.transpose(-1, -2) * options.get("scale", q.shape[-1] ** -0.5)
    if "softcap" in options:
        scores = torch.tanh(scores / options["softcap"]) * options["softcap"]
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    if "band" in options:
        scores = scores.masked_fill(~band(torch, *scores.shape[-2:], *options["band"]), -math.inf)
    if "sinks" in options:
        sink = options["sinks"].reshape(-1, 1, 1).expand(*scores.shape[:-1], 1)
        return torch.cat([scores, sink], -1).softmax(-1)[..., :-1] @ v
    unseen = (scores == -math.inf).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(unseen, 0.0) @ v


def band(torch: Any, rows: int, keys: int, before: int | None, after: int | None) -> Any:
    """Which keys a row sees by its place, counted from the end."""
    distance = torch.arange(keys) - (torch.arange(rows)[:, None] + keys - rows)
    low = -keys - rows if before is None else -before
    return (distance >= low) & (distance <= (keys + rows if after is None else after))


def triples(*shapes: tuple[int, ...]) -> list[list[Any]]:
    """Queries, keys and values: (batch, heads, key heads, rows, keys, depth)."""
    return [
        [floats(b, h, r, d), floats(b, g, k, d), floats(b, g, k, d)] for b, h, g, r, k, d in shapes
    ]


PLAIN = cases(*triples((1, 1, 1, 1, 1, 1), (2, 2, 2, 5, 7, 8), (1, 2, 2, 33, 33, 4)))
GROUPED = triples((2, 4, 2, 5, 7, 8), (1, 3, 1, 1, 9, 4), (2, 2, 2, 6, 3, 5))
SEEN = [[True, False, True], [False, False, True], [True, True, True]]
KEYS = ("2 2 5 8", "2 2 m+ 8", "2 2 m+ 8")


def peer(torch: Any, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    function = torch.nn.functional.scaled_dot_product_attention
    return function(q, k, v, mask, enable_gqa=q.shape[-3] != k.shape[-3])


# Of the largest value, in halves: weights are rounded by half an epsilon, and so is their sum.
WEIGHTS = 1.0

ATTENTION = (
    Entry(
        "attention",
        ph.attention,
        by_torch(peer),
        PLAIN,
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=values,
        why=WHY,
        sizes=KEYS,
        is_peer=True,
        onnx=("Attention", "MultiHeadAttention"),
        aten=("scaled_dot_product_attention",),
        speed=speed_of(peer, ph.attention, *[(1, 16, 256, 64)] * 3),
    ),
    Entry(
        "attention.causal",
        lambda q, k, v: ph.attention(q, k, v, causal=True),
        by_torch(lambda torch, q, k, v: attended(torch, q, k, v, band=(None, 0))),
        cases(*GROUPED),
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=values,
        why=WHY,
        is_peer=True,
        onnx=("GroupQueryAttention",),
        aten=("scaled_dot_product_attention",),
    ),
    Entry(
        "attention.mask",
        ph.attention,
        by_torch(peer),
        cases(
            [*triples((2, 4, 2, 3, 3, 8))[0], exactly(SEEN)],
            [*triples((2, 4, 2, 3, 3, 8))[0], exactly([[[True]], [[False]], [[True]], [[True]]])],
            [*triples((2, 2, 2, 3, 3, 4))[0], floats(3, 3)],
            [*triples((2, 2, 2, 3, 3, 4))[0], chosen(0.0, -math.inf, shape=(2, 1, 3, 3))],
        ),
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=values,
        why=WHY,
        is_peer=True,
        onnx=("Attention",),
        aten=("scaled_dot_product_attention",),
    ),
    Entry(
        "attention.window",
        lambda q, k, v: [
            ph.attention(q, k, v, window=one) for one in ((2, 0), (0, None), (1, 1), (None, 2))
        ],
        by_torch(
            lambda torch, q, k, v: [
                attended(torch, q, k, v, band=one) for one in ((2, 0), (0, None), (1, 1), (None, 2))
            ]
        ),
        cases(*GROUPED),
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=lambda *arrays: [values(*arrays)] * 4,
        why=WHY,
        is_peer=True,
    ),
    Entry(
        "attention.softcap",
        lambda q, k, v: ph.attention(q, k, v, causal=True, softcap=1.5, scale=0.7),
        by_torch(
            lambda torch, q, k, v: attended(torch, q, k, v, band=(None, 0), softcap=1.5, scale=0.7)
        ),
        cases(*GROUPED),
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=values,
        why=WHY,
        is_peer=True,
        onnx=("Attention",),
    ),
    Entry(
        "attention.sinks",
        lambda q, k, v, sinks: ph.attention(q, k, v, window=(2, 0), sinks=sinks),
        by_torch(lambda torch, q, k, v, sinks: attended(torch, q, k, v, band=(2, 0), sinks=sinks)),
        cases(
            [*GROUPED[0], floats(4)],
            [*GROUPED[1], chosen(9.0, -200.0, shape=(3,))],
            [*GROUPED[2], chosen(0.0, 300.0, shape=(2,))],
        ),
        rtol=ROUNDINGS,
        half_eps=WEIGHTS,
        scale=values,
        why=WHY,
        is_peer=True,
    ),
)

# --- a bias by distance ---------------------------------------------------------------------


def alibi(x: Array) -> Array:
    """Press and others' slopes for six heads: those of four, and every other one of eight."""
    slopes = np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3])
    rows, keys = x.shape
    distance = np.arange(keys) - (np.arange(rows)[:, None] + keys - rows)
    return -slopes[:, None, None] * np.abs(distance)


ALIBI = (
    Entry(
        "alibi_bias",
        lambda x: ph.alibi_bias(6, *x.shape),
        alibi,
        cases(*([floats(*shape)] for shape in [(1, 1), (3, 7), (5, 2), (0, 4), (33, 33)])),
        ulps=1.0,
        sizes=("3 m",),
        zero_signs=False,
        result_dtype=gives("float32"),
        gradient="none: it has no inputs",
    ),
    Entry(
        "alibi_slopes",
        lambda x: x * ph.constant(ph.alibi_slopes(6), "float32"),
        lambda x: x * np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]),
        cases([floats(6)]),
        ("float64", "float32"),
        gradient="none: numbers",
    ),
)

# --- rotary position ------------------------------------------------------------------------


def complex_turn(first: Array, second: Array, cos: Array, sin: Array) -> list[Array]:
    return [first * cos - second * sin, second * cos + first * sin]


def halves(x: Array, cos: Array, sin: Array) -> Array:
    pairs = cos.shape[-1]
    turned = complex_turn(x[..., :pairs], x[..., pairs : 2 * pairs], cos, sin)
    return np.concatenate([*turned, x[..., 2 * pairs :]], -1)


def neighbours(x: Array, cos: Array, sin: Array) -> Array:
    pairs = cos.shape[-1]
    turned = complex_turn(x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2], cos, sin)
    flat = np.stack(turned, -1).reshape(*x.shape[:-1], 2 * pairs)
    return np.concatenate([flat, x[..., 2 * pairs :]], -1)


def lengths_of_pairs(x: Array, cos: Array, sin: Array) -> Array:
    return np.asarray(4 * np.abs(x).max(initial=0))


TURNED = cases(
    [floats(3, 8), floats(3, 4, low=-1, high=1), floats(3, 4, low=-1, high=1)],
    [floats(2, 1, 2), floats(1, 1, low=-1, high=1), floats(1, 1, low=-1, high=1)],
    [floats(2, 0, 8), floats(0, 4), floats(0, 4)],
    [floats(2, 3, 5, 16), floats(5, 4, low=-1, high=1), floats(5, 4, low=-1, high=1)],
    [floats(2, 33, 7), floats(33, 2, low=-1, high=1), floats(33, 2, low=-1, high=1)],
)


def rope(name: str, function: Callable[..., Any], oracle: Callable[..., Array]) -> Entry:
    return Entry(
        name,
        function,
        oracle,
        TURNED,
        rtol=1e-6,
        scale=lengths_of_pairs,
        why="two products and a sum, which may cancel",
        onnx=("RotaryEmbedding",),
        sizes=("n 8", "n 4", "n 4"),
    )


def tables(places: Array) -> list[Array]:
    angle = places[..., None] * 100.0 ** -np.array([0.0, 0.25, 0.5, 0.75])
    # the angle is a float32 like the table it is made of, or for float64 inputs a float64
    return [np.cos(angle), np.sin(angle)]


def dynamic(length: Array) -> Array:
    """Rates of eight elements trained to 16 places: the base grows with the length beyond."""
    base = 100.0 * (2.0 * max(int(length), 16) / 16 - 1) ** (8 / 6)
    return base ** -np.array([0.0, 0.25, 0.5, 0.75])


ROPE = (
    Entry(
        "rope_rates",
        lambda length: ph.rope_rates(ph.RopeDynamic(8, 100.0, 2.0, 16), length).rates,
        dynamic,
        cases(*([exactly(one)] for one in (1, 16, 17, 4096))),
        ("float64",),
        ulps=16.0,
        why="a power by a logarithm and an exponential",
        gradient="none: of a whole length",
    ),
    Entry(
        "yarn_gain",
        lambda x: x * ph.yarn_gain(40.0, 0.7),
        lambda x: x * (1 + 0.07 * math.log(40.0)),
        cases([floats(7)]),
        ("float64", "float32"),
        ulps=1.5,
    ),
    rope("rope_halves", ph.rope_halves, halves),
    rope("rope_pairs", ph.rope_pairs, neighbours),
    Entry(
        "rope_tables",
        lambda places: ph.rope_tables(places, ph.rope_rates(ph.RopePlain(8, 100.0))),
        tables,
        cases(*([whole(*shape, low=0, high=16)] for shape in [(1,), (7,), (0,), (2, 3)])),
        ("float32",),
        atol=2e-6,
        why="angles of up to 16, rounded to float32",
        sizes=("n",),
        gradient="none: of whole places",
    ),
)

# --- bags -----------------------------------------------------------------------------------


def bag(mode: str) -> Callable[..., Any]:
    def oracle(torch: Any, index: Any, table: Any) -> Any:
        return torch.nn.functional.embedding_bag(index, table, mode=mode)

    return oracle


def offset_bag(mode: str) -> Callable[..., Any]:
    def oracle(torch: Any, index: Any, table: Any, offsets: Any) -> Any:
        return torch.nn.functional.embedding_bag(index, table, offsets, mode=mode)

    return oracle


def weighted_bag(torch: Any, index: Any, table: Any, offsets: Any, weights: Any) -> Any:
    return torch.nn.functional.embedding_bag(
        index, table, offsets, mode="sum", per_sample_weights=weights
    )


MODES = ("sum", "mean", "max")
EQUAL_BAGS = cases(
    [whole(4, 5, low=0, high=7), floats(7, 3)],
    [whole(1, 1, low=0, high=1), floats(1, 1)],
    [whole(33, 17, low=0, high=100), floats(100, 9)],
)
OFFSET_BAGS = cases(
    [whole(9, low=0, high=7), floats(7, 3), exactly([0, 3, 3, 8])],
    [whole(5, low=0, high=7), floats(7, 1), exactly([0])],
    [whole(2, low=0, high=7), floats(7, 3), exactly([0, 2, 2])],
    [whole(2049, low=0, high=7), floats(7, 3), exactly([0, 3, 3, 8])],
)

BAGS = (
    Entry(
        "embedding_bag",
        lambda index, table: [ph.embedding_bag(index, table, mode=mode) for mode in MODES],
        by_torch(lambda torch, *given: [bag(mode)(torch, *given) for mode in MODES]),
        EQUAL_BAGS,
        atol=1e-5,
        why="sums of up to 17 numbers",
        sizes=("b 5", "7 3"),
        is_peer=True,
        gradient="almost everywhere",
        aten=("embedding_bag", "_embedding_bag"),
        speed=speed_of(
            lambda torch, table: bag("mean")(torch, torch.arange(10000).reshape(1000, 10), table),
            lambda table: ph.embedding_bag(ph.reshape(ph.arange(10000), (1000, 10)), table),
            (10000, 100),
        ),
    ),
    Entry(
        "embedding_bag.offsets",
        lambda index, table, offsets: [
            ph.embedding_bag(index, table, offsets, mode) for mode in MODES
        ],
        by_torch(lambda torch, *given: [offset_bag(mode)(torch, *given) for mode in MODES]),
        OFFSET_BAGS,
        rtol=ROUNDINGS,
        scale=lambda index, table, offsets: [np.asarray(float(index.size))] * 3,
        why="sums of as many numbers as there are indices",
        sizes=("n", "7 3", "4"),
        is_peer=True,
        gradient="almost everywhere",
        aten=("embedding_bag", "_embedding_bag"),
    ),
    Entry(
        "embedding_bag.weights",
        lambda index, table, offsets, weights: ph.embedding_bag(
            index, table, offsets, "sum", weights
        ),
        by_torch(weighted_bag),
        cases([whole(9, low=0, high=7), floats(7, 3), exactly([0, 3, 3, 8]), floats(9)]),
        atol=1e-5,
        why="sums of a few products",
        is_peer=True,
        aten=("embedding_bag", "_embedding_bag"),
    ),
)

ENTRIES: tuple[Entry, ...] = (*ATTENTION, *ALIBI, *ROPE, *BAGS)
