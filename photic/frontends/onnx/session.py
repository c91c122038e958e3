"""``Session(path).run(outputs, feeds)``: a model for people who come from onnxruntime.

Programs are made for what is fed: with ``dims`` their sizes have ranges, otherwise each shape that
is fed has programs of its own, kept for the next time. Where data decide a size the model is run in
segments: a program computes the number and all that the rest needs, the number is read back, and
the rest is built knowing it. Each segment is kept by the numbers that led to it.

Programs of a file are also kept between runs (``kept.py``): the graph is read only for those that
are not there yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from photic.frontends.onnx import records
from photic.frontends.onnx.errors import OnnxFeed
from photic.frontends.onnx.files import OnnxFile, Outline, opened, outline_of
from photic.frontends.onnx.kept import (
    asked_text,
    kept_or_made,
    ports_of,
    ports_text,
    silent,
    sizes_text,
)
from photic.frontends.onnx.kinds import Array, carried, kind_of_array, shown
from photic.frontends.onnx.ports import Keys, Port, input_port, input_value, output_ports
from photic.frontends.onnx.segments import (
    ASKED,
    MakeRunner,
    Runner,
    Segment,
    compiled,
    program_of,
    running,
    segment_of,
)
from photic.frontends.onnx.sizes import Naming, Sizes
from photic.frontends.onnx.value import Value
from photic.ir.dim import substitute, symbols
from photic.ir.graph import Operand
from photic.tensor.kept import Progress
from photic.tensor.program import Program

Shape: TypeAlias = tuple[str, ...]
Answers: TypeAlias = tuple[Array, ...]
MOST_KEPT = 64  # chains of segments, by shapes that were fed


@dataclass(slots=True)
class _Step:
    """A segment's program; its outputs if it is the last; what follows, by what was read back."""

    runner: Runner
    outputs: tuple[Port, ...] | None
    following: dict[bytes, _Step] = field(default_factory=dict)


@dataclass(slots=True)
class _Chain:
    """What is run for inputs of some shapes; ``cuts`` are segments that were built, by answers."""

    ports: tuple[Port, ...]
    first: _Step | None = None
    cuts: dict[tuple[bytes, ...], Segment] = field(default_factory=dict)


class Session:
    """A model that is run with arrays by name; programs are made when they are first needed."""

    def __init__(
        self,
        path: str | Path,
        dims: Sizes | None = None,
        *,
        search: float = 0,
        precision: str = "exact",
        runner: MakeRunner = compiled,
        progress: Progress = silent,
    ) -> None:
        """``search`` and ``precision`` are as ``photic.compile`` has them."""
        file = opened(path)
        self._start(file, file.outline, dims, (search, precision), runner, progress)

    def _start(
        self,
        source: OnnxFile | records.Model,
        outline: Outline,
        dims: Sizes | None,
        options: tuple[float, str],
        runner: MakeRunner,
        progress: Progress = silent,
    ) -> None:
        self._source, self._outline, self._dims = source, outline, dims
        self._options, self._runner, self._progress = options, runner, progress
        self._chains: dict[tuple[Shape, ...], _Chain] = {}

    @classmethod
    def of(
        cls,
        model: records.Model,
        dims: Sizes | None = None,
        *,
        search: float = 0,
        precision: str = "exact",
        runner: MakeRunner = compiled,
    ) -> Session:
        """As the constructor, of a model that was read; nothing is kept between runs."""
        session = cls.__new__(cls)
        session._start(model, outline_of(model), dims, (search, precision), runner)
        return session

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(one.name for one in self._outline.asked)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(one.name for one in self._outline.outputs)

    def get_inputs(self) -> list[records.Port]:
        """As onnxruntime's: what each input is."""
        return self._outline.asked

    def get_outputs(self) -> list[records.Port]:
        """As onnxruntime's: what each output is."""
        return list(self._outline.outputs)

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
        known = [one.name for one in self._outline.inputs]
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
        held = {
            one.key: carried(arrays[one.name], kind_of_array(arrays[one.name], one.name))
            for one in ports
        }
        chain = self._chain(ports)
        answers: Answers = ()
        if chain.first is None:
            chain.first = self._step(chain, answers)
        step = chain.first
        while True:
            held.update(step.runner(held, sizes))
            if step.outputs is not None:
                return {one.name: shown(held[one.key], one.kind) for one in step.outputs}
            answer = np.ascontiguousarray(held[ASKED])
            answers = (*answers, answer)
            number = answer.tobytes()
            if number not in step.following:
                step.following[number] = self._step(chain, answers)
            step = step.following[number]

    def _chain(self, ports: Sequence[Port]) -> _Chain:
        key = tuple((one.key, one.kind.name, *map(str, one.shape)) for one in ports)
        if key not in self._chains:
            if len(self._chains) >= MOST_KEPT:
                self._chains.clear()
            self._chains[key] = _Chain(tuple(ports))
        return self._chains[key]

    def _ports(self, arrays: Mapping[str, Array]) -> tuple[list[Port], dict[str, int]]:
        """The inputs as programs have them, and the numbers of symbolic sizes in this call."""
        naming, keys = Naming(self._dims or {}), Keys()
        ports = []
        for one in self._outline.inputs:
            if one.name not in arrays:
                continue
            shape = arrays[one.name].shape
            if self._dims is not None and len(one.sizes or ()) == len(shape):
                shape = naming.shape(one)
            kind = kind_of_array(arrays[one.name], f"input {one.name!r}")
            said = records.Port(one.name, one.kind or kind, tuple(map(str, shape)), one.other)
            ports.append(input_port(said, shape, keys))
        return ports, _numbers(ports, arrays)

    def _step(self, chain: _Chain, answers: Answers) -> _Step:
        """What follows when the answers are known."""
        if isinstance(self._source, records.Model) or self._runner is not compiled:
            segment, outputs = self._built(chain, answers)
            return _Step(self._runner(segment, *self._options), outputs)

        def make() -> tuple[Program, str]:
            segment, outputs = self._built(chain, answers)
            groups = [chain.ports] if outputs is None else [chain.ports, outputs]
            return program_of(segment, *self._options), ports_text(*groups)

        given = [(one.dtype.str, one.shape, _digest(one)) for one in answers]
        search, precision = self._options
        asked = asked_text(sizes_text(self._dims), ports_text(chain.ports), given, precision)
        given_now = self._source, asked, "", make, search == 0, self._progress
        program, text = kept_or_made(*given_now)
        _, *last = ports_of(text)
        return _Step(running(program), last[0] if last else None)

    def _built(self, chain: _Chain, answers: Answers) -> tuple[Segment, tuple[Port, ...] | None]:
        """The segment that follows the answers, and the outputs if it is the last."""
        known: dict[Operand, Array] = {}
        earlier: list[Segment] = []
        for count in range(len(answers)):
            segment, _ = self._cut(chain, answers[:count], known, earlier)
            assert segment.asked is not None
            known[segment.asked] = answers[count]
            earlier.append(segment)
        return self._cut(chain, answers, known, earlier)

    def _cut(
        self,
        chain: _Chain,
        answers: Answers,
        known: Mapping[Operand, Array],
        earlier: Sequence[Segment],
    ) -> tuple[Segment, tuple[Port, ...] | None]:
        """As ``_built``, where the segments before are at hand."""
        from photic.frontends.onnx.call import Facts, Unread
        from photic.frontends.onnx.importer import import_graph

        numbers = tuple(one.tobytes() for one in answers)
        if numbers in chain.cuts:
            return chain.cuts[numbers], None
        model = self._source if isinstance(self._source, records.Model) else self._source.model()
        values: dict[str, Value] = {one.name: input_value(one) for one in chain.ports}
        try:
            found = import_graph(model, values, Facts(dict(known)), one_program=False)
        except Unread as cut:
            chain.cuts[numbers] = segment_of(cut.operand, cut.live, earlier)
            return chain.cuts[numbers], None
        outputs = output_ports(self.outputs, found)
        segment = segment_of(None, tuple(one.tensor for one in found), earlier)
        return segment.renamed([one.key for one in outputs]), outputs


def _digest(array: Array) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def _numbers(ports: Sequence[Port], arrays: Mapping[str, Array]) -> dict[str, int]:
    """The symbolic sizes, by what is fed; a shape that does not fit is refused by the program."""
    found: dict[str, int] = {}
    for one in ports:
        for extent, number in zip(one.shape, arrays[one.name].shape):
            for symbol in symbols(extent):
                unit = substitute(extent, {symbol: 1})
                found[symbol.name] = number // unit if isinstance(unit, int) else number
    return found
