"""Kernels of their own for ranges of a symbolic size.

Before: steps for any ``count`` in 1..128. With ``starts = (2, 16)`` after: steps in which ``count``
is the number 1 where it is, else steps for 2..15 where it is below 16, else steps for 16..128. What
is chosen for one range, by facts or by the search, is none of the others' business.

Promises the same results; buffers from outside are shared, temporary ones are named apart. Ranges
may have programs of their own, which then give the results of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from photic.base.errors import BadArgument
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, Var, substitute, symbol, var
from photic.ir.dtype import BOOL
from photic.ir.graph import Payload
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


def by_ranges(programs: Sequence[Program], starts: Mapping[str, Sequence[int]]) -> Program:
    """The program with kernels of their own from each start of a size on, and below the first.

    ``programs``: one for all ranges, or with one size one for each, the smallest sizes' first; they
    have the same inputs, outputs and states. BadArgument for a size that the program does not have,
    for starts outside its range, and for another number of programs.
    """
    (first, *others), split = programs, [name for name, some in starts.items() if some]
    if others and (len(split) != 1 or len(set(starts[split[0]])) != len(others)):
        count = f"{len(programs)} of them for {dict(starts)}"
        expected = "one, or one for each range of one size"
        raise BadArgument(op="compile", argument="precision", given=count, expected=expected)
    for name, some in starts.items():
        known = {one.name: one for one in first.sizes}
        if name not in known:
            expected = f"one of {', '.join(known) or 'no sizes'}"
            raise BadArgument(op="compile", argument="ranges", given=name, expected=expected)
        size = known[name]
        for start in some:
            if not size.low < start <= size.high:
                expected = f"{size.low + 1} to {size.high} for {name}"
                raise BadArgument(op="compile", argument="ranges", given=start, expected=expected)
    for name in split:
        firsts = sorted(set(starts[name]))
        each = [first, *others] if others else [first] * (len(firsts) + 1)
        first = _split(each, known[name], firsts)
    return first


def _split(programs: Sequence[Program], size: Symbol, starts: Sequence[int]) -> Program:
    last, constants = programs[-1], dict[str, Payload]()
    outside = {
        name: one for name, one in last.places.items() if one.role not in ("temporary", "constant")
    }
    functions = Functions(frozenset(one.name for one in last.sizes))
    steps: tuple[Step, ...] = ()
    ranges = zip(pairwise([size.low, *starts, size.high + 1]), programs, strict=True)
    for (low, end), program in [*ranges][::-1]:
        to = symbol(size.name, low, end - 1) if low < end - 1 else low
        mark = f"_{size.name}{low}"
        same = _constants(program, outside, constants, mark)
        made = _Range(program, functions, size, to, mark, outside, same)
        body = made.steps(program.steps)
        # small sizes first: of layouts for a constant the first that a kernel wants is taken
        steps = (*made.asked(end), Branch(made.condition, body, steps)) if steps else body
    table = functions.table
    return replace(last, places=outside, functions=table, steps=steps, constants=constants)


def _constants(
    program: Program, places: dict[str, Place], constants: dict[str, Payload], mark: str
) -> dict[str, str]:
    """The names that a program's constants have among all, to which new ones are added."""
    names, known = dict[str, str](), {one.key: name for name, one in constants.items()}
    for name, payload in program.constants.items():
        new = f"{name}{mark}" if name in constants else name
        names[name] = known.setdefault(payload.key, new)
        if names[name] == new:
            place = program.places[name]
            constants[new] = payload
            places[new] = replace(place, buffer=replace(place.buffer, name=new))
    return names


@dataclass(slots=True)
class _Range:
    """The steps of one range of a size, in terms of the old ones.

    ``functions`` and ``places`` grow; names of temporary buffers end in ``mark``, and those of
    constants are what ``same`` tells.
    """

    program: Program
    functions: Functions
    size: Symbol
    to: Dim
    mark: str
    places: dict[str, Place]
    same: Mapping[str, str]

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
            return self.same.get(old, old)
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
