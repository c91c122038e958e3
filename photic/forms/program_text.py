"""The text form of a program: its records, printed for people and parsed back to an equal program.

In Python's own syntax (read with ``ast``, never run): one line for each size, variable, buffer,
value and function, each under a name of its own however often it is used, then the program::

    n = Symbol('n', 0, 9)
    in_x = Buffer('in_x', (n, 4), float32)
    out_y = Buffer('out_y', (n, 4), float32)
    p0 = Buffer('p0', (n, 4), float32)
    p1 = Buffer('p1', (n, 4), float32)
    a0 = Var('a0', n)
    a1 = Var('a1', 4)
    v0 = Expr('load', (), Access(p1, (a0, a1)), float32)
    v1 = Expr('exp2', (v0,), Plain(), float32)
    k0 = Function('k0', (p0, p1), (Store(p0, (a0, a1), (a0, a1), v1),))
    Program(
        (n,),
        {
            'in_x': Place(in_x, 'input', 'c:0', Layout(0, 1)),
            'out_y': Place(out_y, 'output', 'c:0', Layout(0, 1)),
        },
        {'k0': k0},
        (Kernel('k0', ('out_y', 'in_x')),),
        {'y': 'out_y'},
    )

``parse_program(print_program(p), arrays of p's constants) == p``. What parses has fields of the
right types; whether it is *right* is for ``forms/program_check.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from keyword import iskeyword
from textwrap import indent
from typing import Literal, get_args, get_origin, get_type_hints

from photic.forms.errors import BadText
from photic.forms.eval import Array
from photic.forms.graph_text import fail, literal, parse_lines, read_dim
from photic.ir import index as form
from photic.ir.dim import Data, Dim, FloorDiv, Int, Mod, Monomial, Symbol, Var, terms_of
from photic.ir.dtype import DTYPES, DType
from photic.ir.graph import payload_of
from photic.ir.index import Attribute, Buffer, Expr, Store
from photic.ir.program import ROW_MAJOR, Function, Layout, Place, Program, Step

WIDTH = 88  # columns; longer records have their fields on lines of their own
NAMED = (Symbol, Var, Data, Buffer, Expr, Function)
RECORDS = (*NAMED, *get_args(Attribute), *get_args(Step), Store, Layout, Place, Program)
MADE: dict[str, Callable[..., object]] = {one.__name__: one for one in RECORDS}
MADE |= {"Expr": form.make, "Program": partial(Program, constants={})}


def _fields(record: type) -> dict[str, object]:
    """The types of a record's fields; the arrays of constants stand beside the text."""
    hints = get_type_hints(record, None, {"Int": Int, "Computed": Expr})
    return {name: hint for name, hint in hints.items() if name not in ("free", "constants")}


FIELDS = {one.__name__: _fields(one) for one in RECORDS}

# --- printing -------------------------------------------------------------------------------


def print_program(program: Program) -> str:
    """The program as text; the arrays of its constants stand beside it."""
    printer = _Printer()
    printer.lines.append(printer.text(program))
    return "\n".join(printer.lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Printer:
    """The lines so far, and the names that they define."""

    lines: list[str] = field(default_factory=list)
    names: dict[object, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(DTYPES))

    def text(self, value: object) -> str:
        """A value as it stands in a record; what has a line of its own, by its name."""
        if isinstance(value, Int):
            return " + ".join(self.term(*term) for term in terms_of(value))
        if isinstance(value, tuple):
            return _wrapped(
                "(", [self.text(one) for one in value], ",)" if len(value) == 1 else ")"
            )
        if isinstance(value, dict):
            return _wrapped("{", [f"{key!r}: {self.text(one)}" for key, one in value.items()], "}")
        if isinstance(value, str | int):
            return repr(value)
        if isinstance(value, DType):
            return value.name
        if isinstance(value, Store):
            for one in form.walk_store(value):
                self.text(one)
        if isinstance(value, NAMED) and value in self.names:
            return self.names[value]
        return self.record(value, type(value).__name__)

    def record(self, value: object, kind: str) -> str:
        """The fields of a record, which gains a line and a name if it is of those that have."""
        parts = [self.text(getattr(value, name)) for name in FIELDS[kind]]
        text = _wrapped(f"{kind}(", parts, ")")
        if not isinstance(value, NAMED):
            return text
        name = getattr(value, "name", "")
        name = name if name.isidentifier() and not iskeyword(name) else f"v{len(self.names)}"
        while name in self.taken:
            name += f"_{len(self.names)}"
        self.taken.add(name)
        self.names[value] = name
        self.lines.append(f"{name} = {text}")
        return name

    def term(self, monomial: Monomial, coefficient: int) -> str:
        """One term of an index."""
        factors = [] if coefficient == 1 and monomial else [str(coefficient)]
        for atom in monomial:
            if isinstance(atom, FloorDiv | Mod):
                sign = "//" if isinstance(atom, FloorDiv) else "%"
                factors.append(f"(({self.text(atom.top)}) {sign} ({self.text(atom.bottom)}))")
            else:
                factors.append(self.text(atom))
        return "*".join(factors)


def _wrapped(start: str, parts: list[str], end: str) -> str:
    line = start + ", ".join(parts) + end
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"{start}\n" + "".join(indent(part, "    ") + ",\n" for part in parts) + end[-1]


# --- parsing --------------------------------------------------------------------------------


def parse_program(text: str, constants: Mapping[str, Array]) -> Program:
    """The program that ``print_program`` printed; ``constants`` holds arrays by their buffers.

    Raises BadText, or BadArgument for a division that cannot be.
    """
    reader, last = _Reader(dict(DTYPES), {}), None
    try:
        for line in parse_lines(text):
            match line:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    reader.define(name, reader.record(call))
                case ast.Expr(value=ast.Call() as call):
                    last = reader.record(call)
                case _:
                    fail(line, "neither a definition nor a program")
    except RecursionError:
        raise BadText(line=1, problem="nested too deeply") from None
    if not isinstance(last, Program):
        raise BadText(line=1, problem="the last line is no program")
    return replace(last, constants={name: payload_of(one) for name, one in constants.items()})


@dataclass(frozen=True, slots=True)
class _Reader:
    """What the names of the lines so far stand for, and the sizes and indices among them."""

    values: dict[str, object]
    dims: dict[str, Dim]

    def define(self, name: str, value: object) -> None:
        """Give a name to what a line says."""
        self.values[name] = value
        if isinstance(value, Symbol | Var | Data):
            single = isinstance(value, Var) and value.extent == 1
            self.dims[name] = 0 if single else Int((((value,), 1),))

    def record(self, call: ast.Call) -> object:
        """A record of one of the classes in ``MADE``."""
        kind = call.func.id if isinstance(call.func, ast.Name) else ""
        if kind not in MADE or len(call.args) != len(FIELDS[kind]):
            fail(call, f"{ast.unparse(call)!r} is no record")
        return MADE[kind](*map(self.value, call.args, FIELDS[kind].values()))

    def value(self, tree: ast.expr, hint: object) -> object:
        """What a syntax tree spells, if it is of the type."""
        kind, inside = get_origin(hint), get_args(hint)
        value: object = None
        match tree:
            case _ if hint == int | Int:
                return read_dim(tree, self.dims)
            case _ if hint is int or hint is str or kind is Literal:
                value = literal(tree, int if hint is int else str)
            case ast.Tuple(elts=parts) if kind is tuple:
                return tuple(self.value(one, inside[0]) for one in parts)
            case ast.Dict(keys=keys, values=parts) if kind is dict:
                names = [self.value(one or tree, str) for one in keys]
                return {name: self.value(one, inside[1]) for name, one in zip(names, parts)}
            case ast.Call():
                value = self.record(tree)
            case ast.Name(id=name):
                value = self.values.get(name)
        classes = () if kind in (tuple, dict) else inside or hint
        is_of = value in inside if kind is Literal else isinstance(value, classes)  # type: ignore
        if not is_of:
            fail(tree, f"{ast.unparse(tree)!r} is not of type {hint}")
        return value


def print_layouts(program: Program) -> str:
    """The layouts of buffers that are not row-major, a line each."""
    laid = [(name, one.layout) for name, one in program.places.items()]
    return "".join(f"{name}: {lay}\n" for name, lay in laid if lay != ROW_MAJOR)
