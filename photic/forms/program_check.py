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

It does not check: functions that no step calls; that all elements of a buffer are written; more
than samples of indices from data where no proof is found; free names (devices, users' names).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from photic.forms.errors import BrokenGraph
from photic.forms.graph_check import escapes, is_guarded, result_dtype
from photic.ir import dim as dims
from photic.ir import index as form
from photic.ir import program as steps
from photic.ir.dim import Atom, Data, Dim, Int, Symbol, Var, symbols, variables
from photic.ir.dtype import BOOL, INT64, DType, dtype_of
from photic.ir.index import Access, Expr, Literal, Order, Over, Plain, Position, Store
from photic.ir.ops import PRIMITIVE
from photic.ir.program import Branch, Collective, Copy, Function, Kernel, Place, Program, Repeat

Facts: TypeAlias = Iterable[tuple[bool, str]]  # what must hold, and what is wrong where it fails
Sizes: TypeAlias = frozenset[Symbol]
Gaps: TypeAlias = frozenset[Dim]  # what exceeds 0 where something is done
UNBOUNDED = 2**62  # elements; larger than any size that fits a machine, and no int64 overflow
NUMBER = re.compile(r"-?(\d+|0x[01]\.[0-9a-f]+p[+-]\d+|inf)|nan")


def check_program(program: Program) -> None:
    """Raise BrokenGraph at the first fault."""
    names = [one.name for one in program.sizes]
    _require("the sizes", [(len(set(names)) == len(names), "a name is taken")])
    for name, place in program.places.items():
        _require(name, _of_place(name, place, program))
    roles = {name: place.role for name, place in program.places.items()}
    made = {name for name in roles if roles[name] in ("input", "state", "constant")}
    made = _after(program.steps, program, made, frozenset(program.sizes), frozenset())
    for name in (*program.outputs.values(), *(name for name in roles if roles[name] == "output")):
        _require(name, [(name in made, "never written")])


def _require(where: object, facts: Facts) -> None:
    for fact, problem in facts:
        if not fact:
            raise BrokenGraph(form="program", where=where, problem=problem)


def _of_place(name: str, place: Place, program: Program) -> Facts:
    buffer, layout, shape = place.buffer, place.layout, place.buffer.shape
    yield name == buffer.name, "the name is not the buffer's"
    yield name.startswith(steps.PREFIX.get(place.role, "")), "the name has not its role's prefix"
    yield layout.tile > 0 and 0 <= layout.axis < max(1, len(shape)), "the layout does not fit"
    for one in shape:
        is_size = not variables(one) and dims.bounds(one)[1] >= 0
        yield is_size and symbols(one) <= set(program.sizes), f"the extent {one} is no size"
    if place.role == "constant":
        yield name in program.constants, "the constant has no array"
        array = program.constants[name].array
        kind = (dtype_of(array.dtype), array.shape)
        yield kind == (buffer.dtype, shape), "the array does not fit the place"


# --- steps ----------------------------------------------------------------------------------


def _after(
    body: tuple[steps.Step, ...], program: Program, made: set[str], sizes: Sizes, gaps: Gaps
) -> set[str]:
    """The buffers that are written once the steps have run, if ``made`` were before.

    ``sizes`` has the counters of the loops around, ``gaps`` what these leave to their ends.
    """
    for step in body:
        if isinstance(step, Repeat):
            _require(step.counter, _of_loop(step, sizes))
            left = step.trips - dims.symbol(step.counter.name, 0, step.counter.high)
            made = _after(step.body, program, made, sizes | {step.counter}, gaps | {left})
        elif isinstance(step, Branch):
            _require(step.condition, [(step.condition in made, "read before it is written")])
            buffer = program.places[step.condition].buffer
            is_bool = (buffer.dtype, dims.product(buffer.shape)) == (BOOL, 1)
            _require(step.condition, [(is_bool, "the condition is not one bool")])
            then = _after(step.then, program, made, sizes, gaps)
            made = then & _after(step.otherwise, program, made, sizes, gaps)
        else:
            _require(step, _of_step(step, program, made, sizes, gaps))
            made = made | steps.touched(step, program)[1]
    return made


def _of_loop(step: Repeat, sizes: Sizes) -> Facts:
    counter = step.counter
    yield counter.name not in {one.name for one in sizes}, "the counter's name is taken"
    yield symbols(step.trips) <= sizes, "the trips are unknown"
    is_held = counter.low == 0 and dims.at_most(step.trips, counter.high + 1)
    yield is_held, "the counter's range does not hold the trips"


def _of_step(
    step: Kernel | Copy | Collective, program: Program, made: set[str], sizes: Sizes, gaps: Gaps
) -> Facts:
    match step:
        case Copy(target=target, source=source):
            names: tuple[str, ...] = (target, source)
        case Kernel(arguments=names) | Collective(buffers=names):
            pass
    yield set(names) <= set(program.places), "a buffer does not exist"
    yield len(set(names)) == len(names) > 0, "a buffer stands twice, or none"
    places = [program.places[one] for one in names]
    kinds = [(one.buffer.dtype, one.buffer.shape) for one in places]
    if isinstance(step, Kernel):
        yield step.function in program.functions, "the function does not exist"
        function = program.functions[step.function]
        wanted = [(one.dtype, one.shape) for one in function.parameters]
        yield kinds == wanted, "the arguments differ from the parameters"
        yield len({one.device for one in places}) == 1, "the buffers lie on several devices"
        _check_function(function, sizes, gaps)
    else:
        is_alike = len(set(kinds)) == len({one.layout for one in places}) == 1
        yield is_alike, "the buffers differ"
    reads, writes = steps.touched(step, program)
    yield reads <= made, f"{sorted(reads - made)} read before it is written"
    fixed = {name for name in writes if program.places[name].role in ("input", "constant")}
    yield not fixed, f"{sorted(fixed)} must not be written"


# --- stores ---------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _check_function(function: Function, sizes: Sizes, gaps: Gaps) -> None:
    names = {one.name for one in function.parameters}
    is_named = len(names) == len(function.parameters)
    _require(function.name, [(is_named, "a parameter's name is taken")])
    for store in function.stores:
        _require(store, _of_store(store, function, sizes, gaps))


def _of_store(store: Store, function: Function, sizes: Sizes, gaps: Gaps) -> Facts:
    values, target = list(form.walk_store(store)), Access(store.buffer, store.index)
    for one in values:
        yield _result(one) == one.dtype, f"{one.op} of {one.dtype} does not fit"
    yield store.value.dtype == store.buffer.dtype, "the value has another dtype"
    reads = [one.attribute for one in values if isinstance(one.attribute, Access)]
    for read in (target, *reads):
        yield read.buffer in function.parameters, f"{read.buffer.name} is no parameter"
        yield len(read.index) == len(read.buffer.shape), f"{read.buffer.name} has another rank"
        is_own = read.buffer != store.buffer or read == target
        yield is_own, "reads its own buffer elsewhere than it writes"
    free = store.value.free.union(*map(variables, store.index))
    yield free <= set(store.axes), "a variable is free"
    named: list[Var | Symbol] = [*store.axes, *form.bound(store), *sizes]
    yield len({one.name for one in named}) == len(named), "a variable's name is taken"
    used = [*store.index, *(dim for one in values for dim in form.dims_of(one.attribute))]
    used += [one.extent for one in named if isinstance(one, Var)]
    yield set[Symbol]().union(*map(symbols, used)) <= sizes, "a size is unknown"
    yield _is_one_to_one(store), "two points may write one place"
    for access, known in ((target, gaps), *_loads(store, gaps)):
        for at, extent in zip(access.index, access.buffer.shape, strict=True):
            is_inside = _is_inside(at, extent, known, store.axes)
            yield is_inside, f"{access.buffer.name} is accessed outside, at {at}"


def _is_inside(at: Dim, extent: Dim, gaps: Gaps, axes: tuple[Var, ...]) -> bool:
    if is_guarded(at, extent, gaps):
        return True
    data = {one for one in dims.atoms(at) if isinstance(one, Data)}
    if not data:
        decided = [one for one in gaps if not _is_data(one)]
        return not escapes(at, extent, set(axes).union(*map(variables, (at, *decided))), decided)
    stand_in: dict[Atom, Dim] = {
        one: _sampled(one, number, gaps) for number, one in enumerate(data)
    }
    at, *known = (dims.substitute(one, stand_in) for one in (at, *gaps))
    known = [one for one in known if not _is_data(one)]
    guarded = all(any(size in dims.atoms(one) for one in known) for size in _sizes(stand_in))
    return guarded and not escapes(at, extent, set(axes), known)


def _sampled(one: Data, number: int, gaps: Gaps) -> Dim:
    """A size in place of an index from data: from -1 to the largest that a condition names."""
    place = dims.data(one.value, one.low, one.high)
    tops = [dims.bounds(gap + place)[1] for gap in gaps if one in dims.atoms(gap)]
    high = min((top for top in tops if 0 < top < UNBOUNDED), default=1)
    return Int((((Symbol(f"data{number}", -1, high),), 1),))


def _sizes(stand_in: Mapping[Atom, Dim]) -> set[Symbol]:
    return set[Symbol]().union(*map(symbols, stand_in.values()))


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
