"""Inputs and outputs of models as programs have them: their names, types and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from photic.frontends.onnx import records
from photic.frontends.onnx.errors import OnnxCorrupt, OnnxFeed, OnnxType
from photic.frontends.onnx.kinds import KINDS, Array, Kind, carried, kind_of_array
from photic.frontends.onnx.sizes import identifier
from photic.frontends.onnx.value import Value
from photic.ir.dim import Dim
from photic.tensor import creation


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its name in the file, its name in programs, its type and sizes."""

    name: str
    key: str
    kind: Kind
    shape: tuple[Dim, ...]


class Keys:
    """Names in programs: identifiers, each once."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The name that stands for one of a file's."""
        key = identifier(name)
        while key in self._taken:
            key += "_"
        self._taken.add(key)
        return key


def known_inputs(inputs: Sequence[records.Port], given: Mapping[str, Array]) -> dict[str, Value]:
    """Inputs that are known when the graph is built. OnnxFeed, OnnxType."""
    names = [one.name for one in inputs]
    for name in given:
        if name not in names:
            raise OnnxFeed(kind="input", name=name, expected=", ".join(names))
    arrays = {name: np.asarray(one) for name, one in given.items()}
    kinds = {name: kind_of_array(one, f"input {name!r}") for name, one in arrays.items()}
    return {name: Value(carried(one, kinds[name]), kinds[name]) for name, one in arrays.items()}


def input_port(port: records.Port, shape: tuple[Dim, ...], keys: Keys) -> Port:
    """An input that programs have. OnnxType for what is no tensor, OnnxCorrupt."""
    where = f"input {port.name!r}"
    if port.other:
        raise OnnxType(where=where, given=port.other, expected=", ".join(one.name for one in KINDS))
    if port.kind is None or port.sizes is None:
        raise OnnxCorrupt(path="model", where=where, problem="its type or rank is not said")
    return Port(port.name, keys.of(port.name), port.kind, shape)


def input_value(port: Port) -> Value:
    """The tensor of an input."""
    return Value(creation.input(port.key, port.shape, port.kind.carrier), port.kind)


def output_ports(names: Sequence[str], values: Sequence[Value]) -> tuple[Port, ...]:
    """The outputs as programs give them."""
    keys = Keys()
    return tuple(
        Port(name, keys.of(name), value.kind, value.shape) for name, value in zip(names, values)
    )
