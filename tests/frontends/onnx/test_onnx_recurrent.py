"""Recurrent networks with every attribute, beside a plain NumPy reading of the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from frontends.onnx.onnx_models import one_node

PLACES, BATCH, INPUTS, HIDDEN = 4, 2, 3, 2
# float32 gates over four places: sums of a few products, each rounded
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}

Floats = npt.NDArray[np.float64]


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "HardSigmoid": lambda x, a=0.2, b=0.5: np.clip(a * x + b, 0, 1),
    "ScaledTanh": lambda x, a=1.0, b=1.0: a * np.tanh(b * x),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}


def limited(x: Floats, clip: float) -> Floats:
    return np.clip(x, -clip, clip) if clip else x


def lstm(
    x: Floats, w: Floats, r: Floats, b: Floats, h: Floats, c: Floats, p: Floats, **how: Any
) -> tuple[list[Floats], Floats, Floats]:
    """The equations of the standard's LSTM, one direction."""
    f, g, out_function = how["functions"]
    seen = []
    for place in x:
        gates = place @ w.T + h @ r.T + b[: len(w)] + b[len(w) :]
        i, o, forget, cell = np.split(gates, 4, 1)
        pi, po, pf = np.split(p, 3)
        gate = f(limited(i + pi * c, how["clip"]))
        keep = 1 - gate if how["couple"] else f(limited(forget + pf * c, how["clip"]))
        c = keep * c + gate * g(limited(cell, how["clip"]))
        h = f(limited(o + po * c, how["clip"])) * out_function(c)
        seen.append(h)
    return seen, h, c


@pytest.fixture
def arrays(rng: np.random.Generator) -> dict[str, npt.NDArray[np.float32]]:
    shapes = {
        "x": (PLACES, BATCH, INPUTS),
        "w": (1, 4 * HIDDEN, INPUTS),
        "r": (1, 4 * HIDDEN, HIDDEN),
        "b": (1, 8 * HIDDEN),
        "h": (1, BATCH, HIDDEN),
        "c": (1, BATCH, HIDDEN),
        "p": (1, 3 * HIDDEN),
    }
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    "names", [("Sigmoid", "Tanh", "Tanh"), ("HardSigmoid", "Softsign", "Relu")]
)
@pytest.mark.parametrize("clip", [0.0, 0.4])
@pytest.mark.parametrize("couple", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_lstm_is_the_standards(
    arrays: dict[str, Any], names: tuple[str, ...], clip: float, couple: int, direction: str
) -> None:
    a = arrays
    how: dict[str, Any] = {"input_forget": couple, "activations": list(names)}
    how |= {"clip": clip} if clip else {}
    inputs = [a["x"], a["w"], a["r"], a["b"], None, a["h"], a["c"], a["p"]]
    y, h, c = one_node("LSTM", inputs, 3, hidden_size=HIDDEN, direction=direction, opset=14, **how)
    steps = a["x"][::-1] if direction == "reverse" else a["x"]
    functions = [FUNCTIONS[name] for name in names]
    wide = [a[k][0].astype(np.float64) for k in "wrbhcp"]
    seen, last, cell = lstm(
        steps.astype(np.float64), *wide, functions=functions, clip=clip, couple=couple
    )
    expected = np.array(seen[::-1] if direction == "reverse" else seen)
    np.testing.assert_allclose(y[:, 0], expected, **TOLERANCE)
    np.testing.assert_allclose(h[0], last, **TOLERANCE)
    np.testing.assert_allclose(c[0], cell, **TOLERANCE)


def test_both_directions_lie_side_by_side(arrays: dict[str, Any]) -> None:
    a = arrays
    twice = {name: np.concatenate([one, one[:, ::-1]]) for name, one in a.items() if name != "x"}
    inputs = [a["x"], twice["w"], twice["r"], twice["b"]]
    both, *_ = one_node("LSTM", inputs, 3, hidden_size=HIDDEN, direction="bidirectional", opset=14)
    for k, direction in enumerate(("forward", "reverse")):
        alone = [a["x"], *(twice[name][k : k + 1] for name in "wrb")]
        one, *_ = one_node("LSTM", alone, 3, hidden_size=HIDDEN, direction=direction, opset=14)
        np.testing.assert_array_equal(both[:, k], one[:, 0])


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sequences_of_their_own_lengths_are_as_if_alone(
    arrays: dict[str, Any], direction: str
) -> None:
    a, lengths = arrays, np.array([4, 2], np.int32)
    weights = [a["w"], a["r"], a["b"]]
    attributes = {"hidden_size": HIDDEN, "direction": direction, "opset": 14}
    y, h, c = one_node("LSTM", [a["x"], *weights, lengths], 3, **attributes)
    for row, length in enumerate(lengths):
        alone = [a["x"][:length, row : row + 1], *weights]
        y1, h1, c1 = one_node("LSTM", alone, 3, **attributes)
        np.testing.assert_allclose(y[:length, :, row], y1[:, :, 0], **TOLERANCE)
        assert not y[length:, :, row].any()
        np.testing.assert_allclose(h[:, row], h1[:, 0], **TOLERANCE)
        np.testing.assert_allclose(c[:, row], c1[:, 0], **TOLERANCE)


def gru(x: Floats, w: Floats, r: Floats, b: Floats, h: Floats, after: int) -> list[Floats]:
    """The equations of the standard's GRU, one direction."""
    seen = []
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    wbz, wbr, wbh, rbz, rbr, rbh = np.split(b, 6)
    for place in x:
        z = sigmoid(place @ wz.T + h @ rz.T + wbz + rbz)
        reset = sigmoid(place @ wr.T + h @ rr.T + wbr + rbr)
        if after:
            new = np.tanh(place @ wh.T + reset * (h @ rh.T + rbh) + wbh)
        else:
            new = np.tanh(place @ wh.T + (reset * h) @ rh.T + rbh + wbh)
        h = (1 - z) * new + z * h
        seen.append(h)
    return seen


@pytest.mark.parametrize("after", [0, 1])
def test_gru_resets_before_or_after_the_product(arrays: dict[str, Any], after: int) -> None:
    a = arrays
    w, r, b = a["w"][:, : 3 * HIDDEN], a["r"][:, : 3 * HIDDEN], a["b"][:, : 6 * HIDDEN]
    inputs = [a["x"], w, r, b, None, a["h"]]
    y, _ = one_node("GRU", inputs, 2, hidden_size=HIDDEN, linear_before_reset=after, opset=14)
    wide = [one[0].astype(np.float64) for one in (w, r, b, a["h"])]
    expected = gru(a["x"].astype(np.float64), *wide, after=after)
    np.testing.assert_allclose(y[:, 0], np.array(expected), **TOLERANCE)


def test_activations_take_their_parameters_in_turn(arrays: dict[str, Any]) -> None:
    a = arrays
    w, r = a["w"][:, :HIDDEN], a["r"][:, :HIDDEN]
    parameters = {"activation_alpha": [0.5], "activation_beta": [2.0]}
    y, _ = one_node(
        "RNN", [a["x"], w, r], 2, hidden_size=HIDDEN, activations=["ScaledTanh"], opset=14,
        **parameters,
    )  # fmt: skip
    h, seen = np.zeros((BATCH, HIDDEN)), []
    for place in a["x"].astype(np.float64):
        h = FUNCTIONS["ScaledTanh"](place @ w[0].T + h @ r[0].T, 0.5, 2.0)
        seen.append(h)
    np.testing.assert_allclose(y[:, 0], np.array(seen), **TOLERANCE)
