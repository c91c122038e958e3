"""Plans of a region in an e-graph: a class is "statements lo..hi-1, inside these open loops".

Choosing one node a class from the root down is choosing the loops from the outside in. The rules
are in ``rules/plans.toml``; this file states the facts they ask for (which statements may share a
loop over which axis: the laws *closure* and *tile*) and reads plans off the saturated graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from photic.ir import index as form
from photic.ir.dim import Var, variables
from photic.loops.arrange import Leaf, Open, Plan, Then, read_targets
from photic.loops.statements import Region, Statement
from photic.search.choosing import Choose
from photic.search.rules.record import Rule, read
from photic.search.run import execute

if TYPE_CHECKING:
    from egglog.bindings import EGraph as Engine

MOVES = ("Loop", "Then", "Tile")
PLANS = read("plans", Rule)
SORTS = files(__package__).joinpath("plans.egg").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Move:
    """One way to go on in a state: a loop, a cut or a tile, and the states that follow."""

    op: str
    detail: str
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plans:
    """All legal plans: for each state its moves, dead ends removed."""

    root: str
    moves: dict[str, list[Move]]
    axes: dict[str, Var]


def plans_of(region: Region) -> Plans:
    """Saturate the plan rules over a region's facts."""
    from egglog.bindings import EGraph as Engine

    engine, rules = Engine(), (rule.text() for rule in PLANS)
    execute(engine, "\n".join([SORTS, *rules, *_facts(region)]))
    execute(engine, "(run-schedule (saturate (run normal)) (saturate (run step)))")
    (root,) = engine.freeze().functions["root"].rows
    axes = {axis.name: axis for one in region.statements for axis in one.every_axis}
    return Plans(str(root.output), _moves(engine), axes)


def _facts(region: Region) -> Iterator[str]:
    count = len(region.statements)
    for s, first in enumerate(region.statements):
        for axis in first.every_axis:
            yield f'(set (share {s} {s + 1} "{axis.name}") {s})'
        for t in range(s + 1, count):
            for axis, reach in _joins(region, s, t):
                yield f'(set (join {s} {t} "{axis.name}") {reach})'
            yield from (f"(between {s} {middle} {t + 1})" for middle in range(s + 1, t + 1))
    yield f"(set (root) (Todo 0 {count} (set-empty)))"


def _joins(region: Region, s: int, t: int) -> Iterator[tuple[Var, int]]:
    """The axes over which statements s < t may share a loop, and how far such a loop must reach."""
    first, second = region.statements[s], region.statements[t]
    family = [k for k, one in enumerate(region.statements) if one.running == first.target.name]
    for axis in first.every_axis:
        if axis not in second.every_axis or not _is_read_at(first, second, axis):
            continue
        if axis not in first.reduced or not _depends(region, s, t):
            yield axis, s
        elif t in family:
            yield axis, max(family)


def _is_read_at(first: Statement, second: Statement, axis: Var) -> bool:
    """True if the second reads no element of the first at another place of the axis."""
    places = [k for k, one in enumerate(first.index) if axis in variables(one)]
    reads = (one for one in form.loads(second.value) if one.buffer.name == first.target.name)
    return all(one.index[k] == first.index[k] for one in reads for k in places)


def _depends(region: Region, s: int, t: int) -> bool:
    """True if statement t reads s, directly or through others."""
    reached = {region.statements[s].target.name}
    for one in region.statements[s + 1 : t + 1]:
        if read_targets(one) & reached:
            reached.add(one.target.name)
    return region.statements[t].target.name in reached


# --- reading the e-graph --------------------------------------------------------------------


def _moves(engine: Engine) -> dict[str, list[Move]]:
    """The possible moves of each state; a group's are moves of the states that it stands in."""
    functions, found = engine.freeze().functions, dict[str, list[Move]]()
    possible = {str(row.inputs[0]) for row in functions["possible"].rows}
    named = [(str(k), op, row) for op in MOVES for k, row in enumerate(functions[op].rows)]
    for _, op, row in sorted(named, key=lambda one: one[:2]):
        first, *rest = row.inputs
        detail = engine.value_to_string(first) if op == "Loop" else engine.value_to_i64(first)
        states = tuple(map(str, rest)) if op != "Tile" else ()
        if possible.issuperset(states):
            found.setdefault(str(row.output), []).append(Move(op, str(detail), states))
    _sort(found)
    return found


def _sort(moves: Mapping[str, list[Move]]) -> None:
    """The best first: by which most statements share loops, of equals what ends with a tile."""
    shared: dict[str, tuple[int, int]] = {}  # of a state: statements, and how often one shares

    def after(move: Move) -> tuple[int, int]:
        counts = [of(state) for state in move.states] or [(1, 0)]
        size, shares = (sum(each) for each in zip(*counts, strict=True))
        return size, shares + (size - 1) * (move.op == "Loop")

    def of(state: str) -> tuple[int, int]:
        if state not in shared:
            moves[state].sort(key=lambda one: (-after(one)[1], one.op != "Tile"))
            shared[state] = after(moves[state][0])
        return shared[state]

    for state in moves:
        of(state)


def pick_plan(plans: Plans, choose: Choose) -> Plan:
    """A plan by choices from the outside in."""

    def visit(state: str, where: str) -> Plan:
        moves = plans.moves[state]
        labels = [f"{one.op} {one.detail}".strip() for one in moves]
        move = moves[choose(f"plan{where}", labels)]
        if move.op == "Tile":
            return Leaf(int(move.detail))
        if move.op == "Loop":
            return Open(plans.axes[move.detail], visit(move.states[0], f"{where}/{move.detail}"))
        return Then(visit(move.states[0], f"{where}<"), visit(move.states[1], f"{where}>"))

    return visit(plans.root, "")
