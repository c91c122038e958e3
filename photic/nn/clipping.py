"""Gradients kept within bounds, as PyTorch's ``clip_grad_norm_`` and ``clip_grad_value_``."""

from __future__ import annotations

from collections.abc import Mapping

from photic.tensor.compare import clip, minimum
from photic.tensor.norms import p_norm
from photic.tensor.primitive import reciprocal
from photic.tensor.shapes import reshape, stack
from photic.tensor.tensor import Tensor

NORM_EPS = 1e-6  # PyTorch's, so that gradients of 0 are divided by something


def total_norm(gradients: Mapping[str, Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm of all elements together, of rank 0."""
    norms = [_norm(reshape(one, (-1,)), norm_type) for one in gradients.values()]
    return _norm(stack(norms), norm_type)


def _norm(x: Tensor, norm_type: float) -> Tensor:
    return reshape(p_norm(x, norm_type, 0), ())


def clip_grad_norm(
    gradients: Mapping[str, Tensor], max_norm: float, norm_type: float = 2.0
) -> tuple[dict[str, Tensor], Tensor]:
    """All gradients scaled such that their norm is at most ``max_norm``; and what it was."""
    total = total_norm(gradients, norm_type)
    scale = minimum(reciprocal(total + NORM_EPS) * max_norm, 1.0)
    return {name: one * scale.astype(one.dtype) for name, one in gradients.items()}, total


def clip_grad_value(gradients: Mapping[str, Tensor], clip_value: float) -> dict[str, Tensor]:
    """Every element within ``-clip_value .. clip_value``."""
    return {name: clip(one, -clip_value, clip_value) for name, one in gradients.items()}
