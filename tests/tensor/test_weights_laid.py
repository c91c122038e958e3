"""Weights of convolutions lie in the order in which they are read."""

from __future__ import annotations

import numpy as np

import photic as ph
from photic.compiler.compile import prepared
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor

CHANNELS, OUTPUTS, TAPS = 5, 16, 4


def nests(y: Tensor) -> str:
    made = finished(prepared(graph_of({"y": y}, {}), target_named("c"))).kernels
    return "\n".join(one.nest for one in made)


def test_taps_stand_before_the_channels_that_are_summed_innermost() -> None:
    weights = ph.constant(np.ones((OUTPUTS, CHANNELS, TAPS, 3), np.float32))
    text = nests(ph.conv(ph.input("x", (1, CHANNELS, 12, 12)), weights))
    assert f"float32[{OUTPUTS}, {TAPS}, 3, {CHANNELS}]" in text


def test_phases_of_a_transposed_convolution_stand_before_their_taps() -> None:
    weights = ph.constant(np.ones((CHANNELS, OUTPUTS, TAPS, TAPS), np.float32))
    text = nests(ph.conv_transpose(ph.input("x", (1, CHANNELS, 12, 12)), weights, stride=2))
    assert f"float32[{OUTPUTS}, 1, 2, 1, 2, {CHANNELS}, 2, 2]" in text


def test_weights_that_are_given_are_read_where_they_are() -> None:
    shape = (OUTPUTS, CHANNELS, TAPS, TAPS)
    text = nests(ph.conv(ph.input("x", (1, CHANNELS, 12, 12)), ph.input("w", shape)))
    assert text.count("nest ") == 1 and f"float32[{', '.join(map(str, shape))}]" in text
