"""A train step as one compiled program: beside torch, beside the evaluator, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nn.stepping import Evaluated, batches, perceptrons, specified, torch_steps
from nn.test_optimisers import loss_of, torch_loss_of

import photic as ph
from photic import nn
from photic.base.errors import BadArgument
from photic.nn.errors import StateMismatch

FLOAT32_STEPS = 20
# Sums of some tens of float32 terms in another order, carried through the steps.
CLOSE32 = 2e-6


@pytest.mark.peers
def test_a_compiled_step_goes_torchs_way_in_float32() -> None:
    import torch

    module, peer = perceptrons("float32")
    given = batches(FLOAT32_STEPS, dtype="float32")
    step = nn.train_step(module, loss_of, nn.AdamW(0.01), specified(given[0]), search=0)
    losses = [step.step(**one)["loss"] for one in given]
    other = torch.optim.AdamW(peer.parameters(), 0.01)
    want = torch_steps(peer, other, torch_loss_of, given)
    np.testing.assert_allclose(losses, want, rtol=CLOSE32 * 5)
    for name, one in peer.named_parameters():
        np.testing.assert_allclose(
            step.parameters()[name], one.detach().numpy(), rtol=0, atol=CLOSE32 * 5
        )
    assert step.count == FLOAT32_STEPS


def test_the_model_keeps_its_values_until_they_are_written_back() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)), batches(1, dtype="float32")
    before = module.state_dict()
    step = nn.train_step(module, loss_of, nn.SGD(0.1), specified(batch), search=0)
    step(**batch)
    assert all((module.state_dict()[name] == one).all() for name, one in before.items())
    step.write_model()
    after = step.parameters()
    assert (after["0.weight"] != before["0.weight"]).any()
    assert all((module.state_dict()[name] == one).all() for name, one in after.items())


class Convolutional(nn.Module):
    """Batch norm, dropout, a frozen layer."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.frozen = nn.Linear(5, 8, rng=rng).requires_grad_(False)
        self.norm = nn.BatchNorm1d(8)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(8, 3, rng=rng)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.out(self.dropout(ph.relu(self.norm(self.frozen(x)))))


def with_error(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> Any:
    found = model(x)
    return ph.mse_loss(found, y), {"worst": ph.max(ph.abs(found - y)), "shown": found[:2]}


def test_a_compiled_step_is_the_evaluators_with_dropout_and_running_statistics() -> None:
    module, given = Convolutional(), batches(3, dtype="float32")
    shape = specified(given[0])
    optimiser = nn.SGD(0.1, momentum=0.9)
    graph = nn.train_graph(module, with_error, optimiser, shape, clip_norm=0.5, clip_value=0.2)
    step = nn.train_step(
        module, with_error, optimiser, shape, clip_norm=0.5, clip_value=0.2, search=0
    )
    own = Evaluated(graph)
    for one in given:
        want, got = own.step(one), step(**one)
        assert want.keys() == got.keys() == {"loss", "worst", "shown", "grad_norm", "lr"}
        for name, found in got.items():
            np.testing.assert_allclose(found, want[name], rtol=1e-4, atol=1e-5)
    assert step.states.keys() == own.states.keys()
    for name, state in step.states.items():
        np.testing.assert_allclose(state, own.states[name], rtol=1e-4, atol=1e-6)
    assert not any(name.startswith("frozen") for name in step.states)
    assert step.states["norm.num_batches_tracked"] == 3


def test_a_step_goes_on_to_the_same_bits_from_its_state_dict() -> None:
    module, given = Convolutional(), batches(4, dtype="float32")

    def made() -> nn.TrainStep:
        return nn.train_step(
            module, with_error, nn.Adam(0.01), specified(given[0]), search=0, seed=7
        )

    first, second = made(), made()
    for one in given[:2]:
        first(**one)
    second.load_state_dict(first.state_dict())
    for one in given[2:]:
        left, right = first(**one), second(**one)
        for name, found in left.items():
            np.testing.assert_array_equal(right[name], found)
    for name, state in first.state_dict().items():
        np.testing.assert_array_equal(second.states[name], state)
    with pytest.raises(StateMismatch, match="missing"):
        second.load_state_dict({})
    with pytest.raises(StateMismatch, match="expected"):
        second.load_state_dict({"out.bias": np.zeros(4)}, strict=False)


def test_parts_of_a_batch_give_the_step_of_the_whole() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)).to("float64"), batches(1)
    whole = nn.train_graph(module, loss_of, nn.SGD(0.1), specified(batch))
    parts = {name: one.reshape(3, 2, -1) for name, one in batch.items()}
    shape = specified(parts, parts=True)
    cut = nn.train_graph(module, loss_of, nn.SGD(0.1), shape, accumulate=3)
    first, second = Evaluated(whole), Evaluated(cut)
    np.testing.assert_allclose(first.step(batch)["loss"], second.step(parts)["loss"], rtol=1e-12)
    for name, state in first.states.items():
        np.testing.assert_allclose(second.states[name], state, rtol=1e-12)


def test_parts_of_a_batch_each_move_running_statistics_and_draw_anew() -> None:
    given = batches(1, dtype="float32")[0]
    parts = {name: one.reshape(2, 3, -1) for name, one in given.items()}
    graph = nn.train_graph(
        Convolutional(), with_error, nn.SGD(0.1), specified(parts, parts=True), accumulate=2
    )
    own = Evaluated(graph)
    own.step(parts)
    assert own.states["norm.num_batches_tracked"] == 2
    step = nn.train_step(
        Convolutional(),
        with_error,
        nn.SGD(0.1),
        specified(parts, parts=True),
        accumulate=2,
        search=0,
    )
    step(**parts)
    for name, state in step.states.items():
        np.testing.assert_allclose(state, own.states[name], rtol=1e-4, atol=1e-6)


def test_products_in_bfloat16_leave_parameters_in_float32() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)), batches(1, dtype="float32")
    graph = nn.train_graph(module, loss_of, nn.SGD(0.1), specified(batch), compute="bfloat16")
    own = Evaluated(graph)
    weight, bias = own.states["0.weight"], own.states["0.bias"]
    loss = own.step(batch)["loss"]
    assert loss.dtype == np.float32
    assert own.states["0.weight"].dtype == np.float32
    exact = batch["x"] @ weight.T + bias
    distance = abs(loss - np.mean((exact - batch["y"]) ** 2))
    assert 0 < distance < 0.02  # bfloat16 has 8 bits
    assert (own.states["0.weight"] != weight).all()


def test_one_step_serves_every_size_of_a_batch() -> None:
    n = ph.dim("n", 1, 16)
    module = nn.Sequential(nn.Linear(5, 3, rng=0))
    shape = {"x": ((n, 5), "float32"), "y": ((n, 3), "float32")}
    step = nn.train_step(module, loss_of, nn.SGD(0.0), shape, search=0)
    for rows in (1, 4, 16):
        (batch,) = batches(1, rows, "float32")
        weight, bias = (module.state_dict()[name] for name in ("0.weight", "0.bias"))
        want = np.mean((batch["x"] @ weight.T + bias - batch["y"]) ** 2)
        assert step(**batch)["loss"] == pytest.approx(want, rel=1e-5)


def test_an_evaluation_follows_the_step_and_leaves_modes_alone() -> None:
    module, given = Convolutional(), batches(2, dtype="float32")
    step = nn.train_step(module, with_error, nn.SGD(0.1), specified(given[0]), search=0)
    evaluation = nn.eval_step(
        module, lambda model, x: model(x), {"x": ((6, 5), "float32")}, search=0
    )
    assert module.dropout.training
    step(**given[0])
    evaluation.load_state_dict(step.states)
    step.write_model()
    x = ph.input("x", (6, 5))
    program = ph.compile(module.eval()(x), search=0)
    want = program(x=given[1]["x"])["output"]
    np.testing.assert_allclose(evaluation(x=given[1]["x"])["output"], want, rtol=1e-5, atol=1e-6)
    held = sum(one.nbytes for one in step.states.values())
    assert step.memory_bytes >= held + step.program.peak_bytes


def test_what_makes_no_step_is_refused() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)), batches(1, dtype="float32")
    with pytest.raises(BadArgument, match="accumulate"):
        nn.train_graph(module, loss_of, nn.SGD(0.1), specified(batch), accumulate=0)

    def named_loss(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> Any:
        return loss_of(model, x, y), {"lr": ph.sum(x)}

    with pytest.raises(BadArgument, match="a metric"):
        nn.train_graph(module, named_loss, nn.SGD(0.1), specified(batch))
    with pytest.raises(BadArgument, match="is trained"):
        nn.train_graph(nn.ReLU(), loss_of, nn.SGD(0.1), specified(batch))


class Tied(nn.Module):
    """One weight under two names."""

    def __init__(self) -> None:
        self.first = nn.Linear(5, 5, bias=False, rng=0)
        self.second = nn.Linear(5, 5, bias=False, rng=1)
        self.second.weight = self.first.weight

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.second(ph.tanh(self.first(x)))


@pytest.mark.peers
def test_a_weight_under_two_names_is_one_state_with_both_gradients() -> None:
    import torch

    module = Tied().to("float64")
    (given,) = batches(1)
    batch = {"x": given["x"], "y": given["x"][::-1].copy()}
    weight = torch.tensor(module.first.weight.value, requires_grad=True)
    x, y = (torch.tensor(one) for one in batch.values())
    torch.nn.functional.mse_loss((x @ weight.T).tanh() @ weight.T, y).backward()
    own = Evaluated(nn.train_graph(module, loss_of, nn.SGD(1.0), specified(batch)))
    own.step(batch)
    assert set(own.states) == {"first.weight", ":step"}
    assert weight.grad is not None
    want = (weight - weight.grad).detach().numpy()
    np.testing.assert_allclose(own.states["first.weight"], want, rtol=1e-12)


class Halving(nn.Optimiser):
    """A user's own: values are halved, and how often is kept in a moment."""

    lr = 0.5
    moments = ("halved",)

    def step(
        self, value: ph.Tensor, gradient: ph.Tensor, moments: Any, now: nn.Now
    ) -> tuple[ph.Tensor, dict[str, ph.Tensor]]:
        return value * now.rate.astype(value.dtype), {"halved": moments["halved"] + 1.0}


def test_an_optimiser_may_be_a_users_own() -> None:
    module, given = nn.Sequential(nn.Linear(5, 3, rng=0)).to("float64"), batches(2)
    before = module.state_dict()
    own = Evaluated(nn.train_graph(module, loss_of, Halving(), specified(given[0])))
    for one in given:
        own.step(one)
    for name, value in before.items():
        np.testing.assert_array_equal(own.states[name], value / 4)
        assert (own.states[f"{name}:halved"] == 2).all()


def test_products_in_bfloat16_compile_to_the_evaluators_numbers() -> None:
    module = nn.Sequential(
        nn.Conv1d(5, 4, 3, padding=1, rng=0), nn.ReLU(), nn.Flatten(), nn.Linear(24, 3, rng=1)
    )
    random = np.random.default_rng(6)
    batch = {
        "x": random.normal(size=(4, 5, 6)).astype(np.float32),
        "y": random.normal(size=(4, 3)).astype(np.float32),
    }
    optimiser, shape = nn.SGD(0.1), specified(batch)
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, shape, compute="bfloat16"))
    step = nn.train_step(module, loss_of, optimiser, shape, compute="bfloat16", search=0)
    # both round products to bfloat16, after sums that may differ by a float32 rounding
    assert step(**batch)["loss"] == pytest.approx(own.step(batch)["loss"], rel=2**-8)
    for name, state in step.states.items():
        np.testing.assert_allclose(state, own.states[name], rtol=0, atol=2**-8)


class Recurrent(nn.Module):
    """A loop over places, with dropout between its two layers."""

    def __init__(self) -> None:
        self.lstm = nn.LSTM(5, 4, 2, dropout=0.3, rng=0)
        self.out = nn.Linear(4, 3, rng=1)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.out(self.lstm(x)[0][-1])


def test_a_loop_inside_the_loop_over_parts_of_a_batch_compiles() -> None:
    random = np.random.default_rng(6)
    batch = {
        "x": random.normal(size=(2, 6, 3, 5)).astype(np.float32),
        "y": random.normal(size=(2, 3, 3)).astype(np.float32),
    }
    shape = specified(batch, parts=True)
    module, optimiser = Recurrent(), nn.SGD(0.1)
    own = Evaluated(nn.train_graph(module, loss_of, optimiser, shape, accumulate=2))
    step = nn.train_step(module, loss_of, optimiser, shape, accumulate=2, search=0)
    for _ in range(2):
        assert step(**batch)["loss"] == pytest.approx(own.step(batch)["loss"], rel=1e-5)
    for name, state in step.states.items():
        np.testing.assert_allclose(state, own.states[name], rtol=0, atol=CLOSE32)


STATM = Path("/proc/self/statm")
PAGE_BYTES = 4096
GROWTH_BYTES = 1 << 20  # less than a hundred bytes a step


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc/self/statm to see resident memory")
def test_memory_stays_flat_over_ten_thousand_steps() -> None:
    module, (batch,) = nn.Sequential(nn.Linear(5, 3, rng=0)), batches(1, dtype="float32")
    step = nn.train_step(module, loss_of, nn.Adam(), specified(batch), search=0)

    def resident_after(steps: int) -> int:
        for _ in range(steps):
            step(**batch)
        return int(STATM.read_text().split()[1]) * PAGE_BYTES

    warm = resident_after(1000)
    assert resident_after(10_000) - warm < GROWTH_BYTES
