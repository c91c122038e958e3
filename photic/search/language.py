"""The values of the index form as terms of egglog, and back.

A term is a ``Leaf`` (a load, number, iota or index condition, by its place in a ``Table``) or an
operation. Products of floats are multisets (``Prod dtype factors``), two factors at translation;
other commutative operations are two-element multisets (``Pair op dtype operands``), which commute
and never associate: ``(x + c) - c`` stays. ``Fold`` is the sum of a value that holds a factor
relative to an extremum (``Running``). Terms that evaluate equal to their value come back; which
of equal terms is taken is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce as folded
from importlib.resources import files

from photic.ir import index as form
from photic.ir.dim import Dim, Var, add, bounds, mul
from photic.ir.dtype import DTYPES, INT32, DType
from photic.ir.index import Buffer, Expr, Order, Over, Position
from photic.ir.walk import parts_first

# Sorts and facts as egglog text. Terms of a run stand between them: after rules each costs ten
# times as long.
SORTS, FACTS = (
    files(__package__).joinpath("values.egg").read_text("utf-8").split("; --- facts", maxsplit=1)
)
CONSTRUCTORS = frozenset(["Leaf", "Un", "Bin", "Select", "Cast", "Prod", "Pair", "Reduce", "Fold"])
COMMUTATIVE = frozenset({"add", "mul", "maximum"})


@dataclass(frozen=True, slots=True)
class ENode:
    """An operation on classes; ``attributes`` are its names and numbers, multisets are flat.

    A ``Fold`` has the attributes (op, axis) and the children r, a, p, guarded p, weight, once,
    body: see ``rules/folds.py``.
    """

    op: str
    attributes: tuple[str | int, ...]
    children: tuple[int, ...]


@dataclass(slots=True)
class Table:
    """What terms refer to: leaves by number, axes by name."""

    leaves: list[Expr] = field(default_factory=list)
    axes: dict[str, Var] = field(default_factory=dict)


# ``old`` and ``new`` stand for values yet to be given: the old and new extremum of a weight.
_KNOWN: dict[str, Callable[[DType], Expr]] = {
    "zero": form.zero,
    "one": lambda dtype: form.number(1, dtype),
    "lowest": form.lowest,
    "old": lambda dtype: form.load(Buffer("old", (), dtype), ()),
    "new": lambda dtype: form.load(Buffer("new", (), dtype), ()),
}


def encode(roots: Iterable[Expr]) -> tuple[str, Table]:
    """The facts of some values as egglog text; value number n is ``(root n)``."""
    roots = tuple(roots)
    table, names = Table(), dict[Expr, str]()
    values = [one for root in roots for one in operations(root)]
    dtypes = dict.fromkeys(
        one.dtype for one in values if one.op == "max" or one.dtype.kind != "int"
    )
    known = {(key, dtype): make(dtype) for dtype in dtypes for key, make in _KNOWN.items()}
    conditions = _conditions(values)
    values = [*conditions.values(), *values]
    opposites = {one: form.negation(one) for one in values if isinstance(one.attribute, Order)}
    values = list(dict.fromkeys([*values, *opposites.values(), *known.values()]))
    for one in values:
        axes = one.free | ({one.attribute.axis} if isinstance(one.attribute, Over) else set())
        table.axes.update({axis.name: axis for axis in sorted(axes, key=lambda axis: axis.name)})
    lines = [f'(axis "{axis}")' for axis in _asked(values)]
    for one in values:
        names[one] = f"$_{len(names)}"
        term = names[conditions[one]] if one in conditions else _term(one, names, table)
        lines += [f"(let {names[one]} {term})", *_facts(one, names[one])]
    pairs = [pair for one, other in opposites.items() for pair in ((one, other), (other, one))]
    lines += [f"(opposite {names[one]} {names[other]})" for one, other in pairs]
    lines += [f'(set (known "{k}" "{d}") {names[one]})' for (k, d), one in known.items()]
    lines += [f"(set (root {number}) {names[one]})" for number, one in enumerate(roots)]
    return "\n".join(lines), table


def operations(root: Expr) -> Iterator[Expr]:
    """The values that a root is made of, children first; not those inside data indices."""
    return parts_first([root], lambda one: one.children, ())


_ON_INDICES: dict[str, Callable[..., Dim]] = {"add": add, "mul": mul, "cast": lambda index: index}


def _conditions(values: Iterable[Expr]) -> dict[Expr, Expr]:
    """The index condition that a comparison of whole numbers is, where both are indices."""
    found: dict[Expr, Expr] = {}
    indices: dict[Expr, Dim] = {}
    for one in values:
        operands = [indices[child] for child in one.children if child in indices]
        if len(operands) < len(one.children):
            continue
        if one.op == "less_than":
            found[one] = form.less(*operands)
        index = _index(one, operands)
        low, high = bounds(index) if index is not None else (1, 0)
        if index is not None and one.dtype.low <= low and high <= one.dtype.high:
            indices[one] = index
    return found


def _index(one: Expr, operands: list[Dim]) -> Dim | None:
    """The index that a whole number is if it does not wrap around."""
    if isinstance(one.attribute, Position):
        return one.attribute.index
    if one.dtype.kind == "int" and one.op in _ON_INDICES:
        return _ON_INDICES[one.op](*operands)
    return int(form.value_of(one)) if one.op == "number" and one.dtype.kind == "int" else None


def _asked(values: Iterable[Expr]) -> dict[str, None]:
    """What ``indep`` can be asked for: axes that a reduction binds, and maxima over them."""
    found: dict[str, None] = {}
    for one in values:
        if isinstance(one.attribute, Over):
            name = one.attribute.axis.name
            found |= dict.fromkeys([name, f"max {name}"] if one.op == "max" else [name])
    return found


def _term(one: Expr, names: dict[Expr, str], table: Table) -> str:
    children = " ".join(names[child] for child in one.children)
    if not one.children:
        table.leaves.append(one)
        return f"(Leaf {len(table.leaves) - 1})"
    if isinstance(one.attribute, Over):
        return f'(Reduce "{one.op}" "{one.attribute.axis.name}" {children})'
    if one.op == "mul" and one.dtype.kind == "float":
        return f'(Prod "" "{one.dtype}" (multiset-of {children}))'
    if one.op in COMMUTATIVE:
        return f'(Pair "{one.op}" "{one.dtype}" (multiset-of {children}))'
    if one.op == "cast":
        return f'(Cast "{one.dtype}" {children})'
    if one.op == "select":
        return f"(Select {children})"
    return f'({"Un" if len(one.children) == 1 else "Bin"} "{one.op}" {children})'


def _facts(one: Expr, name: str) -> Iterator[str]:
    """What rules may know of a leaf; facts of operations are derived."""
    if one.children:
        return
    yield f'(set (dtype {name}) "{one.dtype}")'
    free = " ".join(sorted(f'"{axis.name}"' for axis in one.free))
    yield f"(depends {name} (set-of {free}))"
    low, high = bounds(one.attribute.index) if isinstance(one.attribute, Position) else (-1, 0)
    if low >= 0 and high <= INT32.high:
        yield f"(nonnegative {name})"
    if one.op == "number":
        value = float(form.value_of(one))
        text = repr(value) if math.isfinite(value) else "NaN" if value != value else f"{value}"
        yield f"(set (number {name}) {text})"
        yield f'(set (literal {name}) "{one.dtype} {value.hex()}")'


# --- back -----------------------------------------------------------------------------------


def decode(node: ENode, children: tuple[Expr, ...], table: Table) -> Expr:
    """The value of an operation on values (not of a ``Fold``)."""
    if node.op == "Leaf":
        return table.leaves[int(node.attributes[0])]
    if node.op == "Prod":
        # what depends on fewer axes first: such products are computed outside inner loops
        factors = sorted(children, key=lambda one: (len(one.free), one.op != "number"))
        return folded(lambda x, y: form.binary("mul", x, y), factors)
    if node.op == "Select":
        return form.select(*children)
    name = str(node.attributes[0])
    if node.op == "Cast":
        return form.cast(children[0], DTYPES[name])
    if node.op == "Reduce":
        return form.reduce(name, table.axes[str(node.attributes[1])], children[0])
    return form.unary(name, *children) if node.op == "Un" else form.binary(name, *children)
