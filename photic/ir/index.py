"""The index form: a region of the graph with its views dissolved into index arithmetic.

A ``Store`` says ``buffer[index] = value`` for every point of its axes; a list of stores is the
meaning of one kernel. Values are hash-consed ``Expr``: equal ones are the same object. The
constructors apply only laws that are exact to the bit in every dtype. A ``select`` by an index
condition guards the loads inside it. A reduction binds one variable, and no two reductions of a
store bind the same one. Nothing here knows loops or machines.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import TypeAlias

from photic.ir import dim as dims
from photic.ir.dim import Atom, Data, Dim, Var, add, at_most, atoms, data, mul, variables
from photic.ir.dtype import BOOL, INT64, DType
from photic.ir.walk import parts_first

SHOWN_VALUES = 16  # a value inside an index with more parts is shown by its digest
WALKS = 4096  # values whose parts are remembered
LONG_TEXT = 32  # characters; a value used twice whose text is longer is printed once


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named array: inputs, outputs, states, constants and intermediate values alike."""

    name: str
    shape: tuple[Dim, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Access:
    """The attribute of a load: which element of which buffer."""

    buffer: Buffer
    index: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """The attribute of a number: ``float.hex`` or integer text, so that nan and -0.0 hash."""

    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """The attribute of ``iota``: an index whose value this is."""

    index: Dim


@dataclass(frozen=True, slots=True)
class Order:
    """The attribute of ``less``: the index condition ``0 < gap``."""

    gap: Dim


@dataclass(frozen=True, slots=True)
class Over:
    """The attribute of a reduction: the variable that it binds."""

    axis: Var


@dataclass(frozen=True, slots=True)
class Plain:
    """The attribute of an operation that needs none."""


Attribute: TypeAlias = Access | Literal | Position | Order | Over | Plain
PLAIN = Plain()
Build: TypeAlias = Callable[["Expr", tuple["Expr", ...], Callable[[Dim], Dim]], "Expr"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, repr=False)
class Expr:
    """One value at one point: an operation on other values. Use the functions below to build it.

    ``op``: load number iota less, the primitives, maximum (binary), cast, select; ``sum`` and
    ``max`` reduce over their attribute's axis. ``free`` are the variables it depends on.
    """

    op: str
    children: tuple[Expr, ...]
    attribute: Attribute
    dtype: DType
    free: frozenset[Var]

    def __repr__(self) -> str:
        return _text(self)

    def substitute(self, table: Mapping[Atom, Dim]) -> Expr:
        """The same value with index atoms replaced."""
        return substitute_expr(self, table)

    def variables(self) -> set[Var]:
        """The variables it depends on."""
        return set(self.free)

    def shown(self) -> str:
        """Its text, or a digest of it where that is long: equal for equal values only."""
        few = list(islice(walk(self), SHOWN_VALUES + 1))
        return str(self) if len(few) <= SHOWN_VALUES else _digest(self)


_interned: weakref.WeakValueDictionary[tuple[object, ...], Expr] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def make(op: str, children: tuple[Expr, ...], attribute: Attribute, dtype: DType) -> Expr:
    """Exactly this value, no law applied: for those who know that none does."""
    key = (op, children, attribute, dtype)
    with _lock:
        found = _interned.get(key)
        if found is None:
            found = Expr(op, children, attribute, dtype, _free(children, attribute))
            _interned[key] = found
        return found


def _free(children: tuple[Expr, ...], attribute: Attribute) -> frozenset[Var]:
    own = (variables(dim) for dim in dims_of(attribute))
    found = frozenset[Var]().union(*own, *(child.free for child in children))
    return found - {attribute.axis} if isinstance(attribute, Over) else found


def dims_of(attribute: Attribute) -> tuple[Dim, ...]:
    """The indices that an attribute mentions, extents of reductions aside."""
    if isinstance(attribute, Access):
        return attribute.index
    if isinstance(attribute, Position):
        return (attribute.index,)
    if isinstance(attribute, Order):
        return (attribute.gap,)
    return ()


# --- constructors ---------------------------------------------------------------------------


def load(buffer: Buffer, index: Iterable[Dim]) -> Expr:
    """``buffer[index]``."""
    return make("load", (), Access(buffer, tuple(index)), buffer.dtype)


def number(value: float, dtype: DType) -> Expr:
    """A number of the dtype (float, int or bool according to its kind)."""
    text = float(value).hex() if dtype.kind == "float" else str(int(value))
    return make("number", (), Literal(text), dtype)


def value_of(literal: Expr) -> float | int:
    """The Python number of a ``number``."""
    assert isinstance(literal.attribute, Literal)
    text = literal.attribute.text
    return float.fromhex(text) if literal.dtype.kind == "float" else int(text)


TRUE, FALSE = number(1, BOOL), number(0, BOOL)


def zero(dtype: DType) -> Expr:
    """The identity of ``add``, which a mask gives where it is false: -0.0, 0, False."""
    return number(-0.0 if dtype.kind == "float" else 0, dtype)


def lowest(dtype: DType) -> Expr:
    """The identity of ``max``: -inf, the smallest integer, False."""
    return number(float("-inf") if dtype.kind == "float" else dtype.low, dtype)


def iota(index: Dim) -> Expr:
    """The value of an index as int64."""
    return (
        number(index, INT64) if isinstance(index, int) else make("iota", (), Position(index), INT64)
    )


def less(left: Dim, right: Dim) -> Expr:
    """The index condition ``left < right``, decided now where the ranges allow it."""
    return positive(add(right, mul(left, -1)))


def positive(gap: Dim) -> Expr:
    """The index condition ``0 < gap``."""
    if at_most(1, gap):
        return TRUE
    if at_most(gap, 0):
        return FALSE
    return make("less", (), Order(gap), BOOL)


def inside(value: Dim, extent: Dim) -> Expr:
    """The index condition ``0 <= value < extent``."""
    return both(less(-1, value), less(value, extent))


def unary(op: str, value: Expr) -> Expr:
    """exp2 log2 sin sqrt recip."""
    return make(op, (value,), PLAIN, value.dtype)


def both(left: Expr, right: Expr) -> Expr:
    """The conjunction of two conditions, each term of it once."""
    every = dict.fromkeys((*conjuncts(left), *conjuncts(right)))
    terms = [term for term in every if term is not TRUE]
    if any(term is FALSE or negation(term) in every for term in terms):
        return FALSE
    result = TRUE
    for term in terms:
        result = term if result is TRUE else make("mul", (result, term), PLAIN, BOOL)
    return result


def either(left: Expr, right: Expr) -> Expr:
    """The disjunction of two conditions."""
    if left is FALSE or right is TRUE or left is right:
        return right
    if right is FALSE or left is TRUE:
        return left
    if negation(left) is right:
        return TRUE
    return make("add", (left, right), PLAIN, BOOL)


def negation(condition: Expr) -> Expr:
    """The condition's opposite: ``condition < true``."""
    if condition in (TRUE, FALSE):
        return FALSE if condition is TRUE else TRUE
    if isinstance(condition.attribute, Order):
        return positive(add(1, mul(condition.attribute.gap, -1)))
    if condition.op == "less_than" and condition.children[1] is TRUE:
        return condition.children[0]
    if condition.op == "add":
        return both(negation(condition.children[0]), negation(condition.children[1]))
    return make("less_than", (condition, TRUE), PLAIN, BOOL)


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """add, mul, mod, less_than or maximum of one dtype."""
    if left.dtype == BOOL:
        return OF_BOOLS[op](left, right)
    if op == "add":
        return _add(left, right)
    a, b = _position(left), _position(right)
    if op == "less_than" and a is not None and b is not None:
        return less(a, b)
    return make(op, (left, right), PLAIN, BOOL if op == "less_than" else left.dtype)


OF_BOOLS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "mul": both,
    "add": either,
    "maximum": either,
    "less_than": lambda left, right: both(negation(left), right),
}


def _position(value: Expr) -> Dim | None:
    """The index whose value this is, if it is one (small integers included)."""
    if isinstance(value.attribute, Position):
        return value.attribute.index
    if value.op == "number" and value.dtype == INT64:
        return int(value_of(value))
    return None


def _add(left: Expr, right: Expr) -> Expr:
    """The sum; -0.0 is its identity. That of two indices is an index."""
    a, b = _position(left), _position(right)
    if a is not None and b is not None and max(map(abs, dims.bounds(add(a, b)))) <= INT64.high:
        return iota(add(a, b))
    for one, other in ((left, right), (right, left)):
        joined = other if one is zero(one.dtype) else _either_or(one, other)
        if joined is not None:
            return joined
    return make("add", (left, right), PLAIN, left.dtype)


def _either_or(one: Expr, other: Expr) -> Expr | None:
    """``select(c and d, a, 0) + select(not c, b, 0)`` as ``select(c, select(d, a, 0), b)``."""
    if any(x.op != "select" or x.children[2] is not zero(x.dtype) for x in (one, other)):
        return None
    opposite = negation(other.children[0])
    have, needed = conjuncts(one.children[0]), conjuncts(opposite)
    if not all(term in have for term in needed):
        return None
    inner = TRUE
    for term in have:
        inner = inner if term in needed else both(inner, term)
    return select(opposite, select(inner, *one.children[1:]), other.children[1])


def cast(value: Expr, dtype: DType) -> Expr:
    """The value in another dtype. There and back is no cast; what a mask leaves out stays out."""
    if value.dtype == dtype:
        return value
    is_alike = value.dtype.kind == dtype.kind != "bool"
    is_back = value.op == "cast" and value.children[0].dtype == dtype
    if is_alike and is_back and value.dtype.bytes > dtype.bytes:
        return value.children[0]
    if is_alike and value.op == "select" and value.children[2] is zero(value.dtype):
        return select(value.children[0], cast(value.children[1], dtype), zero(dtype))
    if is_alike and value.op == "select" and value.dtype.bytes > dtype.bytes:
        inner = [one.children[0] for one in value.children[1:] if one.op == "cast"]
        if [one.dtype for one in inner] == [dtype, dtype]:
            return select(value.children[0], *inner)
    return make("cast", (value,), PLAIN, dtype)


def select(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """``yes`` where the condition holds, else ``no``."""
    if condition is TRUE or yes is no:
        return yes
    if condition is FALSE:
        return no
    if yes.op == "select" and yes.children[2] is no:
        return select(both(condition, yes.children[0]), yes.children[1], no)
    if no is FALSE:
        return both(condition, yes)
    if no is TRUE and yes is FALSE:
        return negation(condition)
    return make("select", (condition, yes, no), PLAIN, yes.dtype)


def reduce(op: str, axis: Var, value: Expr) -> Expr:
    """``sum`` or ``max`` over the axis; a sum of one point is taken there (``one_point``)."""
    if axis.extent == 0:
        return number(0, value.dtype) if op == "sum" else lowest(value.dtype)
    if op == "sum" or value.dtype == BOOL:
        return one_point(axis, value)
    return make(op, (value,), Over(axis), value.dtype)


def reduction(value: Expr) -> tuple[tuple[Var, ...], Expr]:
    """The axes of nested reductions of one kind, and what is reduced; none for other values."""
    axes: list[Var] = []
    inner = value
    while isinstance(inner.attribute, Over) and inner.op == value.op:
        axes.append(inner.attribute.axis)
        inner = inner.children[0]
    return tuple(axes), inner


def one_point(axis: Var, value: Expr) -> Expr:
    """``sum_k select(k == e and rest, f(k), -0)`` is ``select(0 <= e < K and rest, f(e), -0)``.

    Exact: every other term is -0.0, the identity of ``add``; without any term the sum is +0.0. A
    sum against a one-hot is a load. Bools, whose sum and max are both ``or``, are conditions.
    """
    condition, taken = (value, TRUE) if value.dtype == BOOL else (TRUE, value)
    if value.op == "select" and value.children[2] is zero(value.dtype):
        condition, taken = value.children[:2]
    terms = conjuncts(condition)
    for low, high in product(terms, terms):
        at = pinned(axis, low, high)
        if at is not None:
            return _taken(axis, at, [one for one in terms if one not in (low, high)], taken)
    return make("sum", (value,), Over(axis), value.dtype)


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions whose conjunction this is."""
    if condition.op != "mul":
        return [condition]
    return [term for child in condition.children for term in conjuncts(child)]


def pinned(axis: Var, low: Expr, high: Expr) -> Dim | None:
    """``e`` if ``low`` says e <= k and ``high`` says k <= e, with e free of the axis."""
    k = dims.var(axis.name, axis.extent)
    if isinstance(low.attribute, Order) and isinstance(high.attribute, Order):
        e = add(add(k, 1), mul(low.attribute.gap, -1))
        pinned = add(low.attribute.gap, high.attribute.gap) == 2 and axis not in variables(e)
        return e if pinned else None
    above, below = negation(low), negation(high)
    if not (above.op == below.op == "less_than" and above.children == below.children[::-1]):
        return None
    place, value = above.children
    if _position(_uncast(place)) != k or axis in value.free or value.dtype.kind != "int":
        return None
    return data(value, value.dtype.low, value.dtype.high)


def _uncast(value: Expr) -> Expr:
    """The index whose value a cast to an integer holds, if it does not wrap around."""
    if value.op == "cast" and value.dtype.kind == "int":
        place = _position(value.children[0])
        if place is not None and at_most(place, value.dtype.high):
            return value.children[0]
    return value


def _taken(axis: Var, at: Dim, rest: list[Expr], value: Expr) -> Expr:
    """The one term of a sum; of the other conditions, those stay first that guard ``at``."""
    table: dict[Atom, Dim] = {axis: at}
    guards = [one for one in rest if axis not in one.free]
    condition = TRUE
    for one in (*guards, inside(at, axis.extent), *(substitute_expr(one, table) for one in rest)):
        condition = both(condition, one)
    taken = select(condition, substitute_expr(value, table), zero(value.dtype))
    return select(positive(axis.extent), taken, number(0, value.dtype))


# --- walking --------------------------------------------------------------------------------


def rebuilt(expr: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
    """The same operation on other children and indices, through the constructors."""
    attribute = expr.attribute
    if isinstance(attribute, Access):
        return load(attribute.buffer, map(dim, attribute.index))
    if isinstance(attribute, Position):
        return iota(dim(attribute.index))
    if isinstance(attribute, Order):
        return positive(dim(attribute.gap))
    if isinstance(attribute, Over):
        axis = Var(attribute.axis.name, dim(attribute.axis.extent))
        return reduce(expr.op, axis, children[0])
    if expr.op == "number":
        return expr
    if expr.op == "cast":
        return cast(children[0], expr.dtype)
    if expr.op == "select":
        return select(*children)
    return unary(expr.op, children[0]) if len(children) == 1 else binary(expr.op, *children)


def rewritten(root: Expr, table: Mapping[Atom, Dim], build: Build) -> Expr:
    """``build(value, children rebuilt, map of indices)`` for every value, children first.

    Indices have atoms replaced by ``table``; what they read from data is rebuilt as well.
    """
    done: dict[Expr, Expr] = {}
    known = dict(table)

    def dim(one: Dim) -> Dim:
        return dims.substitute(one, known)

    for one in walk(root):
        for atom, inner in data_in(dims_of(one.attribute)):
            known.setdefault(atom, data(done[inner], atom.low, atom.high))
        done[one] = build(one, tuple(done[child] for child in one.children), dim)
    return done[root]


def replaced(root: Expr, table: Mapping[Expr, Expr]) -> Expr:
    """The same value with some of the values inside it replaced."""

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        return table[one] if one in table else rebuilt(one, children, dim)

    return rewritten(root, {}, build)


def substitute_expr(expr: Expr, table: Mapping[Atom, Dim]) -> Expr:
    """Replace index atoms everywhere, in the extents of variables too."""
    axes = {atom for atom in table if isinstance(atom, Var)}
    is_by_axes = len(axes) == len(table)

    def is_kept(one: Expr) -> bool:
        return is_by_axes and not (
            one.free & axes or any(dim_depends(axis.extent, axes) for axis in one.free)
        )

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        return one if is_kept(one) else rebuilt(one, children, dim)

    return expr if is_kept(expr) else rewritten(expr, table, build)


def renamed(expr: Expr, table: Mapping[Atom, Dim], buffers: Mapping[Buffer, Buffer]) -> Expr:
    """The value over other buffers and variables (those of reductions included)."""

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        attribute = one.attribute
        if isinstance(attribute, Access):
            return load(buffers[attribute.buffer], map(dim, attribute.index))
        if isinstance(attribute, Over):
            (axis,) = variables(table[attribute.axis])
            return make(one.op, children, Over(axis), one.dtype)
        return rebuilt(one, children, dim)

    return rewritten(expr, table, build)


def data_in(index: Iterable[Dim]) -> Iterator[tuple[Data, Expr]]:
    """The atoms of indices that are read from data, each with its value."""
    for dim in index:
        for atom in atoms(dim):
            if isinstance(atom, Data) and isinstance(atom.value, Expr):
                yield atom, atom.value


def dim_depends(value: Dim, axes: Iterable[Var]) -> bool:
    """True if an index depends on any of the variables."""
    return bool(variables(value) & set(axes))


def walk(*roots: Expr) -> Iterator[Expr]:
    """Every value inside, once, children first; values inside data indices included."""
    return iter(_walked(*roots))


@lru_cache(maxsize=WALKS)
def _walked(*roots: Expr) -> tuple[Expr, ...]:
    return tuple(parts_first(roots, _parts, ()))


def _parts(one: Expr) -> tuple[Expr, ...]:
    return (*one.children, *(value for _, value in data_in(dims_of(one.attribute))))


def walk_store(store: Store) -> Iterator[Expr]:
    """As ``walk``, for the value of a store and what its index reads."""
    return walk(store.value, *(value for _, value in data_in(store.index)))


def dims_in(expr: Expr) -> Iterator[Dim]:
    """Every index and extent that the value mentions."""
    for one in walk(expr):
        yield from dims_of(one.attribute)
        if isinstance(one.attribute, Over):
            yield one.attribute.axis.extent


def loads(expr: Expr) -> Iterator[Access]:
    """Every load of the value."""
    return (one.attribute for one in walk(expr) if isinstance(one.attribute, Access))


def loads_inside(value: Expr) -> Iterator[tuple[Access, tuple[Var, ...]]]:
    """Each load with the reductions around it, the innermost first."""
    seen, stack = set[tuple[Expr, tuple[Var, ...]]](), [(value, tuple[Var, ...]())]
    while stack:
        one, bound = key = stack.pop()
        if key in seen:
            continue
        seen.add(key)
        if isinstance(one.attribute, Access):
            yield one.attribute, bound
        if isinstance(one.attribute, Over):
            bound = (one.attribute.axis, *bound)
        stack += [(child, bound) for child in one.children]


def is_in_range(one: Expr) -> bool:
    """True if this is no load, or one whose index is provably inside its buffer."""
    access = one.attribute
    return not isinstance(access, Access) or all(
        map(dims.is_within, access.index, access.buffer.shape)
    )


@dataclass(frozen=True, slots=True)
class Store:
    """``buffer[index] = value`` for all points of ``axes``; ``index`` is one-to-one over them."""

    buffer: Buffer
    axes: tuple[Var, ...]
    index: tuple[Dim, ...]
    value: Expr

    def __str__(self) -> str:
        axes = " ".join(f"{v.name}:{v.extent}" for v in self.axes)
        index = ", ".join(map(str, self.index))
        return f"{self.buffer.name}[{index}] = {self.value}  for {axes}"


def bound(store: Store) -> list[Var]:
    """The variables that the reductions of a store bind, each once."""
    reductions = (one.attribute for one in walk_store(store))
    return list(dict.fromkeys(one.axis for one in reductions if isinstance(one, Over)))


def buffers_read(store: Store) -> set[Buffer]:
    """The buffers that a store loads from."""
    return {one.attribute.buffer for one in walk_store(store) if isinstance(one.attribute, Access)}


def _text(root: Expr) -> str:
    """The value as text; long parts that are used twice stand behind it, under names."""
    parts = list(parts_first((root,), lambda one: one.children, ()))
    uses = Counter(child for one in parts for child in one.children)
    texts: dict[Expr, str] = {}
    named: list[str] = []
    for one in parts:
        texts[one] = _spelled(one, [texts[child] for child in one.children])
        if uses[one] > 1 and len(texts[one]) > LONG_TEXT:
            named.append(f"%{len(named)} = {texts[one]}")
            texts[one] = f"%{len(named) - 1}"
    return texts[root] + (f" where {', '.join(named)}" if named else "")


_digests: weakref.WeakKeyDictionary[Expr, str] = weakref.WeakKeyDictionary()


def _digest(expr: Expr) -> str:
    """A text that only an equal value has."""
    for one in walk(expr):
        if one not in _digests:
            parts = [_digests[child] for child in one.children]
            text = f"{one.dtype} {one.op} {_spelled(one, parts)}"
            _digests[one] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return _digests[expr]


def _spelled(expr: Expr, parts: list[str]) -> str:
    """An operation with the texts of its operands."""
    attribute = expr.attribute
    if isinstance(attribute, Access):
        return f"{attribute.buffer.name}[{', '.join(map(str, attribute.index))}]"
    if isinstance(attribute, Literal):
        parts = [attribute.text]
    elif isinstance(attribute, Over):
        parts = [f"{attribute.axis.name}:{attribute.axis.extent}", *parts]
    else:
        parts = [*map(str, dims_of(attribute)), *parts]
    names = {"number": expr.dtype.short, "cast": expr.dtype.short, "less": "positive"}
    return f"{names.get(expr.op, expr.op)}({', '.join(parts)})"
