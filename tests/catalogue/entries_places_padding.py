"""The catalogue's entries for paddings, diagonals, windows, grids and what has no input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entries_places_views import LINES
from catalogue.entry import ALL, FLOATS, NUMBERS, Entry, Speed, gives, summed
from catalogue.inputs import million, of_shape, of_shapes, with_specials
from catalogue.to_the_bit import GRIDS, SQUARE, exact

import photic as ph

# --- padding --------------------------------------------------------------------------------

WIDTHS = (1, (2, 0), ((0, 3), (1, 0)), ((0, 0), (9, 20)), ((-1, 2), (1, -1)), {-1: (1, 3)})
FULL = with_specials((3, 4), (2, 2), (11, 17))


def cropped(x: np.ndarray, width: Any, mode: str) -> np.ndarray:
    """NumPy's ``pad`` of what negative widths leave."""
    if isinstance(width, dict):
        width = ((0, 0), width[-1])
    pairs = np.broadcast_to(width, (x.ndim, 2))
    cuts = [slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(pairs, x.shape)]
    return np.pad(x[tuple(cuts)], np.maximum(pairs, 0), mode=mode)


def padding(mode: str, aten: tuple[str, ...]) -> Entry:
    peer = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    has_peer = mode != "symmetric"
    return exact(
        f"pad.{mode}",
        lambda x: tuple(ph.pad(x, width, mode) for width in WIDTHS),
        lambda x: tuple(cropped(x, width, mode) for width in WIDTHS),
        FULL,
        onnx=("Pad",),
        aten=aten,
        speed=Speed(
            lambda torch, x: torch.nn.functional.pad(x[None], (7, 9), mode=peer)[0],
            SQUARE,
            lambda x: ph.pad(x, ((0, 0), (7, 9)), mode),
        )
        if has_peer
        else None,
    )


def symbolic_padding(mode: str) -> Entry:
    return exact(
        f"pad.{mode}-any-size",
        lambda x: (ph.pad(x, 2, mode), ph.pad(x, ((3, 0), (0, 40)), mode)),
        lambda x: (np.pad(x, 2, mode=mode), np.pad(x, ((3, 0), (0, 40)), mode=mode)),
        with_specials((1, 1), (2, 3), (7, 5)),
        sizes=("n+ m+",),
        onnx=("Pad",),
    )


def _several_constants(pad: Callable[..., Any], x: Any) -> tuple[Any, ...]:
    return (
        pad(x, 1, constant_values=1),
        pad(x, ((1, 2), (2, 1)), constant_values=((0, 1), (1, 0))),
        pad(x, (1, 2), constant_values=(1, 0)),
        pad(x, ((3, 2),), constant_values=1),
    )


PADDINGS = (
    padding("edge", ("replication_pad1d", "replication_pad2d", "replication_pad3d")),
    padding("reflect", ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")),
    padding("symmetric", ()),
    padding("wrap", ("_pad_circular",)),
    *(symbolic_padding(mode) for mode in ("edge", "reflect", "symmetric", "wrap")),
    exact(
        "pad.constants",
        lambda x: _several_constants(ph.pad, x),
        lambda x: _several_constants(np.pad, x),
        GRIDS,
        sizes=("n m",),
        onnx=("Pad",),
        aten=("constant_pad_nd",),
    ),
)

# --- diagonals ------------------------------------------------------------------------------

OFFSETS = (0, 1, -2, 5)
DIAGONALS = (
    exact(
        "diagonal",
        lambda x: (*(ph.diagonal(x, k) for k in OFFSETS), ph.diagonal(x, 1, -1, 0)),
        lambda x: (*(np.diagonal(x, k) for k in OFFSETS), np.diagonal(x, 1, -1, 0)),
        onnx=("Einsum",),
        aten=("diagonal", "linalg_diagonal"),
    ),
    exact(
        "diagonal.square",
        lambda x: (ph.diagonal(x), ph.diagonal(x, 0, 1, 0)),
        lambda x: (np.diagonal(x), np.diagonal(x)),
        with_specials((3, 3), (1, 1), (0, 0), (33, 33)),
        sizes=("n n",),
        aten=("diagonal",),
    ),
    exact(
        "diag",
        lambda x: tuple(ph.diag(x, k) for k in OFFSETS),
        lambda x: tuple(np.diag(x, k) for k in OFFSETS),
        with_specials((4,), (1,), (0,), (3, 4), (0, 2)),
        sizes=("n",),
        aten=("diag",),
    ),
    exact(
        "diagflat",
        lambda x: (ph.diagflat(x), ph.diagflat(x, -2)),
        lambda x: (np.diagflat(x), np.diagflat(x, -2)),
        with_specials((), (3,), (2, 3), (0, 2)),
        sizes=("n m",),
        aten=("diagflat",),
    ),
    exact(
        "diag_embed",
        lambda x: (
            ph.diag_embed(x),
            ph.diag_embed(x, 1),
            ph.diag_embed(x, -2, 0, -1),
            ph.diag_embed(x, 0, 2, 0),
        ),
        lambda x: (
            embedded(x, 0),
            embedded(x, 1),
            np.moveaxis(embedded(x, -2), (-2, -1), (0, -1)),
            np.moveaxis(embedded(x, 0), (-2, -1), (2, 0)),
        ),
        with_specials((2, 3), (1, 1), (0, 2), (5, 7)),
        sizes=("n m",),
        aten=("diag_embed",),
    ),
    exact(
        "diagonal_scatter",
        lambda x, y: ph.diagonal_scatter(x, y, 1, 0, -1),
        lambda x, y: replaced_diagonal(x, y, 1),
        of_shapes([(3, 2, 4), (2, 3)], [(1, 1, 2), (1, 1)], [(5, 3, 5), (3, 4)]),
        aten=("diagonal_scatter",),
    ),
    Entry(
        "trace",
        lambda x: (ph.trace(x), ph.trace(x, 1, -1, 0), ph.trace(x, -1, 1, 2)),
        lambda x: (np.trace(x), np.trace(x, 1, -1, 0), np.trace(x, -1, 1, 2)),
        of_shape((3, 4, 5), (1, 1, 1), (4, 0, 3), low=0, high=4),
        NUMBERS,
        rtol=4e-6,
        scale=lambda x: (
            np.trace(abs(x)),
            np.trace(abs(x), 1, -1, 0),
            np.trace(abs(x), -1, 1, 2),
        ),
        why="a sum of at most 5 in any order",
        result_dtype=summed,
        aten=("trace",),
    ),
)


def embedded(x: np.ndarray, offset: int) -> np.ndarray:
    """Lines on diagonals of matrices."""
    side = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], side, side), x.dtype)
    places = np.arange(x.shape[-1])
    result[..., places + max(0, -offset), places + max(0, offset)] = x
    return result


def replaced_diagonal(x: np.ndarray, y: np.ndarray, offset: int) -> np.ndarray:
    """A diagonal of the first and the last axis set."""
    result = np.moveaxis(x.copy(), 1, 0)
    for k in range(y.shape[-1]):
        result[:, k, k + offset] = y[:, k]
    return np.moveaxis(result, 0, 1)


# --- windows --------------------------------------------------------------------------------


def folded(x: np.ndarray, size: tuple[int, int], kernel: int, stride: int) -> np.ndarray:
    """Columns added up where their windows lie, without padding."""
    batch, rows, _ = x.shape
    across = (size[1] - kernel) // stride + 1
    result = np.zeros((batch, rows // kernel**2, *size), x.dtype)
    for row in range(rows):
        channel, place = divmod(row, kernel**2)
        for column in range(x.shape[2]):
            i, j = np.array(divmod(column, across)) * stride + divmod(place, kernel)
            result[:, channel, i, j] += x[:, row, column]
    return result


def unfolded(x: np.ndarray, kernel: int, stride: int, around: int) -> np.ndarray:
    """Windows as columns."""
    wide = np.pad(x, ((0, 0), (0, 0), (around, around), (around, around)))
    seen = np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel), (2, 3))
    columns = seen[:, :, ::stride, ::stride].transpose(0, 1, 4, 5, 2, 3)
    batch, channels, *_, high, across = columns.shape
    return columns.reshape(batch, channels * kernel**2, high * across)


WINDOWS = (
    exact(
        "sliding_window_view",
        lambda x: (
            ph.sliding_window_view(x, (2, 1)),
            ph.sliding_window_view(x, 2, -1),
            ph.sliding_window_view(x, (2, 2), (1, 1)),
        ),
        lambda x: (
            np.lib.stride_tricks.sliding_window_view(x, (2, 1)),
            np.lib.stride_tricks.sliding_window_view(x, 2, -1),
            np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 1)),
        ),
        with_specials((3, 4), (2, 3), (33, 17)),
        aten=("unfold",),
    ),
    exact(
        "unfold.method",
        lambda x: (x.unfold(0, 2, 1), x.unfold(-1, 3, 2), x.unfold(1, 1, 5)),
        lambda x: (
            np.lib.stride_tricks.sliding_window_view(x, 2, 0),
            np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2],
            np.lib.stride_tricks.sliding_window_view(x, 1, 1)[:, ::5],
        ),
        with_specials((3, 4), (2, 3), (33, 17)),
        aten=("unfold",),
    ),
    exact(
        "unfold",
        lambda x: (ph.unfold(x, 2), ph.unfold(x, (3, 3), padding=1, stride=2)),
        lambda x: (unfolded(x, 2, 1, 0), unfolded(x, 3, 2, 1)),
        with_specials((2, 3, 4, 5), (1, 1, 2, 2), (1, 2, 9, 7)),
        onnx=("Conv",),
        aten=("im2col",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.unfold(x, 3, padding=1),
            million((1, 16, 100, 100)),
            lambda x: ph.unfold(x, 3, padding=1),
        ),
    ),
    Entry(
        "fold",
        lambda x: (
            ph.fold(x, (5, 6), 2),
            ph.fold(x[:, :, :4], (4, 5), (2, 2), stride=2),
            ph.fold(x, (3, 4), 2, padding=1),
        ),
        lambda x: (
            folded(x, (5, 6), 2, 1),
            folded(x[:, :, :4], (4, 5), 2, 2),
            folded(x, (5, 6), 2, 1)[:, :, 1:-1, 1:-1],
        ),
        of_shape((2, 12, 20), (1, 4, 20), low=0, high=8),
        NUMBERS,
        rtol=2e-6,
        why="a sum of at most 4 in any order",
        onnx=("Col2Im",),
        aten=("col2im",),
        speed=Speed(
            lambda torch, x: torch.nn.functional.fold(x, (100, 100), 3, padding=1),
            million((1, 90, 10_000)),
            lambda x: ph.fold(x, (100, 100), 3, padding=1),
        ),
    ),
)

# --- grids ----------------------------------------------------------------------------------


def _grids(meshgrid: Callable[..., Any], x: Any, y: Any) -> tuple[Any, ...]:
    return (
        *meshgrid(x, y),
        *meshgrid(x, y, indexing="ij"),
        *meshgrid(y, x, x, sparse=True),
        *meshgrid(x, y, y),
        *meshgrid(y),
    )


def made(name: str, call: Callable[..., Any], oracle: Callable[..., Any], **more: Any) -> Entry:
    """What depends on no input: the one given only asks for a dtype."""
    return Entry(
        name,
        call,
        oracle,
        of_shape((1,)),
        ("int64",),
        ulps=0,
        gradient="none: it has no input",
        **more,
    )


GRID_ENTRIES = (
    exact(
        "meshgrid",
        lambda x, y: _grids(ph.meshgrid, x, y),
        lambda x, y: _grids(np.meshgrid, x, y),
        of_shapes([(3,), (2,)], [(1,), (0,)], [(33,), (7,)]),
        sizes=("n", "m"),
        aten=("meshgrid",),
    ),
    Entry(
        "unravel_index",
        lambda x: ph.unravel_index(x, (3, 4, 5)),
        lambda x: np.unravel_index(x, (3, 4, 5)),
        of_shape((), (3,), (0,), (4, 5), low=0, high=59),
        ("int64", "int32", "uint8"),
        ulps=0,
        result_dtype=lambda dtype: (np.dtype("int64"),) * 3,
        gradient="none: of integers",
        sizes=("n",),
        aten=("unravel_index",),
    ),
    Entry(
        "ravel_multi_index",
        lambda x, y: (
            ph.ravel_multi_index((x, y), (3, 4), "wrap"),
            ph.ravel_multi_index((x, y), (3, 4), "clip"),
            ph.ravel_multi_index((x, y), (3, 4), ("wrap", "clip")),
        ),
        lambda x, y: (
            np.ravel_multi_index((x, y), (3, 4), "wrap"),
            np.ravel_multi_index((x, y), (3, 4), "clip"),
            np.ravel_multi_index((x, y), (3, 4), ("wrap", "clip")),
        ),
        of_shapes([(), ()], [(3,), (3,)], [(0,), (0,)], [(4, 5), (5,)], low=-9, high=9),
        ("int64", "int32", "int8"),
        ulps=0,
        result_dtype=lambda dtype: (np.dtype("int64"),) * 3,
        gradient="none: of integers",
    ),
    made(
        "indices",
        lambda _: (ph.indices((3, 4)), ph.indices((2, 0, 3)), ph.indices((5,))),
        lambda _: (np.indices((3, 4)), np.indices((2, 0, 3)), np.indices((5,))),
    ),
    made(
        "tril_indices",
        lambda _: (*ph.tril_indices(4), *ph.tril_indices(3, -1, 5)),
        lambda _: (*np.tril_indices(4), *np.tril_indices(3, -1, 5)),
        aten=("tril_indices",),
    ),
    made(
        "triu_indices",
        lambda _: (*ph.triu_indices(4), *ph.triu_indices(3, 1, 5)),
        lambda _: (*np.triu_indices(4), *np.triu_indices(3, 1, 5)),
        aten=("triu_indices",),
    ),
    made(
        "diag_indices",
        lambda _: ph.diag_indices(4, 3),
        lambda _: np.diag_indices(4, 3),
    ),
)

# --- made without an input ------------------------------------------------------------------


def spaced(name: str, call: Callable[..., Any], oracle: Callable[..., Any], aten: str) -> Entry:
    """Numbers computed in float64 and rounded once."""
    return Entry(
        name,
        lambda _: call(),
        lambda _: oracle(),
        of_shape((1,)),
        ("float32",),
        onnx=("Range",),
        aten=(aten,),
        gradient="none: it has no input",
    )


CREATED = (
    spaced(
        "arange.floats",
        lambda: (ph.arange(0.0, 1.0, 0.1), ph.arange(2.5), ph.arange(1, -1, -0.25)),
        lambda: (np.arange(10) * 0.1, np.arange(2.5), np.arange(1, -1, -0.25)),
        "arange",
    ),
    spaced(
        "logspace",
        lambda: (ph.logspace(-1, 2, 7), ph.logspace(0, 3, 4, False, 2.0)),
        lambda: (np.logspace(-1, 2, 7), np.logspace(0, 3, 4, False, 2.0)),
        "logspace",
    ),
    spaced(
        "geomspace",
        lambda: (ph.geomspace(1, 1000, 4), ph.geomspace(2, 3, 7, False)),
        lambda: (np.geomspace(1, 1000, 4), np.geomspace(2, 3, 7, False)),
        "logspace",
    ),
    *(
        Entry(
            name,
            lambda x, name=name: getattr(ph, name)((2, 3), str(x.dtype)),
            lambda x: np.zeros((2, 3), x.dtype),
            of_shape((1,)),
            ALL,
            ulps=0,
            gradient="none: it has no input",
            aten=(name,),
        )
        for name in ("empty",)
    ),
    exact(
        "empty_like",
        lambda x: ph.empty_like(x),
        lambda x: np.zeros_like(x),
        LINES,
        sizes=("n",),
        aten=("empty_like",),
    ),
    Entry(
        "identity",
        lambda x: (ph.identity(3, str(x.dtype)), ph.identity(0, str(x.dtype))),
        lambda x: (np.identity(3, x.dtype), np.identity(0, x.dtype)),
        of_shape((1,)),
        FLOATS,
        ulps=0,
        gradient="none: it has no input",
        aten=("eye",),
    ),
    Entry(
        "broadcast_shapes",
        lambda x: ph.zeros(ph.broadcast_shapes(x.shape, (4, 1), 3)),
        lambda x: np.zeros(np.broadcast_shapes(x.shape, (4, 1), 3)),
        of_shape((1,), (3,), (2, 1, 3)),
        ("float32",),
        ulps=0,
        result_dtype=gives("float32"),
        gradient="none: of shapes",
        aten=("broadcast_tensors",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*PADDINGS, *DIAGONALS, *WINDOWS, *GRID_ENTRIES, *CREATED)
