"""Products of 8-bit integers: in float32 where it holds every sum exactly, else in int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port, read, run
from onnx import TensorProto

from photic.frontends.onnx.model import as_model
from photic.ir.dtype import FLOAT32
from photic.ir.graph import all_nodes

# 255 * 128 of them are the last whose sum float32 surely holds, in any order
MOST_TERMS = (1 << 24) // (255 * 128)


def product(weight: Any) -> Any:
    """y = (x - 0) @ weight of uint8 x (2, inputs)."""
    main = node("MatMulInteger", ["x", "w"], ["y"])
    x = port("x", [2, len(weight)], TensorProto.UINT8)
    return graph_proto([main], [x], [port("y", None, TensorProto.INT32)], w=weight)


def sums(graph: Any) -> set[Any]:
    """The dtypes of sums in a model."""
    roots = as_model(read(model_proto(graph)), None, None).graph.roots
    return {one.dtype for one in all_nodes(roots) if one.op == "sum"}


@pytest.mark.parametrize("more", [0, 1, 500])
def test_the_largest_sums_are_exact(more: int) -> None:
    weight = np.full((MOST_TERMS + more, 3), -128, np.int8)
    weight[-1] += 1
    x = np.full((2, len(weight)), 255, np.uint8)
    x[1, ::2] = 254
    (y,) = run(product(weight), x=x)
    assert y.tolist() == (x.astype(np.int64) @ weight).tolist()


def test_float32_multiplies_only_what_it_holds() -> None:
    fitting = np.full((MOST_TERMS, 3), -128, np.int8)
    assert sums(product(fitting)) == {FLOAT32}
    assert FLOAT32 not in sums(product(np.vstack([fitting, fitting[:1]])))
