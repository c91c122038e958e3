"""``ph.compile``: named tensors to a program; ``ph.load``: a saved program."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.base.settings import setting
from photic.compiler.compile import prepared
from photic.forms.graph_names import named_sources
from photic.ir.graph import Graph, Node, Operand
from photic.search.rules import TOPICS
from photic.storage.searches import Searched, remember_search
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished
from photic.tensor.making import making_of
from photic.tensor.precision import PRECISIONS, narrowed, rounded
from photic.tensor.program import Program
from photic.tensor.ranges import by_ranges
from photic.tensor.store import load_program
from photic.tensor.tensor import Tensor
from photic.tuning.tune import Options, open_records, tune
from photic.tuning.winners import apply_winners

KNOWN_TOPICS = (*TOPICS, "placement")


def compile(
    outputs: Mapping[str, Tensor] | Tensor,
    updates: Mapping[Tensor, Tensor] | None = None,
    *,
    target: str = "",
    search: float | None = None,
    seed: int = 0,
    without: Sequence[str] = (),
    precision: str | Sequence[str] = "exact",
    ranges: Mapping[str, Sequence[int]] | None = None,
) -> Program:
    """Compile tensors to a program that returns them by name.

    ``updates`` gives states their next values. A lone tensor is named ``"output"``. ``target`` is a
    target's name, and a device's behind a colon where it has several (``"opencl:1"``); empty means
    PHOTIC_TARGET, or ``c``.

    ``search`` is how many seconds may be spent on measuring other kernels than the best known (None
    means PHOTIC_SEARCH); it may end sooner. 0 measures nothing: what earlier searches found on this
    machine is used, and the cost model's choice elsewhere. ``without`` leaves out topics of rules
    (see ``photic rules``); ``placement`` among them keeps one kernel a stored value.

    ``precision="exact"``: arithmetic is in the dtype written. With ``"bf16"`` both operands of
    float32 products of matrices may be rounded to bfloat16: each result is off by at most 2^-8 of
    what it would be with all factors' absolute values. With ``"int8"``, where one operand is coded
    (a whole number of a byte times a scale, and a start, by blocks of 32 or 16 terms), the other is
    rounded to a 127th of the largest number of each block, and they are multiplied in integers: an
    element of it moves by at most a 254th of that number. With ``"int16"`` it is rounded to two
    bytes, and moves by at most a 64,516th. Other products are as with ``"bf16"``.

    ``ranges`` names symbolic sizes, and where ranges of them begin that get kernels of their own:
    ``{"count": (2, 16)}`` makes some for 1, some for 2 to 15, and some for the rest. ``precision``
    may be a sequence then, none of it ``"exact"``: one for each range of one size, from its least
    on. Raises PhoticError.
    """
    graph = graph_of(_named(outputs), updates or {})
    chosen = target_named(target)
    options = _options(search, seed, without)
    precisions = _precisions(precision)
    if precisions != ("exact",):
        chosen = narrowed(chosen)
    states = [prepared(rounded(graph, one), chosen) for one in precisions]
    state = states[-1]
    state.program = by_ranges([one.program for one in states], ranges or {})
    tuned = tune(state.program, chosen, options)
    if tuned.seconds > 0:
        counts = (tuned.seconds, tuned.candidates, tuned.matches)
        remember_search(Searched(time.time(), *counts))
    behind = apply_winners(state, tuned.winners)
    artifact = finished(state)
    artifact = replace(artifact, making=making_of(state, tuned, behind))
    return Program(artifact, chosen.load(chosen.build(artifact.source)))


def _precisions(given: str | Sequence[str]) -> tuple[str, ...]:
    """One for all sizes, or one for each range, checked."""
    found = (given,) if isinstance(given, str) else tuple(given)
    known = PRECISIONS if len(found) == 1 else [one for one in PRECISIONS if one != "exact"]
    if not found or not all(one in known for one in found):
        expected = " or ".join(map(repr, known))
        raise BadArgument(op="compile", argument="precision", given=given, expected=expected)
    return found


def _options(search: float | None, seed: int, without: Sequence[str]) -> Options:
    """The search's options, checked."""
    seconds = setting("search") if search is None else search
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise BadArgument(op="compile", argument="search", given=search, expected="seconds, or 0")
    unknown = [one for one in without if one not in KNOWN_TOPICS]
    if isinstance(without, str) or unknown:
        expected = f"some of {', '.join(KNOWN_TOPICS)}"
        raise BadArgument(op="compile", argument="without", given=without, expected=expected)
    return Options(float(seconds), seed, tuple(sorted(without)), open_records(seconds))


def _named(outputs: Mapping[str, Tensor] | Tensor) -> dict[str, Tensor]:
    """The outputs by name; BadArgument for a sequence of them."""
    if isinstance(outputs, Tensor):
        return {"output": outputs}
    if not isinstance(outputs, Mapping):
        expected = "a tensor, or tensors by name: {'y': y, 'z': z}"
        raise BadArgument(op="compile", argument="outputs", given=repr(outputs), expected=expected)
    return dict(outputs)


def graph_of(outputs: Mapping[str, Tensor], updates: Mapping[Tensor, Tensor]) -> Graph:
    """The graph of named tensors and of states' next values."""
    results = tuple((name, _operand(name, one)) for name, one in outputs.items())
    for name in outputs:
        if not name.isidentifier():
            raise BadArgument(
                op="compile", argument="output name", given=repr(name), expected="an identifier"
            )
    changed = tuple(_update(old, new) for old, new in updates.items())
    for node, count in Counter(node for node, _ in changed).items():
        if count > 1:
            given = f"{count} next values of {node}"
            raise BadArgument(op="compile", argument="updates", given=given, expected="one")
    graph = Graph(results, changed)
    for node in named_sources(graph, "state").values():
        if not all(isinstance(extent, int) for extent in node.shape):
            raise BadArgument(
                op="state", argument="shape", given=str(node.shape), expected="integers"
            )
    return graph


def _operand(name: str, value: object) -> Operand:
    if not isinstance(value, Tensor):
        raise BadArgument(op="compile", argument=name, given=repr(value), expected="a tensor")
    return value.operand


def _update(old: Tensor, new: Tensor) -> tuple[Node, Operand]:
    """A state and its next value, which has its shape and dtype."""
    node, following = _state(old), _operand("update", new)
    if following.shape != node.shape:
        raise ShapeMismatch(op="update", left=node.shape, right=following.shape)
    if following.dtype != node.dtype:
        raise DtypeMismatch(op="update", given=following.dtype, expected=str(node.dtype))
    return node, following


def _state(value: Tensor) -> Node:
    node = _operand("update", value).node
    if node.op != "state" or value.shape != node.shape:
        raise BadArgument(
            op="compile", argument="updates", given=f"a {node.op}", expected="a tensor of ph.state"
        )
    return node


def load(path: str | Path) -> Program:
    """A program that ``save`` wrote. Raises ProgramFile for one that is damaged or too new."""
    return load_program(Path(path))
