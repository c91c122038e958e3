"""The catalogue's entries for products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, NUMBERS, Cases, Dtype, Entry, Speed
from catalogue.inputs import given, million, of_shapes

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

ENTRIES = PRODUCTS
