"""``Session(path).run(outputs, feeds)``: a model for people who come from onnxruntime.

Programs are made for what is fed: with ``dims`` their sizes have ranges, otherwise each shape that
is fed has programs of its own, kept for the next time. Where data decide a size the model is run in
segments: a program computes the number and all that the rest needs, the number is read back, and
the rest is built knowing it. Each segment is kept by the numbers that led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from photic.frontends.onnx import records
from photic.frontends.onnx.call import Facts, Unread
from photic.frontends.onnx.errors import OnnxFeed
from photic.frontends.onnx.importer import import_graph
from photic.frontends.onnx.kinds import Array, carried, kind_of_array, shown
from photic.frontends.onnx.model import (
    Keys,
    Port,
    input_port,
    input_value,
    inputs_of,
    output_ports,
)
from photic.frontends.onnx.reader import read_model
from photic.frontends.onnx.segments import Runner, Segment, compiled, segment_of
from photic.frontends.onnx.sizes import Naming, Sizes
from photic.frontends.onnx.value import Value
from photic.ir.dim import substitute, symbols
from photic.ir.graph import Operand

Shape: TypeAlias = tuple[str, ...]
MOST_KEPT = 64  # chains of segments, by shapes that were fed


@dataclass(slots=True)
class _Step:
    """A segment, and the steps that follow by what was read back of it."""

    segment: Segment
    runner: Runner
    asked: Operand | None
    following: dict[bytes, _Step] = field(default_factory=dict)
    outputs: tuple[Port, ...] = ()


class Session:
    """A model that is run with arrays by name; programs are made when they are first needed."""

    def __init__(
        self,
        path: str | Path,
        dims: Sizes | None = None,
        *,
        search: float = 0,
        runner: Callable[[Segment, float], Runner] = compiled,
    ) -> None:
        self._start(read_model(path), dims, search, runner)

    def _start(
        self,
        model: records.Model,
        dims: Sizes | None,
        search: float,
        runner: Callable[[Segment, float], Runner],
    ) -> None:
        self._model, self._dims = model, dims
        self._search, self._runner = search, runner
        self._first: dict[tuple[Shape, ...], _Step] = {}

    @classmethod
    def of(
        cls,
        model: records.Model,
        dims: Sizes | None = None,
        *,
        search: float = 0,
        runner: Callable[[Segment, float], Runner] = compiled,
    ) -> Session:
        """As the constructor, of a model that was read."""
        session = cls.__new__(cls)
        session._start(model, dims, search, runner)
        return session

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(one.name for one in inputs_of(self._model))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(one.name for one in self._model.graph.outputs)

    def get_inputs(self) -> list[records.Port]:
        """As onnxruntime's: what each input is."""
        return inputs_of(self._model)

    def get_outputs(self) -> list[records.Port]:
        """As onnxruntime's: what each output is."""
        return list(self._model.graph.outputs)

    def run(self, outputs: Sequence[str] | None, feeds: Mapping[str, object]) -> list[Array]:
        """The outputs that are named, all of them for None. OnnxFeed, PhoticError."""
        wanted = self.outputs if outputs is None else tuple(outputs)
        for name in wanted:
            if name not in self.outputs:
                expected = ", ".join(self.outputs)
                raise OnnxFeed(kind="output", name=name, expected=expected)
        arrays = self._fed(feeds)
        results = self._run(arrays)
        return [results[name] for name in wanted]

    def _fed(self, feeds: Mapping[str, object]) -> dict[str, Array]:
        known = [one.name for one in self._model.graph.inputs]
        for name in feeds:
            if name not in known:
                raise OnnxFeed(kind="input", name=name, expected=", ".join(known))
        for name in self.inputs:
            if name not in feeds:
                expected = f"all of {', '.join(self.inputs)} to be fed"
                raise OnnxFeed(kind="value for input", name=name, expected=expected)
        return {name: np.asarray(one) for name, one in feeds.items()}

    def _run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        ports, sizes = self._ports(arrays)
        given = {
            one.key: carried(arrays[one.name], kind_of_array(arrays[one.name], one.name))
            for one in ports
        }
        key = tuple(tuple(map(str, one.shape)) for one in ports)
        known: dict[Operand, Array] = {}
        path: list[_Step] = []
        if key not in self._first:
            if len(self._first) >= MOST_KEPT:
                self._first.clear()
            self._first[key] = self._step(ports, known, path)
        step = self._first[key]
        held = dict(given)
        while True:
            held.update(step.runner(held, sizes))
            path.append(step)
            if step.asked is None:
                break
            found = step.segment.answer(held)
            known[step.asked] = found
            number = found.tobytes()
            if number not in step.following:
                step.following[number] = self._step(ports, known, path)
            step = step.following[number]
        return {one.name: shown(held[one.key], one.kind) for one in step.outputs}

    def _ports(self, arrays: Mapping[str, Array]) -> tuple[list[Port], dict[str, int]]:
        """The inputs as programs have them, and the numbers of symbolic sizes in this call."""
        naming, keys = Naming(self._dims or {}), Keys()
        ports = []
        for one in self._model.graph.inputs:
            if one.name not in arrays:
                continue
            shape = arrays[one.name].shape
            if self._dims is not None and len(one.sizes or ()) == len(shape):
                shape = naming.shape(one)
            kind = kind_of_array(arrays[one.name], f"input {one.name!r}")
            said = records.Port(one.name, one.kind or kind, tuple(map(str, shape)), one.other)
            ports.append(input_port(said, shape, keys))
        return ports, _numbers(ports, arrays)

    def _step(
        self, ports: Sequence[Port], known: Mapping[Operand, Array], path: Sequence[_Step]
    ) -> _Step:
        """The segment that follows what is known."""
        values: dict[str, Value] = {one.name: input_value(one) for one in ports}
        earlier = [one.segment for one in path]
        try:
            found = import_graph(self._model, values, Facts(dict(known)), one_program=False)
        except Unread as cut:
            segment = segment_of(cut.operand, cut.live, earlier)
            return _Step(segment, self._runner(segment, self._search), cut.operand)
        outputs = output_ports([f"{one}" for one in self.outputs], found)
        segment = segment_of(None, tuple(one.tensor for one in found), earlier)
        named = segment.renamed([one.key for one in outputs])
        return _Step(named, self._runner(named, self._search), None, {}, outputs)


def _numbers(ports: Sequence[Port], arrays: Mapping[str, Array]) -> dict[str, int]:
    """The symbolic sizes, by what is fed; a shape that does not fit is refused by the program."""
    found: dict[str, int] = {}
    for one in ports:
        for extent, number in zip(one.shape, arrays[one.name].shape):
            for symbol in symbols(extent):
                unit = substitute(extent, {symbol: 1})
                found[symbol.name] = number // unit if isinstance(unit, int) else number
    return found
