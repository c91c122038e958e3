"""The text form of a graph: printed for people, parsed back to the same nodes.

One line a node, in Python's own syntax (read with ``ast``, never run)::

    n = size(0, 9)
    v0: float32[n, 4] = input('x')
    v1: float32[4] = constant([0.5, -0.0, 1e999, 1.0])
    v2: float32[n, 4] = add(v0, v1.view(shape=(n, 4), index=(i1,)))
    with scan(n) as v3:
        v4: float32[4] = carried('total', v1)
        v5: float32[4] = sliced('row', v2)
        v6: float32[4] = add(v4, v5)
        give(v6)
        give(v6)
    v7: float32[n, 4] = item(v3, 1)
    output('y', v7)

``parse_graph(print_graph(g), constants_of(g)) == g``. Large constants are printed by name, their
elements stand beside the text; small ones as numbers (1e999 is infinity) or, with a nan, as bytes.
What parses is well formed; whether it is *right* is for ``forms/graph_check.py``. A size prints as
``str`` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import numpy as np

from photic.forms.errors import BadText
from photic.forms.eval import Array
from photic.forms.graph_names import sizes_of
from photic.ir import graph as graphs
from photic.ir.dim import Dim, Symbol, add, floordiv, mod, mul, symbol, var
from photic.ir.dtype import DTYPES, DType
from photic.ir.graph import Along, Graph, Item, Named, Node, Operand, Payload, Scan, topological
from photic.ir.ops import PRIMITIVE
from photic.ir.view import Bound, Shape, View, axis_variable, is_identity

NAMED_FROM = 64  # elements; constants this large are printed by name
T = TypeVar("T")

# --- printing -------------------------------------------------------------------------------


def shape_text(shape: Iterable[object]) -> str:
    """A tuple of sizes or names: ``(n, 64)``, ``(n,)``, ``()``."""
    parts = [str(extent) for extent in shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def type_text(dtype: DType, shape: Shape) -> str:
    """``float32[n, 64]``; of rank 0 just ``float32``."""
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else str(dtype)


def operand_text(one: Operand, names: Mapping[Node, str]) -> str:
    """The node's name, and its view unless that is the identity."""
    if is_identity(one.view, one.node.shape):
        return names[one.node]
    parts = f"shape={shape_text(one.view.shape)}, index={shape_text(one.view.index)}"
    pairs = "".join(f"({bound.value}, {bound.extent}), " for bound in one.view.bounds)
    bounds = f", bounds=({pairs.strip()})" if pairs else ""
    return f"{names[one.node]}.view({parts}{bounds})"


def constants_of(graph: Graph) -> dict[str, Array]:
    """The constants that ``print_graph`` names, by their names."""
    return {name: payload.array for payload, name in _large_constants(graph).items()}


def _large_constants(graph: Graph) -> dict[Payload, str]:
    found: dict[Payload, str] = {}
    for node in graphs.all_nodes(graph.roots):
        if isinstance(node.attribute, Payload) and node.attribute.array.size >= NAMED_FROM:
            found.setdefault(node.attribute, f"c{len(found)}")
    return found


@dataclass(slots=True)
class _Printer:
    """The lines so far, the number of names given, and the constants that have names."""

    constants: Mapping[Payload, str]
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def define(self, node: Node, value: str, names: dict[Node, str], indent: str) -> None:
        names[node] = f"v{self.count}"
        self.count += 1
        kind = type_text(node.dtype, node.shape)
        self.lines.append(f"{indent}{names[node]}: {kind} = {value}")

    def nodes(self, nodes: Iterable[Node], names: dict[Node, str], indent: str) -> None:
        for node in nodes:
            if isinstance(node.attribute, Scan):
                self.scan(node, node.attribute, names, indent)
            elif node not in names:
                self.define(node, self.value(node, names), names, indent)

    def value(self, node: Node, names: Mapping[Node, str]) -> str:
        parts = [operand_text(one, names) for one in node.operands]
        match node.attribute:
            case Named(name=name):
                parts = [repr(name)]
            case Payload():
                parts = [self.constants.get(node.attribute) or _constant_text(node.attribute)]
            case Along(axis=axis):
                parts.append(f"axis={axis}")
            case Item(number=number):
                parts.append(str(number))
        return f"{node.op}({', '.join(parts)})"

    def scan(self, node: Node, body: Scan, names: dict[Node, str], indent: str) -> None:
        names[node] = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{indent}with scan({body.trips}) as {names[node]}:")
        inner, indent = dict(names), indent + "    "
        slots = (*body.carried, *body.sliced)
        for place, (slot, start) in enumerate(zip(slots, node.operands, strict=False)):
            assert isinstance(slot.attribute, Named)
            kind = "carried" if place < len(body.carried) else "sliced"
            value = f"{kind}({slot.attribute.name!r}, {operand_text(start, names)})"
            self.define(slot, value, inner, indent)
        inside = graphs.dependents(body.outputs, set(slots))
        order = topological([one.node for one in body.outputs])
        self.nodes((one for one in order if one in inside), inner, indent)
        self.lines += [f"{indent}give({operand_text(one, inner)})" for one in body.outputs]


def _constant_text(payload: Payload) -> str:
    array = payload.array
    is_float = array.dtype.kind not in "biu"
    values = [float(one) if is_float else one.item() for one in array.ravel()]
    text = repr(values).replace("inf", "1e999")
    return repr(array.tobytes()) if "nan" in text else text


def print_graph(graph: Graph) -> str:
    """The graph as text, its nodes numbered in order of use."""
    names: dict[Node, str] = {}
    sizes = sorted(sizes_of(graph).items())
    large = _large_constants(graph)
    printer = _Printer(large, [f"{name} = size({one.low}, {one.high})" for name, one in sizes])
    printer.nodes(topological(graph.roots), names, "")
    for name, one in graph.outputs:
        printer.lines.append(f"output({name!r}, {operand_text(one, names)})")
    for state, one in graph.updates:
        printer.lines.append(f"update({names[state]}, {operand_text(one, names)})")
    return "\n".join(printer.lines) + "\n"


# --- parsing: sizes -------------------------------------------------------------------------


def fail(at: ast.AST, problem: str) -> NoReturn:
    """Raise BadText for the line of ``at``."""
    raise BadText(line=getattr(at, "lineno", 1), problem=problem)


def parse_lines(text: str) -> list[ast.stmt]:
    """The syntax trees of the lines. Raises BadText where the text is not Python's syntax."""
    try:
        return ast.parse(text).body
    except SyntaxError as error:
        raise BadText(line=error.lineno or 1, problem=error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadText(line=1, problem=str(error) or "nested too deeply") from None


def parse_dim(text: str, symbols: Mapping[str, Symbol], extents: Mapping[str, Dim]) -> Dim:
    """The size that ``str`` printed; ``extents`` holds the extent of each axis variable.

    Raises BadText for anything but sums, products, ``//`` and ``%`` of known names and integers.
    """
    names: dict[str, Dim] = {name: symbol(name, one.low, one.high) for name, one in symbols.items()}
    names |= {name: var(name, extent) for name, extent in extents.items()}
    match parse_lines(text):
        case [ast.Expr(value=tree)]:
            return read_dim(tree, names)
    raise BadText(line=1, problem=f"{text!r} is not a size")


_OPERATIONS = {ast.Add: add, ast.Mult: mul, ast.FloorDiv: floordiv, ast.Mod: mod}


def read_dim(tree: ast.expr, names: Mapping[str, Dim]) -> Dim:
    """As ``parse_dim``, from a syntax tree; ``names`` are the sizes and axis variables."""
    match tree:
        case ast.Constant(value=value) if type(value) is int:
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -read_dim(inner, names)
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = (read_dim(one, names) for one in (left, right))
            if isinstance(sign, ast.Sub):
                return first - second
            is_division = isinstance(sign, ast.FloorDiv | ast.Mod)
            if type(sign) in _OPERATIONS and not (is_division and second == 0):
                return _OPERATIONS[type(sign)](first, second)
    fail(tree, f"{ast.unparse(tree)!r} is not a size")


def read_dims(tree: ast.expr, names: Mapping[str, Dim]) -> Shape:
    """The elements of a tuple of sizes, or the one size."""
    trees = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return tuple(read_dim(one, names) for one in trees)


def read_type(tree: ast.expr, names: Mapping[str, Dim]) -> tuple[DType, Shape]:
    """What ``type_text`` printed."""
    match tree:
        case ast.Name(id=name) if name in DTYPES:
            return DTYPES[name], ()
        case ast.Subscript(value=ast.Name(id=name), slice=shape) if name in DTYPES:
            return DTYPES[name], read_dims(shape, names)
    fail(tree, f"{ast.unparse(tree)!r} is not a type")


def literal(tree: ast.expr, kind: type[T]) -> T:
    """The number, string or list that a syntax tree spells; BadText if it is not of the kind."""
    try:
        value = ast.literal_eval(tree)
    except (ValueError, TypeError):
        value = None
    if type(value) is not kind:
        fail(tree, f"{ast.unparse(tree)!r} is not of type {kind.__name__}")
    return value


# --- parsing: graphs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the lines so far have defined. A scan's body has a scope of its own."""

    constants: Mapping[str, Array]
    sizes: dict[str, Dim]
    nodes: dict[str, Node]
    items: dict[str, tuple[Node, ...]]
    slots: list[tuple[str, Node, Operand]] = field(default_factory=list)
    outputs: list[tuple[str, Operand]] = field(default_factory=list)
    updates: list[tuple[Node, Operand]] = field(default_factory=list)

    def operand(self, tree: ast.expr) -> Operand:
        match tree:
            case ast.Name(id=name) if name in self.nodes:
                return graphs.operand(self.nodes[name])
            case ast.Call(func=ast.Attribute(value=value, attr="view"), args=[], keywords=words):
                given = {word.arg or "": word.value for word in words}
                if {"shape", "index"} <= set(given) <= {"shape", "index", "bounds"}:
                    return self.view(self.operand(value).node, given)
        fail(tree, f"{ast.unparse(tree)!r} is not a value defined above")

    def view(self, node: Node, given: Mapping[str, ast.expr]) -> Operand:
        shape = read_dims(given["shape"], self.sizes)
        names = self.sizes | {f"i{axis}": axis_variable(axis, n) for axis, n in enumerate(shape)}
        index = read_dims(given["index"], names)
        if len(index) != len(node.shape):
            fail(given["index"], f"{len(index)} indices for a source of rank {len(node.shape)}")
        pairs = [read_dims(one, names) for one in getattr(given.get("bounds"), "elts", ())]
        if any(len(one) != 2 for one in pairs):
            fail(given["bounds"], "a bound is a pair")
        return Operand(node, View(shape, index, tuple(Bound(*one) for one in pairs)))


def parse_graph(text: str, constants: Mapping[str, Array]) -> Graph:
    """The graph that ``print_graph`` printed. Raises BadText, or what building a node raises."""
    scope = _Scope(constants, {}, {}, {})
    try:
        _read(parse_lines(text), scope)
    except RecursionError:
        raise BadText(line=1, problem="nested too deeply") from None
    return Graph(tuple(scope.outputs), tuple(scope.updates))


def _read(lines: Iterable[ast.stmt], scope: _Scope) -> None:
    for line in lines:
        match line:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="size"), args=[low, high]),
            ) if name not in scope.sizes:
                scope.sizes[name] = symbol(name, literal(low, int), literal(high, int))
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=ast.Call() as call):
                declared = read_type(kind, scope.sizes)
                node = _node(call, *declared, scope)
                if name in scope.nodes or (node.dtype, node.shape) != declared:
                    fail(line, f"{name} is taken, or not {type_text(*declared)}")
                scope.nodes[name] = node
            case ast.With(
                items=[ast.withitem(context_expr=call, optional_vars=ast.Name(id=name))], body=body
            ):
                scope.items[name] = _scan(call, body, scope)
            case ast.Expr(value=ast.Call(func=ast.Name(id="give"), args=[one])):
                scope.outputs.append(("", scope.operand(one)))
            case ast.Expr(value=ast.Call(func=ast.Name(id="output"), args=[name, one])):
                scope.outputs.append((literal(name, str), scope.operand(one)))
            case ast.Expr(value=ast.Call(func=ast.Name(id="update"), args=[state, one])):
                scope.updates.append((scope.operand(state).node, scope.operand(one)))
            case _:
                fail(line, "neither a size, a value, a scan, an output nor an update")


def _scan(call: ast.expr, body: Iterable[ast.stmt], scope: _Scope) -> tuple[Node, ...]:
    inner = _Scope(scope.constants, scope.sizes, dict(scope.nodes), dict(scope.items))
    _read(body, inner)
    outputs = [one for _, one in inner.outputs]
    kinds = ("carried", "sliced")
    first, sequences = ([start for kind, _, start in inner.slots if kind == k] for k in kinds)
    carried, sliced = ([node for kind, node, _ in inner.slots if kind == k] for k in kinds)
    match call:
        case ast.Call(func=ast.Name(id="scan"), args=[size]) if len(outputs) >= len(carried):
            trips = read_dim(size, scope.sizes)
            return graphs.scan(trips, first, sequences, carried, sliced, outputs)
    fail(call, "not a scan that gives a next value for each carried one")


def _node(call: ast.Call, dtype: DType, shape: Shape, scope: _Scope) -> Node:
    op = call.func.id if isinstance(call.func, ast.Name) else ""
    kind = PRIMITIVE[op].kind if op in PRIMITIVE else op
    match kind, call.args, call.keywords:
        case "input" | "state", [name], []:
            make = graphs.input_node if kind == "input" else graphs.state_node
            return make(literal(name, str), shape, dtype)
        case "iota", [], [] if len(shape) == 1:
            return graphs.iota_node(shape[0])
        case "constant", [value], []:
            return graphs.constant_node(_constant(value, dtype, shape, scope))
        case "carried" | "sliced", [name, start], []:
            node = graphs.input_node(literal(name, str), shape, dtype)
            scope.slots.append((kind, node, scope.operand(start)))
            return node
        case "item", [ast.Name(id=name), number], [] if name in scope.items:
            if literal(number, int) in range(len(scope.items[name])):
                return scope.items[name][literal(number, int)]
        case "unary", [one], []:
            return graphs.unary(op, scope.operand(one))
        case "binary", [one, two], []:
            return graphs.binary(op, scope.operand(one), scope.operand(two))
        case "reduce", [one], [ast.keyword(arg="axis", value=axis)]:
            if literal(axis, int) in range(scope.operand(one).view.rank):
                return graphs.reduce(op, scope.operand(one), literal(axis, int))
        case "copy", [one], []:
            return graphs.cast(scope.operand(one), dtype)
    fail(call, f"{ast.unparse(call)!r} is not a value")


def _constant(tree: ast.expr, dtype: DType, shape: Shape, scope: _Scope) -> Array:
    if isinstance(tree, ast.Name):
        if tree.id not in scope.constants:
            fail(tree, f"no constant {tree.id!r} is given")
        return scope.constants[tree.id]
    try:
        if isinstance(tree, ast.List):
            values = literal(tree, list)
            if {type(one) for one in values} - {{"float": float, "int": int}.get(dtype.kind, bool)}:
                fail(tree, f"not a list of {dtype}")
            flat = np.array(values, dtype.numpy)
        else:
            flat = np.frombuffer(literal(tree, bytes), dtype.numpy)
        return flat.reshape([int(extent) for extent in shape])
    except (ValueError, OverflowError) as error:
        fail(tree, str(error))
