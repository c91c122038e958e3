"""Ten workloads for the bench scripts of the search, each at one size that runs in 0.1 to 20 ms.

Written with the public API as a user would, each by its definition: what is fast about them is for
the search to find. ``inputs_of`` gives arrays for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import photic as ph
from photic.frontends.gguf.blocks import unpack

BLOCK_VALUES, BLOCK_BYTES = 32, 20  # of Q4_1
TAPS = 3
MOST_INTEGER = 8  # of an integer input, that one not included


@dataclass(frozen=True, slots=True)
class Workload:
    """A program by name, made anew at each call."""

    name: str
    make: Callable[[], ph.Tensor]


def matmul() -> ph.Tensor:
    return ph.input("x", (384, 384)) @ ph.input("w", (384, 384))


def naive_attention(heads: int, rows: int, depth: int, base: float = math.e) -> ph.Tensor:
    """Causal attention as its definition says, with the maximum taken off."""
    q, k, v = (ph.input(name, (heads, rows, depth)) for name in "qkv")
    scores = q @ ph.swapaxes(k, -1, -2) * (1 / math.sqrt(depth))
    return shares(masked(scores), base) @ v


def masked(scores: ph.Tensor) -> ph.Tensor:
    """Scores (..., rows, keys) where a row sees no later key."""
    rows, keys = scores.shape[-2:]
    return ph.where(ph.arange(keys) <= ph.arange(rows)[:, None], scores, -math.inf)


def shares(scores: ph.Tensor, base: float) -> ph.Tensor:
    """``base**scores`` over its sum along the last axis."""
    powers = ph.exp2((scores - ph.max(scores, axis=-1, keepdims=True)) * math.log2(base))
    return powers / ph.sum(powers, axis=-1, keepdims=True)


def norm_matmul() -> ph.Tensor:
    return ph.rms_norm(ph.input("x", (256, 512)), ph.input("g", (512,))) @ ph.input("w", (512, 256))


def convolution() -> ph.Tensor:
    """3 x 3 taps over a padded image of 32 channels, to 32 channels."""
    x, w = ph.input("x", (32, 56, 56)), ph.input("w", (32, 32, TAPS, TAPS))
    padded = ph.pad(x, ((0, 0), (1, 1), (1, 1)))
    rows = [
        ph.stack([padded[:, i : i + 56, j : j + 56] for j in range(TAPS)], 1) for i in range(TAPS)
    ]
    return ph.einsum("cijyx,fcij->fyx", ph.stack(rows, 1), w)


def packed_product() -> ph.Tensor:
    """Rows times weights of 4-bit blocks, which are constants as a GGUF file holds them."""
    rows, columns = 128, 256
    rng, blocks = np.random.default_rng(0), rows * columns // BLOCK_VALUES
    data = rng.integers(0, 256, (blocks, BLOCK_BYTES), np.uint8)
    for field in range(2):  # scale and least value
        data[:, 2 * field : 2 * field + 2] = rng.normal(size=(blocks, 1)).astype("<f2").view("u1")
    weights = unpack(data.reshape(-1), "Q4_1", (rows, columns))
    return ph.input("x", (128, columns)) @ ph.swapaxes(weights, 0, 1)


def softmax() -> ph.Tensor:
    return ph.softmax(ph.input("x", (1024, 1024)))


def layer_norm() -> ph.Tensor:
    weight, bias = ph.input("g", (1024,)), ph.input("b", (1024,))
    return ph.layer_norm(ph.input("x", (1024, 1024)), weight, bias)


def cross_entropy() -> ph.Tensor:
    """Minus the logarithm of the share that each row gives to its class."""
    logits, target = ph.input("logits", (512, 2048)), ph.input("target", (512,), "int64")
    is_target = ph.arange(2048) == target[:, None]
    return -ph.sum(ph.where(is_target, ph.log_softmax(logits), 0.0), axis=-1)


def chain() -> ph.Tensor:
    """Elementwise operations, then a mean of squares over each row."""
    x, y = ph.input("x", (1024, 1024)), ph.input("y", (1024, 1024))
    return ph.mean((ph.tanh(x) * y + x) ** 2, axis=-1)


def small_products() -> ph.Tensor:
    return ph.input("x", (512, 32, 32)) @ ph.input("w", (512, 32, 32))


WORKLOADS: tuple[Workload, ...] = (
    Workload("matmul", matmul),
    Workload("attention", lambda: naive_attention(4, 256, 64)),
    Workload("norm + matmul", norm_matmul),
    Workload("convolution", convolution),
    Workload("packed product", packed_product),
    Workload("softmax", softmax),
    Workload("layer norm", layer_norm),
    Workload("cross entropy", cross_entropy),
    Workload("chain", chain),
    Workload("small products", small_products),
)


def inputs_of(program: ph.Program, seed: int) -> dict[str, np.ndarray]:
    """Normal numbers for each float input, small integers for the others."""
    rng, found = np.random.default_rng(seed), {}
    for one in program.artifact.inputs:
        shape = [int(extent) for extent in one.shape]
        numbers = rng.standard_normal(shape)
        if one.dtype.kind != "float":
            numbers = rng.integers(0, MOST_INTEGER, shape)
        found[one.name] = numbers.astype(one.dtype.numpy)
    return found
