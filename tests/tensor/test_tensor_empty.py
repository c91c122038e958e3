"""Functions of nothing: an axis of size 0 is no error, and what comes out is NumPy's or PyTorch's.

Expected shapes and numbers are what NumPy gives, or PyTorch for its own functions; where both
refuse, the written rule of docs/numbers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from evaluating import values
from number_lines import INF, NAN

import photic as ph

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A function of float32 arrays of zeros; every element of its first result is ``fill``."""

    name: str
    shapes: tuple[Shape, ...]
    result: Shape
    fill: float = 0.0
    call: Callable[..., Any] | None = None
    dtype: str = "float32"

    def __str__(self) -> str:
        return f"{self.name} {self.shapes}"


# --- products and norms ---------------------------------------------------------------------

PRODUCTS = (
    Case("addmm", ((3, 2), (3, 0), (0, 2)), (3, 2)),
    Case("addmm", ((0, 2), (0, 3), (3, 2)), (0, 2)),
    Case("baddbmm", ((0, 2, 2), (0, 2, 3), (0, 3, 2)), (0, 2, 2)),
    Case("addbmm", ((2, 2), (0, 2, 3), (0, 3, 2)), (2, 2)),
    Case("addmv", ((3,), (3, 0), (0,)), (3,)),
    Case("addr", ((0, 3), (0,), (3,)), (0, 3)),
    Case("addcmul", ((0,), (0,), (1,)), (0,)),
    Case("addcdiv", ((0,), (0,), (1,)), (0,)),
    Case("bmm", ((2, 3, 0), (2, 0, 4)), (2, 3, 4)),
    Case("mv", ((3, 0), (0,)), (3,)),
    Case("mm", ((0, 3), (3, 0)), (0, 0)),
    Case("matvec", ((2, 0), (0,)), (2,)),
    Case("vecmat", ((0,), (0, 2)), (2,)),
    Case("dot", ((0,), (0,)), ()),
    Case("vdot", ((0,), (0,)), ()),
    Case("inner", ((2, 0), (3, 0)), (2, 3)),
    Case("outer", ((0,), (3,)), (0, 3)),
    Case("kron", ((0,), (2,)), (0,)),
    Case("linear", ((0, 4), (3, 4)), (0, 3)),
    Case("linear", ((2, 0), (3, 0)), (2, 3)),
    Case("bilinear", ((0, 2), (0, 3), (4, 2, 3)), (0, 4)),
    Case("tensordot", ((2, 0), (0, 3)), (2, 3), call=lambda a, b: ph.tensordot(a, b, 1)),
    Case("einsum", ((2, 0), (0, 3)), (2, 3), call=lambda a, b: ph.einsum("ij,jk", a, b)),
    Case("vector_norm", ((2, 0),), (2,), call=lambda x: ph.vector_norm(x, axis=1)),
    Case("dist", ((0,), (0,)), ()),
    Case("cdist", ((0, 3), (2, 3)), (0, 2)),
    Case("cdist", ((2, 0), (3, 0)), (2, 3)),
    Case("pairwise_distance", ((0, 3), (0, 3)), (0,)),
    Case("cosine_similarity", ((0, 3), (0, 3)), (0,)),
    Case("renorm", ((0, 3),), (0, 3), call=lambda x: ph.renorm(x, 2, 0, 1.0)),
    Case("trace", ((0, 0),), ()),
)

# --- sums, orders, statistics ---------------------------------------------------------------

SUMS = (
    Case("average", ((0,),), (), NAN),
    Case("average", ((0, 3),), (3,), NAN, lambda x: ph.average(x, 0)),
    Case("cov", ((3, 0),), (3, 3), NAN),
    Case("corrcoef", ((2, 0),), (2, 2), NAN),
    Case("std", ((3, 0),), (3,), NAN, lambda x: ph.std(x, 1)),
    Case("log_softmax", ((3, 0),), (3, 0)),
    Case("softmin", ((0, 3),), (0, 3)),
    Case("logsumexp", ((3, 0),), (3,), -INF, lambda x: ph.logsumexp(x, -1)),
    Case("cumulative_sum", ((0,),), (0,)),
    Case("cumulative_prod", ((0,),), (0,)),
    Case("cumulative_trapezoid", ((2, 0),), (2, 0)),
    Case("trapezoid", ((2, 0),), (2,)),
    Case("gradient", ((0, 3),), (0, 3), call=lambda x: ph.gradient(x, axis=1)),
    Case("unwrap", ((0,),), (0,)),
    Case("unwrap", ((2, 0),), (2, 0)),
    Case("interp", ((0,), (2,), (2,)), (0,)),
    Case("polyval", ((2,), (0,)), (0,)),
    Case("vander", ((0,),), (0, 3), call=lambda x: ph.vander(x, 3)),
    Case("diff", ((0,),), (0,)),
    Case("nancumsum", ((0,),), (0,)),
    Case("nancumprod", ((2, 0),), (2, 0), call=lambda x: ph.nancumprod(x, 1)),
    Case("nansum", ((0,),), ()),
    Case("nanprod", ((0,),), (), 1),
    Case("nanmean", ((0,),), (), NAN),
    Case("nanvar", ((0,),), (), NAN),
    Case("nanmedian", ((0,),), (), NAN),
    Case("nanquantile", ((0,),), (), NAN, lambda x: ph.nanquantile(x, 0.5)),
    Case("nanargmax", ((0, 3),), (0,), call=lambda x: ph.nanargmax(x, 1)),
    Case("median", ((0,),), (), NAN),
    Case("quantile", ((0, 3),), (0,), call=lambda x: ph.quantile(x, 0.5, axis=1)),
    Case("aminmax", ((2, 0),), (2,), INF, lambda x: ph.aminmax(x, axis=1)),
    Case("partition", ((0,),), (0,), call=lambda x: ph.partition(x, 0)),
    Case("argpartition", ((3, 0),), (3, 0), call=lambda x: ph.argpartition(x, 0)),
    Case("lexsort", ((2, 0),), (0,)),
    Case("topk", ((0, 3),), (0, 2), call=lambda x: ph.topk(x, 2)),
    Case("kthvalue", ((0, 3),), (0,), call=lambda x: ph.kthvalue(x, 2)),
    Case("mode", ((0, 3),), (0,)),
    Case("searchsorted", ((0,), (3,)), (3,)),
    Case("searchsorted", ((3,), (0,)), (0,)),
    Case("digitize", ((0,),), (0,), call=lambda x: ph.digitize(x, np.arange(3.0))),
    Case("histogram", ((0,),), (4,), call=lambda x: ph.histogram(x, 4)),
    Case("histc", ((0,),), (3,), call=lambda x: ph.histc(x, 3, 0, 1)),
    Case("bincount", ((0,),), (4,), call=lambda x: ph.bincount(x, length=4), dtype="int64"),
    Case("isin", ((0,), (3,)), (0,)),
    Case("setdiff1d", ((0,), (1,)), (2,), call=lambda a, b: ph.setdiff1d(a, b, size=2)),
    Case("array_equal", ((0,), (0,)), (), 1),
)

# --- places, moves, parts -------------------------------------------------------------------

PLACES = (
    Case("delete", ((0, 3),), (0, 3), call=lambda x: ph.delete(x, [], 0)),
    Case("insert", ((0,),), (1,), 1, lambda x: ph.insert(x, 0, 1)),
    Case("hsplit", ((2, 0),), (2, 0), call=lambda x: ph.hsplit(x, 1)),
    Case("block_diag", ((0, 2), (1, 1)), (1, 3)),
    Case("repeat", ((0,),), (0,), call=lambda x: ph.repeat(x, 3)),
    Case("narrow", ((0, 3),), (0, 2), call=lambda x: ph.narrow(x, 1, 1, 2)),
    Case("tril", ((0, 3),), (0, 3)),
    Case("diag", ((0,),), (0, 0)),
    Case("cartesian_prod", ((0,), (2,)), (0, 2)),
    Case("fftshift", ((0,),), (0,)),
    Case("ifftshift", ((2, 0),), (2, 0)),
    Case("take", ((3,),), (0,), call=lambda x: ph.take(x, np.zeros(0, np.int64))),
    Case("embedding", ((3, 2),), (0, 2), call=lambda x: ph.embedding(np.zeros(0, np.int64), x)),
    Case("one_hot", ((0,),), (0, 3), call=lambda x: ph.one_hot(x, 3), dtype="int64"),
    Case("choose", ((0,),), (0,), call=lambda x: ph.choose(x, [x, x + 1]), dtype="int64"),
    Case("masked_select", ((0,),), (2,), call=lambda x: ph.masked_select(x, x > 0, size=2)),
    Case("extract", ((0,),), (2,), call=lambda x: ph.extract(x > 0, x, size=2)),
    Case("ldexp", ((0,),), (0,), call=lambda x: ph.ldexp(x, np.zeros(0, np.int64))),
    Case("frexp", ((0,),), (0,)),
    Case("gcd", ((0,), (0,)), (0,), dtype="int64"),
    Case("packbits", ((0,),), (0,), dtype="uint8"),
    Case("unpackbits", ((0,),), (0,), dtype="uint8"),
)

# --- no matrices, no signals ----------------------------------------------------------------

MATRICES = (
    Case("matrix_power", ((0, 2, 2),), (0, 2, 2), call=lambda x: ph.matrix_power(x, 3)),
    Case("matrix_power", ((0, 0),), (0, 0), call=lambda x: ph.matrix_power(x, 2)),
    Case("matrix_exp", ((0, 2, 2),), (0, 2, 2)),
    Case("det", ((0, 2, 2),), (0,)),
    Case("logdet", ((0, 2, 2),), (0,)),
    Case("inv", ((0, 2, 2),), (0, 2, 2)),
    Case("solve", ((0, 2, 2), (0, 2, 3)), (0, 2, 3)),
    Case("cholesky", ((0, 2, 2),), (0, 2, 2)),
    Case("cholesky_inverse", ((0, 2, 2),), (0, 2, 2)),
    Case("svdvals", ((0, 2, 3),), (0, 2)),
    Case("eigvalsh", ((0, 2, 2),), (0, 2)),
    Case("qr", ((0, 3, 2),), (0, 3, 2)),
    Case("lu", ((0, 2, 2),), (0, 2, 2)),
    Case("pinv", ((0, 2, 3),), (0, 3, 2)),
    Case("matrix_norm", ((0, 2, 2),), (0,)),
    Case("matrix_rank", ((0, 2, 3),), (0,)),
    Case("cond", ((0, 2, 2),), (0,)),
    Case("fft", ((0, 4),), (0, 4)),
    Case("rfft2", ((0, 4, 4),), (0, 4, 3)),
    Case("dct", ((0, 4),), (0, 4)),
    Case("stft", ((0, 32),), (0, 9, 5), call=lambda x: ph.stft(x, 16, 8)),
)

# --- no samples in a batch ------------------------------------------------------------------

IMAGES = (0, 2, 4, 4)
HALF = (0, 2, 2, 2)
BATCHES = (
    Case("max_pool2d", (IMAGES,), HALF, call=lambda x: ph.max_pool2d(x, 2)),
    Case("avg_pool2d", (IMAGES,), HALF, call=lambda x: ph.avg_pool2d(x, 2)),
    Case("lp_pool2d", (IMAGES,), HALF, call=lambda x: ph.lp_pool2d(x, 2, 2)),
    Case("adaptive_avg_pool2d", (IMAGES,), HALF, call=lambda x: ph.adaptive_avg_pool2d(x, 2)),
    Case("adaptive_max_pool2d", (IMAGES,), HALF, call=lambda x: ph.adaptive_max_pool2d(x, 2)),
    Case("conv2d", (IMAGES, (3, 2, 3, 3)), (0, 3, 2, 2)),
    Case("conv_transpose2d", (IMAGES, (2, 3, 3, 3)), (0, 3, 6, 6)),
    Case("fold", ((0, 4, 9),), (0, 1, 4, 4), call=lambda x: ph.fold(x, (4, 4), 2)),
    Case("unfold", ((0, 1, 4, 4),), (0, 4, 9), call=lambda x: ph.unfold(x, 2)),
    Case("grid_sample", (IMAGES, (0, 3, 3, 2)), (0, 2, 3, 3)),
    Case("affine_grid", ((0, 2, 3),), (0, 4, 4, 2), call=lambda x: ph.affine_grid(x, (0, 1, 4, 4))),
    Case(
        "interpolate",
        (IMAGES,),
        (0, 2, 8, 8),
        call=lambda x: ph.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
    Case("instance_norm", ((0, 2, 3),), (0, 2, 3)),
    Case("group_norm", ((0, 4, 3),), (0, 4, 3), call=lambda x: ph.group_norm(x, 2)),
    Case("layer_norm", ((0, 4),), (0, 4)),
    Case("batch_norm", ((0, 2, 3), (2,), (2,)), (0, 2, 3)),
    Case("attention", ((0, 1, 2, 4), (0, 1, 3, 4), (0, 1, 3, 4)), (0, 1, 2, 4)),
    Case("attention", ((1, 1, 2, 4), (1, 1, 0, 4), (1, 1, 0, 4)), (1, 1, 2, 4)),
    Case("rope_halves", ((0, 4), (0, 2), (0, 2)), (0, 4)),
    Case("cross_entropy", ((0, 3),), (), NAN, lambda x: ph.cross_entropy(x, np.zeros(0, np.int64))),
    Case("nll_loss", ((0, 3),), (), NAN, lambda x: ph.nll_loss(x, np.zeros(0, np.int64))),
)


@pytest.mark.parametrize("case", (*PRODUCTS, *SUMS, *PLACES, *MATRICES, *BATCHES), ids=str)
def test_nothing_is_no_error(case: Case) -> None:
    call = case.call or getattr(ph, case.name)

    def first(*handles: ph.Tensor) -> list[ph.Tensor]:
        made = call(*handles)
        return [made[0] if isinstance(made, tuple | list) else made]

    (got,) = values(first, *(np.zeros(shape, case.dtype) for shape in case.shapes))
    np.testing.assert_array_equal(got, np.full(case.result, case.fill))
