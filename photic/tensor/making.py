"""How a program came to be, as its file keeps it: read off a compilation and its search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from photic.compiler.passes import Compilation
from photic.forms.graph_text import type_text
from photic.forms.layout import aligned_bytes
from photic.ir.graph import Along, Graph, Item, Named, Node, Payload, Scan, all_nodes
from photic.ir.program import Branch, Collective, Copy, Kernel, Program, Repeat, Step, touched
from photic.storage.making import MOST_NODES, MOST_TRIED, GraphNode, Making, Placed
from photic.tuning.tune import Tuned
from photic.tuning.winners import Winner

MOST_LABEL = 24  # characters of a constant's value


def making_of(state: Compilation, tuned: Tuned, behind: Mapping[str, Winner]) -> Making:
    """The making of a program whose passes are done; ``behind`` kernels are winners, by name."""
    nodes, outputs = drawn(state.graph)
    return Making(
        nodes,
        outputs,
        tuple(map(step_text, state.program.steps)),
        tuple(_placed(state)),
        tuple((name, one.region, one.kind) for name, one in behind.items()),
        tuple(tuned.tried[:MOST_TRIED]),
        tuple(tuned.grown),
        tuple(sorted(tuned.matches.items())),
        tuned.candidates,
        tuned.seconds,
        tuned.stopped,
    )


# --- the graph ------------------------------------------------------------------------------


def drawn(graph: Graph) -> tuple[tuple[GraphNode, ...], tuple[tuple[str, int], ...]]:
    """The nodes in order, bodies of scans before their scan, and the outputs; none of too many."""
    order = list(all_nodes(graph.roots))
    if len(order) > MOST_NODES:
        return (), ()
    numbers = {node: number for number, node in enumerate(order)}
    nodes = tuple(
        GraphNode(
            node.op,
            type_text(node.dtype, node.shape),
            _label(node),
            tuple(dict.fromkeys(numbers[one] for one in _read(node))),
        )
        for node in order
    )
    results = [(name, numbers[one.node]) for name, one in graph.outputs]
    results += [(f"next {_label(old)}", numbers[new.node]) for old, new in graph.updates]
    return nodes, tuple(results)


def _read(node: Node) -> Iterator[Node]:
    """The nodes under a node; of a scan, what its body gives too."""
    if isinstance(node.attribute, Scan):
        yield from (one.node for one in node.attribute.outputs)
    yield from (one.node for one in node.operands)


def _label(node: Node) -> str:
    """A name, a small constant's value, or what an operation is told besides its operands."""
    match node.attribute:
        case Named(name=name):
            return name
        case Payload(array=array) if array.size == 1:
            return str(array.reshape(()).item())[:MOST_LABEL]
        case Along(axis=axis):
            return f"axis {axis}"
        case Item(number=number):
            return f"result {number}"
        case Scan(trips=trips):
            return f"{trips} times"
    return ""


# --- memory ---------------------------------------------------------------------------------


def step_text(step: Step) -> str:
    """The function of a kernel; other steps in a word or two."""
    match step:
        case Kernel(function=name):
            return name
        case Copy(target=target, source=source):
            return f"copy {source} to {target}"
        case Repeat(trips=trips, body=body):
            return f"{trips} times {', '.join(map(step_text, body))}"
        case Branch():
            return "one of two"
        case Collective(op=op):
            return f"{op} of all devices"


def _placed(state: Compilation) -> Iterator[Placed]:
    """Each temporary buffer with its place and its life."""
    lives = _lives(state.program)
    for name, offset in state.memory.offsets.items():
        place = state.program.places[name]
        size = aligned_bytes(place.buffer, place.layout)
        yield Placed(name, offset, size, *lives[name])


def _lives(program: Program) -> dict[str, tuple[int, int]]:
    """The first and the last step at the top that touch a buffer."""
    found: dict[str, tuple[int, int]] = {}
    for number, step in enumerate(program.steps):
        for name in set[str]().union(*touched(step, program)):
            found[name] = (found.get(name, (number, number))[0], number)
    return found
