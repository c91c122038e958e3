"""The checker of programs: run after every pass in tests, and on whatever was parsed.

It checks, for the program: names of sizes are unique; a place has its buffer's name, the prefix of
its role, extents that are sizes, a layout that its rank allows; constants have arrays of the right
shape and dtype; outputs are written. For each step: buffers exist and are alike where they must be
(arguments and parameters, both sides of a copy, all of a collective), differ where they must, lie
on one device for a kernel; nothing is read before it is written, inputs and constants never are
written; a loop's counter is no size and has a range that holds its trips; a branch's condition is
one bool. For each store that runs: operations and dtypes follow their records; it has no variables
and sizes but its own and those around; each index is provably inside, or guarded by an index
condition, or else no sample point shows it outside; two points never write one place; it reads of
its own buffer only the element that it writes. Loops may run no trip: what they write counts as
written, since an empty loop stacks empty results.

It does not check: functions that no step calls; that all elements of a buffer are written; indices
into data beyond their proof; the names and strings that are free (devices, users' names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from photic.base.errors import BrokenGraph
from photic.ir import dim as dims
from photic.ir import index as form
from photic.ir import program as steps
from photic.ir.check import escapes, is_guarded, result_dtype
from photic.ir.dim import Data, Dim, Symbol, Var, symbols, variables
from photic.ir.dtype import BOOL, INT64, DType, dtype_of
from photic.ir.index import Access, Expr, Literal, Order, Over, Plain, Position, Store
from photic.ir.ops import PRIMITIVE
from photic.ir.program import Branch, Collective, Copy, Function, Kernel, Place, Program, Repeat

Sizes: TypeAlias = frozenset[Symbol]
Gaps: TypeAlias = frozenset[Dim]  # what exceeds 0 where something is done
NUMBER = re.compile(r"-?(\d+|0x[01]\.[0-9a-f]+p[+-]\d+|inf)|nan")


def check_program(program: Program) -> None:
    """Raise BrokenGraph at the first fault."""
    names = [one.name for one in program.sizes]
    _require(len(set(names)) == len(names), "the sizes", "a name is taken")
    for name, place in program.places.items():
        _check_place(name, place, program)
    places = program.places.items()
    made = {name for name, place in places if place.role not in ("output", "temporary")}
    made = _after(program.steps, program, made, frozenset(program.sizes), frozenset())
    results = {*program.outputs.values(), *(k for k, one in places if one.role == "output")}
    _require(results <= made, f"outputs {sorted(results - made)}", "never written")


def _require(fact: bool, where: object, problem: str) -> None:
    if not fact:
        raise BrokenGraph(form="program", where=where, problem=problem)


def _check_place(name: str, place: Place, program: Program) -> None:
    buffer, layout, shape = place.buffer, place.layout, place.buffer.shape
    is_named = name == buffer.name and name.startswith(steps.PREFIX.get(place.role, ""))
    _require(is_named, name, "the name does not fit the place")
    is_laid = layout.tile > 0 and 0 <= layout.axis < max(1, len(shape))
    _require(is_laid, name, "the layout does not fit")
    is_sized = all(not variables(one) and dims.bounds(one)[1] >= 0 for one in shape)
    used = set[Symbol]().union(*map(symbols, shape))
    _require(is_sized and used <= set(program.sizes), name, "an extent is no size")
    if place.role == "constant":
        array = program.constants[name].array if name in program.constants else None
        kind = None if array is None else (dtype_of(array.dtype), array.shape)
        _require(kind == (buffer.dtype, shape), name, "the array does not fit the place")


# --- steps ----------------------------------------------------------------------------------


def _after(
    body: tuple[steps.Step, ...], program: Program, made: set[str], sizes: Sizes, gaps: Gaps
) -> set[str]:
    """The buffers that are written once the steps have run, if ``made`` were before.

    ``sizes`` has the counters of the loops around, ``gaps`` what these leave to their ends.
    """
    for step in body:
        if isinstance(step, Repeat):
            counter = step.counter
            is_new = counter.name not in {one.name for one in sizes}
            _require(
                is_new and symbols(step.trips) <= sizes, counter, "no new name, or trips unknown"
            )
            is_held = counter.low == 0 and dims.at_most(step.trips, counter.high + 1)
            _require(is_held, counter, "the range does not hold the trips")
            left = step.trips - dims.symbol(counter.name, 0, counter.high)
            made = _after(step.body, program, made, sizes | {counter}, gaps | {left})
        elif isinstance(step, Branch):
            _require(step.condition in made, step.condition, "read before it is written")
            one = program.places[step.condition].buffer
            is_bool = (one.dtype, dims.product(one.shape)) == (BOOL, 1)
            _require(is_bool, step.condition, "the condition is not one bool")
            then = _after(step.then, program, made, sizes, gaps)
            made = then & _after(step.otherwise, program, made, sizes, gaps)
        else:
            _check_buffers(step, program, sizes, gaps)
            reads, writes = steps.touched(step, program)
            _require(reads <= made, step, f"{sorted(reads - made)} read before it is written")
            fixed = {k for k in writes if program.places[k].role in ("input", "constant")}
            _require(not fixed, step, f"{sorted(fixed)} must not be written")
            made = made | writes
    return made


def _check_buffers(
    step: Kernel | Copy | Collective, program: Program, sizes: Sizes, gaps: Gaps
) -> None:
    match step:
        case Copy(target=target, source=source):
            names: tuple[str, ...] = (target, source)
        case Kernel(arguments=names) | Collective(buffers=names):
            pass
    _require(set(names) <= set(program.places), step, "a buffer does not exist")
    _require(len(set(names)) == len(names) > 0, step, "a buffer stands twice, or none")
    places = [program.places[name] for name in names]
    kinds = [(one.buffer.dtype, one.buffer.shape) for one in places]
    if isinstance(step, Kernel):
        _require(step.function in program.functions, step, "the function does not exist")
        function = program.functions[step.function]
        is_alike = kinds == [(one.dtype, one.shape) for one in function.parameters]
        _require(is_alike, step, "the arguments differ from the parameters")
        _require(len({one.device for one in places}) == 1, step, "buffers of several devices")
        _check_function(function, sizes, gaps)
    else:
        is_alike = len(set(kinds)) == len({one.layout for one in places}) == 1
        _require(is_alike, step, "the buffers differ")


# --- stores ---------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _check_function(function: Function, sizes: Sizes, gaps: Gaps) -> None:
    names = {one.name for one in function.parameters}
    _require(len(names) == len(function.parameters), function.name, "a parameter's name is taken")
    for store in function.stores:
        values = list(form.walk_store(store))
        for one in values:
            _require(_result(one) == one.dtype, store, f"{one.op} of {one.dtype} does not fit")
        _require(store.value.dtype == store.buffer.dtype, store, "the value has another dtype")
        reads = [one.attribute for one in values if isinstance(one.attribute, Access)]
        for read in (*reads, Access(store.buffer, store.index)):
            is_known = read.buffer in function.parameters
            is_whole = len(read.index) == len(read.buffer.shape)
            _require(is_known and is_whole, store, f"{read.buffer} is no parameter, or not indexed")
            is_own = read.buffer != store.buffer or read.index == store.index
            _require(is_own, store, "reads its own buffer elsewhere than it writes")
        _check_names(store, values, sizes)
        _require(_is_one_to_one(store), store, "two points may write one place")
        for access, known in ((Access(store.buffer, store.index), gaps), *_loads(store, gaps)):
            for at, extent in zip(access.index, access.buffer.shape, strict=True):
                is_inside = _is_inside(at, extent, known, store.axes)
                _require(is_inside, store, f"{access.buffer.name} is accessed outside, at {at}")


def _check_names(store: Store, values: list[Expr], sizes: Sizes) -> None:
    bound = form.bound(store)
    free = store.value.free.union(*map(variables, store.index))
    _require(free <= set(store.axes), store, "a variable is free")
    named: list[Var | Symbol] = [*store.axes, *bound, *sizes]
    _require(len({one.name for one in named}) == len(named), store, "a variable's name is taken")
    used = [*store.index, *(dim for one in values for dim in form.dims_of(one.attribute))]
    used += [one.extent for one in (*store.axes, *bound)]
    _require(set[Symbol]().union(*map(symbols, used)) <= sizes, store, "a size is unknown")


def _result(one: Expr) -> DType | None:
    """The dtype that the operation gives, or None if its operands or attribute do not fit."""
    match one.op, one.attribute, one.children:
        case "load", Access(buffer=buffer), ():
            return buffer.dtype
        case "number", Literal(text=text), () if NUMBER.fullmatch(text):
            return one.dtype
        case "iota", Position(), ():
            return INT64
        case "less", Order(), ():
            return BOOL
        case "cast", Plain(), (_,):
            return one.dtype
        case "select", Plain(), (condition, yes, no) if condition.dtype == BOOL:
            return yes.dtype if yes.dtype == no.dtype else None
        case "maximum", Plain(), (_, _):
            return result_dtype("add", one.children)
        case op, Over() | Plain(), values if op in PRIMITIVE:
            kind = PRIMITIVE[op].kind
            count = 2 if kind == "binary" else 1
            is_over = isinstance(one.attribute, Over) == (kind == "reduce")
            return result_dtype(op, values) if len(values) == count and is_over else None
    return None


def _is_one_to_one(store: Store) -> bool:
    """True only if each variable is a digit of one index, the digits below it smaller in all."""
    known = {axis for axis in store.axes if axis.extent == 1}
    for at in sorted(store.index, key=lambda one: len(variables(one))):
        strides = {axis: dims.coefficient_of(at, axis) or 0 for axis in variables(at) - known}
        reach: Dim = 1
        for axis, step in sorted(strides.items(), key=lambda one: dims.bounds(one[1])):
            if not dims.at_most(reach, step):
                return False
            reach = reach + step * (axis.extent - 1)
        known |= set(strides)
    return known == set(store.axes)


def _is_inside(at: Dim, extent: Dim, gaps: Gaps, axes: tuple[Var, ...]) -> bool:
    if is_guarded(at, extent, gaps):
        return True
    decided = [one for one in gaps if not _is_data(one)]
    every = set(axes).union(*map(variables, (at, *decided)))
    return not _is_data(at) and not escapes(at, extent, every, decided)


def _is_data(dim: Dim) -> bool:
    return any(isinstance(one, Data) for one in dims.atoms(dim))


def _loads(store: Store, gaps: Gaps) -> Iterator[tuple[Access, Gaps]]:
    """Every load, with the gaps that exceed 0 where its number matters."""
    roots = (store.value, *(one for _, one in form.data_in(store.index)))
    stack, seen = [(one, gaps) for one in roots], set[tuple[Expr, Gaps]]()
    while stack:
        one, known = stack.pop()
        if (one, known) not in seen:
            seen.add((one, known))
            if isinstance(one.attribute, Access):
                yield one.attribute, known
            stack += [(inner, known | more) for inner, more in _parts(one)]


def _parts(one: Expr) -> Iterator[tuple[Expr, Gaps]]:
    """The values inside, each with the gaps that exceed 0 wherever its number matters."""
    gaps = [frozenset[Dim]()] * len(one.children)
    if one.op == "select":
        condition = one.children[0]
        gaps[1:] = _gaps(condition), _gaps(form.negation(condition))
    elif one.op == "mul" and one.dtype == BOOL:
        before, after = map(_gaps, one.children)  # what loads nothing is asked first
        gaps = [frozenset(gap for gap in after if not _is_data(gap)), before]
    yield from zip(one.children, gaps, strict=True)
    yield from ((value, frozenset()) for _, value in form.data_in(form.dims_of(one.attribute)))


def _gaps(condition: Expr) -> Gaps:
    terms = form.conjuncts(condition)
    return frozenset(one.attribute.gap for one in terms if isinstance(one.attribute, Order))
