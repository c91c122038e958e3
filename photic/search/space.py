"""The space of one region: a candidate is what ``build`` makes of a sequence of choices.

First whether the kernels stay as written, one a store. If so, each one's vectors and register tile.
If not: which values (an alternative of the e-graph), the plan from the outside in, tile sizes of
opened axes, which axis lies innermost in scratch, and each statement's vectors and register tile.
The first option of each choice is what is best known; everything is legal by construction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from photic.forms.scatters import scatter_of
from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, product, var
from photic.ir.index import Access, Buffer, Expr, Store
from photic.ir.nest import Nest, Part, tiles
from photic.ir.program import ROW_MAJOR, Function
from photic.loops.arrange import Arrangement, Leaf, Open, Plan, arrange
from photic.loops.build import nest, parallel, serial, together, work
from photic.loops.plan import Choice, Decide, best_known
from photic.loops.plan import choose as choose_tile
from photic.loops.statements import Region
from photic.loops.target import Machine
from photic.search.choosing import prefixed
from photic.search.extract import Choice as Operations
from photic.search.extract import choose as choose_values
from photic.search.extract import region_of, runnable, staged_loads, stored_by_default
from photic.search.language import ENode
from photic.search.planning import Plans, pick_plan, plans_of
from photic.search.region import shared_axes
from photic.search.rules import rules_without
from photic.search.run import LIMITS, EGraph, saturate
from photic.search.work import LARGE_BYTES, Work

AS_WRITTEN = "as written"
SPACE_VERSION = "9"  # changes when a label comes to mean another candidate
TILE_SIZES = (1, 8, 16, 32, 64, 96, 128, 256, 512)
MOST_REGIONS = 12  # alternatives of values
STAGED = 3  # extractions of which copies of inputs are tried
EXTRACTIONS = 40  # tries to find so many
SPREAD = 1.5  # of the logarithm of the prior costs of values, after the first try
MOST_VALUES = 800  # of a region: more are not put into an e-graph
MANY_STATEMENTS = 24  # of a region: more have too many plans to saturate in a moment


@dataclass(frozen=True, slots=True)
class Candidate:
    """Kernels in order, what each computes, and the full-size buffers between them.

    ``choices``, one a kernel, where each kernel does a store as it was written.
    """

    nests: tuple[Nest, ...]
    functions: tuple[Function, ...]
    stored: tuple[Buffer, ...]
    choices: tuple[Choice, ...]
    is_finite: bool = False


@dataclass(slots=True)
class Space:
    """Every way to compute one region: alternative statements, and their plans once asked for."""

    work: Work
    machine: Machine
    graph: EGraph | None
    regions: tuple[Region, ...]
    choices: tuple[Operations, ...]
    plans: dict[int, Plans] = field(default_factory=dict)

    def plans_for(self, number: int) -> Plans:
        """The plans of one alternative, saturated on first use."""
        if number not in self.plans:
            self.plans[number] = plans_of(self.regions[number])
        return self.plans[number]


def space_of(work: Work, machine: Machine, without: Sequence[str]) -> Space:
    """The space of a work without some topics of rules (``placement``: kernels as written)."""
    is_laid_out = any(_wanting_layouts(work, one) or scatter_of(one) for one in work.stores)
    is_large = sum(len(list(form.walk(one.value))) for one in work.stores) > MOST_VALUES
    if is_laid_out or is_large or "placement" in without:
        return Space(work, machine, None, (), ())
    stores = shared_axes(work.stores, work.temporary)
    graph = saturate([one.value for one in stores], rules_without(*without), LIMITS)
    found = list(_regions(graph, stores))
    regions, choices = tuple(one for one, _ in found), tuple(one for _, one in found)
    return Space(work, machine, graph, regions, choices)


def _wanting_layouts(work: Work, store: Store) -> bool:
    """True if a large constant is read inside a reduction: its reader wants it laid out."""
    return bool(form.bound(store)) and any(
        one.buffer.name in work.constants and most_bytes([one.buffer]) > LARGE_BYTES
        for one in form.loads(store.value)
    )


def _regions(graph: EGraph, stores: Sequence[Store]) -> Iterator[tuple[Region, Operations]]:
    """Different regions of statements: by prior costs, then by costs changed at random."""
    found = set[str]()
    for choice, stored in _extractions(graph):
        region = region_of(graph, choice, stored, stores)
        text = str(region)
        if text not in found and 0 < len(region.statements) <= MANY_STATEMENTS:
            found.add(text)
            yield region, choice
        if len(found) == MOST_REGIONS:
            return


def _extractions(graph: EGraph) -> Iterator[tuple[dict[int, ENode], frozenset[int]]]:
    """Choices of operations with what is stored; copies of what is read are stored or not."""
    rng = random.Random(0)
    for number in range(EXTRACTIONS):
        choice = runnable(graph, choose_values(graph, rng, SPREAD if number else 0.0, {}))
        stored = stored_by_default(graph, choice)
        yield choice, stored
        if number < STAGED:
            yield from ((choice, stored | {one}) for one in staged_loads(graph, choice))


# --- building -------------------------------------------------------------------------------


def build(space: Space, choose: Decide) -> Candidate:
    """One candidate."""
    options = [AS_WRITTEN, *(f"values {number}" for number in range(len(space.regions)))]
    number = choose("kernels", options)
    if number == 0:
        return _as_written(space, choose)
    region = space.regions[number - 1]
    plan = pick_plan(space.plans_for(number - 1), choose)
    sizes = {axis: _size(axis, choose) for axis in _opened(plan)}
    axes = list(dict.fromkeys(axis for one in region.statements for axis in one.axes))
    names = [axis.name for axis in axes]
    inner = axes[choose("innermost", names)] if axes else None

    def tile(store: Store) -> Choice:
        function = Function("tile", (), (store,))
        prefix = f"{store.buffer.name} " if form.bound(store) else ""
        decide: Decide = partial(prefixed, choose, prefix) if prefix else best_known
        return choose_tile(function, frozenset(), space.machine, decide, is_alone=False)

    def whole(store: Store) -> tuple[Part, ...]:
        return parallel(tile(store), space.machine)

    made = arrange(region, plan, sizes, inner, lambda store: serial(tile(store)), whole)
    stored = [home.buffer for home in made.homes.values() if not (home.outside or home.is_output)]
    nests = tuple(_nests(region, made))
    is_finite = any(one.weight is not None or one.gaps for one in region.statements)
    return Candidate(nests, tuple(_meanings(region, made, nests)), tuple(stored), (), is_finite)


def _as_written(space: Space, choose: Decide) -> Candidate:
    nests, functions, choices = [], [], []
    for number, store in enumerate(space.work.stores):
        loads = [one.buffer for one in form.loads(store.value)]
        function = Function(f"f{number}", tuple(dict.fromkeys([store.buffer, *loads])), (store,))
        decide = partial(prefixed, choose, f"f{number} ")
        choice = choose_tile(function, space.work.constants, space.machine, decide)
        nests.append(nest(function, choice, choice.layouts, space.machine))
        functions.append(function)
        choices.append(choice)
    made = tuple(one for _, one in together(nests, space.work.temporary, space.machine))
    given = {buffer.name for one in made for buffer in one.parameters}
    stored = [one for one in space.work.buffers if one.name in space.work.temporary & given]
    return Candidate(made, tuple(functions), tuple(stored), tuple(choices))


def _opened(plan: Plan) -> list[Var]:
    """The axes that a plan opens, each once, outermost first."""
    if isinstance(plan, Leaf):
        return []
    if isinstance(plan, Open):
        return list(dict.fromkeys([plan.axis, *_opened(plan.body)]))
    return list(dict.fromkeys([*_opened(plan.first), *_opened(plan.rest)]))


def _size(axis: Var, choose: Decide) -> int:
    most = bounds(axis.extent)[1]
    fitting = [size for size in TILE_SIZES if size < most] or [1]
    return fitting[choose(f"tile {axis.name}", [str(size) for size in fitting])]


def _nests(region: Region, made: Arrangement) -> Iterator[Nest]:
    for number, kernel in enumerate(made.kernels):
        scratch = set(kernel.scratch)
        seen: dict[Buffer, None] = {}
        for one in tiles(kernel.body):
            seen[one.store.buffer] = None
            seen |= {access.buffer: None for access in form.loads(one.store.value)}
        total: Dim = 0
        for member in kernel.members:
            total += work(region.statements[member].store)
        parameters = tuple(one for one in seen if one not in scratch)
        layouts = (ROW_MAJOR,) * len(parameters)
        yield Nest(f"f{number}", parameters, layouts, kernel.body, total, kernel.scratch)


def _meanings(region: Region, made: Arrangement, nests: Sequence[Nest]) -> Iterator[Function]:
    """What each kernel computes, as stores of its results from its parameters."""
    values: dict[str, Expr] = {}

    def read(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        access = one.attribute
        if isinstance(access, Access) and access.buffer.name in values:
            return values[access.buffer.name]
        return form.rebuilt(one, children, dim)

    for kernel, one in zip(made.kernels, nests, strict=True):
        stores = []
        for number in kernel.members:
            statement = region.statements[number]
            home, value = (
                made.homes[statement.target.name],
                form.rewritten(statement.value, {}, read),
            )
            if not home.outside:
                index = tuple(var(axis.name, axis.extent) for axis in home.axes)
                index = statement.index if home.is_output else index
                stores.append(Store(home.buffer, statement.axes, index, value))
                value = form.load(home.buffer, index)
            values[statement.target.name] = value
        yield Function(one.name, one.parameters, tuple(stores))


def most_bytes(buffers: Sequence[Buffer]) -> int:
    """Bytes of some buffers at the largest sizes."""
    return sum(bounds(product(one.shape) * one.dtype.bytes)[1] for one in buffers)
