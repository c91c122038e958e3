"""Modules: what they hold by name, modes, values to and from torch and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensor.evaluating import of, value

import photic as ph
from photic import nn
from photic.base.errors import BadArgument
from photic.nn.errors import NotTraining, StateMismatch


class Nested(nn.Module):
    """A list, a dictionary, a parameter, buffers, and a layer used twice."""

    def __init__(self) -> None:
        self.rows = [nn.Linear(2, 3, rng=0), nn.Linear(3, 2, rng=1)]
        self.heads = {"a": nn.Linear(2, 1, rng=2)}
        self.scale = nn.Parameter(np.float32(2.0))
        self.table = nn.Buffer(np.arange(3.0))
        self.hidden = nn.Buffer(np.zeros(2), persistent=False)
        self.again = self.rows[0]

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.heads["a"](self.rows[1](ph.relu(self.rows[0](x)))) * self.scale.tensor


NAMES = [
    "scale",
    "table",
    "rows.0.weight",
    "rows.0.bias",
    "rows.1.weight",
    "rows.1.bias",
    "heads.a.weight",
    "heads.a.bias",
]


def test_names_are_paths_and_own_values_come_first() -> None:
    model = Nested()
    shared = ["again.weight", "again.bias"]
    assert list(model.state_dict()) == [*NAMES, *shared]
    assert [name for name, _ in model.named_parameters()] == [
        one for one in NAMES if one != "table"
    ]
    assert [name for name, _ in model.named_buffers()] == ["table", "hidden"]
    assert [name for name, _ in model.named_modules()] == ["", "rows.0", "rows.1", "heads.a"]


def test_a_module_is_constants_outside_of_training() -> None:
    model = Nested()
    x = np.ones((4, 2), np.float32)
    state = model.state_dict()
    h = np.maximum(x @ state["rows.0.weight"].T + state["rows.0.bias"], 0)
    h = h @ state["rows.1.weight"].T + state["rows.1.bias"]
    want = (h @ state["heads.a.weight"].T + state["heads.a.bias"]) * 2
    np.testing.assert_allclose(value(model, x), want, rtol=1e-6)


def test_a_state_dict_is_a_copy() -> None:
    model = Nested()
    model.state_dict()["table"][...] = 7
    assert model.table.value.tolist() == [0, 1, 2]


def test_modes_and_dtypes_reach_every_module() -> None:
    model = Nested().eval().to("float64")
    assert not any(one.training for one in model.modules())
    assert {one.dtype.name for one in model.parameters()} == {"float64"}
    assert model.train().rows[1].training


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"more": np.zeros(1)}, "'more' is given"),
        ({"scale": np.zeros(2)}, r"'scale' is \(2,\), expected \(\)"),
    ],
)
def test_a_state_dict_that_does_not_fit_is_refused(change: dict[str, Any], problem: str) -> None:
    model = Nested()
    before = model.state_dict()
    with pytest.raises(StateMismatch, match=problem):
        model.load_state_dict(before | change)
    with pytest.raises(StateMismatch, match="'scale' is missing"):
        model.load_state_dict({name: one for name, one in before.items() if name != "scale"})
    model.load_state_dict({"table": np.ones(3), "more": np.zeros(1)}, strict=False)
    assert model.table.value.tolist() == [1, 1, 1]
    assert model.scale.value == before["scale"]


def test_a_file_gives_back_the_same_values(tmp_path: Path) -> None:
    model, other = Nested(), Nested()
    model.scale.value = 3.5
    model.save(tmp_path / "model.safetensors")
    other.load(tmp_path / "model.safetensors")
    for name, one in model.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], one)


@pytest.mark.peers
def test_torch_reads_what_a_module_writes_and_the_other_way_round(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    own = nn.Sequential(
        nn.Conv2d(3, 4, 3, rng=0), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 5, rng=1)
    )
    peer = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 5),
    )
    own.save(tmp_path / "own.safetensors")
    peer.load_state_dict(load_file(tmp_path / "own.safetensors"))
    for name, one in peer.state_dict().items():
        np.testing.assert_array_equal(own.state_dict()[name], one.numpy())
    torch.nn.init.normal_(peer[0].weight)
    save_file(peer.state_dict(), tmp_path / "peer.safetensors")
    own.load(tmp_path / "peer.safetensors")
    np.testing.assert_array_equal(own.state_dict()["0.weight"], peer[0].weight.detach().numpy())


# --- first values ---------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Linear", (200, 300)),
        ("Conv2d", (20, 30, 5)),
        ("ConvTranspose2d", (20, 30, 5)),
        ("Embedding", (200, 100)),
        ("MultiheadAttention", (128, 4)),
        ("LSTM", (60, 70)),
    ],
)
def test_first_values_are_distributed_as_torchs(name: str, arguments: tuple[int, ...]) -> None:
    import torch

    torch.manual_seed(0)
    peer = getattr(torch.nn, name)(*arguments)
    own = getattr(nn, name)(*arguments, rng=0).state_dict()
    for key, one in peer.state_dict().items():
        want, got = one.numpy(), own[key]
        if one.numel() < 1000:  # too few to tell distributions apart: within the same bounds
            assert np.abs(got).max() <= max(np.abs(want).max() * 1.5, 1e-12)
        else:
            assert np.std(got) == pytest.approx(np.std(want), rel=0.05)
            assert np.abs(got).max() == pytest.approx(np.abs(want).max(), rel=0.2)


def test_one_seed_gives_one_model_and_a_generator_goes_on() -> None:
    first, second = (nn.Linear(4, 5, rng=3).state_dict() for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)
    rng = np.random.default_rng(3)
    drawn = [nn.Linear(4, 5, rng=rng).weight.value for _ in range(2)]
    assert (drawn[0] == first["weight"]).all()
    assert (drawn[1] != drawn[0]).all()


# --- what only a train step does --------------------------------------------------------------


def test_training_layers_outside_of_a_train_step_are_refused() -> None:
    x = ph.input("x", (4, 3))
    with pytest.raises(NotTraining, match="Dropout in training mode"):
        nn.Dropout(0.5)(x)
    with pytest.raises(NotTraining, match="eval"):
        nn.BatchNorm1d(3)(x)
    assert nn.Dropout(0.5).eval()(x).operand == x.operand
    assert nn.Dropout(0.0)(x).operand == x.operand


def test_draws_of_one_graph_differ_and_repeat_in_the_next() -> None:
    model = nn.Dropout(0.5)

    def drawn() -> list[ph.Tensor]:
        with nn.trainable(model, seed=4) as (_, _):
            return [model(ph.constant(np.ones(200, np.float32))) for _ in range(2)]

    first, second = (of(one) for one in drawn())
    assert (first != second).any()
    assert set(np.unique(first)) == {0, 2}
    assert all((a == b).all() for a, b in zip((first, second), (of(one) for one in drawn())))


def test_whole_channels_are_dropped() -> None:
    model = nn.Dropout2d(0.5)
    with nn.trainable(model):
        got = of(model(ph.constant(np.ones((8, 6, 3, 2), np.float32))))
    flat = got.reshape(48, 6)
    assert (flat == flat[:, :1]).all()
    assert set(np.unique(flat)) == {0, 2}


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Dropout(1.5),
        lambda: nn.Embedding(3, 2, 3, rng=0),
        lambda: nn.MultiheadAttention(6, 4, rng=0),
        lambda: nn.Conv2d(4, 6, 3, groups=4, rng=0),
        lambda: nn.Conv2d(4, 6, 3, padding_mode="twice", rng=0),
        lambda: nn.LSTM(4, 3, 0, rng=0),
        lambda: nn.ModuleList([7]),  # type: ignore[list-item]
        lambda: nn.BatchNorm2d(3).eval()(ph.input("x", (2, 3))),
        lambda: nn.TransformerEncoderLayer(8, 2, activation="step", rng=0),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(BadArgument):
        make()


def test_a_list_of_modules_has_torchs_names() -> None:
    layers = nn.ModuleList([nn.ReLU(), nn.Linear(2, 2, rng=0)])
    layers.append(nn.Linear(2, 1, bias=False, rng=0))
    assert list(layers.state_dict()) == ["1.weight", "1.bias", "2.weight"]
    assert len(layers) == 3
    named = nn.ModuleDict({"a": layers})
    assert list(named.keys()) == ["a"]
    assert named["a"] is layers
    assert "Linear(in_features=2, out_features=1" in repr(named)


def test_a_module_without_forward_and_an_optimiser_without_steps_say_so() -> None:
    with pytest.raises(BadArgument, match="Module: forward is missing"):
        nn.Module()(ph.input("x", (2,)))
    with pytest.raises(TypeError, match="abstract"):
        nn.Optimiser()
