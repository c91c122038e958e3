"""Which functions are methods of the handle too, beside those that ``@method`` enters.

NumPy's name and meaning where its arrays have the method, else PyTorch's. Some of PyTorch's differ
from the NumPy function of the same name: they stand in ``PYTORCH``. Importing this file fills
``METHODS``; it has no function of its own that computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from photic.ir.dim import Dim, product
from photic.tensor import (
    activations,
    arithmetic,
    bitwise,
    brackets,
    compare,
    counting,
    diagonals,
    elementary,
    indexing,
    linear,
    loops,
    masks,
    nan_reductions,
    ordering,
    powers,
    primitive,
    reductions,
    repeating,
    rounding,
    running,
    scattering,
    selection,
    shapes,
    slicing,
    spans,
    unfolding,
)
from photic.tensor.tensor import METHODS, Tensor

# Imported for what their functions enter by themselves.
ENTERED = (arithmetic, bitwise, brackets, linear, loops, powers)

# By module, the functions that are methods under their own names.
NAMES = {
    activations: "tanh sinh cosh erf sigmoid relu",
    compare: "isnan isfinite isinf logical_not logical_and logical_or maximum minimum",
    counting: "bincount count_nonzero",
    diagonals: "diag diag_embed diagonal trace tril triu",
    elementary: "exp expm1 log log10 log1p rsqrt",
    indexing: "gather index_select narrow",
    masks: "masked_fill masked_scatter masked_select",
    nan_reductions: "nanmean nansum",
    ordering: "argsort topk",
    primitive: "exp2 log2 sin sqrt reciprocal",
    reductions: "var std softmax log_softmax logsumexp",
    repeating: "repeat repeat_interleave",
    running: "cummax cummin cumprod cumsum diff logcumsumexp",
    rounding: "floor ceil trunc round sign square",
    scattering: """
        index_add index_copy index_fill index_put scatter scatter_add scatter_reduce
    """,
    selection: "kthvalue nanmedian nanquantile quantile",
    shapes: "ravel flatten unflatten moveaxis unsqueeze roll fliplr flipud",
    slicing: "chunk unbind",
    spans: "aminmax",
}


def sizes_apart(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function with a sequence, as a method that takes its members one by one, too."""

    def called(x: Tensor, *sizes: Dim | Sequence[Dim]) -> Tensor:
        return function(x, sizes[0] if len(sizes) == 1 else sizes)

    return called


PYTORCH: dict[str, Callable[..., Any]] = {
    "view": sizes_apart(shapes.reshape),
    "tile": sizes_apart(repeating.tile),
    "flip": sizes_apart(shapes.flip),
    "movedim": shapes.moveaxis,
    "split": slicing.split_by,
    "select": indexing.at_place,
    "unfold": unfolding.windows_along,
    "view_as": lambda x, other: shapes.reshape(x, other.shape),
    "reshape_as": lambda x, other: shapes.reshape(x, other.shape),
    "expand_as": lambda x, other: shapes.expand(x, other.shape),
    "contiguous": lambda x: x,
    "numel": lambda x: product(x.shape),
    "dim": lambda x: x.ndim,
}

METHODS.update({name: getattr(one, name) for one, names in NAMES.items() for name in names.split()})
METHODS.update(PYTORCH)
