"""The catalogue's entries for products with something added, as PyTorch names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import FLOATS, NUMBERS, Array, Entry, Speed, floated
from catalogue.inputs import Shape, million, of_shapes

import photic as ph

ERROR = 2.0**-18
WHY = "a sum of at most 40 products in any order, of the sum of their magnitudes"
BETA, ALPHA = 2, 3


def added(
    name: str, product: Callable[[Array, Array], Array], *cases: tuple[Shape, Shape, Shape]
) -> Entry:
    """``x + product``, and ``2*x + 3*product``, and the product alone."""
    call: Any = getattr(ph, name)

    def oracle(x: Array, a: Array, b: Array) -> tuple[Array, ...]:
        made = np.asarray(product(a, b))
        answers = (x + made, BETA * x + ALPHA * made, np.broadcast_to(made, (x + made).shape))
        return tuple(np.asarray(one).astype(x.dtype) for one in answers)

    def scale(*arrays: Array) -> tuple[Array, ...]:
        sizes = [np.abs(one.astype(np.float64)) for one in arrays]
        whole = BETA * sizes[0] + ALPHA * np.asarray(product(sizes[1], sizes[2]))
        return (whole,) * 3

    return Entry(
        name,
        lambda x, a, b: (
            call(x, a, b),
            call(x, a, b, beta=BETA, alpha=ALPHA),
            call(x * float("nan") if x.dtype.kind == "float" else x, a, b, beta=0),
        ),
        oracle,
        of_shapes(*cases),
        NUMBERS,
        rtol=ERROR,
        scale=scale,
        why=WHY,
        aten=(name,),
    )


def shaped(
    name: str,
    function: Callable[..., Any],
    oracle: Callable[..., Any],
    cases: tuple[tuple[Shape, ...], ...],
    **more: Any,
) -> Entry:
    """A product of operands of stated ranks."""
    return Entry(
        name,
        function,
        lambda *x: np.asarray(oracle(*x)).astype(x[0].dtype),
        of_shapes(*cases),
        more.pop("dtypes", NUMBERS),
        rtol=ERROR,
        scale=lambda *x: oracle(*(np.abs(one.astype(np.float64)) for one in x)),
        why=WHY,
        **more,
    )


ENTRIES: tuple[Entry, ...] = (
    shaped(
        "mm",
        ph.mm,
        np.matmul,
        (((3, 4), (4, 2)), ((1, 0), (0, 2)), ((5, 33), (33, 1))),
        aten=("mm",),
        sizes=("n k", "k m"),
        speed=Speed(lambda torch, a, b: torch.mm(a, b), million((256, 256), (256, 256))),
    ),
    shaped(
        "bmm",
        ph.bmm,
        np.matmul,
        (((2, 3, 4), (2, 4, 2)), ((1, 1, 7), (1, 7, 3))),
        aten=("bmm",),
        sizes=("b n k", "b k m"),
    ),
    shaped("mv", ph.mv, np.matmul, (((3, 4), (4,)), ((0, 2), (2,))), aten=("mv",)),
    shaped(
        "matvec",
        ph.matvec,
        np.matvec,
        (((2, 3, 4), (4,)), ((3, 4), (5, 4))),
        sizes=("n k", "b k"),
    ),
    shaped(
        "vecmat",
        ph.vecmat,
        np.vecmat,
        (((3,), (2, 3, 4)), ((5, 3), (3, 4))),
        sizes=("b n", "n k"),
    ),
    added("addmm", np.matmul, ((3, 2), (3, 4), (4, 2)), ((2,), (1, 33), (33, 2))),
    added("addmv", np.matmul, ((3,), (3, 4), (4,)), ((), (2, 5), (5,))),
    added("addr", np.outer, ((3, 2), (3,), (2,)), ((1,), (4,), (5,))),
    added("baddbmm", np.matmul, ((2, 3, 2), (2, 3, 4), (2, 4, 2)), ((2,), (3, 1, 5), (3, 5, 2))),
    added(
        "addbmm",
        lambda a, b: (a @ b).sum(0, dtype=a.dtype),
        ((3, 2), (2, 3, 4), (2, 4, 2)),
        ((1,), (3, 1, 5), (3, 5, 2)),
    ),
    shaped(
        "addcmul",
        lambda x, a, b: ph.addcmul(x, a, b, value=3),
        lambda x, a, b: x + 3 * a * b,
        (((3, 4), (3, 1), (4,)), ((), (5,), (5,))),
        aten=("addcmul",),
        sizes=("n m", "n 1", "m"),
    ),
    Entry(
        "addcdiv",
        lambda x, a, b: ph.addcdiv(x, a, b, value=0.5),
        lambda x, a, b: x + 0.5 * a.astype(np.float64) / b,
        of_shapes([(3, 4), (3, 1), (4,)], [(), (5,), (5,)], low=1.0),
        (*FLOATS, "int16"),
        rtol=2.0**-21,
        scale=lambda x, a, b: np.abs(x) + np.abs(a) / np.abs(b),
        why="a product with a rounded reciprocal, and a sum",
        result_dtype=floated,
        aten=("addcdiv",),
    ),
    shaped(
        "linear",
        lambda x, w, b: ph.linear(x, w, b),
        lambda x, w, b: x @ w.T + b,
        (((3, 4), (2, 4), (2,)), ((4,), (2, 4), (2,)), ((2, 3, 5), (5,), ())),
        onnx=("Gemm",),
        aten=("linear",),
        sizes=("n k", "m k", "m"),
    ),
    shaped(
        "bilinear",
        lambda x, y, w, b: ph.bilinear(x, y, w, b),
        lambda x, y, w, b: np.einsum("...n,knm,...m->...k", x, w, y) + b,
        (((3, 4), (3, 2), (5, 4, 2), (5,)), ((4,), (2,), (1, 4, 2), (1,))),
        aten=("bilinear",),
        sizes=("n 4", "n 2", "5 4 2", "5"),
    ),
)
