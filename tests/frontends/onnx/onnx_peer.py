"""onnxruntime beside photic: the same model, the same arrays, and how far apart the results are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from photic.frontends.onnx.reader import read_bytes
from photic.frontends.onnx.session import Session
from photic.frontends.onnx.sizes import Sizes

Array = NDArray[Any]
Feeds = Mapping[str, Array]
# relative to the largest number of an output: float32 sums in another order, through a network
FLOATS = 1e-4
# networks that quantise what they carry from place to place: a unit in one place moves the next
DRIFTING = 0.05
CUT = ("DynamicQuantizeLinear", "DynamicQuantizeLSTM")
OWN = ":own"


def peer_outputs(data: bytes, feeds: Feeds, is_plain: bool = False) -> dict[str, Array]:
    """onnxruntime's outputs by name; ``is_plain`` forbids it to put operators together."""
    ort = pytest.importorskip(
        "onnxruntime", reason="onnxruntime not installed: pip install '.[peers]'"
    )
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if is_plain:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds))))


def session_of(data: bytes, dims: Sizes | None = None) -> Session:
    return Session.of(read_bytes(data, Path(), "model"), dims)


def our_outputs(session: Session, feeds: Feeds) -> dict[str, Array]:
    return dict(zip(session.outputs, session.run(None, feeds)))


def distance(theirs: Array, ours: Array) -> float:
    """The largest difference, as a part of the largest number."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    wide = theirs.astype(np.float64)
    apart = np.abs(wide - ours.astype(np.float64))
    return float(apart.max(initial=0) / max(np.abs(wide).max(initial=0), np.finfo("f4").tiny))


def require_equal(
    theirs: Mapping[str, Array], ours: Mapping[str, Array], within: float = FLOATS
) -> None:
    far = {name: distance(one, ours[name]) for name, one in theirs.items()}
    assert {name: one for name, one in far.items() if not one <= within} == {}


# --- quantised by the range -----------------------------------------------------------------


def cut_at_quantisation(
    data: bytes, feeds: Feeds
) -> tuple[bytes, dict[str, Array], dict[str, Array]]:
    """A model whose quantised tensors are also fed, as onnxruntime has them.

    A number that falls on the other side of a border moves all that follows by more than float32
    does. So each part between two quantisations is judged by itself: it is given what onnxruntime
    gave, and its own results are outputs ``<name>:own``. Gives the model, its feeds, and the
    outputs that are expected.
    """
    model = onnx.ModelProto.FromString(data)
    graph = model.graph
    nodes = [one for one in graph.node if one.op_type in CUT]
    names = [name for one in nodes for name in one.output if name]
    probe = onnx.ModelProto.FromString(data)
    given = {one.name for one in graph.output}
    probe.graph.output.extend(onnx.ValueInfoProto(name=one) for one in names if one not in given)
    held = peer_outputs(probe.SerializeToString(), feeds, is_plain=True)
    for one in nodes:
        one.output[:] = [name and name + OWN for name in one.output]
    for name in names:
        code = onnx.helper.np_dtype_to_tensor_dtype(held[name].dtype)
        graph.input.append(onnx.helper.make_tensor_value_info(name, code, held[name].shape))
        graph.output.append(onnx.ValueInfoProto(name=name + OWN))
    expected = {name + OWN: held[name] for name in names}
    expected.update({one: held[one] for one in given if one not in names})
    fed = {**feeds, **{name: held[name] for name in names}}
    return model.SerializeToString(), fed, expected


def require_units(
    theirs: Mapping[str, Array], ours: Mapping[str, Array], without: Sequence[str] = ()
) -> None:
    """Integers at most one unit apart, one in a hundred of them; floats as everywhere."""
    for name, one in theirs.items():
        if without and name.startswith(tuple(without)):
            continue
        if one.dtype.kind == "f":
            drifts = name.endswith(OWN) and one.ndim > 0
            assert distance(one, ours[name]) <= (DRIFTING if drifts else FLOATS), name
            continue
        apart = np.abs(one.astype(np.int64) - ours[name].astype(np.int64))
        assert apart.max(initial=0) <= 1, name
        assert np.count_nonzero(apart) <= 1 + one.size // 100, name
