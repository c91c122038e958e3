"""What is not supported is named: node, operator, version, attribute, and what is supported."""

from __future__ import annotations

import numpy as np
import pytest
from frontends.onnx.onnx_models import graph_proto, node, one_node, port, session

from photic.frontends.onnx.errors import (
    OnnxAttribute,
    OnnxFeed,
    OnnxInput,
    OnnxNode,
    OnnxUnsupported,
)

X = np.ones((2, 3), np.float32)


def test_an_unknown_operator_is_named_with_its_node_and_version() -> None:
    with pytest.raises(OnnxUnsupported) as caught:
        one_node("Mystery", [X], name="here", opset=17)
    text = str(caught.value)
    assert all(word in text for word in ("'here'", "Mystery", "ai.onnx", "17", "Softmax"))


def test_an_operator_of_an_unknown_domain_is_named() -> None:
    with pytest.raises(OnnxUnsupported, match=r"Fancy of own"):
        one_node("Fancy", [X], domain="own")


def test_an_attribute_that_is_not_supported_is_named_with_its_choices() -> None:
    with pytest.raises(OnnxAttribute) as caught:
        one_node("Gelu", [X], approximate="half")
    text = str(caught.value)
    assert all(word in text for word in ("Gelu", "approximate", "'half'", "none, tanh", "21"))


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(OnnxAttribute, match="axis"):
        one_node("Concat", [X, X])


def test_a_missing_input_is_named() -> None:
    with pytest.raises(OnnxInput, match="input 1"):
        one_node("MatMul", [X])


def test_shapes_that_do_not_fit_name_the_node_and_what_it_was_given() -> None:
    with pytest.raises(OnnxNode) as caught:
        one_node("MatMul", [X, X], name="product")
    text = str(caught.value)
    assert all(word in text for word in ("'product'", "MatMul", "float32[2, 3]"))


def test_feeds_by_a_wrong_name_say_which_there_are() -> None:
    graph = graph_proto([node("Abs", ["x"], ["y"])], [port("x", [2, 3])], [port("y", None)])
    ours = session(graph)
    with pytest.raises(OnnxFeed, match=r"no input 'z'; it has x"):
        ours.run(None, {"z": X})
    with pytest.raises(OnnxFeed, match=r"no output 'z'; it has y"):
        ours.run(["z"], {"x": X})
    with pytest.raises(OnnxFeed, match="all of x"):
        ours.run(None, {})
