"""Operators of long sums compute halves in float32 and round once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontends.onnx.onnx_models import one_node

R = np.random.default_rng(0)
# a half lies at most half a unit from the true value; sums in float32 decide ties either way
NEAREST = 0.501


@pytest.mark.parametrize("is_causal", [0, 1])
def test_attention_of_halves_is_the_nearest_half(is_causal: int) -> None:
    """Weights rounded to halves would be off by a unit and more."""
    query, key, value = (R.random((1, 2, rows, 8)).astype(np.float16) for rows in (5, 40, 40))
    (found,) = one_node("Attention", [query, key, value], opset=24, is_causal=is_causal)
    assert found.dtype == np.float16
    exact = attention(*(one.astype(np.float64) for one in (query, key, value)), is_causal)
    assert np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float16))) < NEAREST


def attention(query: Any, key: Any, value: Any, is_causal: int) -> Any:
    """The definition, row i before key i; in float64."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if is_causal:
        rows, keys = scores.shape[-2:]
        scores = np.where(np.arange(keys) <= np.arange(rows)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value
