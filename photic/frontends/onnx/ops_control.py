"""Branches and loops: ``If``, ``Loop``, ``Scan``.

A branch whose condition is known is the only one that is read; otherwise the condition is read back
or, within one program, both are computed and one chosen. Loops of few trips are written out, long
ones are a loop of the program where its values keep their shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import PhoticError
from photic.frontends.onnx.call import Call, Op, Unread
from photic.frontends.onnx.errors import OnnxNode
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.records import Graph
from photic.frontends.onnx.value import Value, sizes_array
from photic.ir.dim import Dim, Int
from photic.tensor import creation, loops, primitive, shapes
from photic.tensor.tensor import Tensor

WRITTEN_OUT = 8  # trips; longer loops are loops of the program if they can be
MOST_TRIPS = 10_000  # of a loop that is written out
LONGEST = 1 << 31  # trips of a loop of the program; more stand for "until the condition says so"
ENDLESS = (1 << 63) - 1


def run_graph(graph: Graph, inputs: Sequence[Value], call: Call) -> list[Value]:
    """A branch or a body, read with the names around it."""
    return call.reading.run_graph(graph, inputs, call)


# --- branches -------------------------------------------------------------------------------


def _if(call: Call) -> list[Value]:
    branches = call.graph("then_branch"), call.graph("else_branch")
    condition = call.value(0)
    try:
        chosen = call.known_value(condition)
    except Unread:
        if not call.reading.one_program:
            raise
        return _both(call, condition.tensor, branches)
    return run_graph(branches[0] if chosen.reshape(()).item() else branches[1], (), call)


def _both(call: Call, condition: Tensor, branches: tuple[Graph, Graph]) -> list[Value]:
    """What one of two branches gives; both are computed. Unread where one does not fit."""
    try:
        yes, no = (run_graph(one, (), call) for one in branches)
    except OnnxNode as error:  # its shapes are not for the inputs that the other one is for
        raise Unread(condition.operand, call.node.where) from error
    mask = shapes.reshape(condition, ())
    for one, other in zip(yes, no, strict=True):
        if one.kind != other.kind or one.shape != other.shape:
            raise Unread(condition.operand, call.node.where)
    return [Value(primitive.where(mask, a.tensor, b.tensor), a.kind) for a, b in zip(yes, no)]


# --- loops ----------------------------------------------------------------------------------


def _loop(call: Call) -> list[Value]:
    body = call.graph("body")
    trips: Dim = call.sizes(0)[0] if call.has(0) else ENDLESS
    is_on = bool(call.known(1).reshape(()).item()) if call.has(1) else True
    first = [call.value(k) for k in range(2, len(call.inputs))]
    if not is_on or (isinstance(trips, int) and trips <= 0):
        trips = 0
    if isinstance(trips, Int) or WRITTEN_OUT < trips < LONGEST:
        looped = _looped(call, body, trips, first)
        if looped is not None:
            return looped
    if isinstance(trips, Int):
        raise call.wrong(f"{trips} trips, and its values change their shapes or end it")
    return _written_out(call, body, trips, first)


def _written_out(call: Call, body: Graph, trips: int, carried: list[Value]) -> list[Value]:
    """Trip after trip; a condition that is computed ends it when it has been read back."""
    count = len(carried)
    rows: list[list[Value]] = [[] for _ in range(len(body.outputs) - 1 - count)]
    is_on = Value(sizes_array([1]).astype(bool).reshape(()), KIND["bool"])
    number = 0
    while number < trips:
        if number >= MOST_TRIPS:
            raise call.wrong(f"more than {MOST_TRIPS} trips")
        at = Value(sizes_array([number]).reshape(()), KIND["int64"])
        is_on, *results = run_graph(body, [at, is_on, *carried], call)
        carried = results[:count]
        for row, one in zip(rows, results[count:]):
            row.append(one)
        number += 1
        if number < trips and not call.known_value(is_on).reshape(()).item():
            break
    return [*carried, *(_stacked(call, body, k, row) for k, row in enumerate(rows))]


def _stacked(call: Call, body: Graph, number: int, row: list[Value]) -> Value:
    """What each trip gave, along a new first axis; of no trips by what the file says of it."""
    if row:
        return Value(shapes.stack([one.tensor for one in row], 0), row[0].kind)
    port = body.outputs[len(body.outputs) - (len(call.node.outputs) - number)]
    kind = port.kind or KIND["float32"]
    sizes = [one if isinstance(one, int) and one >= 0 else 0 for one in port.sizes or ()]
    return Value(creation.zeros((0, *sizes), kind.carrier), kind)


def _looped(call: Call, body: Graph, trips: Dim, first: list[Value]) -> list[Value] | None:
    """The loop as one of the program; None where its shapes change or its trips end early."""
    kinds: list[list[Value]] = []

    def run(
        carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]
    ) -> tuple[list[Tensor], list[Tensor]]:
        at = Value(slices[0], KIND["int64"])
        is_on = Value(sizes_array([1]).astype(bool).reshape(()), KIND["bool"])
        held = [Value(one, value.kind) for one, value in zip(carried, first)]
        following, *results = run_graph(body, [at, is_on, *held], call)
        if not call.known_value(following).reshape(()).item():
            raise call.wrong("it ends by its condition")
        kinds.append(results)
        tensors = [one.tensor for one in results]
        return tensors[: len(first)], tensors[len(first) :]

    try:
        last, rows = loops.scan(run, [one.tensor for one in first], (creation.arange(trips),))
    except (PhoticError, Unread):
        return None
    return [Value(one, value.kind) for one, value in zip((*last, *rows), kinds[0])]


# --- Scan -----------------------------------------------------------------------------------


def _scan(call: Call) -> list[Value]:
    """Axes of inputs cut in slices, axes of outputs put together; version 8 has a batch axis."""
    body, count = call.graph("body"), call.integer("num_scan_inputs")
    values = list(call.inputs)
    if call.version < 9:
        return _scan_of_batch(call, body, count)
    states = [one for one in values[: len(values) - count] if one is not None]
    sequences = [one for one in values[len(values) - count :] if one is not None]
    axes = call.ints("scan_input_axes") or (0,) * count
    ways = call.ints("scan_input_directions") or (0,) * count
    moved = [
        Value(_forward(one.tensor, axis, way), one.kind)
        for one, axis, way in zip(sequences, axes, ways)
    ]
    results = _scanned(call, body, states, moved)
    rows = results[len(states) :]
    out_axes = call.ints("scan_output_axes") or (0,) * len(rows)
    out_ways = call.ints("scan_output_directions") or (0,) * len(rows)
    back = [
        Value(shapes.moveaxis(shapes.flip(one.tensor, 0) if way else one.tensor, 0, axis), one.kind)
        for one, axis, way in zip(rows, out_axes, out_ways)
    ]
    return [*results[: len(states)], *back]


def _forward(x: Tensor, axis: int, way: int) -> Tensor:
    laid = shapes.moveaxis(x, axis, 0)
    return shapes.flip(laid, 0) if way else laid


def _scan_of_batch(call: Call, body: Graph, count: int) -> list[Value]:
    """Version 8: every member of a batch by itself."""
    if call.has(0):
        raise call.wrong("sequence lengths are not supported")
    values = [one for one in call.inputs[1:] if one is not None]
    batch = values[0].shape[0]
    if not isinstance(batch, int):
        raise call.wrong("a batch of symbolic size")
    members = []
    for number in range(batch):
        row = [Value(one.tensor[number], one.kind) for one in values]
        states, sequences = row[: len(row) - count], row[len(row) - count :]
        members.append(_scanned(call, body, states, sequences))
    return [
        Value(shapes.stack([one.tensor for one in group], 0), group[0].kind)
        for group in zip(*members, strict=True)
    ]


def _scanned(call: Call, body: Graph, states: list[Value], sequences: list[Value]) -> list[Value]:
    """The last states, then the outputs stacked along a first axis."""
    kinds: list[list[Value]] = []

    def run(
        carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]
    ) -> tuple[list[Tensor], list[Tensor]]:
        held = [Value(one, value.kind) for one, value in zip(carried, states)]
        parts = [Value(one, value.kind) for one, value in zip(slices, sequences)]
        results = run_graph(body, [*held, *parts], call)
        kinds.append(results)
        tensors = [one.tensor for one in results]
        return tensors[: len(states)], tensors[len(states) :]

    last, rows = loops.scan(run, [one.tensor for one in states], [one.tensor for one in sequences])
    return [Value(one, value.kind) for one, value in zip((*last, *rows), kinds[0])]


CONTROL: tuple[Op, ...] = (
    Op("If", _if),
    Op("Loop", _loop),
    Op("Scan", _scan),
)
