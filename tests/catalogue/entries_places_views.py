"""The catalogue's entries for movement: orders of elements, splits, joins, repeats, brackets.

All of them are equal to the bit, for every dtype. Every function is called with negative axes too.
"""

from __future__ import annotations

import numpy as np
from catalogue.by_torch import cases, exactly, floats, whole
from catalogue.entry import Array, Entry, Speed
from catalogue.inputs import million, of_shapes, with_specials
from catalogue.to_the_bit import GRIDS, SQUARE, exact

import photic as ph

LINES = with_specials((0,), (1,), (7,), (1000,))


def _filled(x: Array, rows: int) -> Array:
    """So many rows, zeros after the last."""
    made = np.zeros((rows, *x.shape[1:]), x.dtype)
    made[: len(x)] = x[:rows]
    return made


# --- shapes ---------------------------------------------------------------------------------

SHAPES = (
    exact(
        "flatten",
        lambda x: (ph.flatten(x), ph.flatten(x, 1), ph.flatten(x, 0, -2), x.flatten()),
        lambda x: (
            x.reshape(-1),
            x.reshape(x.shape[0], x.shape[1] * x.shape[2]),
            x.reshape(x.shape[0] * x.shape[1], x.shape[2]),
            x.reshape(-1),
        ),
        sizes=("n m k",),
        onnx=("Flatten",),
        aten=("flatten",),
    ),
    exact(
        "unflatten",
        lambda x: (ph.unflatten(x, 1, (2, -1)), ph.unflatten(x, -1, (1, 3, 2, 1))),
        lambda x: (x.reshape(len(x), 2, 3), x.reshape(len(x), 1, 3, 2, 1)),
        with_specials((3, 6), (0, 6), (1, 6)),
        sizes=("n 6",),
        onnx=("Reshape",),
        aten=("unflatten",),
    ),
    exact(
        "expand",
        lambda x: (ph.expand(x, (2, -1, 4)), x.expand(-1, 4), x.expand(1, x.shape[0], 1)),
        lambda x: (
            np.broadcast_to(x, (2, len(x), 4)),
            np.broadcast_to(x, (len(x), 4)),
            x[None],
        ),
        with_specials((3, 1), (1, 1), (0, 1), (33, 1)),
        sizes=("n 1",),
        onnx=("Expand",),
        aten=("expand", "expand_as"),
    ),
    exact(
        "unsqueeze",
        lambda x: (ph.unsqueeze(x, 0), ph.unsqueeze(x, -1), x.unsqueeze(1)),
        lambda x: (x[None], x[..., None], x[:, None]),
        sizes=("n m k",),
        onnx=("Unsqueeze",),
        aten=("unsqueeze",),
    ),
    *(
        exact(
            f"atleast_{rank}d",
            getattr(ph, f"atleast_{rank}d"),
            getattr(np, f"atleast_{rank}d"),
            with_specials((), (3,), (0,), (3, 4), (2, 3, 4), (2, 1, 3, 2)),
            sizes=("n",),
            aten=(f"atleast_{rank}d",),
        )
        for rank in (1, 2, 3)
    ),
)

# --- order of elements ----------------------------------------------------------------------

ORDERS = (
    exact("fliplr", ph.fliplr, np.fliplr, GRIDS, sizes=("n m",), aten=("fliplr",)),
    exact("flipud", ph.flipud, np.flipud, GRIDS, sizes=("n m",), aten=("flipud",)),
    exact(
        "flip.method",
        lambda x: (x.flip(0), x.flip(0, -1), x.flip([1])),
        lambda x: (np.flip(x, 0), np.flip(x, (0, -1)), np.flip(x, 1)),
        sizes=("n m k",),
        aten=("flip",),
    ),
    exact(
        "rot90",
        lambda x: (ph.rot90(x), ph.rot90(x, 2), ph.rot90(x, -1, (1, 0)), ph.rot90(x, 7, (2, 0))),
        lambda x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, -1, (1, 0)), np.rot90(x, 7, (2, 0))),
        sizes=("n m k",),
        aten=("rot90",),
        speed=Speed(lambda torch, x: torch.rot90(x).contiguous(), SQUARE, lambda x: ph.rot90(x)),
    ),
    exact(
        "roll.several",
        lambda x: (ph.roll(x, (1, -2), (0, -1)), ph.roll(x, 3, (0, 1)), ph.roll(x, (1, 2), 1)),
        lambda x: (np.roll(x, (1, -2), (0, -1)), np.roll(x, 3, (0, 1)), np.roll(x, (1, 2), 1)),
        sizes=("n m k",),
        aten=("roll",),
        speed=Speed(
            lambda torch, x: torch.roll(x, (30, -20), (0, 1)),
            SQUARE,
            lambda x: ph.roll(x, (30, -20), (0, 1)),
        ),
    ),
    exact(
        "repeat.each",
        lambda x: (ph.repeat(x, [0, 2, 1], 1), ph.repeat(x, (3,), -1)),
        lambda x: (np.repeat(x, [0, 2, 1], 1), np.repeat(x, 3, -1)),
        with_specials((2, 3), (0, 3), (33, 3)),
        sizes=("n 3",),
        aten=("repeat_interleave",),
    ),
    exact(
        "repeat.counts",
        lambda x, counts: (
            ph.repeat(x, counts, 0, 9),
            ph.repeat_interleave(x, counts, 0, output_size=2),
        ),
        lambda x, counts: (
            _filled(np.repeat(x, counts, 0), 9),
            _filled(np.repeat(x, counts, 0), 2),
        ),
        cases(
            [floats(4, 2), whole(4, low=0, high=3)],
            [floats(1), exactly([5])],
            [floats(3, 1, 2), exactly([0, 0, 0])],
            [floats(0, 2), exactly(np.zeros(0, np.int64))],
        ),
        zero_signs=False,
        aten=("repeat_interleave",),
    ),
    exact(
        "repeat_interleave",
        lambda x: (ph.repeat_interleave(x, 2), ph.repeat_interleave(x, 3, -1), x.repeat(2, 0)),
        lambda x: (np.repeat(x, 2), np.repeat(x, 3, -1), np.repeat(x, 2, 0)),
        sizes=("n m k",),
        aten=("repeat_interleave",),
        speed=Speed(
            lambda torch, x: torch.repeat_interleave(x, 2, 1),
            million((1000, 500)),
            lambda x: ph.repeat_interleave(x, 2, 1),
        ),
    ),
    exact(
        "tile.method",
        lambda x: (x.tile(2, 1, 3), x.tile((2,))),
        lambda x: (np.tile(x, (2, 1, 3)), np.tile(x, 2)),
        sizes=("n m k",),
        onnx=("Tile",),
        aten=("tile", "repeat"),
    ),
)

# --- splits ---------------------------------------------------------------------------------

SPLITS = (
    exact(
        "array_split",
        lambda x: (*ph.array_split(x, 3, 1), *ph.array_split(x, 5, -1), *ph.array_split(x, [2, 9])),
        lambda x: (*np.array_split(x, 3, 1), *np.array_split(x, 5, -1), *np.array_split(x, [2, 9])),
        with_specials((3, 4), (1, 1), (2, 0), (33, 17)),
        aten=("tensor_split",),
    ),
    exact(
        "split.places",
        lambda x: (*ph.split(x, [1, 3]), *ph.split(x, [-2], 1), *ph.split(x, [3, 1], -1)),
        lambda x: (*np.split(x, [1, 3]), *np.split(x, [-2], 1), *np.split(x, [3, 1], -1)),
        with_specials((3, 4), (1, 1), (2, 0), (33, 17)),
        onnx=("Split",),
        aten=("tensor_split",),
    ),
    exact(
        "split.method",
        lambda x: (*x.split(2, 1), *x.split([1, 4, 1], -1)),
        lambda x: (*np.split(x, 3, 1), *np.split(x, [1, 5], 1)),
        with_specials((3, 6), (0, 6), (33, 6)),
        sizes=("n 6",),
        onnx=("Split",),
        aten=("split", "split_with_sizes"),
    ),
    exact(
        "hsplit",
        lambda x: (*ph.hsplit(x, 2), *ph.hsplit(x, [1])),
        lambda x: (*np.hsplit(x, 2), *np.hsplit(x, [1])),
        with_specials((6,), (3, 4), (2, 4, 3)),
        aten=("hsplit",),
    ),
    exact(
        "vsplit",
        lambda x: (*ph.vsplit(x, 2), *ph.vsplit(x, [1])),
        lambda x: (*np.vsplit(x, 2), *np.vsplit(x, [1])),
        with_specials((4, 3), (2, 0), (6, 4, 3)),
        sizes=("6 n m",),
        aten=("vsplit",),
    ),
    exact(
        "dsplit",
        lambda x: (*ph.dsplit(x, 2), *ph.dsplit(x, [1])),
        lambda x: (*np.dsplit(x, 2), *np.dsplit(x, [1])),
        with_specials((2, 3, 4), (0, 1, 2)),
        sizes=("n m 4",),
        aten=("dsplit",),
    ),
    exact(
        "chunk",
        lambda x: (*ph.chunk(x, 3, -1), *ph.chunk(x, 4, 1)),
        lambda x: (x[:, :2], x[:, 2:4], x[:, 4:], x[:, :2], x[:, 2:4], x[:, 4:]),
        with_specials((3, 5), (0, 5), (33, 5)),
        sizes=("n 5",),
        onnx=("Split",),
        aten=("chunk",),
    ),
    exact(
        "unbind",
        lambda x: (*ph.unbind(x), *x.unbind(-1)),
        lambda x: (*x, *np.moveaxis(x, -1, 0)),
        with_specials((3, 4), (1, 1), (5, 7)),
        onnx=("SplitToSequence",),
        aten=("unbind",),
    ),
    exact(
        "unstack",
        lambda x: ph.unstack(x, 1),
        lambda x: tuple(np.moveaxis(x, 1, 0)),
        with_specials((3, 4), (0, 4)),
        sizes=("n 4",),
        aten=("unbind",),
    ),
    exact(
        "narrow",
        lambda x: (ph.narrow(x, 0, 1, 2), x.narrow(1, -3, 2), ph.narrow(x, -1, 0, 4)),
        lambda x: (x[1:3], x[:, 1:3], x),
        with_specials((3, 4), (33, 4)),
        onnx=("Slice",),
        aten=("narrow",),
    ),
)

# --- joins ----------------------------------------------------------------------------------

LINE_PAIRS = of_shapes([(3,), (3,)], [(0,), (0,)], [(1,), (1,)], [(100,), (100,)])
GRID_PAIRS = of_shapes([(3, 4), (3, 4)], [(0, 2), (0, 2)], [(1, 1), (1, 1)], [(33, 7), (33, 7)])
JOINS = (
    *(
        exact(
            f"{name}.{kind}",
            lambda x, y, name=name: getattr(ph, name)((x, y, x)),
            lambda x, y, name=name: getattr(np, name)((x, y, x)),
            cases,
            sizes=sizes,
            onnx=("Concat",),
            aten=(name,),
        )
        for name in ("vstack", "hstack", "dstack", "column_stack")
        for kind, cases, sizes in (
            ("lines", LINE_PAIRS, ("n", "n")),
            ("grids", GRID_PAIRS, ("n m", "n m")),
            ("numbers", of_shapes([(), ()]), ()),
        )
    ),
    exact(
        "append",
        lambda x, y: (ph.append(x, y), ph.append(x, y, 0), ph.append(x, y, -1)),
        lambda x, y: (np.append(x, y), np.append(x, y, 0), np.append(x, y, -1)),
        GRID_PAIRS,
        sizes=("n m", "n m"),
        aten=("cat",),
    ),
    exact(
        "block_diag",
        lambda x, y: ph.block_diag(x, y, x[0]),
        lambda x, y: np.block(
            [
                [x, np.zeros_like(x, shape=(len(x), sum(y.shape[1:]) + x.shape[1]))],
                [
                    np.zeros_like(x, shape=(len(y), x.shape[1])),
                    y,
                    np.zeros_like(x, shape=(len(y), x.shape[1])),
                ],
                [np.zeros_like(x, shape=(1, x.shape[1] + y.shape[1])), x[:1]],
            ]
        ),
        of_shapes([(3, 4), (2, 1)], [(1, 1), (1, 1)], [(1, 0), (2, 3)], [(33, 7), (5, 1)]),
        aten=("block_diag",),
    ),
    exact(
        "delete",
        lambda x: (ph.delete(x, 1), ph.delete(x, [0, -1], 0), ph.delete(x, slice(1, 3), -1)),
        lambda x: (np.delete(x, 1), np.delete(x, [0, -1], 0), np.delete(x, slice(1, 3), -1)),
        with_specials((3, 4), (2, 2), (33, 7)),
    ),
)

ENTRIES: tuple[Entry, ...] = (*SHAPES, *ORDERS, *SPLITS, *JOINS)
