"""The catalogue's entries for movement, joins and triangles.

All of them are equal to the bit. Every function is called with negative axes as well.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from catalogue.entry import Array, Speed
from catalogue.inputs import LARGE, million, of_shapes, with_specials
from catalogue.to_the_bit import SQUARE, exact

import photic as ph

LINES = with_specials((0,), (1,), (7,), (LARGE,))
movement = partial(exact, sizes=("n m k",))


# --- axes -----------------------------------------------------------------------------------

AXES = (
    movement(
        "reshape",
        lambda x: (
            ph.reshape(x, (-1,)),
            ph.reshape(x, (x.shape[0] * x.shape[1], x.shape[2])),
            ph.reshape(x, (x.shape[2], x.shape[0], 1, x.shape[1])),
            x.reshape(1, *x.shape),
        ),
        lambda x: (
            x.reshape(-1),
            x.reshape(x.shape[0] * x.shape[1], x.shape[2]),
            x.reshape(x.shape[2], x.shape[0], 1, x.shape[1]),
            x[None],
        ),
        onnx=("Reshape", "Flatten"),
        aten=("view", "reshape", "flatten", "_unsafe_view", "view_as"),
    ),
    movement(
        "ravel",
        ph.ravel,
        np.ravel,
        with_specials((), (0,), (7,), (3, 4), (2, 3, 4)),
        sizes=("n m",),
        onnx=("Flatten",),
        aten=("flatten", "ravel"),
    ),
    movement(
        "transpose",
        lambda x: (ph.transpose(x), ph.transpose(x, (1, 2, 0)), ph.transpose(x, (-1, 0, -2)), x.T),
        lambda x: (x.T, x.transpose(1, 2, 0), x.transpose(-1, 0, -2), x.T),
        onnx=("Transpose",),
        aten=("transpose", "t", "permute"),
        speed=Speed(lambda torch, x: x.T.contiguous(), SQUARE, lambda x: x.T),
    ),
    movement(
        "permute",
        lambda x: ph.permute(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        onnx=("Transpose",),
        aten=("permute",),
        speed=Speed(
            lambda torch, x: x.permute(2, 0, 1).contiguous(),
            million((100, 100, 100)),
        ),
    ),
    movement(
        "swapaxes",
        lambda x: (ph.swapaxes(x, 0, -1), ph.swapaxes(x, 1, 1)),
        lambda x: (np.swapaxes(x, 0, -1), x),
        onnx=("Transpose",),
        aten=("swapaxes", "transpose"),
    ),
    movement(
        "moveaxis",
        lambda x: (ph.moveaxis(x, 0, -1), ph.moveaxis(x, (0, -1), (1, 0))),
        lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, (0, -1), (1, 0))),
        onnx=("Transpose",),
        aten=("movedim", "moveaxis"),
    ),
    movement(
        "broadcast_to",
        lambda x: ph.broadcast_to(x, (2, x.shape[0], 3)),
        lambda x: np.broadcast_to(x, (2, x.shape[0], 3)),
        with_specials((0, 1), (1, 1), (7, 1), (100, 1)),
        sizes=("n 1",),
        onnx=("Expand",),
        aten=("expand", "broadcast_to"),
        speed=Speed(
            lambda torch, x: x.expand(1000, 1000).contiguous(),
            million((1000, 1)),
            lambda x: ph.broadcast_to(x, (1000, 1000)),
        ),
    ),
    movement(
        "broadcast_arrays",
        ph.broadcast_arrays,
        np.broadcast_arrays,
        of_shapes([(3, 1), (4,)], [(), (0, 2)], [(1,), (1,)], [(2, 1, 3), (5, 1)]),
        sizes=("n 1", "m"),
        onnx=("Expand",),
        aten=("broadcast_tensors",),
    ),
    movement(
        "squeeze",
        lambda x: (ph.squeeze(x, 1), ph.squeeze(x, -1), ph.squeeze(x, (1, -1))),
        lambda x: (np.squeeze(x, 1), np.squeeze(x, -1), np.squeeze(x, (1, -1))),
        with_specials((3, 1, 1), (0, 1, 1), (1, 1, 1)),
        sizes=("n 1 1",),
        onnx=("Squeeze",),
        aten=("squeeze",),
    ),
    movement(
        "squeeze.all",
        ph.squeeze,
        np.squeeze,
        with_specials((3, 1, 1), (1, 1), (), (0, 1)),
        sizes=(),
        onnx=("Squeeze",),
        aten=("squeeze",),
    ),
    movement(
        "expand_dims",
        lambda x: (ph.expand_dims(x, 0), ph.expand_dims(x, -1), ph.expand_dims(x, (0, -1))),
        lambda x: (x[None], x[..., None], np.expand_dims(x, (0, -1))),
        with_specials((), (0,), (7,), (3, 4)),
        sizes=("n",),
        onnx=("Unsqueeze",),
        aten=("unsqueeze",),
    ),
)


# --- order ----------------------------------------------------------------------------------

ORDER = (
    movement(
        "flip",
        lambda x: (ph.flip(x), ph.flip(x, 0), ph.flip(x, -1), ph.flip(x, (0, 2))),
        lambda x: (np.flip(x), np.flip(x, 0), np.flip(x, -1), np.flip(x, (0, 2))),
        onnx=("Slice",),
        aten=("flip",),
        speed=Speed(lambda torch, x: torch.flip(x, (1,)), SQUARE, lambda x: ph.flip(x, 1)),
    ),
    movement(
        "roll",
        lambda x: (ph.roll(x, 2, 0), ph.roll(x, -1, -1), ph.roll(x, (1, 70), (0, 1))),
        lambda x: (np.roll(x, 2, 0), np.roll(x, -1, -1), np.roll(x, (1, 70), (0, 1))),
        with_specials((3, 4), (1, 1), (7, 33)),
        sizes=("n+ m+",),
        aten=("roll",),
        speed=Speed(lambda torch, x: torch.roll(x, 3, 1), SQUARE, lambda x: ph.roll(x, 3, 1)),
    ),
    movement(
        "roll.all",
        lambda x: (ph.roll(x, 2), ph.roll(x, -5)),
        lambda x: (np.roll(x, 2), np.roll(x, -5)),
        with_specials((3, 4), (1, 1), (2, 0), ()),
        sizes=("n+ m+",),
        aten=("roll",),
    ),
    movement(
        "tile",
        lambda x: (ph.tile(x, 2), ph.tile(x, (3, 1)), ph.tile(x, (2, 1, 2)), ph.tile(x, (0, 1))),
        lambda x: (np.tile(x, 2), np.tile(x, (3, 1)), np.tile(x, (2, 1, 2)), np.tile(x, (0, 1))),
        with_specials((3, 4), (1, 1), (0, 3)),
        sizes=("n m",),
        onnx=("Tile",),
        aten=("repeat", "tile"),
        speed=Speed(
            lambda torch, x: torch.tile(x, (2, 2)),
            million((500, 500)),
            lambda x: ph.tile(x, (2, 2)),
        ),
    ),
    movement(
        "repeat",
        lambda x: (ph.repeat(x, 3, 0), ph.repeat(x, 2, -1), ph.repeat(x, 2), ph.repeat(x, 0, 0)),
        lambda x: (np.repeat(x, 3, 0), np.repeat(x, 2, -1), np.repeat(x, 2), np.repeat(x, 0, 0)),
        with_specials((3, 4), (1, 1), (0, 3)),
        sizes=("n m",),
        aten=("repeat_interleave",),
        speed=Speed(
            lambda torch, x: torch.repeat_interleave(x, 2, 1),
            million((1000, 500)),
            lambda x: ph.repeat(x, 2, 1),
        ),
    ),
)


# --- padding, joining, splitting ------------------------------------------------------------


def _padded(x: Array) -> tuple[Array, ...]:
    zero = x.dtype.type(0)
    return (
        np.pad(x, 1),
        np.pad(x, (2, 0)),
        np.pad(x, ((0, 1), (3, 2)), constant_values=x.dtype.type(1)),
        np.pad(x[1:], ((0, 0), (2, 0)), constant_values=zero),
    )


JOINS = (
    movement(
        "pad",
        lambda x: (
            ph.pad(x, 1),
            ph.pad(x, (2, 0)),
            ph.pad(x, ((0, 1), (3, 2)), constant_values=1),
            ph.pad(x, ((-1, 0), (2, 0))),
        ),
        _padded,
        with_specials((3, 4), (1, 1), (2, 0), (33, 17)),
        sizes=("n+ m",),
        onnx=("Pad",),
        aten=("constant_pad_nd", "pad"),
        speed=Speed(
            lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1)),
            SQUARE,
            lambda x: ph.pad(x, 1),
        ),
    ),
    movement(
        "concat",
        lambda x, y: (ph.concat((x, y), 0), ph.concat((y, x, y), -2), ph.concat((x,), 1)),
        lambda x, y: (np.concatenate((x, y)), np.concatenate((y, x, y)), x),
        of_shapes([(3, 4), (2, 4)], [(0, 4), (1, 4)], [(1, 1), (1, 1)], [(7, 33), (5, 33)]),
        sizes=("n k", "m k"),
        onnx=("Concat",),
        aten=("cat", "concat"),
        speed=Speed(
            lambda torch, x, y: torch.cat((x, y), 1),
            million((1000, 500), (1000, 500)),
            lambda x, y: ph.concat((x, y), 1),
        ),
    ),
    movement(
        "concatenate",
        lambda x, y: (ph.concatenate((x, y)), ph.concatenate((x, y), None)),
        lambda x, y: (np.concatenate((x, y)), np.concatenate((x, y), None)),
        of_shapes([(3, 4), (2, 4)], [(0, 4), (1, 4)], [(1, 1), (1, 1)]),
        sizes=("n k", "m k"),
        onnx=("Concat",),
        aten=("cat",),
    ),
    movement(
        "stack",
        lambda x, y: (ph.stack((x, y)), ph.stack((x, y, x), -1), ph.stack((x, y), 1)),
        lambda x, y: (np.stack((x, y)), np.stack((x, y, x), -1), np.stack((x, y), 1)),
        of_shapes([(3, 4), (3, 4)], [(0, 4), (0, 4)], [(1, 1), (1, 1)]),
        sizes=("n k", "n k"),
        onnx=("ConcatFromSequence",),
        aten=("stack",),
        speed=Speed(
            lambda torch, x, y: torch.stack((x, y), -1),
            million((1000, 500), (1000, 500)),
            lambda x, y: ph.stack((x, y), -1),
        ),
    ),
    movement(
        "split",
        lambda x: (*ph.split(x, 3, -1), *ph.split(x, (1, 4), 1)),
        lambda x: (*np.split(x, 3, -1), *np.split(x, (1, 4), 1)),
        with_specials((3, 6), (0, 6), (1, 6), (100, 6)),
        sizes=("n 6",),
        onnx=("Split",),
        aten=("split", "chunk", "split_with_sizes", "unbind"),
        speed=Speed(
            lambda torch, x: [one.contiguous() for one in torch.split(x, 500, 1)],
            SQUARE,
            lambda x: tuple(ph.split(x, 2, 1)),
        ),
    ),
)


# --- triangles ------------------------------------------------------------------------------

TRIANGLES = (
    movement(
        "tril",
        lambda x: (ph.tril(x), ph.tril(x, 1), ph.tril(x, -2)),
        lambda x: (np.tril(x), np.tril(x, 1), np.tril(x, -2)),
        with_specials((3, 4), (1, 1), (5, 3), (0, 2), (2, 6, 6)),
        sizes=("n m",),
        onnx=("Trilu",),
        aten=("tril",),
        speed=Speed(lambda torch, x: torch.tril(x), SQUARE, ph.tril),
    ),
    movement(
        "triu",
        lambda x: (ph.triu(x), ph.triu(x, 1), ph.triu(x, -2)),
        lambda x: (np.triu(x), np.triu(x, 1), np.triu(x, -2)),
        with_specials((3, 4), (1, 1), (5, 3), (0, 2), (2, 6, 6)),
        sizes=("n m",),
        onnx=("Trilu",),
        aten=("triu",),
        speed=Speed(lambda torch, x: torch.triu(x), SQUARE, ph.triu),
    ),
)


ENTRIES = (*AXES, *ORDER, *JOINS, *TRIANGLES)
