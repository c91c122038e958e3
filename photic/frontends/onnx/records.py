"""An ONNX model as plain data: what the reader makes of a file, checked, without protobuf.

Nodes of a graph stand in an order in which every name is given before it is used. Constants are
arrays in the dtype that carries their kind. Nothing here computes or knows operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, Union

from photic.frontends.onnx.kinds import Array, Kind

STANDARD = ""  # the domain of ONNX's own operators, also written ai.onnx


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A tensor in the file."""

    array: Array
    kind: Kind


Attribute: TypeAlias = Union[
    int,
    float,
    str,
    Constant,
    "Graph",
    tuple[int, ...],
    tuple[float, ...],
    tuple[str, ...],
    tuple["Graph", ...],
]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """An attribute that a function takes from its caller, by the name that it has there."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operator call. ``where`` tells a user which; an input or output left out is empty.

    ``source`` is the node as the file has it, for operators that ONNX itself writes as functions.
    """

    op: str
    domain: str
    where: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute | Reference]
    source: object = None

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs among its attributes: branches and bodies."""
        found: list[Graph] = []
        for one in self.attributes.values():
            parts = one if isinstance(one, tuple) else (one,)
            found += [part for part in parts if isinstance(part, Graph)]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph: ``sizes`` are numbers, names or texts; None if not said.

    ``kind`` is None where the file does not say it, ``other`` names what is no tensor.
    """

    name: str
    kind: Kind | None
    sizes: tuple[int | str, ...] | None
    other: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes between inputs and outputs; ``constants`` are the initializers."""

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A model's own operator: its body's inputs and outputs by name, its attributes' defaults."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    defaults: Mapping[str, Attribute | Reference]
    opsets: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A file: its graph, the version of each operator set, its own functions.

    ``beside`` are the locations of the files that hold data of its tensors.
    """

    path: str
    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], Function]
    beside: tuple[str, ...] = ()
