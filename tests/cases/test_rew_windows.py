"""REW-06: what is windowed, scaled and clipped after it keeps its dilation, padding and groups.

Written with slices and sums, which the compiler sees through: evaluator, and compiled C on each
machine between guard words. The oracle is the definition, tap by tap in float64.
"""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.agreement import require_meaning

import photic as ph

ROUNDING = 1e-5  # sums of up to 36 products of float32
SIZE, TAPS = 8, 3


def windowed(x: ph.Tensor, w: ph.Tensor, dilation: int, padding: int, groups: int) -> ph.Tensor:
    """Channels of x (1, c, n, n) against filters w (f, c/groups, 3, 3)."""
    laid = ph.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    places = SIZE + 2 * padding - dilation * (TAPS - 1)
    starts = [dilation * tap for tap in range(TAPS)]
    rows = [
        ph.stack([laid[:, :, i : i + places, j : j + places] for j in starts], 2) for i in starts
    ]
    taps = ph.stack(rows, 2)  # (1, c, 3, 3, places, places)
    filters, channels = w.shape[0], x.shape[1]
    apart = ph.reshape(taps, (groups, channels // groups, TAPS, TAPS, places, places))
    kernels = ph.reshape(w, (groups, filters // groups, channels // groups, TAPS, TAPS))
    summed = ph.einsum("gcijyx,gfcij->gfyx", apart, kernels)
    return ph.reshape(summed, (1, filters, places, places))


def by_definition(
    x: np.ndarray, w: np.ndarray, dilation: int, padding: int, groups: int
) -> np.ndarray:
    laid = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    places = SIZE + 2 * padding - dilation * (TAPS - 1)
    filters, each = w.shape[:2]
    y = np.zeros((1, filters, places, places))
    for f, c, i, j in np.ndindex(w.shape):
        channel = f // (filters // groups) * each + c
        rows = slice(dilation * i, dilation * i + places)
        columns = slice(dilation * j, dilation * j + places)
        y[0, f] += laid[0, channel, rows, columns] * w[f, c, i, j]
    return y


def random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("channels", "filters", "groups"), [(1, 1, 1), (4, 4, 2)], ids=["plain", "two groups"]
)
def test_rew_06_dilation_padding_and_groups_survive_a_scale_and_relu(
    rng: np.random.Generator, channels: int, filters: int, groups: int
) -> None:
    given = {
        "x": random(rng, 1, channels, SIZE, SIZE),
        "w": random(rng, filters, channels // groups, TAPS, TAPS),
        "scale": random(rng, filters, 1, 1),
        "shift": random(rng, filters, 1, 1),
    }
    x, w, scale, shift = (ph.input(name, one.shape) for name, one in given.items())
    outputs = {"y": ph.relu(scale * windowed(x, w, 2, 1, groups) + shift)}
    result = require_meaning(outputs, given, rtol=ROUNDING)["y"]
    taken = by_definition(given["x"], given["w"], 2, 1, groups)
    want = np.maximum(given["scale"] * taken + given["shift"], 0)
    assert result.shape == (1, filters, 6, 6)
    np.testing.assert_allclose(result, want, rtol=ROUNDING, atol=ROUNDING)


def test_rew_06_two_dilations_over_one_input_do_not_mix(rng: np.random.Generator) -> None:
    given = {"x": random(rng, 1, 1, SIZE, SIZE), "w": random(rng, 1, 1, TAPS, TAPS)}
    x, w = (ph.input(name, one.shape) for name, one in given.items())
    outputs = {"near": ph.relu(windowed(x, w, 1, 1, 1)), "far": ph.relu(windowed(x, w, 2, 1, 1))}
    result = require_meaning(outputs, given, rtol=ROUNDING)
    for name, dilation, places in (("near", 1, 8), ("far", 2, 6)):
        want = np.maximum(by_definition(given["x"], given["w"], dilation, 1, 1), 0)
        assert result[name].shape == (1, 1, places, places)
        np.testing.assert_allclose(result[name], want, rtol=ROUNDING, atol=ROUNDING)
