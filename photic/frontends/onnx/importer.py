"""From an ONNX graph to tensors: each node by its entry in the table, or by a function's body.

What depends on constants alone stays an array where that is cheap, and shape arithmetic on symbolic
sizes stays sizes (``folding.py``). A graph runs in one program unless a node must know numbers that
the program itself computes: then ``Unread`` says which.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from photic.base.errors import PhoticError
from photic.frontends.onnx.bodies import standard_body
from photic.frontends.onnx.call import Call, Facts, Op, Unread
from photic.frontends.onnx.errors import OnnxInput, OnnxNode, OnnxUnsupported
from photic.frontends.onnx.folding import folded
from photic.frontends.onnx.kinds import KIND, Kind
from photic.frontends.onnx.records import Constant, Function, Graph, Model, Node, Reference
from photic.frontends.onnx.registry import NAMES, entry_of
from photic.frontends.onnx.schemas import result_kinds
from photic.frontends.onnx.value import Value, is_symbolic, native
from photic.tensor.tensor import Tensor

MOST_NODES = 1_000_000  # of one import, bodies of functions and of unrolled loops included
MOST_ELEMENTS = 1 << 38  # of one result; a terabyte of single numbers
DEEPEST_CALLS = 64  # functions that call functions
HALVES = (KIND["float16"], KIND["bfloat16"])
LONG_SUMS = {("", "Attention")}  # whose bodies would round scores and weights to halves

Scope = ChainMap[str, Value]


@dataclass(slots=True)
class Reading:
    """What one import shares: the model, what is known of values, how much was read."""

    model: Model
    facts: Facts
    nodes: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    opsets: Mapping[str, int] = field(default_factory=dict)
    one_program: bool = True

    def run_graph(self, graph: Graph, inputs: Sequence[Value], call: Call) -> list[Value]:
        """A branch's or a body's outputs; names of the graphs around it are visible to it."""
        return run_graph(graph, inputs, call)

    def count(self, node: Node) -> None:
        """Note a node that is read; OnnxInput where that never ends."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise OnnxInput(
                where=node.where,
                op=node.op,
                version=self.version(node.domain),
                problem=f"the model comes to more than {MOST_NODES} nodes",
            )

    def version(self, domain: str) -> int:
        """The version of an operator set here; 1 for those that the model does not name."""
        return self.opsets.get(domain, 1)


def import_graph(
    model: Model, inputs: Mapping[str, Value], facts: Facts, one_program: bool
) -> list[Value]:
    """The values of a model's outputs. Unread, PhoticError.

    ``one_program``: branches that data decide are both computed where that can be.
    """
    reading = Reading(model, facts, opsets=model.opsets, one_program=one_program)
    scope: Scope = ChainMap(dict(inputs))
    constants = {n: one for n, one in model.graph.constants.items() if n not in inputs}
    scope.update({name: constant_value(one) for name, one in constants.items()})
    last_use = _last_uses(model.graph)
    for number, node in enumerate(model.graph.nodes):
        try:
            run_node(node, scope, reading)
        except Unread as cut:
            live = [value for name, value in scope.items() if last_use.get(name, -1) >= number]
            raise Unread(cut.operand, cut.where, _running(live, facts)) from None
        for name in (*node.inputs, *node.outputs):
            if last_use.get(name, number) <= number:
                scope.pop(name, None)
    return [scope[one.name] for one in model.graph.outputs]


def _running(values: Iterable[Value], facts: Facts) -> tuple[Tensor, ...]:
    """The tensors among values that a program must compute."""
    held = [one.held for one in values if isinstance(one.held, Tensor)]
    return tuple(one for one in held if not facts.is_fixed(one.operand))


def _last_uses(graph: Graph) -> dict[str, int]:
    """The number of the last node that reads each name; outputs are read after all."""
    found: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        for name in names_read(node):
            found[name] = number
    found.update({one.name: len(graph.nodes) for one in graph.outputs})
    return found


def names_read(node: Node) -> set[str]:
    """The names that a node reads, those of the graphs in it included."""
    found = set(node.inputs)
    stack = list(node.graphs)
    while stack:
        graph = stack.pop()
        found.update(one.name for one in graph.outputs)
        for one in graph.nodes:
            found.update(one.inputs)
            stack += one.graphs
    return found


def constant_value(one: Constant) -> Value:
    """A tensor of the file as a value."""
    return Value(one.array, one.kind)


def run_graph(graph: Graph, inputs: Sequence[Value], call: Call) -> list[Value]:
    """A branch's or a body's outputs; names of the graphs around it are visible to it."""
    if len(inputs) > len(graph.inputs):
        raise call.wrong(f"its graph takes {len(graph.inputs)} values, given {len(inputs)}")
    scope: Scope = ChainMap({}, *_maps(call.scope))
    scope.update({port.name: value for port, value in zip(graph.inputs, inputs)})
    scope.update({name: constant_value(one) for name, one in graph.constants.items()})
    for node in graph.nodes:
        run_node(node, scope, call.reading)
    return [scope[one.name] for one in graph.outputs]


def _maps(scope: Mapping[str, Value]) -> list[MutableMapping[str, Value]]:
    return list(scope.maps) if isinstance(scope, ChainMap) else [dict(scope)]


# --- one node -------------------------------------------------------------------------------


def run_node(node: Node, scope: Scope, reading: Reading) -> None:
    """Enter a node's outputs into the scope. Unread, PhoticError."""
    reading.count(node)
    inputs = tuple(_input(node, name, scope, reading) for name in node.inputs)
    call = Call(node, reading.version(node.domain), inputs, node.attributes, reading, scope)
    try:
        results = _results(call)
    except PhoticError as error:
        raise _placed(error, call) from error
    names = [name for name in node.outputs if name]
    if len(node.outputs) > len(results) or any(
        one is None for name, one in zip(node.outputs, results) if name
    ):
        given = sum(one is not None for one in results)
        raise call.wrong(f"{len(names)} outputs wanted, supported: {given}")
    for one in results:
        _require_sane(one, call)
    scope.update({n: one for n, one in zip(node.outputs, results) if n and one is not None})


def _require_sane(result: Value | None, call: Call) -> None:
    """OnnxInput for a result that no memory holds: it is an attempt on it, or a mistake."""
    sizes = [] if result is None else [one for one in result.shape if isinstance(one, int)]
    if result is not None and len(sizes) == len(result.shape) and prod(sizes) > MOST_ELEMENTS:
        raise call.wrong(f"a result of shape {result.shape} has more than {MOST_ELEMENTS} elements")


def _input(node: Node, name: str, scope: Scope, reading: Reading) -> Value | None:
    if name and name not in scope:
        raise OnnxInput(
            where=node.where,
            op=node.op,
            version=reading.version(node.domain),
            problem=f"its input {name!r} was not given",
        )
    return scope[name] if name else None


def _placed(error: PhoticError, call: Call) -> PhoticError:
    """The error with the node that it is about, unless it says so already."""
    if "where" in error.fields:
        return error
    given = ", ".join("-" if one is None else _shown(one) for one in call.inputs)
    return OnnxNode(
        where=call.node.where,
        op=call.node.op,
        domain=call.node.domain or "ai.onnx",
        version=call.version,
        given=given or "nothing",
        problem=str(error),
    )


def _shown(value: Value) -> str:
    return f"{value.kind}[{', '.join(map(str, value.shape))}]"


def _results(call: Call) -> list[Value | None]:
    node, reading = call.node, call.reading
    function = reading.model.functions.get((node.domain, node.op))
    if function is not None:
        return call_function(function, call)
    entry = entry_of(node.domain, node.op, call.version)
    if entry is not None:
        return _by_entry(entry, call)
    by_body = _by_body(call)
    if by_body is not None:
        return by_body
    known = NAMES.get((node.domain, node.op))
    expected = f"{node.op} from version {known} on" if known else _alike(node)
    raise OnnxUnsupported(
        where=node.where,
        op=node.op,
        domain=node.domain or "ai.onnx",
        version=call.version,
        expected=expected,
    )


def _alike(node: Node) -> str:
    """The operators that are supported in the node's domain."""
    names = sorted(op for domain, op in NAMES if domain == node.domain)
    return ", ".join(names) or "no operator of this domain"


def _by_entry(entry: Op, call: Call) -> list[Value | None]:
    given = folded(call)
    raw = entry.run(call) if given is None else given
    results = list(raw) if isinstance(raw, tuple | list) else [raw]
    kinds = result_kinds(call, len(results))
    return [_typed(one, kind, entry.wraps) for one, kind in zip(results, kinds)]


def _typed(raw: object, kind: Kind | None, wraps: bool) -> Value | None:
    """A result in the dtype of its declared kind; unsigned integers brought into their range."""
    if raw is None or isinstance(raw, Value):
        return raw
    assert isinstance(raw, Tensor | np.ndarray | np.generic)
    value = native(raw if isinstance(raw, Tensor) else np.asarray(raw))
    if kind is None:
        return value
    if isinstance(value.held, np.ndarray) and (
        is_symbolic(value.held) or value.held.dtype == kind.carrier.numpy
    ):
        return Value(value.held, kind)
    cast = value.tensor.astype(kind.carrier)
    if wraps and kind.form == "unsigned" and kind.bits < 8 * kind.carrier.bytes:
        cast = cast % (1 << kind.bits)
    return Value(cast, kind)


# --- functions ------------------------------------------------------------------------------


def _by_body(call: Call) -> list[Value | None] | None:
    """By the standard's own body; one of long sums computes halves in float32, rounded once."""
    kind, wide = call.value(0).kind if call.has(0) else None, call
    is_rounded = kind in HALVES and (call.node.domain, call.node.op) in LONG_SUMS
    if is_rounded:
        wide = replace(call, inputs=tuple(_in(one, kind, KIND["float32"]) for one in call.inputs))
    body = standard_body(wide)
    if body is None:
        return None
    results = call_function(body, wide)
    return [_in(one, KIND["float32"], kind) for one in results] if is_rounded else results


def _in(value: Value | None, given: Kind | None, wanted: Kind | None) -> Value | None:
    """Values of a kind in another one; all else as it is."""
    if value is None or wanted is None or value.kind is not given:
        return value
    return Value(value.tensor.astype(wanted.carrier), wanted)


def call_function(function: Function, call: Call) -> list[Value | None]:
    """A function's body with the call's inputs and attributes in place of its own."""
    reading, key = call.reading, (function.domain, function.op)
    if key in reading.calls:
        raise call.wrong("the function calls itself")
    if len(reading.calls) > DEEPEST_CALLS:
        raise call.wrong(f"functions call functions deeper than {DEEPEST_CALLS}")
    attributes = {**function.defaults, **call.attributes}
    scope: Scope = ChainMap({})
    scope.update({n: one for n, one in zip(function.inputs, call.inputs) if n and one is not None})
    absent = set(function.inputs) - set(scope)
    opsets, reading.opsets = reading.opsets, {**reading.opsets, **function.opsets}
    reading.calls.append(key)
    try:
        for node in function.nodes:
            run_node(_bound(node, attributes, absent), scope, reading)
    finally:
        reading.calls.pop()
        reading.opsets = opsets
    return [scope.get(name) for name in function.outputs]


def _bound(node: Node, attributes: Mapping[str, object], absent: set[str]) -> Node:
    """The node with references to the function's attributes resolved, missing inputs left out."""
    found = {}
    for name, one in node.attributes.items():
        if not isinstance(one, Reference):
            found[name] = one
        elif one.name in attributes:
            found[name] = attributes[one.name]  # type: ignore[assignment]
    for name, one in found.items():
        if isinstance(one, Graph):
            nodes = tuple(_bound(inner, attributes, absent) for inner in one.nodes)
            found[name] = replace(one, nodes=nodes)
    inputs = tuple("" if name in absent else name for name in node.inputs)
    return replace(node, attributes=found, inputs=inputs)
