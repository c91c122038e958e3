"""Bounds that a model holds as numbers: values are chosen, which needs no kernel of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port, read, run

from photic.frontends.onnx.model import as_model
from photic.ir.graph import all_nodes

LOW, HIGH = np.float32(-1), np.float32(2)
SPECIAL = np.float32([-np.inf, -3, -1, -0.5, 0, 0.5, 2, 7, np.inf, np.nan])


def limited(op: str, *names: str) -> Any:
    arrays = {"low": np.array(LOW), "high": np.array(HIGH)}
    used = {name: one for name, one in arrays.items() if name in names}
    main = node(op, ["x", *names], ["y"])
    return graph_proto([main], [port("x", SPECIAL.shape)], [port("y", None)], **used)


CASES = {
    "Relu": (limited("Relu"), np.maximum(SPECIAL, 0)),
    "Clip": (limited("Clip", "low", "high"), np.clip(SPECIAL, LOW, HIGH)),
    "Clip from above": (limited("Clip", "", "high"), np.minimum(SPECIAL, HIGH)),
    "Max": (limited("Max", "low"), np.maximum(SPECIAL, LOW)),
    "Min": (limited("Min", "high", "low"), np.minimum(SPECIAL, LOW)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bound_that_the_model_holds_asks_for_no_maximum(name: str) -> None:
    graph, _ = CASES[name]
    roots = as_model(read(model_proto(graph)), None, None).graph.roots
    assert "max" not in {one.op for one in all_nodes(roots)}


@pytest.mark.parametrize("name", CASES)
def test_what_is_limited_is_as_in_numpy(name: str) -> None:
    graph, expected = CASES[name]
    (y,) = run(graph, x=SPECIAL)
    np.testing.assert_array_equal(y, expected)
