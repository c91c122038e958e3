"""Losses as modules, for code that keeps its criterion as an object; the functions are photic's.

Names, arguments and defaults are PyTorch's (``reduction`` is "mean", "sum" or "none"), but that
``size_average`` and ``reduce`` do not exist. A weight is an array: it is a constant, not trained.
"""

from __future__ import annotations

from typing import ClassVar

from photic.nn.module import Module
from photic.nn.parameter import Buffer
from photic.tensor import losses
from photic.tensor.ctc import ctc_loss
from photic.tensor.likelihoods import (
    NO_CLASS,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    kl_div,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    soft_margin_loss,
)
from photic.tensor.tensor import Tensor, Value


class _Weighted(Module):
    """A loss with a weight, which lies in ``state_dict`` as PyTorch's does."""

    weight: Buffer | None

    def _take(self, weight: Value | None, reduction: str) -> None:
        self.weight, self.reduction = _held(weight), reduction


def _held(weight: Value | None) -> Buffer | None:
    return None if weight is None else Buffer(weight)


def _handle(weight: Buffer | None) -> Tensor | None:
    return None if weight is None else weight.tensor


class _Plain(Module):
    """A loss without arguments but the reduction."""

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction


# --- by distance ----------------------------------------------------------------------------


class MSELoss(_Plain):
    """``ph.mse_loss``: the square of the distance."""

    def forward(self, x: Value, target: Value) -> Tensor:
        return losses.mse_loss(x, target, self.reduction)


class L1Loss(_Plain):
    """``ph.l1_loss``: the distance."""

    def forward(self, x: Value, target: Value) -> Tensor:
        return losses.l1_loss(x, target, self.reduction)


class SmoothL1Loss(Module):
    """``ph.smooth_l1_loss``: the square below ``beta``, else the distance."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self.reduction, self.beta = reduction, beta

    def forward(self, x: Value, target: Value) -> Tensor:
        return losses.smooth_l1_loss(x, target, self.reduction, self.beta)


class HuberLoss(Module):
    """``ph.huber_loss``: the square up to ``delta``, else the distance."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.reduction, self.delta = reduction, delta

    def forward(self, x: Value, target: Value) -> Tensor:
        return losses.huber_loss(x, target, self.reduction, self.delta)


# --- of probabilities -----------------------------------------------------------------------


class CrossEntropyLoss(_Weighted):
    """``ph.cross_entropy`` of logits (batch, classes, ...)."""

    def __init__(
        self,
        weight: Value | None = None,
        *,
        ignore_index: int = NO_CLASS,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        self._take(weight, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, x: Value, target: Value) -> Tensor:
        more = (self.ignore_index, self.reduction, self.label_smoothing)
        return cross_entropy(x, target, _handle(self.weight), *more)


class NLLLoss(_Weighted):
    """``ph.nll_loss`` of logarithms of probabilities."""

    def __init__(
        self,
        weight: Value | None = None,
        *,
        ignore_index: int = NO_CLASS,
        reduction: str = "mean",
    ) -> None:
        self._take(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, x: Value, target: Value) -> Tensor:
        return nll_loss(x, target, _handle(self.weight), self.ignore_index, self.reduction)


class BCELoss(_Weighted):
    """``ph.binary_cross_entropy`` of probabilities."""

    def __init__(self, weight: Value | None = None, *, reduction: str = "mean") -> None:
        self._take(weight, reduction)

    def forward(self, x: Value, target: Value) -> Tensor:
        return binary_cross_entropy(x, target, _handle(self.weight), self.reduction)


class BCEWithLogitsLoss(_Weighted):
    """``ph.binary_cross_entropy_with_logits``."""

    def __init__(
        self,
        weight: Value | None = None,
        *,
        reduction: str = "mean",
        pos_weight: Value | None = None,
    ) -> None:
        self._take(weight, reduction)
        self.pos_weight = _held(pos_weight)

    def forward(self, x: Value, target: Value) -> Tensor:
        weights = (_handle(self.weight), self.reduction, _handle(self.pos_weight))
        return binary_cross_entropy_with_logits(x, target, *weights)


class KLDivLoss(Module):
    """``ph.kl_div`` of logarithms; ``reduction`` may be "batchmean"."""

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        self.reduction, self.log_target = reduction, log_target

    def forward(self, x: Value, target: Value) -> Tensor:
        return kl_div(x, target, self.reduction, self.log_target)


class PoissonNLLLoss(Module):
    """``ph.poisson_nll_loss``."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        *,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        self.log_input, self.full = log_input, full
        self.eps, self.reduction = eps, reduction

    def forward(self, x: Value, target: Value) -> Tensor:
        more = (self.log_input, self.full, self.eps, self.reduction)
        return poisson_nll_loss(x, target, *more)


class GaussianNLLLoss(Module):
    """``ph.gaussian_nll_loss``; called with x, target and variances."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, x: Value, target: Value, var: Value) -> Tensor:
        return gaussian_nll_loss(x, target, var, self.full, self.eps, self.reduction)


class CTCLoss(Module):
    """``ph.ctc_loss``; targets are (batch, labels)."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self, log_probs: Value, targets: Value, input_lengths: Value, target_lengths: Value
    ) -> Tensor:
        lengths = (input_lengths, target_lengths, self.blank)
        return ctc_loss(log_probs, targets, *lengths, self.reduction, self.zero_infinity)


# --- by margin ------------------------------------------------------------------------------


class SoftMarginLoss(_Plain):
    """``ph.soft_margin_loss``; targets 1 and -1."""

    def forward(self, x: Value, target: Value) -> Tensor:
        return soft_margin_loss(x, target, self.reduction)


class MultiLabelSoftMarginLoss(_Weighted):
    """``ph.multilabel_soft_margin_loss``."""

    def __init__(self, weight: Value | None = None, *, reduction: str = "mean") -> None:
        self._take(weight, reduction)

    def forward(self, x: Value, target: Value) -> Tensor:
        return multilabel_soft_margin_loss(x, target, _handle(self.weight), self.reduction)


class _Margin(Module):
    """A loss with a margin."""

    least: ClassVar[float]

    def __init__(self, margin: float | None = None, *, reduction: str = "mean") -> None:
        self.margin = self.least if margin is None else margin
        self.reduction = reduction


class HingeEmbeddingLoss(_Margin):
    """``ph.hinge_embedding_loss``; targets 1 and -1."""

    least = 1.0

    def forward(self, x: Value, target: Value) -> Tensor:
        return losses.hinge_embedding_loss(x, target, self.margin, self.reduction)


class MarginRankingLoss(_Margin):
    """``ph.margin_ranking_loss``: the first larger where the target is 1."""

    least = 0.0

    def forward(self, first: Value, second: Value, target: Value) -> Tensor:
        return losses.margin_ranking_loss(first, second, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_Margin):
    """``ph.cosine_embedding_loss``; targets 1 and -1."""

    least = 0.0

    def forward(self, first: Value, second: Value, target: Value) -> Tensor:
        return losses.cosine_embedding_loss(first, second, target, self.margin, self.reduction)


class MultiMarginLoss(_Weighted):
    """``ph.multi_margin_loss``; targets are classes."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Value | None = None,
        *,
        reduction: str = "mean",
    ) -> None:
        self._take(weight, reduction)
        self.p, self.margin = p, margin

    def forward(self, x: Value, target: Value) -> Tensor:
        more = (self.p, self.margin, _handle(self.weight), self.reduction)
        return losses.multi_margin_loss(x, target, *more)


class TripletMarginLoss(Module):
    """``ph.triplet_margin_loss`` of an anchor, what is alike, and what is not."""

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        *,
        reduction: str = "mean",
    ) -> None:
        self.margin, self.p, self.eps = margin, p, eps
        self.swap, self.reduction = swap, reduction

    def forward(self, anchor: Value, positive: Value, negative: Value) -> Tensor:
        more = (self.margin, self.p, self.eps, self.swap, self.reduction)
        return losses.triplet_margin_loss(anchor, positive, negative, *more)
