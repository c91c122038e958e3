"""Targets whose kernels a program on the host launches: their devices, each opened once a process.

A process that was forked after a device was opened cannot use that device. A target's folder
supplies a ``Driven``; the record that all others know is made of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from photic.base.errors import PhoticError
from photic.codegen.dialect import Dialect
from photic.loops.target import Machine
from photic.targets.registry import MODULES, Devices, Target
from photic.targets.session import Loaded
from photic.targets.trials import Trials


class Opened(Protocol):
    """A device in use."""

    @property
    def facts(self) -> object:
        """A dataclass for people to read."""


Device = TypeVar("Device", bound=Opened)


@dataclass(frozen=True, slots=True, eq=False)
class Driven(Generic[Device]):
    """A target of several devices, by number: 0 is the one that is used if none is named.

    ``missing`` is the error for what is not here, given ``problem``; ``refusals`` are the classes
    of errors that are a trial's own, not the search's. ``used`` has what was opened, by which
    process.
    """

    name: str
    dialect: Dialect
    names: Callable[[], Sequence[str]]
    open: Callable[[int], Device]
    missing: Callable[..., PhoticError]
    machine: Callable[[Device], Machine]
    key: Callable[[Device], str]
    build: Callable[[Device, str], Path]
    load: Callable[[Device, Path], Loaded]
    refusals: tuple[type[PhoticError], ...]
    used: dict[int, tuple[int, Device]] = field(default_factory=dict)

    def opened(self, number: int = 0) -> Device:
        """A device of this process. Raises ``missing`` and what ``open`` raises."""
        if number not in self.used:
            self.used[number] = os.getpid(), self.open(number)
        process, found = self.used[number]
        if process != os.getpid():
            raise self.missing(problem="this process was forked from one that uses it already")
        return found

    def target(self, number: int = 0) -> Target:
        """The record for a device, which is opened when something of it is asked for."""

        def opened() -> Device:
            return self.opened(number)

        return Target(
            self.name,
            self.dialect,
            machine=lambda: self.machine(opened()),
            key=lambda: self.key(opened()),
            build=lambda source: self.build(opened(), source),
            load=lambda path: self.load(opened(), path),
            worker=f"{MODULES[self.name]}:{number}",
            facts=lambda: opened().facts,
            devices=Devices(self.names, self.target),
        )

    def loaded(self, source: str, number: int = 0) -> Loaded:
        """A text on a device."""
        device = self.opened(number)
        return self.load(device, self.build(device, source))

    def worker(self, number: str = "0") -> Trials:
        """The far side of a search's worker."""
        return Trials(lambda source: self.loaded(source, int(number)), self.refusals)


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Devices as people name them: ``0 PoCL``."""
    return tuple(f"{number} {name}" for number, name in enumerate(names))
