"""The catalogue's entries for products beyond ``matmul``, norms and distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, INTS, NUMBERS, Array, Cases, Entry, Speed, floated
from catalogue.inputs import given, joined, million, of_shape, of_shapes

import photic as ph

# A sum of at most 512 products, each rounded, added in any order.
ERROR = 2.0**-18
WHY = "sums of products are added in any order; relative to the sum of magnitudes"


def product(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases,
    scale: Callable[..., Any] | None = None,
    **more: Any,
) -> Entry:
    """A sum of products; integers wrap in their own dtype."""
    own = scale or oracle
    return Entry(
        name,
        call,
        lambda *x: np.asarray(oracle(*x)).astype(x[0].dtype),
        inputs,
        NUMBERS,
        rtol=ERROR,
        scale=lambda *x: own(*map(np.abs, x)),
        why=WHY,
        aten=more.pop("aten", (name.partition(".")[0],)),
        **more,
    )


def _cross_of_magnitudes(x: Array, y: Array) -> Array:
    turned = [np.roll(one, -k, -1) for one, k in ((x, 1), (y, 2), (x, 2), (y, 1))]
    return turned[0] * turned[1] + turned[2] * turned[3]


PRODUCTS = (
    product(
        "vdot",
        ph.vdot,
        np.vdot,
        of_shapes([(), ()], [(7,), (7,)], [(0,), (0,)], [(3, 4), (3, 4)], [(129,), (129,)]),
        sizes=("n", "n"),
    ),
    product(
        "vecdot",
        lambda x, y: ph.vecdot(x, y),
        np.vecdot,
        of_shapes(
            [(4,), (4,)],
            [(3, 4), (4,)],
            [(2, 1, 5), (3, 5)],
            [(2, 0), (2, 0)],
            [(3, 129), (1, 129)],
        ),
        sizes=("n k", "k"),
        aten=("linalg_vecdot",),
        speed=Speed(
            lambda torch, x, y: torch.linalg.vecdot(x, y), million((1000, 1000), (1000, 1000))
        ),
    ),
    product(
        "vecdot.axis",
        lambda x, y: ph.vecdot(x, y, axis=0),
        lambda x, y: np.vecdot(x, y, axis=0),
        of_shapes([(4, 3), (4, 3)], [(1, 2), (1, 2)]),
        aten=("linalg_vecdot",),
    ),
    product(
        "cross",
        ph.cross,
        np.cross,
        of_shapes([(3,), (3,)], [(5, 3), (3,)], [(2, 1, 3), (4, 3)], [(0, 3), (1, 3)]),
        _cross_of_magnitudes,
        sizes=("n 3", "3"),
        aten=("linalg_cross", "cross"),
        speed=Speed(
            lambda torch, x, y: torch.linalg.cross(x, y), million((333_334, 3), (333_334, 3))
        ),
    ),
    Entry(
        "kron",
        ph.kron,
        np.kron,
        of_shapes(
            [(2, 3), (4, 5)], [(3,), (2, 2)], [(2, 1, 2), (3,)], [(), (3,)], [(0, 2), (2, 2)]
        ),
        NUMBERS,
        aten=("kron",),
        sizes=("n m", "k l"),
        speed=Speed(lambda torch, x, y: torch.kron(x, y), million((100, 10), (10, 100))),
    ),
    product(
        "multi_dot",
        lambda x, y, z: ph.multi_dot([x, y, z]),
        lambda x, y, z: x @ y @ z,
        of_shapes(
            [(3, 4), (4, 5), (5, 2)],
            [(4,), (4, 5), (5, 2)],
            [(3, 4), (4, 5), (5,)],
            [(4,), (4, 5), (5,)],
            [(1, 9), (9, 1), (1, 9)],
            [(3, 0), (0, 5), (5, 2)],
            low=-2.0,
            high=2.0,
        ),
        sizes=("n m", "m k", "k l"),
        aten=("linalg_multi_dot", "chain_matmul"),
        speed=Speed(
            lambda torch, x, y, z: torch.linalg.multi_dot([x, y, z]),
            million((1000, 10), (10, 1000), (1000, 10)),
        ),
    ),
)


# --- norms ----------------------------------------------------------------------------------

CUBE = of_shape((3, 4, 5), (1, 1, 1), (2, 7, 33))
NORMS: dict[str, Any] = {
    "rtol": ERROR,
    "why": "a sum of magnitudes or their powers in any order, and a root of it",
    "result_dtype": floated,
    "gradient": "almost everywhere",
}


def norm(name: str, order: Any, axis: Any, inputs: Cases, **more: Any) -> Entry:
    return Entry(
        name,
        lambda x: (ph.norm(x, order, axis), ph.norm(x, order, axis, keepdims=True)),
        lambda x: tuple(
            np.linalg.norm(_as_float32(x), order, axis, keepdims=kept) for kept in (False, True)
        ),
        inputs,
        **{**NORMS, "aten": ("linalg_vector_norm", "norm"), **more},
    )


def _as_float32(x: Array) -> Array:
    """Integers as photic takes them."""
    return x.astype(np.float32).astype(np.float64) if x.dtype.kind in "iu" else x


VECTORS = (
    Entry(
        "norm",
        ph.norm,
        lambda x: np.asarray(np.linalg.norm(_as_float32(x))),
        joined(
            of_shape((), (7,), (0,), (3, 4), (2, 3, 4), (10_001,)),
            given([[3.0, math.inf]], [[math.nan, 1.0]], [[0.0, -0.0]]),
        ),
        (*FLOATS, *INTS),
        onnx=("ReduceL2",),
        aten=("linalg_vector_norm", "norm", "frobenius_norm"),
        sizes=("n m",),
        speed=Speed(lambda torch, x: torch.linalg.vector_norm(x), million()),
        **NORMS,
    ),
    norm("norm.two", 2, 1, CUBE, onnx=("ReduceL2", "LpNormalization"), sizes=("n m+ k",)),
    norm("norm.one", 1, -1, CUBE, onnx=("ReduceL1",), sizes=("n m k",)),
    norm("norm.zero", 0, 0, given([[[0.0, 2.0], [0.0, -0.0], [1.0, 3.0]]])),
    norm("norm.largest", math.inf, 2, CUBE, sizes=("n m k+",)),
    norm("norm.smallest", -math.inf, 1, CUBE, sizes=("n m+ k",)),
    norm("norm.power", 3, 1, CUBE),
    norm("norm.fraction", 2.5, 1, CUBE, speed=None),
    norm("norm.negative", -1, 1, CUBE),
)
MATRICES = tuple(
    norm(
        f"norm.matrix_{name}",
        order,
        axes,
        CUBE,
        aten=("linalg_matrix_norm",),
        sizes=("n m+ k+",) if order in ("fro", 1, math.inf) else (),
    )
    for name, order, axes in (
        ("frobenius", "fro", (0, 1)),
        ("columns", 1, (-2, -1)),
        ("columns_least", -1, (2, 0)),
        ("rows", math.inf, (1, 2)),
        ("rows_least", -math.inf, (0, 2)),
        ("largest", 2, (1, 2)),
        ("smallest", -2, (2, 1)),
        ("nuclear", "nuc", (0, 2)),
    )
)


# --- distances ------------------------------------------------------------------------------


def _p_norm(x: Array, p: float) -> Array:
    return np.linalg.norm(x, p, -1) if x.shape[-1] else np.zeros(x.shape[:-1])


def _cdist(p: float) -> Callable[[Array, Array], Array]:
    return lambda x, y: _p_norm(x[..., :, None, :] - y[..., None, :, :], p)


ROWS = of_shapes(
    [(3, 4), (5, 4)],
    [(2, 3, 4), (5, 4)],
    [(2, 1, 3, 1), (4, 2, 1)],
    [(0, 4), (5, 4)],
    [(3, 0), (2, 0)],
    [(17, 65), (9, 65)],
)
EPS = 1e-6
DISTANCES = (
    *(
        Entry(
            f"cdist.{name}" if name else "cdist",
            lambda x, y, p=p: ph.cdist(x, y, p),
            _cdist(p),
            ROWS,
            aten=("cdist", "_cdist_forward"),
            sizes=("n k", "m k"),
            speed=Speed(
                lambda torch, x, y, p=p: torch.cdist(x, y, p), million((1000, 16), (1000, 16))
            ),
            **NORMS,
        )
        for name, p in (("", 2.0), ("one", 1.0), ("largest", math.inf), ("power", 3.0))
    ),
    Entry(
        "pairwise_distance",
        lambda x, y: (ph.pairwise_distance(x, y), ph.pairwise_distance(x, y, 1.0, 0.5, True)),
        lambda x, y: (
            np.linalg.norm(x - y + EPS, 2, -1),
            np.linalg.norm(x - y + 0.5, 1, -1, keepdims=True),
        ),
        of_shapes([(3, 4), (3, 4)], [(4,), (4,)], [(2, 1, 5), (3, 5)], [(0, 3), (0, 3)]),
        aten=("pairwise_distance",),
        sizes=("n k+", "n k+"),
        speed=Speed(
            lambda torch, x, y: torch.nn.functional.pairwise_distance(x, y),
            million((10_000, 100), (10_000, 100)),
            ph.pairwise_distance,
        ),
        **NORMS,
    ),
)

ENTRIES = (*PRODUCTS, *VECTORS, *MATRICES, *DISTANCES)
