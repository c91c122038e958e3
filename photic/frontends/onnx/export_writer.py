"""Nodes of an ONNX file as they are written: names, constants, blocks within blocks.

A block is the nodes of one graph of the file; a body sees what the blocks around it hold. What is
written twice with the same inputs and attributes is one node. Names made here hold a dot, so they
are no user's. Nothing here knows what operators mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import onnx
from onnx import helper

from photic.frontends.onnx.kinds import NATIVE, Array
from photic.ir.dim import Dim
from photic.ir.dtype import DType
from photic.ir.graph import Payload, payload_of

Setting: TypeAlias = int | float | str | Sequence[int] | onnx.GraphProto

AXES_ARE_INPUTS = 18  # from this version on, the axes of ReduceMax


@dataclass(slots=True)
class Block:
    """The nodes of one graph, in order; ``outer`` is the one around it, whose names it sees."""

    outer: Block | None
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    made: dict[object, str] = field(default_factory=dict)

    def found(self, key: object) -> str | None:
        """The name of a node that was written like this."""
        block: Block | None = self
        while block is not None:
            if key in block.made:
                return block.made[key]
            block = block.outer
        return None


@dataclass(slots=True)
class Writer:
    """What the blocks of a file share: its version, constants and the names that are given out."""

    opset: int
    constants: dict[str, Array] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def name(self, kind: str = "v") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{kind}.{self._count}"

    def constant(self, array: Array) -> str:
        """The name of a constant of the file."""
        return self.held(payload_of(array))

    def held(self, payload: Payload) -> str:
        """As ``constant``, of a graph's own constant."""
        if payload.key not in self._named:
            self._named[payload.key] = name = self.name("c")
            self.constants[name] = payload.array
        return self._named[payload.key]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where nodes are written now: a block of a file."""

    writer: Writer
    block: Block

    def inside(self) -> Sheet:
        """A new block within this one."""
        return Sheet(self.writer, Block(self.block))

    def node(self, op: str, *inputs: str, **settings: Setting) -> str:
        """The name of a node's only output."""
        lists = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
        key = (op, inputs, tuple(sorted(lists.items())))
        found = self.block.found(key)
        if found is None:
            (found,) = self.nodes(op, inputs, 1, settings)
            self.block.made[key] = found
        return found

    def nodes(
        self, op: str, inputs: Sequence[str], outputs: int, settings: Mapping[str, Setting]
    ) -> tuple[str, ...]:
        """The names of a node's outputs; always a new node."""
        names = tuple(self.writer.name() for _ in range(outputs))
        self.block.nodes.append(_made(op, inputs, names, settings))
        return names

    def give(self, values: Sequence[str], names: Sequence[str]) -> None:
        """Values under the names of the block's outputs; its nodes are written."""
        own = {one for node in self.block.nodes for one in node.output}
        table: dict[str, str] = {}
        for value, name in zip(values, names, strict=True):
            if value in own and value not in table:
                table[value] = name
            else:
                self.block.nodes.append(helper.make_node("Identity", [value], [name]))
        _rename(self.block.nodes, table)

    def number(self, value: float, dtype: DType) -> str:
        """A constant of rank 0."""
        return self.writer.constant(np.asarray(value, dtype.numpy))

    def reduced(self, op: str, value: str, axis: int) -> str:
        """``ReduceSum`` or ``ReduceMax`` over one axis, which goes."""
        if op == "ReduceSum" or self.writer.opset >= AXES_ARE_INPUTS:
            axes = self.writer.constant(np.array([axis]))
            return self.node(op, value, axes, keepdims=0)
        return self.node(op, value, axes=[axis], keepdims=0)


def _made(
    op: str, inputs: Sequence[str], outputs: Sequence[str], settings: Mapping[str, Setting]
) -> onnx.NodeProto:
    node = helper.make_node(op, list(inputs), list(outputs))
    node.attribute.extend(helper.make_attribute(name, one) for name, one in settings.items())
    return node


def _rename(nodes: Iterable[onnx.NodeProto], table: Mapping[str, str]) -> None:
    """Other names for values, also where bodies read them."""
    for node in nodes:
        for names in (node.input, node.output):
            for k, one in enumerate(names):
                names[k] = table.get(one, one)
        for setting in node.attribute:
            _rename(setting.g.node, table)


def cast_code(dtype: DType) -> int:
    """The number that ONNX has for a dtype."""
    return NATIVE[dtype].code


def port(name: str, dtype: DType, shape: Sequence[Dim]) -> onnx.ValueInfoProto:
    """An input or output: sizes that are symbolic have their text as a name."""
    sizes = [one if isinstance(one, int) else str(one) for one in shape]
    return helper.make_tensor_value_info(name, cast_code(dtype), sizes)
