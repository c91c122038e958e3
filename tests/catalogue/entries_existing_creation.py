"""The catalogue's entries for what is made without an input: of a shape, a dtype and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.entry import ALL, FLOATS, NUMBERS, Entry
from catalogue.inputs import of_shape

import photic as ph


def made(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    dtypes: tuple[str, ...] = ALL,
    *,
    onnx: tuple[str, ...] = (),
    aten: tuple[str, ...] = (),
) -> Entry:
    """What takes a shape and a dtype, here those of an array."""
    return Entry(
        name,
        call,
        lambda x: tuple(np.asarray(one).astype(x.dtype) for one in oracle(x)),
        of_shape((3, 4), (1, 1), (0, 3), (5, 2)),
        dtypes,
        ulps=0,
        gradient="none: reads no input",
        onnx=onnx,
        aten=aten,
        sizes=("n m",),
    )


ENTRIES = (
    made(
        "zeros",
        lambda x: (ph.zeros(x.shape, x.dtype),),
        lambda x: (np.zeros(x.shape),),
        onnx=("ConstantOfShape",),
        aten=("zeros", "new_zeros"),
    ),
    made(
        "ones",
        lambda x: (ph.ones(x.shape, x.dtype),),
        lambda x: (np.ones(x.shape),),
        aten=("ones", "new_ones"),
    ),
    made(
        "full",
        lambda x: (ph.full(x.shape, 1, x.dtype), ph.full((), 1, x.dtype)),
        lambda x: (np.full(x.shape, 1), np.full((), 1)),
        onnx=("ConstantOfShape",),
        aten=("full", "new_full", "scalar_tensor"),
    ),
    made(
        "zeros_like",
        lambda x: (ph.zeros_like(x),),
        lambda x: (np.zeros(x.shape),),
        aten=("zeros_like",),
    ),
    made(
        "ones_like",
        lambda x: (ph.ones_like(x),),
        lambda x: (np.ones(x.shape),),
        aten=("ones_like",),
    ),
    made(
        "full_like",
        lambda x: (ph.full_like(x, 1),),
        lambda x: (np.ones(x.shape),),
        aten=("full_like",),
    ),
    made(
        "eye",
        lambda x: (
            ph.eye(x.shape[0], dtype=x.dtype),
            ph.eye(x.shape[0], x.shape[1], 1, x.dtype),
            ph.eye(x.shape[0], x.shape[1], -1, x.dtype),
        ),
        lambda x: (np.eye(x.shape[0]), np.eye(*x.shape, 1), np.eye(*x.shape, -1)),
        onnx=("EyeLike",),
        aten=("eye",),
    ),
    made(
        "tri",
        lambda x: (
            ph.tri(x.shape[0], x.shape[1], dtype=x.dtype),
            ph.tri(x.shape[0], x.shape[1], -1, x.dtype),
        ),
        lambda x: (np.tri(*x.shape), np.tri(*x.shape, -1)),
    ),
    made(
        "arange",
        lambda x: (
            ph.arange(x.shape[0], dtype=x.dtype),
            ph.arange(2, x.shape[0] + 2, dtype=x.dtype),
            ph.arange(0, x.shape[0] * 4, 3, x.dtype),
            ph.arange(x.shape[1], 0, -1, x.dtype),
            ph.arange(100, 0, -7, x.dtype),
        ),
        lambda x: (
            np.arange(x.shape[0]),
            np.arange(2, x.shape[0] + 2),
            np.arange(0, x.shape[0] * 4, 3),
            np.arange(x.shape[1], 0, -1),
            np.arange(100, 0, -7),
        ),
        NUMBERS,
        onnx=("Range",),
        aten=("arange",),
    ),
    made(
        "linspace",
        lambda x: (
            ph.linspace(0.0, 1.0, 5, dtype=x.dtype),
            ph.linspace(-2.0, 6.0, 8, False, x.dtype),
            ph.linspace(1.0, 2.0, 1, dtype=x.dtype),
            ph.linspace(1.0, 2.0, 0, dtype=x.dtype),
        ),
        lambda x: (
            np.linspace(0, 1, 5),
            np.linspace(-2, 6, 8, False),
            np.linspace(1, 2, 1),
            np.linspace(1, 2, 0),
        ),
        FLOATS,
        aten=("linspace",),
    ),
)
