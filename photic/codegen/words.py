"""Lines of C-like text, names that do not repeat, and the spelling of indices and numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

import numpy as np

from photic.ir.dim import Atom, Data, Dim, FloorDiv, Mod, Symbol, Var, bounds, terms_of
from photic.ir.index import Buffer, Expr, value_of
from photic.ir.nest import Tile
from photic.ir.program import Layout

Need = tuple[str, str, int]

INT64_MIN = -(2**63)


@dataclass(slots=True)
class Words:
    """Text under construction, the prelude functions it calls, and fresh names."""

    lines: list[str] = field(default_factory=list)
    indent: int = 0
    needs: set[Need] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def special(self, tile: Tile, layouts: Mapping[Buffer, Layout]) -> bool:
        """Print a tile in a way that only this machine has, if one fits."""
        return False

    def line(self, text: str) -> None:
        """One line at the current indentation."""
        self.lines.append("  " * self.indent + text)

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Lines inside braces, after ``head``; no ``end`` where the next head brings it."""
        self.line(f"{head} {{" if head else "{")
        self.indent += 1
        yield
        self.indent -= 1
        if end:
            self.line(end)

    def loop(self, name: str, extent: Dim) -> AbstractContextManager[None]:
        """Lines inside a loop over ``0 .. extent-1``."""
        return self.block(f"for (int64_t {name} = 0; {name} < {dim_text(extent)}; {name}++)")

    def declare(self, kind: str, text: str) -> str:
        """A new variable that begins with this value."""
        name = f"_{next(self.numbers)}"
        self.line(f"{kind} {name} = {text};")
        return name

    def call(self, op: str, dtype: str, lanes: int, *arguments: str) -> str:
        """A call of a prelude function, which is noted as needed."""
        self.needs.add((op, dtype, lanes))
        return f"{op}_{dtype}x{lanes}({', '.join(arguments)})"

    def type(self, dtype: str, lanes: int) -> str:
        """The type of a value."""
        self.needs.add(("type", dtype, lanes))
        return f"{dtype}x{lanes}"


@dataclass(frozen=True, slots=True)
class Spelled:
    """What an index reads from data, already computed: its C text."""

    text: str

    def substitute(self, table: Mapping[Atom, Dim]) -> Spelled:
        return self

    def variables(self) -> set[Var]:
        return set()

    def shown(self) -> str:
        return self.text


def dim_text(value: Dim) -> str:
    """An index as an int64 expression; what it reads from data must be ``Spelled``."""
    if isinstance(value, int):
        return f"{value}ll" if value != INT64_MIN else "(-9223372036854775807ll - 1)"
    parts = []
    for monomial, coefficient in terms_of(value):
        factors = [_atom_text(atom) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.append(f"{coefficient}ll")
        parts.append("*".join(factors))
    return "(" + " + ".join(parts) + ")"


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, FloorDiv | Mod):
        top, bottom = dim_text(atom.top), dim_text(atom.bottom)
        sign, word = ("/", "div") if isinstance(atom, FloorDiv) else ("%", "mod")
        is_plain = bounds(atom.top)[0] >= 0 and bounds(atom.bottom)[0] > 0
        return f"({top} {sign} {bottom})" if is_plain else f"floor_{word}({top}, {bottom})"
    if isinstance(atom, Data):
        assert isinstance(atom.value, Spelled)
        return atom.value.text
    return size_name(atom) if isinstance(atom, Symbol) else atom.name


def size_name(size: Symbol) -> str:
    """The C name of a symbolic size, whose own name may be any identifier."""
    return f"n_{size.name}"


def number_text(literal: Expr) -> str:
    """A number in its dtype, exact to the bit."""
    value, dtype = value_of(literal), literal.dtype
    if dtype.kind == "bool":
        return "(-1)" if value else "0"
    if dtype.kind == "int":
        return dim_text(int(value))
    stored = np.array(value).astype(dtype.numpy)
    if dtype.is_half:
        return f"{stored.view(np.uint16).item():#06x}"
    suffix = "f" if dtype.bytes == 4 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
    return f"({float(stored).hex()}{suffix})"
