"""Optimisers and schedules beside torch's: ten steps in float64, by the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from nn.stepping import Evaluated, batches, perceptrons, specified, torch_steps
from tensor.evaluating import value

import photic as ph
from photic import nn
from photic.base.errors import BadArgument
from photic.forms.eval import Array

STEPS = 10
CLOSE = 1e-12  # roundings of ten steps, of values near 1


def loss_of(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> ph.Tensor:
    return ph.mse_loss(model(x), y)


def torch_loss_of(model: Any, x: Any, y: Any) -> Any:
    return ((model(x) - y) ** 2).mean()


@dataclass(frozen=True, slots=True)
class Case:
    """An optimiser by its name in both worlds, and its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {' '.join(f'{k}={v}' for k, v in self.arguments.items())}"


CASES = [
    Case("SGD"),
    Case("SGD", {"lr": 0.1, "momentum": 0.9}),
    Case("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    Case("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    Case("Adam"),
    Case("Adam", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    Case("AdamW"),
    Case("AdamW", {"lr": 0.05, "weight_decay": 0.2}),
    Case("RMSprop"),
    Case("RMSprop", {"alpha": 0.8, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.7}),
]


@pytest.mark.peers
def test_weights_are_averaged_as_by_torch_beside_any_optimiser() -> None:
    import torch
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    module, peer = perceptrons()
    given = batches(STEPS)
    optimiser = nn.Averaged(nn.SGD(0.1, momentum=0.9), 0.8)
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, specified(given[0])))
    other = torch.optim.SGD(peer.parameters(), 0.1, momentum=0.9)
    means = AveragedModel(peer, multi_avg_fn=get_ema_multi_avg_fn(0.8))
    for one in given:
        own.step(one)
        torch_steps(peer, other, torch_loss_of, [one])
        means.update_parameters(peer)
    for name, one in means.module.named_parameters():
        mean = own.states[f"{name}:average"]
        np.testing.assert_allclose(mean, one.detach().numpy(), rtol=0, atol=CLOSE)


def test_averages_have_the_names_of_the_model() -> None:
    module = nn.Linear(5, 3, rng=0)
    (batch,) = batches(1)
    narrow = {name: one.astype(np.float32) for name, one in batch.items()}
    step = nn.train_step(module, loss_of, nn.Averaged(nn.SGD(0.1)), specified(narrow), search=0)
    step(**narrow)
    for name, one in step.averages().items():
        np.testing.assert_array_equal(one, step.states[name])
    module.load_state_dict(step.averages())


@pytest.mark.peers
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_optimiser_goes_torchs_way(case: Case) -> None:
    import torch

    module, peer = perceptrons()
    given = batches(STEPS)
    optimiser = getattr(nn, case.name)(**case.arguments)
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, specified(given[0])))
    losses = [float(own.step(one)["loss"]) for one in given]
    other = getattr(torch.optim, case.name)(peer.parameters(), **case.arguments)
    want = torch_steps(peer, other, torch_loss_of, given)
    np.testing.assert_allclose(losses, want, rtol=0, atol=CLOSE)
    for name, one in peer.named_parameters():
        np.testing.assert_allclose(own.states[name], one.detach().numpy(), rtol=0, atol=CLOSE)
        for moment in optimiser.moments:
            wanted = other.state[one][moment].numpy()
            np.testing.assert_allclose(own.states[f"{name}:{moment}"], wanted, rtol=0, atol=CLOSE)


def lion(values: Mapping[str, Array], gradients: Any, lr: float, decay: float) -> None:
    """One step of algorithm 2 of its paper, in place; ``gradients`` keeps the running means."""
    for name, one in values.items():
        gradient, mean = gradients[name]
        direction = np.sign(0.9 * mean + 0.1 * gradient)
        one -= lr * (direction + decay * one)
        gradients[name] = (gradient, 0.99 * mean + 0.01 * gradient)


@pytest.mark.peers
def test_lion_does_what_its_paper_says() -> None:
    import torch

    module, peer = perceptrons()
    given = batches(STEPS)
    rate, decay = 0.01, 0.3
    optimiser = nn.Lion(lr=rate, weight_decay=decay)
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, specified(given[0])))
    means = {name: np.zeros(one.shape) for name, one in module.state_dict().items()}
    for batch in given:
        own.step(batch)
        peer.zero_grad()
        torch_loss_of(peer, torch.tensor(batch["x"]), torch.tensor(batch["y"])).backward()
        kept = {name: (one.grad.numpy(), means[name]) for name, one in peer.named_parameters()}
        values = {name: one.detach().numpy() for name, one in peer.named_parameters()}
        lion(values, kept, rate, decay)
        means = {name: mean for name, (_, mean) in kept.items()}
    for name, one in peer.named_parameters():
        np.testing.assert_allclose(own.states[name], one.detach().numpy(), rtol=0, atol=CLOSE)
        np.testing.assert_allclose(own.states[f"{name}:exp_avg"], means[name], rtol=0, atol=CLOSE)


def test_parameters_may_have_optimisers_of_their_own() -> None:
    module = nn.Sequential(nn.Linear(5, 3, rng=0)).to("float64")
    chosen = {"0.weight": nn.SGD(0.1), "0.bias": nn.SGD(0.0)}
    (batch,) = batches(1)
    own = Evaluated(nn.train_graph(module, loss_of, chosen.__getitem__, specified(batch)))
    before = dict(own.states)
    own.step(batch)
    assert (own.states["0.bias"] == before["0.bias"]).all()
    assert (own.states["0.weight"] != before["0.weight"]).all()


def test_nesterov_without_momentum_is_refused() -> None:
    with pytest.raises(BadArgument, match="nesterov"):
        nn.SGD(nesterov=True)
    with pytest.raises(BadArgument, match="beta2"):
        nn.AdamW(betas=(0.9, 1.0))


# --- clipping -------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize("norm_type", [2.0, 1.0, np.inf])
@pytest.mark.parametrize("most", [0.5, 100.0])
def test_clipping_by_norm_is_torchs(norm_type: float, most: float, rng: Any) -> None:
    import torch

    arrays = [rng.normal(size=(3, 4)), rng.normal(size=5)]
    others = [torch.zeros(one.shape, dtype=torch.float64, requires_grad=True) for one in arrays]
    for one, array in zip(others, arrays, strict=True):
        one.grad = torch.tensor(array)
    total = torch.nn.utils.clip_grad_norm_(others, most, norm_type)

    def clipped(*given: ph.Tensor) -> ph.Tensor:
        found, norm = nn.clip_grad_norm(
            {str(k): one for k, one in enumerate(given)}, most, norm_type
        )
        return ph.concat([norm.reshape(1), *(one.reshape(-1) for one in found.values())])

    want = np.concatenate([[total.item()], *(one.grad.numpy().ravel() for one in others)])
    np.testing.assert_allclose(value(clipped, *arrays), want, rtol=CLOSE)


def test_clipping_by_value_limits_each_element() -> None:
    x = np.array([-3.0, -0.5, 0.25, 7.0])
    got = value(lambda one: nn.clip_grad_value({"x": one}, 0.5)["x"], x)
    assert got.tolist() == [-0.5, -0.5, 0.25, 0.5]


# --- schedules ------------------------------------------------------------------------------

RATE = 0.4


# photic's, and torch's by its name and arguments
SCHEDULES: Mapping[str, tuple[nn.Schedule, tuple[Any, ...]]] = {
    "LinearLR": (nn.LinearRate(RATE, 6, 0.25), (0.25, 1.0, 6)),
    "CosineAnnealingLR": (nn.CosineRate(RATE, 8, 0.1), (8, 0.1)),
    "StepLR": (nn.StepRate(RATE, 3, 0.5), (3, 0.5)),
    "OneCycleLR": (nn.OneCycle(RATE, 12), (RATE, 12)),
}


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_torchs(name: str) -> None:
    import torch

    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], RATE)
    own, arguments = SCHEDULES[name]
    peer = getattr(torch.optim.lr_scheduler, name)(optimiser, *arguments)
    want = []
    for _ in range(11):
        want.append(peer.get_last_lr()[0])
        peer.step()
    got = [value(own, np.float64(done)).item() for done in range(11)]
    np.testing.assert_allclose(got, want, rtol=1e-10)  # torch's is a product of many factors


def test_a_warm_up_is_a_line_to_what_comes_after() -> None:
    warmed = nn.WarmUp(3, nn.StepRate(1.0, 2, 0.5))
    got = [value(warmed, np.float64(done)).item() for done in range(8)]
    np.testing.assert_allclose(got, [0.25, 0.5, 0.75, 1, 1, 0.5, 0.5, 0.25], rtol=CLOSE)


def test_a_schedule_in_place_of_its_steps_is_refused() -> None:
    with pytest.raises(BadArgument, match="steps"):
        nn.WarmUp(nn.CosineRate(0.1, 9), 5)  # type: ignore[arg-type]


def test_a_schedule_counts_the_steps_of_its_program() -> None:
    module, given = nn.Sequential(nn.Linear(5, 3, rng=0)).to("float64"), batches(4)
    optimiser = nn.SGD(nn.StepRate(0.1, 2, 0.5))
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, specified(given[0])))
    got = [own.step(one)["lr"].item() for one in given]
    np.testing.assert_allclose(got, [0.1, 0.1, 0.05, 0.05], rtol=CLOSE)


def test_a_given_rate_is_an_input() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)).to("float64"), batches(1)
    optimiser = nn.SGD(nn.GivenRate())
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, specified(batch)))
    before = own.states["0.weight"]
    assert own.step({**batch, "lr": np.float64(0)})["lr"] == 0
    assert (own.states["0.weight"] == before).all()


@pytest.mark.parametrize(
    ("make", "given", "argument"),
    [
        (nn.Adam, nn.Linear(2, 2, rng=0).parameters(), "lr"),
        (nn.SGD, "0.1", "lr"),
        (nn.Averaged, "adam", "optimiser"),
    ],
)
def test_habits_from_elsewhere_are_refused_plainly(
    make: Callable[[object], object], given: object, argument: str
) -> None:
    with pytest.raises(BadArgument, match=argument):
        make(given)


@pytest.mark.parametrize(
    ("criterion", "optimiser", "argument"),
    [(loss_of, "adam", "optimiser"), (nn.MSELoss(), nn.SGD(0.1), "loss_fn")],
)
def test_what_is_no_loss_or_no_optimiser_makes_no_step(
    criterion: Any, optimiser: Any, argument: str
) -> None:
    (batch,) = batches(1)
    with pytest.raises(BadArgument, match=argument):
        nn.train_graph(nn.Linear(5, 3, rng=0), criterion, optimiser, specified(batch))
