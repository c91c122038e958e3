"""One region of shared axes from a run of lowered stores.

Each store has axes of its own; here they are unified. Before: ``t[a, b] = sum k: x[a, k]*y[k, b]``
and ``o[a] = max k: t[a, k]``. After: one store, ``o[x0] = max x1: sum x2: x[x0, x2]*y[x2, x1]``.
An axis is first split where an index divides it or a reader joins parts of it. Then axes are one
where a store reads an earlier one at them, and lastly where two loads see one axis of a buffer. Two
variables that one value depends on are never unified. A buffer that is read in another way stays a
load, and its store stays. Nothing here decides what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, permutations, product

from photic.forms.parts import joined, split_parts
from photic.forms.store_order import check_order
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, substitute, terms_of, var
from photic.ir.dim import product as extent_of
from photic.ir.index import Access, Expr, Over, Store
from photic.search.language import operations

Known = tuple[int, Var]  # a variable of the store of this number


def shared_axes(stores: Sequence[Store], temporary: Collection[str]) -> tuple[Store, ...]:
    """The stores that are still needed, in order, over variables of the whole region.

    ``temporary`` names buffers that nothing outside reads. A store may read what an earlier one
    wrote or the elements that it writes itself; no buffer is written again after a read, and one
    that its own store reads is read by no later one.
    """
    check_order(stores)
    stores = _split(stores)
    makers = {one.buffer.name: number for number, one in enumerate(stores)}
    axes = _Axes(stores)
    inlined: dict[tuple[int, Access], int] = {}
    loads = [(k, one) for k, store in enumerate(stores) for one in _loads(store.value)]
    for number, access in loads:
        maker = makers.get(access.buffer.name, number)
        if maker < number and axes.join(stores[maker].index, maker, access.index, number):
            inlined[number, access] = maker
    for (k, one), (m, other) in combinations(loads, 2):
        if one.buffer == other.buffer and not {(k, one), (m, other)} & inlined.keys():
            axes.join(one.index, k, other.index, m)
    names = axes.names()
    made: list[Store] = []
    for number, store in enumerate(stores):
        table = {axis: name for (k, axis), name in names.items() if k == number}
        values = {access: made[m].value for (k, access), m in inlined.items() if k == number}
        made.append(_rewritten(store, table, values))
    return _needed(made, temporary)


def _needed(stores: Sequence[Store], temporary: Collection[str]) -> tuple[Store, ...]:
    kept: list[Store] = []
    loaded: set[str] = set()
    for store in reversed(stores):
        if store.buffer.name not in temporary or store.buffer.name in loaded:
            kept.append(store)
            loaded |= {access.buffer.name for access in form.loads(store.value)}
    return tuple(reversed(kept))


def _loads(value: Expr) -> list[Access]:
    """The loads of a value; not those inside data indices."""
    return [one.attribute for one in operations(value) if isinstance(one.attribute, Access)]


# --- parts ----------------------------------------------------------------------------------


def _split(stores: Sequence[Store]) -> list[Store]:
    """Readers first: every axis split where an index divides it or a reader joins parts of it."""
    found: list[Store] = []
    for store in reversed(stores):
        for reader in found:
            for access in _loads(reader.value):
                if access.buffer == store.buffer:
                    store = _in_parts(store, access)
        found.append(split_parts(store))
    return found[::-1]


def _in_parts(store: Store, access: Access) -> Store:
    """The store with those axes in parts that a load of it joins to one index."""
    table: dict[Atom, Dim] = {}
    axes = list(store.axes)
    for own, read in zip(store.index, access.index, strict=True):
        whole, parts = _parts(own), _parts(read)
        fresh = [Var(f"{whole[0].name}_{k}", p.extent) for k, p in enumerate(parts) if whole]
        points = extent_of(one.extent for one in fresh)
        if len(whole) == 1 < len(fresh) and whole[0].extent == points:
            place = axes.index(whole[0])
            axes[place : place + 1] = fresh
            table[whole[0]] = joined(fresh)
    index = tuple(substitute(one, table) for one in store.index)
    return Store(store.buffer, tuple(axes), index, form.substitute_expr(store.value, table))


def _parts(index: Dim) -> tuple[Var, ...]:
    """The variables whose number an index is, outermost first; none where it is something else."""
    terms = sorted(terms_of(index), key=lambda term: (-len(term[0]), -term[1]))
    parts = tuple(atom for monomial, _ in terms for atom in monomial if isinstance(atom, Var))
    return parts if index == joined(parts) else ()


# --- unification ----------------------------------------------------------------------------


class _Axes:
    """Which variables of the stores are one axis; ``apart`` are pairs that never can be."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.group: dict[Known, frozenset[Known]] = {}
        self.apart: set[tuple[Known, Known]] = set()
        for number, store in enumerate(stores):
            together = [store.axes, *map(_together, operations(store.value))]
            for variables in together:
                known = [(number, axis) for axis in variables]
                self.apart.update(permutations(known, 2))
                self.group.update({one: frozenset([one]) for one in known})

    def join(self, own: Sequence[Dim], writer: int, read: Sequence[Dim], reader: int) -> bool:
        """Make one of the variables at which two stores see a buffer; False where that cannot be.

        Both indices must be numbers of variables of the same extents, place by place.
        """
        group = dict(self.group)
        for mine, theirs in zip(own, read, strict=True):
            left, right = _parts(mine), _parts(theirs)
            if [one.extent for one in left] != [one.extent for one in right]:
                return False
            if not left and not mine == theirs == 0:
                return False
            for a, b in zip(left, right, strict=True):
                one, other = group[writer, a], group[reader, b]
                if one != other and not self.apart.isdisjoint(product(one, other)):
                    return False
                group.update(dict.fromkeys(one | other, one | other))
        self.group = group
        return True

    def names(self) -> dict[Known, Var]:
        """A variable for each group, numbered by first appearance."""
        numbers: dict[frozenset[Known], int] = {}
        return {
            one: Var(f"x{numbers.setdefault(group, len(numbers))}", one[1].extent)
            for one, group in self.group.items()
        }


def _together(one: Expr) -> tuple[Var, ...]:
    """The variables that one operation tells apart."""
    bound = (one.attribute.axis,) if isinstance(one.attribute, Over) else ()
    return (*sorted(one.free, key=lambda axis: axis.name), *bound)


def _rewritten(store: Store, names: Mapping[Var, Var], values: Mapping[Access, Expr]) -> Store:
    """The store over other variables, with some loads replaced by what they load."""
    table: dict[Atom, Dim] = {old: var(new.name, new.extent) for old, new in names.items()}

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        if isinstance(one.attribute, Access) and one.attribute in values:
            return values[one.attribute]
        if isinstance(one.attribute, Over) and one.attribute.axis in names:
            return form.reduce(one.op, names[one.attribute.axis], children[0])
        return form.rebuilt(one, children, dim)

    axes = tuple(names[axis] for axis in store.axes)
    index = tuple(substitute(one, table) for one in store.index)
    return Store(store.buffer, axes, index, form.rewritten(store.value, table, build))
