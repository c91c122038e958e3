"""What is not supported is named: node, operator, version, attribute, and what is supported."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, one_node, port, session

import photic
from photic.base.errors import PhoticError
from photic.frontends.onnx.errors import (
    OnnxAttribute,
    OnnxData,
    OnnxFeed,
    OnnxInput,
    OnnxNode,
    OnnxUnsupported,
)
from photic.frontends.onnx.model import load
from photic.storage.errors import FileUnreadable

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


def test_a_file_that_is_not_there_is_said_to_be_missing_not_damaged(tmp_path: Path) -> None:
    for path in (tmp_path / "model.onnx", tmp_path):
        with pytest.raises(FileUnreadable) as caught:
            load(path)
        assert "damaged" not in str(caught.value) and "Errno" not in str(caught.value)


def test_data_that_were_left_behind_are_named_with_the_folder_they_belong_in(
    tmp_path: Path,
) -> None:
    held = onnx.numpy_helper.from_array(X, "w")
    onnx.external_data_helper.set_external_data(held, "model.onnx.data")
    held.ClearField("raw_data")
    graph = graph_proto([node("Add", ["x", "w"], ["y"])], [port("x", [2, 3])], [port("y", None)])
    graph.initializer.append(held)
    (tmp_path / "model.onnx").write_bytes(model_proto(graph).SerializeToString())
    with pytest.raises(OnnxData) as caught:
        load(tmp_path / "model.onnx")
    text = str(caught.value)
    assert all(word in text for word in ("'w'", "'model.onnx.data'", str(tmp_path), "put"))


def test_no_error_of_any_layer_shares_a_code() -> None:
    files = Path(photic.__file__).parent.rglob("errors.py")
    names = [one.relative_to(Path(photic.__file__).parents[1]).with_suffix("") for one in files]
    modules = [importlib.import_module(".".join(one.parts)) for one in names]
    values = {
        value
        for one in modules
        for value in vars(one).values()
        if isinstance(value, type) and issubclass(value, PhoticError)
    }
    counts = Counter(one.code for one in values)
    assert [code for code, count in counts.items() if count > 1] == []
