"""Lines of C-like text, names that do not repeat, and the spelling of indices and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from photic.codegen.dialect import Need
from photic.ir.dim import Atom, Data, Dim, FloorDiv, Mod, Symbol, bounds, terms_of
from photic.ir.dtype import DType
from photic.ir.index import Expr, value_of

INT64_MIN = -(2**63)


@dataclass(slots=True)
class Words:
    """Text under construction, the prelude functions it calls, and fresh names."""

    lines: list[str] = field(default_factory=list)
    indent: int = 0
    needs: set[Need] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def line(self, text: str) -> None:
        """One line at the current indentation."""
        self.lines.append("  " * self.indent + text)

    def close(self) -> None:
        """The end of a brace."""
        self.indent -= 1
        self.line("}")

    def fresh(self) -> str:
        """A name not used before."""
        return f"_{next(self.numbers)}"

    def call(self, op: str, dtype: str, lanes: int, *arguments: str) -> str:
        """A call of a prelude function, which is noted as needed."""
        self.needs.add((op, dtype, lanes))
        return f"{op}_{dtype}x{lanes}({', '.join(arguments)})"

    def type(self, dtype: str, lanes: int) -> str:
        """The type of a value."""
        self.needs.add(("type", dtype, lanes))
        return f"{dtype}x{lanes}"


def dim_text(value: Dim, data: Callable[[Data], str] | None = None) -> str:
    """An index as an int64 expression; ``data`` names the value of an index read from data."""
    if isinstance(value, int):
        return f"{value}ll" if value != INT64_MIN else "(-9223372036854775807ll - 1)"
    parts = []
    for monomial, coefficient in terms_of(value):
        factors = [_atom_text(atom, data) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.append(f"{coefficient}ll")
        parts.append("*".join(factors))
    return "(" + " + ".join(parts) + ")"


def _atom_text(atom: Atom, data: Callable[[Data], str] | None) -> str:
    if isinstance(atom, FloorDiv | Mod):
        top, bottom = dim_text(atom.top, data), dim_text(atom.bottom, data)
        sign = "/" if isinstance(atom, FloorDiv) else "%"
        if bounds(atom.top)[0] >= 0 and bounds(atom.bottom)[0] > 0:
            return f"({top} {sign} {bottom})"
        return f"floor_{'div' if sign == '/' else 'mod'}({top}, {bottom})"
    if isinstance(atom, Data):
        assert data is not None
        return data(atom)
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
    if dtype.is_half:
        return f"{np.array(value).astype(dtype.numpy).view(np.uint16).item():#06x}"
    return _float_text(float(value), dtype)


def _float_text(value: float, dtype: DType) -> str:
    suffix = "f" if dtype.bytes == 4 else ""
    if value != value:
        return f'__builtin_nan{suffix}("")'
    if value in (float("inf"), float("-inf")):
        return f"({'-' if value < 0 else ''}__builtin_inf{suffix}())"
    rounded = float(np.float32(value)) if dtype.bytes == 4 else value
    return f"({rounded.hex()}{suffix})"
