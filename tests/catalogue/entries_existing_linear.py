"""The catalogue's entries for products of matrices, norms of rows, rotary position, attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, NUMBERS, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import between, given, million, of_shapes

import photic as ph

# A sum of at most 512 products, each rounded, added in any order.
ERROR = 2.0**-18
WHY = "sums of products are added in any order; relative to the sum of magnitudes"
SQUARES = million((1000, 1000), (1000, 1000))
INTEGER_WHY = "none: integers"


def product(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases,
    *,
    sizes: tuple[str, ...] = (),
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
    speed: Speed | None = None,
) -> Entry:
    """A sum of products; integers wrap in their own dtype."""
    return Entry(
        name,
        call,
        lambda *arrays: _in_dtype(oracle(*arrays), arrays[0].dtype),
        inputs,
        NUMBERS,
        rtol=ERROR,
        scale=lambda *arrays: oracle(*map(np.abs, arrays)),
        why=WHY,
        onnx=onnx,
        aten=aten or (name.partition(".")[0],),
        sizes=sizes,
        speed=speed,
    )


def _in_dtype(made: Any, dtype: Dtype) -> Any:
    many = made if isinstance(made, tuple) else (made,)
    return tuple(np.asarray(one).astype(dtype) for one in many)


RANKS = of_shapes(
    [(4,), (4,)],
    [(3, 4), (4,)],
    [(4,), (4, 5)],
    [(3, 4), (4, 5)],
    [(2, 3, 4), (4, 5)],
    [(3, 4), (2, 4, 5)],
    [(2, 3, 4), (2, 4, 5)],
    [(2, 1, 3, 4), (5, 4, 2)],
    [(4,), (2, 4, 5)],
    [(2, 3, 4), (4,)],
    [(0, 4), (4, 5)],
    [(3, 0), (0, 5)],
    [(3, 4), (4, 0)],
    [(1, 1), (1, 1)],
    [(33, 65), (65, 17)],
)
SPECIAL = given(
    [[[1.0, math.nan]], [[0.0], [1.0]]],
    [[[0.0, 1.0]], [[math.inf], [1.0]]],
    [[[1.0, 1.0]], [[math.inf], [1.0]]],
)
LETTERS = of_shapes([(2, 3, 4), (2, 4, 5)], [(1, 1, 1), (1, 1, 1)], [(2, 0, 4), (2, 4, 1)])

PRODUCTS = (
    product(
        "matmul",
        ph.matmul,
        np.matmul,
        RANKS,
        sizes=("n k", "k m"),
        onnx=("MatMul", "Gemm"),
        aten=("matmul", "mm", "bmm", "mv", "addmm", "baddbmm", "linear"),
        speed=Speed(lambda torch, x, y: x @ y, million((512, 512), (512, 512))),
    ),
    Entry(
        "matmul.special",
        ph.matmul,
        np.matmul,
        SPECIAL,
        FLOATS,
        onnx=("MatMul",),
        aten=("matmul",),
    ),
    product(
        "dot",
        ph.dot,
        np.dot,
        of_shapes([(), ()], [(4,), (4,)], [(3, 4), (4,)], [(3, 4), (4, 5)], [(2, 3, 4), (5, 4, 6)]),
        sizes=("n", "n"),
        speed=Speed(lambda torch, x, y: torch.dot(x, y), million((1_000_000,), (1_000_000,))),
    ),
    product(
        "inner",
        ph.inner,
        np.inner,
        of_shapes([(4,), (4,)], [(3, 4), (4,)], [(3, 4), (5, 4)], [(2, 3, 4), (5, 4)]),
        sizes=("n k", "m k"),
    ),
    Entry(
        "outer",
        ph.outer,
        np.multiply.outer,
        of_shapes([(4,), (3,)], [(0,), (3,)], [(1,), (1,)], [(65,), (33,)]),
        NUMBERS,
        aten=("outer", "ger"),
        sizes=("n", "m"),
        speed=Speed(lambda torch, x, y: torch.outer(x, y), million((1000,), (1000,))),
    ),
    product(
        "tensordot",
        lambda x, y: (
            ph.tensordot(x, y, 1),
            ph.tensordot(x, y, ((-1,), (0,))),
            ph.tensordot(x, y, ((1, 2), (1, 0))),
        ),
        lambda x, y: (
            np.tensordot(x, y, 1),
            np.tensordot(x, y, ((-1,), (0,))),
            np.tensordot(x, y, ((1, 2), (1, 0))),
        ),
        of_shapes([(2, 3, 4), (4, 3, 5)], [(1, 1, 1), (1, 1, 1)], [(2, 3, 0), (0, 3, 5)]),
        sizes=("n m k", "k m l"),
        speed=Speed(
            lambda torch, x, y: torch.tensordot(x, y, 1),
            million((512, 512), (512, 512)),
            lambda x, y: ph.tensordot(x, y, 1),
        ),
    ),
    product(
        "einsum",
        lambda x, y: (
            ph.einsum("bij,bjk->bik", x, y),
            ph.einsum("bij,bjk", x, y),
            ph.einsum("...ij,...jk->...k", x, y),
            ph.einsum("bij,bjk->kb", x, y),
        ),
        lambda x, y: (
            np.einsum("bij,bjk->bik", x, y),
            np.einsum("bij,bjk", x, y),
            np.einsum("...ij,...jk->...k", x, y),
            np.einsum("bij,bjk->kb", x, y),
        ),
        LETTERS,
        sizes=("b i j", "b j k"),
        onnx=("Einsum",),
        speed=Speed(
            lambda torch, x, y: torch.einsum("ij,jk->ki", x, y),
            million((512, 512), (512, 512)),
            lambda x, y: ph.einsum("ij,jk->ki", x, y),
        ),
    ),
    product(
        "einsum.one",
        lambda x: (
            ph.einsum("ii->i", x),
            ph.einsum("ii", x),
            ph.einsum("ij->ji", x),
            ph.einsum("ij->", x),
            ph.einsum("ij->j", x),
        ),
        lambda x: (
            np.einsum("ii->i", x),
            np.einsum("ii", x),
            x.T,
            np.einsum("ij->", x),
            np.einsum("ij->j", x),
        ),
        of_shapes([(4, 4)], [(1, 1)], [(0, 0)], [(33, 33)]),
        sizes=("n n",),
        onnx=("Einsum",),
        aten=("diagonal", "trace", "einsum"),
    ),
)


# --- norms of rows --------------------------------------------------------------------------

EPS = 1e-5


def _rms(x: Array, weight: Array | float = 1.0) -> Array:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + EPS) * weight


def _layer(x: Array, weight: Array, bias: Array, axis: Any = -1) -> Array:
    mean, var = np.mean(x, axis, keepdims=True), np.var(x, axis, keepdims=True)
    return (x - mean) / np.sqrt(var + EPS) * weight + bias


def norm(name: str, call: Any, oracle: Any, inputs: Cases, **more: Any) -> Entry:
    return Entry(
        name,
        call,
        oracle,
        inputs,
        FLOATS,
        rtol=2.0**-19,
        atol=2.0**-19,
        why="a mean of squares in any order; distances of about 1 from the mean are rounded",
        **more,
    )


ROWS = of_shapes(
    [(3, 5), (5,), (5,)], [(1, 1), (1,), (1,)], [(7, 513), (513,), (513,)], [(0, 4), (4,), (4,)]
)
THREE = million((1000, 1000), (1000,), (1000,))

NORMS = (
    norm(
        "rms_norm",
        lambda x, weight, bias: (ph.rms_norm(x, weight), ph.rms_norm(x)),
        lambda x, weight, bias: (_rms(x, weight), _rms(x)),
        ROWS,
        onnx=("RMSNormalization", "SimplifiedLayerNormalization"),
        aten=("rms_norm",),
        sizes=("n m+", "m+", "m+"),
        speed=Speed(
            lambda torch, x, weight, bias: torch.nn.functional.rms_norm(x, (1000,), weight, EPS),
            THREE,
            lambda x, weight, bias: ph.rms_norm(x, weight),
        ),
    ),
    norm(
        "layer_norm",
        lambda x, weight, bias: (ph.layer_norm(x, weight, bias), ph.layer_norm(x)),
        lambda x, weight, bias: (_layer(x, weight, bias), _layer(x, np.ones(1), np.zeros(1))),
        ROWS,
        onnx=("LayerNormalization",),
        aten=("layer_norm", "native_layer_norm"),
        sizes=("n m+", "m+", "m+"),
        speed=Speed(
            lambda torch, x, weight, bias: torch.nn.functional.layer_norm(x, (1000,), weight, bias),
            THREE,
            lambda x, weight, bias: ph.layer_norm(x, weight, bias),
        ),
    ),
    norm(
        "layer_norm.axes",
        lambda x, weight, bias: ph.layer_norm(x, weight, bias, axis=(-2, -1)),
        lambda x, weight, bias: _layer(x, weight, bias, (-2, -1)),
        of_shapes([(2, 3, 4), (3, 4), (3, 4)], [(1, 1, 2), (1, 2), (1, 2)]),
        onnx=("LayerNormalization",),
        aten=("layer_norm",),
        sizes=("n 3 4", "3 4", "3 4"),
    ),
)


# --- rotary position ------------------------------------------------------------------------


def _halves(x: Array, cos: Array, sin: Array) -> Array:
    first, second = np.split(x, 2, -1)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), -1)


def _pairs(x: Array, cos: Array, sin: Array) -> Array:
    first, second = x[..., 0::2], x[..., 1::2]
    turned = np.stack((first * cos - second * sin, second * cos + first * sin), -1)
    return turned.reshape(x.shape)


def rope(name: str, oracle: Callable[..., Array]) -> Entry:
    return Entry(
        name,
        getattr(ph, name),
        oracle,
        of_shapes(
            [(2, 3, 8), (3, 4), (3, 4)],
            [(1, 8), (4,), (4,)],
            [(3, 8), (3, 4), (3, 4)],
            low=-1.0,
            high=1.0,
        ),
        FLOATS,
        atol=2.0**-22,
        why="a difference of two products of at most 1",
        onnx=("RotaryEmbedding",),
        sizes=("n 8", "n 4", "n 4"),
    )


ROTARY = (rope("rope_halves", _halves), rope("rope_pairs", _pairs))


# --- attention ------------------------------------------------------------------------------


def attended(
    q: Array, k: Array, v: Array, seen: Array | bool = True, scale: float | None = None
) -> Array:
    """Attention by its definition in float64; a row that sees nothing is nan."""
    groups = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, groups, -3), np.repeat(v, groups, -3)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ np.swapaxes(k, -1, -2) * factor
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(-1, keepdims=True) @ v


def _causal(q: Array, k: Array, v: Array) -> Array:
    rows, keys = q.shape[-2], k.shape[-2]
    return attended(q, k, v, np.arange(keys) <= np.arange(rows)[:, None] + keys - rows)


def masked_heads(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Queries, keys, values and a mask that every row sees a part of."""
    for heads, groups, rows, keys in ((2, 1, 3, 5), (1, 2, 1, 1), (2, 2, 17, 33)):
        q = between(dtype, (2, heads * groups, rows, 8), random, -2, 2)
        k, v = (between(dtype, (2, heads, keys, 8), random, -2, 2) for _ in range(2))
        seen = random.random((rows, keys)) < 0.7
        seen[:, 0] = True
        yield q, k, v, seen


HEADS = of_shapes(
    [(2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 8)],
    [(1, 1, 1, 4), (1, 1, 1, 4), (1, 1, 1, 4)],
    [(4, 3, 8), (2, 6, 8), (2, 6, 8)],
    [(2, 17, 16), (1, 33, 16), (1, 33, 7)],
    low=-2.0,
    high=2.0,
)
ATTENTION: dict[str, Any] = {
    "rtol": 2.0**-18,
    "atol": 2.0**-18,
    "why": "weights within 3e-7 of the largest, sums in any order; values are at most 2",
    "onnx": ("Attention",),
    "aten": ("scaled_dot_product_attention",),
}

ATTENTIONS = (
    Entry(
        "attention",
        lambda q, k, v: (ph.attention(q, k, v), ph.attention(q, k, v, scale=0.3)),
        lambda q, k, v: (attended(q, k, v), attended(q, k, v, scale=0.3)),
        HEADS,
        FLOATS,
        sizes=("1 1 n 4", "1 1 m+ 4", "1 1 m+ 4"),
        speed=Speed(
            lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v),
            million((8, 256, 64), (8, 256, 64), (8, 256, 64)),
            lambda q, k, v: ph.attention(q, k, v),
        ),
        **ATTENTION,
    ),
    Entry(
        "attention.causal",
        lambda q, k, v: ph.attention(q, k, v, causal=True),
        _causal,
        of_shapes(
            [(4, 5, 8), (2, 5, 8), (2, 5, 8)],
            [(1, 1, 8), (1, 6, 8), (1, 6, 8)],
            [(1, 33, 8), (1, 33, 8), (1, 33, 8)],
            low=-2.0,
            high=2.0,
        ),
        FLOATS,
        sizes=("1 n 8", "1 n 8", "1 n 8"),
        **ATTENTION,
    ),
    Entry(
        "attention.mask",
        ph.attention,
        attended,
        masked_heads,
        FLOATS,
        **ATTENTION,
    ),
)

ENTRIES = (*PRODUCTS, *NORMS, *ROTARY, *ATTENTIONS)
