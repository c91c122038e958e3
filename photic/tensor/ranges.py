"""Kernels of their own for ranges of a symbolic size.

Before: steps for any ``count`` in 1..128. With ``starts = (2, 16)`` after: steps in which ``count``
is the number 1 where it is, else steps for 2..15 where it is below 16, else steps for 16..128. What
is chosen for one range, by facts or by the search, is none of the others' business.

Promises the same results; buffers from outside are shared, temporary ones are named apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from photic.base.errors import BadArgument
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, Var, substitute, symbol, var
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Buffer, Expr, Over, Store
from photic.ir.program import (
    ROW_MAJOR,
    Branch,
    Copy,
    Kernel,
    Place,
    Program,
    Repeat,
    Step,
)
from photic.loops.share import Functions


def by_ranges(program: Program, starts: Mapping[str, Sequence[int]]) -> Program:
    """The program with kernels of their own from each start of a size on, and below the first.

    BadArgument for a size that the program does not have and for starts outside its range.
    """
    for name, firsts in starts.items():
        known = {one.name: one for one in program.sizes}
        if name not in known:
            expected = f"one of {', '.join(known) or 'no sizes'}"
            raise BadArgument(op="compile", argument="ranges", given=name, expected=expected)
        size = known[name]
        for first in firsts:
            if not size.low < first <= size.high:
                expected = f"{size.low + 1} to {size.high} for {name}"
                raise BadArgument(op="compile", argument="ranges", given=first, expected=expected)
        if firsts:
            program = _split(program, size, sorted(set(firsts)))
    return program


def _split(program: Program, size: Symbol, starts: Sequence[int]) -> Program:
    outside = {name: one for name, one in program.places.items() if one.role != "temporary"}
    functions = Functions(frozenset(one.name for one in program.sizes))
    steps: tuple[Step, ...] = ()
    for low, end in [*pairwise([size.low, *starts, size.high + 1])][::-1]:
        to = symbol(size.name, low, end - 1) if low < end - 1 else low
        made = _Range(program, functions, size, to, f"_{size.name}{low}", outside)
        body = made.steps(program.steps)
        # small sizes first: of layouts for a constant the first that a kernel wants is taken
        steps = (*made.asked(end), Branch(made.condition, body, steps)) if steps else body
    return replace(program, places=outside, functions=functions.table, steps=steps)


@dataclass(slots=True)
class _Range:
    """The steps of one range of a size, in terms of the old ones.

    ``functions`` and ``places`` grow; names of temporary buffers end in ``mark``.
    """

    program: Program
    functions: Functions
    size: Symbol
    to: Dim
    mark: str
    places: dict[str, Place]

    @property
    def condition(self) -> str:
        """The buffer that says whether this is the range."""
        return f"is{self.mark}"

    def asked(self, end: int) -> tuple[Step, ...]:
        """The step that finds out, once larger ones are other ranges'."""
        device = next(iter(self.program.places.values())).device
        buffer = Buffer(self.condition, (), BOOL)
        self.places[buffer.name] = Place(buffer, "temporary", device, ROW_MAJOR)
        gap = end - symbol(self.size.name, self.size.low, self.size.high)
        return (self.functions.kernel(Store(buffer, (), (), form.positive(gap))),)

    def steps(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The old steps with this range's kernels and buffers."""
        return tuple(map(self._step, steps))

    def _step(self, step: Step) -> Step:
        match step:
            case Kernel():
                return self._kernel(step)
            case Copy(target, source):
                return Copy(self._named(target), self._named(source))
            case Repeat(counter, trips, body):
                return Repeat(counter, self._dim(trips), self.steps(body))
            case Branch(condition, then, otherwise):
                name = self._named(condition)
                return Branch(name, self.steps(then), self.steps(otherwise))
        raise AssertionError("collectives are kernels by now")

    def _named(self, old: str) -> str:
        """A buffer's name in this range."""
        place = self.program.places[old]
        if place.role != "temporary":
            return old
        new = f"{old}{self.mark}"
        self.places[new] = replace(place, buffer=replace(place.buffer, name=new))
        return new

    def _dim(self, dim: Dim) -> Dim:
        return substitute(dim, {self.size: self.to})

    def _kernel(self, step: Kernel) -> Kernel:
        function = self.program.functions[step.function]
        names = map(self._named, step.arguments)
        buffers = {
            one: Buffer(name, tuple(map(self._dim, one.shape)), one.dtype)
            for one, name in zip(function.parameters, names, strict=True)
        }
        (store,) = function.stores
        return self.functions.kernel(self._store(store, buffers))

    def _store(self, store: Store, buffers: Mapping[Buffer, Buffer]) -> Store:
        table: dict[Atom, Dim] = {self.size: self.to}
        for axis in (*store.axes, *form.bound(store)):
            table[axis] = var(axis.name, self._dim(axis.extent))

        def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
            attribute = one.attribute
            if isinstance(attribute, Access):
                return form.load(buffers[attribute.buffer], map(dim, attribute.index))
            if isinstance(attribute, Over) and dim(attribute.axis.extent) == 1:
                return children[0]
            return form.rebuilt(one, children, dim)

        axes = [Var(one.name, self._dim(one.extent)) for one in store.axes]
        index = tuple(substitute(one, table) for one in store.index)
        value = form.rewritten(store.value, table, build)
        kept = tuple(one for one in axes if one.extent != 1)
        return Store(buffers[store.buffer], kept, index, value)
