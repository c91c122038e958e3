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

from photic.ir import index as form
from photic.ir.dim import Var
from photic.ir.dtype import DTYPES, DType
from photic.ir.index import Buffer, Expr, Over
from photic.search.rules.record import all_independent

# A ``literal`` or a ``dtype`` that disagrees within one class stops the run: a rule is wrong.
SORTS = """
(ruleset normal) (ruleset step)
(datatype* (E (Leaf i64) (Un String E) (Bin String E E) (Select E E E) (Cast String E)
  (Prod String String M) (Pair String String M) (Reduce String String E) (Fold String String R E))
 (R (Running String E E E E E E)) (sort M (MultiSet E)))
(sort ToUnit (UnstableFn (E) Unit)) (sort ToPlace (UnstableFn (M E) i64))
(relation axis (String)) (sort Axes (Set String)) (relation depends (E Axes))
(function indep (String E) Unit :no-merge)
(function at (M E) i64 :merge old)
(relation part (M E M)) (relation two (M E E))
(function literal (E) String :no-merge) (function dtype (E) String :no-merge)
(function number (E) f64 :merge old)
(function known (String String) E :no-merge)
(relation relative (E R)) (function root (i64) E :no-merge)
(relation floating (String)) (floating "float64") (floating "float32")
"""

CONSTRUCTORS = frozenset(["Leaf", "Un", "Bin", "Select", "Cast", "Prod", "Pair", "Reduce", "Fold"])
# Facts only grow; they are saturated before every step. (part s x q): the multiset s is x and q.
# (two s x y): it is x and y. A maximum over k inside is noted as if it were an axis "max k".
_FACTS = """
((= e (Prod f d s))) ((unstable-multiset-fill-index s (unstable-fn "at")))
((= e (Pair o d s))) ((unstable-multiset-fill-index s (unstable-fn "at")))
((= i (at s x))) ((part s x (multiset-remove s x)))
((part s x q) (= 1 (multiset-length q))) ((two s x (multiset-pick q)))
((depends x a) (axis j) (set-not-contains a j)) ((set (indep j x) ()))
((= e (Un o a)) (indep j a)) ((set (indep j e) ()))
((= e (Bin o a b)) (indep j a) (indep j b)) ((set (indep j e) ()))
((= e (Select c a b)) (indep j c) (indep j a) (indep j b)) ((set (indep j e) ()))
((= e (Cast d a)) (indep j a)) ((set (indep j e) ()))
((= e (Prod f d s)) (part s x q) (indep j x) {all}) ((set (indep j e) ()))
((= e (Pair o d s)) (part s x q) (indep j x) {all}) ((set (indep j e) ()))
((= e (Reduce o k a))) ((set (indep k e) ()))
((= e (Reduce o k a)) (indep j a) (!= j (+ o (+ " " k)))) ((set (indep j e) ()))
((= e (Un o a)) (= d (dtype a))) ((set (dtype e) d))
((= e (Bin o a b)) (= d (dtype a)) (!= o "less_than")) ((set (dtype e) d))
((= e (Bin "less_than" a b))) ((set (dtype e) "bool"))
((= e (Select c a b)) (= d (dtype a))) ((set (dtype e) d))
((= e (Cast d a))) ((set (dtype e) d))
((= e (Prod f d s))) ((set (dtype e) d))
((= e (Pair o d s))) ((set (dtype e) d))
((= e (Reduce o k a)) (= d (dtype a))) ((set (dtype e) d))
""".format(all=all_independent("j", "s"))
FACTS = "\n".join(f"(rule {line} :ruleset normal)" for line in _FACTS.strip().splitlines())

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


def place_of(name: str, dtype: DType) -> Expr:
    """A leaf that stands for a value yet to be given (the old and new extremum of a weight)."""
    return form.load(Buffer(name, (), dtype), ())


_KNOWN: dict[str, Callable[[DType], Expr]] = {
    "zero": form.zero,
    "one": lambda dtype: form.number(1, dtype),
    "lowest": form.lowest,
    "old": lambda dtype: place_of("old", dtype),
    "new": lambda dtype: place_of("new", dtype),
}


def encode(roots: Iterable[Expr]) -> tuple[str, Table]:
    """The facts of some values as egglog text; value number n is ``(root n)``."""
    roots = tuple(roots)
    table, names = Table(), dict[Expr, str]()
    values = [one for root in roots for one in operations(root)]
    dtypes = dict.fromkeys(one.dtype for one in values if one.dtype.kind != "int")
    known = {(key, dtype): make(dtype) for dtype in dtypes for key, make in _KNOWN.items()}
    values = list(dict.fromkeys([*values, *known.values()]))
    for one in values:
        axes = one.free | ({one.attribute.axis} if isinstance(one.attribute, Over) else set())
        table.axes.update({axis.name: axis for axis in sorted(axes, key=lambda axis: axis.name)})
    lines = [f'(axis "{axis}")' for axis in _asked(values)]
    for one in values:
        names[one] = f"$_{len(names)}"
        lines += [f"(let {names[one]} {_term(one, names, table)})", *_facts(one, names[one])]
    lines += [f'(set (known "{k}" "{d}") {names[one]})' for (k, d), one in known.items()]
    lines += [f"(set (root {number}) {names[one]})" for number, one in enumerate(roots)]
    return "\n".join(lines), table


def operations(root: Expr) -> Iterator[Expr]:
    """The values that a root is made of, children first; not those inside data indices."""
    seen: set[Expr] = set()
    stack = [(root, False)]
    while stack:
        one, is_ready = stack.pop()
        if is_ready:
            yield one
        elif one not in seen:
            seen.add(one)
            stack += [(one, True), *((child, False) for child in one.children)]


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
        return folded(lambda x, y: form.binary("mul", x, y), _hoistable_first(children))
    if node.op == "Select":
        return form.select(*children)
    name = str(node.attributes[0])
    if node.op == "Cast":
        return form.cast(children[0], DTYPES[name])
    if node.op == "Reduce":
        return form.reduce(name, table.axes[str(node.attributes[1])], children[0])
    return form.unary(name, *children) if node.op == "Un" else form.binary(name, *children)


def _hoistable_first(factors: tuple[Expr, ...]) -> list[Expr]:
    """Factors that depend on fewer axes first: their product is computed outside inner loops."""
    return sorted(factors, key=lambda one: (len(one.free), one.op != "number"))
