"""photic as a backend of the ``onnx`` package: ``prepare`` a model and ``run`` it, or one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from photic.frontends.onnx.reader import read_proto
from photic.frontends.onnx.segments import MakeRunner, compiled
from photic.frontends.onnx.session import Session


class PhoticRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the model's order, or by name."""
        names = self.session.inputs
        feeds = inputs if isinstance(inputs, Mapping) else dict(zip(names, inputs))
        found = self.session.run(None, feeds)
        return namedtupledict("Outputs", list(self.session.outputs))(*found)


class PhoticBackend(Backend):
    """The backend; ``runner`` says how segments are run: compiled, or by the evaluator."""

    runner: MakeRunner = staticmethod(compiled)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PhoticRep:
        """A model of which programs are made when it is run."""
        read = read_proto(model, Path(kwargs.get("folder", ".")), "model")
        return PhoticRep(Session.of(read, runner=cls.runner))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node."""
        names = [name for name in node.input if name]
        helper = onnx.helper
        ports = [
            helper.make_tensor_value_info(name, _code(array), array.shape)
            for name, array in zip(names, inputs)
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", ports, outputs)
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for the processor."""
        return device == "CPU"


def _code(array: Any) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))


prepare = PhoticBackend.prepare
run_model = PhoticBackend.run_model
run_node = PhoticBackend.run_node
supports_device = PhoticBackend.supports_device
