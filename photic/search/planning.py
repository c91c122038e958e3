"""Plans of a region in an e-graph: a class is "statements lo..hi-1, inside these open loops".

Choosing one node a class from the root down is choosing the loops from the outside in. The rules
are in ``rules/plans.py``; this file states the facts they ask for (which statements may share a
loop over which axis: the laws *closure* and *tile*) and reads plans off the saturated graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from photic.ir import index as form
from photic.ir.dim import Var, variables
from photic.loops.arrange import Leaf, Open, Plan, Then, read_targets, reduced_axes
from photic.loops.statements import Region, Statement
from photic.search.choosing import Choose
from photic.search.rules.plans import plan_text


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
    moves: dict[str, tuple[Move, ...]]
    axes: dict[str, Var]


def plans_of(region: Region) -> Plans:
    """Saturate the plan rules over a region's facts."""
    axes = {axis.name: axis for one in region.statements for axis in _axes(region, one.target.name)}
    count = len(region.statements)
    lines = [plan_text(), *_facts(region), f"(let $root (Todo 0 {count} (set-empty)))"]
    lines.append("(run-schedule (saturate (run facts)) (saturate (run plan)))")
    nodes = _saturated("\n".join(lines))
    moves = _productive(_moves(nodes))
    root = next(n["eclass"] for n in nodes.values() if _is_root(n, nodes, count))
    return Plans(str(root), moves, axes)


def _facts(region: Region) -> Iterator[str]:
    count = len(region.statements)
    for s in range(count):
        for axis in _axes(region, region.statements[s].target.name):
            yield f'(set (share {s} {s + 1} "{axis.name}") {s})'
        for t in range(s + 1, count):
            for axis, reach in _joins(region, s, t):
                yield f'(set (join {s} {t} "{axis.name}") {reach})'
            for middle in range(s + 1, t + 1):
                if s < middle <= t:
                    yield f"(between {s} {middle} {t + 1})"


def _axes(region: Region, target: str) -> tuple[Var, ...]:
    (one,) = (one for one in region.statements if one.target.name == target)
    return (*one.axes, *reduced_axes(one))


def _joins(region: Region, s: int, t: int) -> Iterator[tuple[Var, int]]:
    """The axes over which statements s < t may share a loop, and how far such a loop must reach."""
    first, second = region.statements[s], region.statements[t]
    family = [k for k, one in enumerate(region.statements) if one.running == first.target.name]
    for axis in _axes(region, first.target.name):
        if axis not in _axes(region, second.target.name) or not _is_read_at(first, second, axis):
            continue
        if axis not in reduced_axes(first) or not _depends(region, s, t):
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


def _saturated(text: str) -> dict[str, dict[str, object]]:
    import egglog.bindings as bindings

    graph = bindings.EGraph()
    graph.run_program(*graph.parse_program(text))
    found = graph.serialize(
        [], max_functions=None, max_calls_per_function=None, include_temporary_functions=False
    )
    nodes = json.loads(found.to_json())["nodes"]
    assert isinstance(nodes, dict)
    return nodes


def _is_root(node: dict[str, object], nodes: dict[str, dict[str, object]], count: int) -> bool:
    if node["op"] != "Todo":
        return False
    low, high, opened = (nodes[child] for child in node["children"])  # type: ignore[attr-defined]
    return low["op"] == "0" and high["op"] == str(count) and not opened["children"]


def _moves(nodes: dict[str, dict[str, object]]) -> dict[str, list[Move]]:
    """The moves of each state; those of a group are moves of the states that it stands in."""
    found: dict[str, list[Move]] = {}
    for _, node in sorted(nodes.items()):
        children = [nodes[child] for child in node["children"]]  # type: ignore[attr-defined]
        states = tuple(str(c["eclass"]) for c in children if str(c["eclass"]).startswith("Plan-"))
        if node["op"] in ("Then", "Loop", "Tile"):
            detail = str(children[0]["op"]).strip('"')
            move = Move(str(node["op"]), detail, states)
            found.setdefault(str(node["eclass"]), []).append(move)
    return found


def _productive(moves: dict[str, list[Move]]) -> dict[str, tuple[Move, ...]]:
    """Only moves from which a whole plan can be reached."""
    good: set[str] = set()
    while True:
        more = {
            state
            for state, options in moves.items()
            if state not in good and any(set(one.states) <= good for one in options)
        }
        if not more:
            break
        good |= more
    return {state: tuple(one for one in moves[state] if set(one.states) <= good) for state in good}


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
        first = visit(move.states[0], f"{where}<")
        return Then(first, visit(move.states[1], f"{where}>"))

    return visit(plans.root, "")
