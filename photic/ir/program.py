"""The program form: what runs. Steps over buffers that have a role, a device and a layout.

A ``Function`` is a kernel's meaning in index form over parameter buffers; a ``Kernel`` step calls
one on the program's buffers, so that identical layers share a function. Everything after the
search (memory plan, entry function, files) works on this form. It holds no code for a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from photic.ir.dim import Dim, Symbol
from photic.ir.graph import Payload
from photic.ir.index import Buffer, Store, buffers_read

Role = Literal["input", "output", "state", "constant", "temporary"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a buffer's elements lie in memory: row-major, except one axis cut into panels.

    With ``tile`` > 1, element ``(..., r, ...)`` of axis ``axis`` lies in panel ``r // tile`` (the
    outermost axis), place ``r % tile`` (innermost); the other axes keep their order between. The
    last panel is filled with zeros. Of ``PAIRED`` ones, every two neighbours along the axis before
    the last lie innermost.
    """

    axis: int
    tile: int


ROW_MAJOR = Layout(0, 1)
PAIRED = Layout(-2, 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer of the program: what it is for, where it lives, how it lies."""

    buffer: Buffer
    role: Role
    device: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Function:
    """The meaning of a kernel: stores over parameters, in order."""

    name: str
    parameters: tuple[Buffer, ...]
    stores: tuple[Store, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Run a function on these buffers, one for each of its parameters."""

    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy all of one buffer to another of the same shape and dtype."""

    target: str
    source: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run the body for ``counter = 0 .. trips-1``."""

    counter: Symbol
    trips: Dim
    body: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Run one of two bodies, chosen by a bool buffer of one element."""

    condition: str
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """Combine buffers of several devices element by element; each gets the result."""

    op: Literal["sum", "max"]
    buffers: tuple[str, ...]


Step: TypeAlias = Kernel | Copy | Repeat | Branch | Collective


@dataclass(frozen=True, slots=True)
class Program:
    """Named places, functions, and the steps that run.

    ``outputs`` maps the user's names to buffers; ``constants`` holds the arrays of constant places.
    """

    sizes: tuple[Symbol, ...]
    places: dict[str, Place]
    functions: dict[str, Function]
    steps: tuple[Step, ...]
    outputs: dict[str, str]
    constants: dict[str, Payload]


PREFIX: dict[Role, str] = {"input": "in_", "output": "out_", "state": "state_"}


def name_of(role: Role, name: str) -> str:
    """The buffer of an input, output or state that users know by a name."""
    return PREFIX[role] + name


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Every step, those inside bodies included, in order."""
    for step in steps:
        yield step
        if isinstance(step, Repeat):
            yield from all_steps(step.body)
        elif isinstance(step, Branch):
            yield from all_steps(step.then)
            yield from all_steps(step.otherwise)


def mapped(steps: Iterable[Step], change: Callable[[Step], Iterable[Step]]) -> tuple[Step, ...]:
    """The steps, each that has no body replaced by what ``change`` makes of it."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Repeat):
            found.append(replace(step, body=mapped(step.body, change)))
        elif isinstance(step, Branch):
            then, otherwise = mapped(step.then, change), mapped(step.otherwise, change)
            found.append(replace(step, then=then, otherwise=otherwise))
        else:
            found += change(step)
    return tuple(found)


def touched(step: Step, program: Program) -> tuple[set[str], set[str]]:
    """The buffers that a step (with all inside it) reads, and those that it writes.

    A kernel does not read what it has written itself before.
    """
    reads, writes = set[str](), set[str]()
    for one in all_steps((step,)):
        match one:
            case Copy(target=target, source=source):
                reads.add(source)
                writes.add(target)
            case Collective(buffers=names):
                reads |= set(names)
                writes |= set(names)
            case Branch(condition=name):
                reads.add(name)
            case Kernel(function=name, arguments=arguments):
                parameters = (one.name for one in program.functions[name].parameters)
                given, own = dict(zip(parameters, arguments, strict=True)), set[str]()
                for store in program.functions[name].stores:
                    reads |= {given[one.name] for one in buffers_read(store)} - own
                    own.add(given[store.buffer.name])
                writes |= own
    return reads, writes
