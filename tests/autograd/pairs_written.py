"""Functions that torch has by another name or in other words, each written out in both.

The rows are as those of pairs.py. torch's side is composed of its own functions where it has no
single one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from autograd.pairs import GRID, MASK, PLACES, Call, Pair, same

import photic as ph


def spectrum(name: str, *, is_real: bool = False, gives_real: bool = False) -> Pair:
    """A transform of pairs of real and imaginary parts, or of real numbers, over two axes."""
    axes = (-2, -1)

    def peer(torch: Any, *parts: Any) -> Any:
        x = parts[0] if is_real else torch.complex(*parts)
        made = getattr(torch.fft, name)(x, None, axes)
        return made if gives_real else parts_of(made)

    def call(*parts: ph.Tensor) -> Any:
        return getattr(ph, name)(parts[0] if is_real else parts, None, axes)

    return Pair(name, "3 5" if is_real else "3 5, 3 5", call, peer)


def lower(x: Any) -> Any:
    """A triangular factor with a diagonal away from 0, of a tensor of either library."""
    eye = np.eye(4)
    return x * np.tril(np.ones((4, 4)), -1) + (x * x + 1.0) * eye


def lower_of(torch: Any, x: Any) -> Any:
    return x.tril(-1) + (x * x + 1.0) * torch.eye(4, dtype=x.dtype)


def pool(name: str, *args: Any, peer: str, **options: Any) -> Pair:
    """A pooling of two axes, photic's for any number of axes and torch's for two."""
    return Pair(
        name,
        "2 3 7 6",
        lambda x: getattr(ph, name)(x, *args),
        lambda torch, x: getattr(torch.nn.functional, peer)(x, *args, **options),
    )


def powers(torch: Any, x: Any, count: int) -> Any:
    """torch.vander has no slopes of more than two powers."""
    return torch.stack([x**k for k in reversed(range(count))], -1)


def rotated(torch: Any, x: Any, cos: Any, sin: Any) -> Any:
    left, right = x.chunk(2, -1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)


def rotated_pairs(torch: Any, x: Any, cos: Any, sin: Any) -> Any:
    left, right = x[..., ::2], x[..., 1::2]
    made = torch.stack((left * cos - right * sin, right * cos + left * sin), -1)
    return made.flatten(-2)


def blocks(x: Any) -> Any:
    """Depth to space by its definition, depth outermost."""
    return x.reshape(2, 2, 2, 3, 2, 5).permute(0, 3, 4, 1, 5, 2).reshape(2, 3, 4, 10)


def sums_of_trips(step: Call, first: Any, rows: Any) -> Any:
    """A scan by its definition."""
    found, value = [], first
    for row in rows:
        value = step(value, row)
        found.append(value)
    return found


def scanned(first: ph.Tensor, rows: ph.Tensor) -> Any:
    (last,), (found,) = ph.scan(
        lambda carried, sliced: ((_trip(carried[0], sliced[0]),), (_trip(carried[0], sliced[0]),)),
        (first,),
        (rows,),
    )
    return last, found


def _trip(value: Any, row: Any) -> Any:
    return value * row + row


def scanned_by_torch(torch: Any, first: Any, rows: Any) -> Any:
    found = sums_of_trips(_trip, first, rows)
    return found[-1], torch.stack(found)


def projected(u: Any, s: Any, vt: Any) -> Any:
    """What of a singular value decomposition does not depend on the signs of its vectors."""
    return u @ u.mT, s, vt.mT @ (s[:, None] * vt)


def recomposed(values: Any, vectors: Any) -> Any:
    """As ``projected``, of eigenvalues and vectors, each weighed by its place."""
    return values, (vectors * (values * values)) @ vectors.mT


def parts_of(x: Any) -> Any:
    return x.real, x.imag


CTC = np.array([[1, 2], [3, 1]])
UNPOOLED_2D = np.tile(np.array([[0, 3], [9, 14]]), (2, 3, 1, 1))
UNPOOLED_3D = np.tile(np.array([[[0, 3], [9, 14]]]), (2, 3, 1, 1, 1))

# fmt: off
PAIRS = (
    pool("adaptive_max_pool", (2, 3), peer="adaptive_max_pool2d"),
    pool("adaptive_max_pool_with_indices", (2, 3), peer="adaptive_max_pool2d", return_indices=True),
    pool("adaptive_avg_pool", (2, 3), peer="adaptive_avg_pool2d"),
    pool("avg_pool", (3, 2), peer="avg_pool2d"),
    pool("max_pool", (3, 2), peer="max_pool2d"),
    pool("max_pool_with_indices", (3, 2), peer="max_pool2d", return_indices=True),
    pool("lp_pool", 2.0, (3, 2), peer="lp_pool2d"),
    Pair("global_max_pool", "2 3 5 4", ph.global_max_pool,
         lambda torch, x: x.amax((2, 3), keepdim=True)),
    Pair("global_lp_pool", "2 3 5 4", lambda x: ph.global_lp_pool(x, 3.0),
         lambda torch, x: (x.abs() ** 3).sum((2, 3), keepdim=True) ** (1 / 3)),
    Pair("max_unpool", "2 3 2 2", lambda x: ph.max_unpool(x, UNPOOLED_2D, (2, 2)),
         lambda torch, x: torch.nn.functional.max_unpool2d(x, torch.tensor(UNPOOLED_2D), 2)),
    Pair("max_unpool2d", "2 3 2 2", lambda x: ph.max_unpool2d(x, UNPOOLED_2D, 2),
         lambda torch, x: torch.nn.functional.max_unpool2d(x, torch.tensor(UNPOOLED_2D), 2)),
    Pair("max_unpool3d", "2 3 1 2 2", lambda x: ph.max_unpool3d(x, UNPOOLED_3D, 2),
         lambda torch, x: torch.nn.functional.max_unpool3d(x, torch.tensor(UNPOOLED_3D), 2)),
    Pair("interpolate", "2 3 5 4", lambda x: ph.interpolate(x, (8, 9), mode="bicubic"),
         lambda torch, x: torch.nn.functional.interpolate(x, (8, 9), mode="bicubic")),
    Pair("resize", "2 3 5 4", lambda x: ph.resize(x, (2, 3, 8, 9), mode="linear"),
         lambda torch, x: torch.nn.functional.interpolate(x, (8, 9), mode="bilinear")),
    Pair("conv", "2 3 7 6, 4 3 3 2, 4", ph.conv,
         lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b)),
    Pair("conv_transpose", "2 3 7 6, 3 4 3 2, 4", ph.conv_transpose,
         lambda torch, x, w, b: torch.nn.functional.conv_transpose2d(x, w, b)),
    same("conv1d", "2 4 9, 6 2 3, 6", 2, 1, 1, 2),
    same("conv2d", "2 4 9 7, 6 2 3 2, 6", 2, 1, 1, 2),
    same("conv3d", "1 4 5 4 6, 6 2 3 2 1, 6", 2, 1, 1, 2),
    same("conv_transpose1d", "2 4 9, 4 3 3, 6", 2, 1, 1, 2),
    same("conv_transpose2d", "2 4 5 4, 4 3 3 2, 6", 2, 1, 1, 2),
    same("conv_transpose3d", "1 4 5 4 3, 4 3 3 2 2, 6", 2, 1, 1, 2),
    Pair("embedding_bag", "7 3", lambda x: ph.embedding_bag(GRID, x, mode="mean"),
         lambda torch, x: torch.nn.functional.embedding_bag(torch.tensor(GRID), x, mode="mean")),
    Pair("append", "3 5, 2 2", ph.append,
         lambda torch, x, y: torch.cat((x.ravel(), y.ravel()))),
    Pair("array_split", "7 2", lambda x: ph.array_split(x, 3),
         lambda torch, x: torch.tensor_split(x, 3)),
    Pair("average", "3 5, 5", lambda x, w: ph.average(x, 1, w),
         lambda torch, x, w: (x * w).sum(1) / w.sum(), 0.1),
    Pair("bincount", "4", lambda x: ph.bincount(PLACES, x, length=6),
         lambda torch, x: x.new_zeros(6).index_add(0, torch.tensor(PLACES), x)),
    Pair("block", "2 3, 2 2, 1 3, 1 2", lambda a, b, c, d: ph.block([[a, b], [c, d]]),
         lambda torch, a, b, c, d: torch.cat((torch.cat((a, b), 1), torch.cat((c, d), 1)))),
    Pair("broadcast_arrays", "3 1, 5", ph.broadcast_arrays,
         lambda torch, x, y: torch.broadcast_tensors(x, y)),
    Pair("cholesky", "4 4", lambda x: ph.cholesky(x @ x.mT + np.eye(4)),
         lambda torch, x: torch.linalg.cholesky(x @ x.mT + torch.eye(4))),
    Pair("cholesky_inverse", "4 4", lambda x: ph.cholesky_inverse(lower(x)),
         lambda torch, x: torch.cholesky_inverse(lower_of(torch, x))),
    Pair("cholesky_solve", "4 3, 4 4", lambda b, x: ph.cholesky_solve(b, lower(x)),
         lambda torch, b, x: torch.cholesky_solve(b, lower_of(torch, x))),
    Pair("choose", "3 5, 3 5, 3 5", lambda *xs: ph.choose(GRID, xs),
         lambda torch, *xs: torch.stack(xs).gather(0, torch.tensor(GRID)[None])[0]),
    Pair("compress", "3 5", lambda x: ph.compress(MASK[0], x, 1, size=3),
         lambda torch, x: x[:, torch.tensor(MASK[0])]),
    Pair("extract", "3 5", lambda x: ph.extract(MASK, x, size=8),
         lambda torch, x: x[torch.tensor(MASK)]),
    Pair("convolve", "7, 3", ph.convolve,
         lambda torch, a, v: torch.nn.functional.conv1d(
             a[None], v.flip(0)[None, None], padding=2)[0]),
    Pair("correlate", "7, 3", ph.correlate,
         lambda torch, a, v: torch.nn.functional.conv1d(a[None], v[None, None])[0]),
    Pair("ctc_loss", "6 2 5", lambda x: ph.ctc_loss(
             ph.log_softmax(x, 2), CTC, np.array([6, 5]), np.array([2, 1])),
         lambda torch, x: torch.nn.functional.ctc_loss(
             x.log_softmax(2), torch.tensor(CTC), torch.tensor([6, 5]), torch.tensor([2, 1]))),
    Pair("cond", "4 4", ph.cond, lambda torch, x: torch.linalg.cond(x)),
    Pair("ldexp", "3 4", lambda x: ph.ldexp(x, PLACES),
         lambda torch, x: torch.ldexp(x, torch.tensor(PLACES))),
    Pair("vander", "5", ph.vander, lambda torch, x: powers(torch, x, 5)),
    Pair("std_mean", "3 7", lambda x: ph.std_mean(x, 1),
         lambda torch, x: torch.std_mean(x, 1, correction=0)),
    Pair("var_mean", "3 7", lambda x: ph.var_mean(x, 1),
         lambda torch, x: torch.var_mean(x, 1, correction=0)),
    Pair("nanvar", "3 7", lambda x: ph.nanvar(x, 1), lambda torch, x: x.var(1, correction=0)),
    Pair("nanstd", "3 7", lambda x: ph.nanstd(x, 1), lambda torch, x: x.std(1, correction=0)),
    Pair("max", "3 7", lambda x: ph.max(x, 1), lambda torch, x: x.amax(1)),
    Pair("min", "3 7", lambda x: ph.min(x, 1), lambda torch, x: x.amin(1)),
    Pair("where", "3 5, 5", lambda x, y: ph.where(MASK, x, y),
         lambda torch, x, y: torch.where(torch.tensor(MASK), x, y)),
    Pair("einsum", "3 4, 4 5, 5", lambda *xs: ph.einsum("ij,jk,k->ki", *xs),
         lambda torch, *xs: torch.einsum("ij,jk,k->ki", *xs)),
    Pair("split", "6 2", lambda x: ph.split(x, 3), lambda torch, x: torch.tensor_split(x, 3)),
    Pair("take", "3 5", lambda x: ph.take(x, PLACES, 1),
         lambda torch, x: x[:, torch.tensor(PLACES)]),
    Pair("masked_select", "3 5", lambda x: ph.masked_select(x, MASK, size=8),
         lambda torch, x: torch.masked_select(x, torch.tensor(MASK))),
    Pair("quantile", "3 7", lambda x: ph.quantile(x, 0.3, 1), lambda torch, x: x.quantile(0.3, 1)),
    Pair("kthvalue", "3 7", lambda x: ph.kthvalue(x, 3, 1)[0],
         lambda torch, x: x.kthvalue(3, 1)[0]),
    Pair("eigh", "4 4", lambda x: recomposed(*ph.eigh(x + x.mT)),
         lambda torch, x: recomposed(*torch.linalg.eigh(x + x.mT))),
    Pair("stft", "40, 16", lambda x, w: ph.stft(x, 16, 4, window=w),
         lambda torch, x, w: parts_of(torch.stft(x, 16, 4, window=w, return_complex=True))),
    Pair("ifft", "3 5, 3 5", lambda x, y: ph.ifft((x, y)),
         lambda torch, x, y: parts_of(torch.fft.ifft(torch.complex(x, y)))),
    Pair("batch_norm_training", "5 3 4, 3, 3",
         lambda x, w, b: ph.batch_norm_training(x, np.zeros(3), np.ones(3), w, b)[0],
         lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True)),
    Pair("partition", "3 7", lambda x: ph.sort(ph.partition(x, 3)[:, :3]),
         lambda torch, x: x.sort().values[:, :3]),
    Pair("cumulative_prod", "3 5", lambda x: ph.cumulative_prod(x, axis=1),
         lambda torch, x: x.cumprod(1)),
    Pair("cumulative_sum", "3 5", lambda x: ph.cumulative_sum(x, axis=1),
         lambda torch, x: x.cumsum(1)),
    Pair("nancumprod", "3 5", lambda x: ph.nancumprod(x, 1), lambda torch, x: x.cumprod(1)),
    Pair("nancumsum", "3 5", lambda x: ph.nancumsum(x, 1), lambda torch, x: x.cumsum(1)),
    Pair("nanprod", "3 5", lambda x: ph.nanprod(x, 1), lambda torch, x: x.prod(1)),
    Pair("nanpercentile", "3 7", lambda x: ph.nanpercentile(x, 30.0, 1),
         lambda torch, x: x.nanquantile(0.3, 1)),
    Pair("percentile", "3 7", lambda x: ph.percentile(x, 30.0, 1),
         lambda torch, x: x.quantile(0.3, 1)),
    Pair("delete", "3 5", lambda x: ph.delete(x, 2, 1),
         lambda torch, x: x[:, [0, 1, 3, 4]]),
    Pair("insert", "3 5, 3", lambda x, v: ph.insert(x, 2, v, 1),
         lambda torch, x, v: torch.cat((x[:, :2], v[:, None], x[:, 2:]), 1)),
    Pair("depth_to_space", "2 12 2 5", lambda x: ph.depth_to_space(x, 2),
         lambda torch, x: blocks(x)),
    Pair("space_to_depth", "2 3 4 10", lambda x: ph.space_to_depth(x, 2),
         lambda torch, x: x.reshape(2, 3, 2, 2, 5, 2).permute(0, 3, 5, 1, 2, 4)
         .reshape(2, 12, 2, 5)),
    Pair("divmod", "3 7, 7", ph.divmod,
         lambda torch, x, y: (torch.floor(x / y), torch.remainder(x, y)), 0.2),
    Pair("modf", "3 7", ph.modf, lambda torch, x: (torch.frac(x), torch.trunc(x)), -9.0, 9.0),
    Pair("frexp", "3 7", lambda x: ph.frexp(x)[0], lambda torch, x: torch.frexp(x)[0], 0.1, 9.0),
    Pair("eigvalsh", "4 4", lambda x: ph.eigvalsh(x + x.mT),
         lambda torch, x: torch.linalg.eigvalsh(x + x.mT)),
    Pair("expand", "3 1", lambda x: ph.expand(x, (2, 3, 5)), lambda torch, x: x.expand(2, 3, 5)),
    Pair("expand_dims", "3 5", lambda x: ph.expand_dims(x, 1), lambda torch, x: x[:, None]),
    Pair("fill_diagonal", "4 4", lambda x: ph.fill_diagonal(x, 2.0),
         lambda torch, x: x.clone().fill_diagonal_(2.0)),
    Pair("gather_nd", "3 5", lambda x: ph.gather_nd(x, GRID[:, :2]),
         lambda torch, x: x[GRID[:, 0], GRID[:, 1]]),
    Pair("gradient", "7", ph.gradient, lambda torch, x: torch.gradient(x)[0]),
    Pair("histogram_bin_edges", "7", lambda x: ph.histogram_bin_edges(x, 4),
         lambda torch, x: x.min() + (x.max() - x.min()) * torch.arange(5) / 4),
    Pair("index_put", "3 5, 3", lambda x, v: ph.index_put(x, (GRID[:, 0], GRID[:, 1]), v, True),
         lambda torch, x, v: torch.index_put(
             x, (torch.tensor(GRID[:, 0]), torch.tensor(GRID[:, 1])), v, True)),
    Pair("put", "3 5, 4", lambda x, v: ph.put(x, PLACES, v, True),
         lambda torch, x, v: torch.put(x, torch.tensor(PLACES), v, True)),
    Pair("put_along_axis", "3 5, 1 5", lambda x, v: ph.put_along_axis(x, GRID[:1], v, 0),
         lambda torch, x, v: x.scatter(0, torch.tensor(GRID[:1]), v)),
    Pair("scatter_nd", "3 5, 2", lambda x, v: ph.scatter_nd(x, GRID[:2, :2], v),
         lambda torch, x, v: torch.index_put(
             x, (torch.tensor(GRID[:2, 0]), torch.tensor(GRID[:2, 1])), v)),
    *(Pair("scatter_reduce", "3 5, 3 5",
           lambda x, v, how=how: ph.scatter_reduce(x, 0, GRID, v, how),
           lambda torch, x, v, how=how: torch.scatter_reduce(x, 0, torch.tensor(GRID), v, how))
      for how in ("sum", "prod", "mean", "amax", "amin")),
    Pair("istft", "9 7, 9 7, 16", lambda x, y, w: ph.istft((x, y), 16, 4, window=w),
         lambda torch, x, y, w: torch.istft(torch.complex(x, y), 16, 4, window=w), 1.0, 3.0),
    Pair("lu", "4 4", lambda x: ph.lu(x)[1:], lambda torch, x: torch.linalg.lu(x)[1:]),
    Pair("matrix_norm", "3 5", ph.matrix_norm, lambda torch, x: torch.linalg.matrix_norm(x)),
    Pair("matrix_transpose", "2 3 5", ph.matrix_transpose, lambda torch, x: x.mT),
    Pair("matvec", "3 4, 4", ph.matvec, lambda torch, a, x: a @ x),
    Pair("vecmat", "3, 3 4", ph.vecmat, lambda torch, x, a: x @ a),
    Pair("masked_scatter", "3 5, 8", lambda x, v: ph.masked_scatter(x, MASK, v),
         lambda torch, x, v: torch.masked_scatter(x, torch.tensor(MASK), v)),
    Pair("meshgrid", "3, 5", ph.meshgrid,
         lambda torch, x, y: torch.meshgrid(x, y, indexing="xy")),
    Pair("polyfit", "7, 7", lambda x, y: ph.polyfit(x, y, 2),
         lambda torch, x, y: torch.linalg.pinv(powers(torch, x, 3)) @ y),
    Pair("polyval", "4, 7", ph.polyval,
         lambda torch, p, x: powers(torch, x, 4) @ p),
    Pair("ptp", "3 5", lambda x: ph.ptp(x, 1), lambda torch, x: x.amax(1) - x.amin(1)),
    Pair("rope_halves", "3 8, 3 4, 3 4", ph.rope_halves, rotated),
    Pair("rope_pairs", "3 8, 3 4, 3 4", ph.rope_pairs, rotated_pairs),
    Pair("scan", "4, 5 4", scanned, scanned_by_torch),
    Pair("select", "3 5, 3 5", lambda x, y: ph.select([MASK], [x], y),
         lambda torch, x, y: torch.where(torch.tensor(MASK), x, y)),
    Pair("sliding_window_view", "9", lambda x: ph.sliding_window_view(x, 3),
         lambda torch, x: x.unfold(0, 3, 1)),
    Pair("svd", "5 3", lambda x: projected(*ph.svd(x, full_matrices=False)),
         lambda torch, x: projected(*torch.linalg.svd(x, full_matrices=False))),
    Pair("unstack", "3 5", lambda x: ph.unstack(x, axis=1), lambda torch, x: x.unbind(1)),
    Pair("update", "3 7, 3 2", lambda x, new: ph.update(x, new, 3, 1),
         lambda torch, x, new: torch.slice_scatter(x, new, 1, 3, 5)),
    *map(spectrum, ("fft2", "ifft2", "fftn", "ifftn")),
    *(spectrum(name, is_real=True) for name in ("rfft2", "rfftn")),
    *(spectrum(name, gives_real=True) for name in ("irfft2", "irfftn")),
)
# fmt: on
