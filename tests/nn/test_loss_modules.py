"""Every loss module beside torch's of the same name: results and gradients, each reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from nn.evaluating_modules import assert_like_torch

import photic as ph
from photic import nn
from photic.forms.eval import Array

pytestmark = pytest.mark.peers

random = np.random.default_rng(5)
ROWS, CLASSES = 6, 4
X, Y = random.normal(size=(2, ROWS, CLASSES))
SHARES = random.uniform(0.05, 0.95, (ROWS, CLASSES))
LOGS = np.log(SHARES / SHARES.sum(1, keepdims=True))
KINDS = random.integers(0, CLASSES, ROWS)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
WEIGHT = random.uniform(0.5, 2.0, CLASSES)
BITS = random.integers(0, 2, (ROWS, CLASSES)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Case:
    """``name(**options)`` called with ``given``."""

    name: str
    given: tuple[Array, ...]
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.options)})"


def case(name: str, *given: Array, **options: Any) -> Case:
    return Case(name, given, tuple(options.items()))


CASES = [
    case("MSELoss", X, Y),
    case("L1Loss", X, Y),
    case("SmoothL1Loss", X, Y, beta=0.7),
    case("HuberLoss", X, Y, delta=0.6),
    case("CrossEntropyLoss", X, KINDS),
    case("CrossEntropyLoss", X, KINDS, weight=WEIGHT, ignore_index=2, label_smoothing=0.1),
    case("NLLLoss", LOGS, KINDS, weight=WEIGHT, ignore_index=1),
    case("BCELoss", SHARES, SHARES[::-1], weight=WEIGHT),
    case("BCEWithLogitsLoss", X, SHARES, weight=WEIGHT, pos_weight=WEIGHT),
    case("KLDivLoss", LOGS, LOGS[::-1], log_target=True),
    case("PoissonNLLLoss", X, SHARES, full=True),
    case("PoissonNLLLoss", SHARES, SHARES[::-1], log_input=False, eps=1e-3),
    case("GaussianNLLLoss", X, Y, SHARES, full=True),
    case("MultiLabelSoftMarginLoss", X, BITS, weight=WEIGHT),
    case("HingeEmbeddingLoss", X[:, 0], SIGNS, margin=0.5),
    case("HingeEmbeddingLoss", X[:, 0], SIGNS),
    case("MarginRankingLoss", X[:, 0], Y[:, 0], SIGNS),
    case("CosineEmbeddingLoss", X, Y, SIGNS, margin=0.1),
    case("MultiMarginLoss", X, KINDS, p=2, margin=0.8, weight=WEIGHT),
    case("TripletMarginLoss", X, Y, SHARES, swap=True),
]
LOSSES = {one.name for one in CASES} | {"CTCLoss", "SoftMarginLoss"}


# torch announces another meaning of its "mean" for divergences
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("one", CASES, ids=str)
def test_a_loss_module_is_torchs(one: Case, reduction: str) -> None:
    import torch

    options = dict(one.options) | {"reduction": reduction}
    for_torch = {
        key: torch.tensor(value) if isinstance(value, np.ndarray) else value
        for key, value in options.items()
    }
    peer = getattr(torch.nn, one.name)(**for_torch)
    given = [np.ascontiguousarray(each) for each in one.given]
    assert_like_torch(getattr(nn, one.name)(**options), peer, given, relative=1e-9)


def test_batchmean_divides_by_the_rows() -> None:
    import torch

    options = {"reduction": "batchmean"}
    peer = torch.nn.KLDivLoss(**options)
    assert_like_torch(nn.KLDivLoss(**options), peer, [LOGS, SHARES])


def test_signs_are_told_apart_softly_as_in_torch() -> None:
    import torch

    how = {"target": np.sign(Y)}  # torch has no slope for these
    assert_like_torch(
        nn.SoftMarginLoss("sum"), torch.nn.SoftMarginLoss(reduction="sum"), [X], **how
    )


class Aligned(nn.Module):
    """Logits against labels."""

    def __init__(self) -> None:
        self.loss = nn.CTCLoss()

    def forward(self, x: ph.Tensor, *more: ph.Tensor) -> ph.Tensor:
        return self.loss(ph.log_softmax(x, -1), *more)


def test_alignments_are_summed_as_torch_sums_them() -> None:
    import torch

    class Peer(torch.nn.Module):
        def forward(self, x: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
            return torch.nn.CTCLoss()(x.log_softmax(-1), *more)

    logits, labels = random.normal(size=(ROWS, 2, CLASSES)), np.array([[1, 2], [3, 0]])
    given = [logits, labels, np.array([6, 5]), np.array([2, 1])]
    assert_like_torch(Aligned(), Peer(), given, relative=1e-9)


def test_every_loss_of_the_package_is_among_these() -> None:
    assert {name for name in nn.__all__ if name.endswith("Loss")} == LOSSES
