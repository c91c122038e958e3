"""The space of one region: a candidate is what ``build`` makes of a sequence of choices.

Choices, in order: which values (a region of statements), the plan from the outside in, tile sizes
of opened axes, which axis lies innermost in scratch. Vectors and register tiles inside a tile are
the default of ``loops/plan.py``. Everything is legal by construction; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from photic.ir import index as form
from photic.ir.dim import Dim, Var, bounds, mul, product
from photic.ir.index import Buffer, Store
from photic.ir.program import ROW_MAJOR, Function
from photic.loops.arrange import Arrangement, Leaf, Open, Plan, arrange
from photic.loops.build import serial, work
from photic.loops.nest import Nest, Part, tiles
from photic.loops.plan import choose as choose_tile
from photic.loops.statements import Region
from photic.loops.target import Machine
from photic.search.choosing import Choose
from photic.search.planning import Plans, pick_plan, plans_of

TILE_SIZES = (1, 8, 16, 32, 64, 96, 128, 256, 512)
MOST_SCRATCH_BYTES = 4 << 20  # of one thread; more would not stay in a cache


@dataclass(frozen=True, slots=True)
class Candidate:
    """Kernels in order, and the full-size buffers between them."""

    nests: tuple[Nest, ...]
    stored: tuple[Buffer, ...]


@dataclass(slots=True)
class Space:
    """Every way to arrange one region: alternative statements, and their plans once asked for."""

    regions: tuple[Region, ...]
    machine: Machine
    plans: dict[int, Plans] = field(default_factory=dict)

    def plans_for(self, number: int) -> Plans:
        """The plans of one alternative, saturated on first use."""
        if number not in self.plans:
            self.plans[number] = plans_of(self.regions[number])
        return self.plans[number]


def build(space: Space, choose: Choose) -> Candidate:
    """One candidate."""
    number = choose("values", [str(k) for k in range(len(space.regions))])
    region = space.regions[number]
    plan = pick_plan(space.plans_for(number), choose)
    sizes = {axis: _size(axis, choose) for axis in _opened(plan)}
    axes = list(dict.fromkeys(axis for one in region.statements for axis in one.axes))
    names = [axis.name for axis in axes]
    inner = axes[choose("innermost", names)] if axes else None

    def tile(store: Store) -> tuple[Part, ...]:
        function = Function("tile", (), (store,))
        return serial(choose_tile(function, frozenset(), space.machine))

    made = arrange(region, plan, sizes, inner, tile)
    return Candidate(_nests(region, made), made.stored)


def _opened(plan: Plan) -> list[Var]:
    """The axes that a plan opens, each once, outermost first."""
    if isinstance(plan, Leaf):
        return []
    if isinstance(plan, Open):
        return list(dict.fromkeys([plan.axis, *_opened(plan.body)]))
    return list(dict.fromkeys([*_opened(plan.first), *_opened(plan.rest)]))


def _size(axis: Var, choose: Choose) -> int:
    most = bounds(axis.extent)[1]
    fitting = [size for size in TILE_SIZES if size < most] or [1]
    return fitting[choose(f"tile {axis.name}", [str(size) for size in fitting])]


def _nests(region: Region, made: Arrangement) -> tuple[Nest, ...]:
    nests = []
    for number, kernel in enumerate(made.kernels):
        scratch = set(kernel.scratch)
        seen: dict[Buffer, None] = {}
        total: Dim = 0
        for one in tiles(kernel.body):
            seen[one.store.buffer] = None
            for access in form.loads(one.store.value):
                seen[access.buffer] = None
        for statement in region.statements:
            store = Store(statement.target, statement.axes, statement.index, statement.value)
            total = total + work(store)
        parameters = tuple(one for one in seen if one not in scratch)
        layouts = (ROW_MAJOR,) * len(parameters)
        name = f"f{number}"
        nests.append(Nest(name, parameters, layouts, kernel.body, total, kernel.scratch))
    return tuple(nests)


def is_small(candidate: Candidate) -> bool:
    """True if every thread's scratch fits a cache."""
    return all(_bytes(one.scratch) <= MOST_SCRATCH_BYTES for one in candidate.nests)


def _bytes(buffers: Sequence[Buffer]) -> int:
    return sum(bounds(mul(product(one.shape), one.dtype.bytes))[1] for one in buffers)
