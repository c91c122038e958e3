"""The targets by name, imported when asked for: a new one is a folder and a line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol, runtime_checkable

from photic.base.errors import BadArgument
from photic.base.settings import text_setting
from photic.codegen.dialect import Dialect
from photic.loops.target import Machine

if TYPE_CHECKING:
    from photic.targets.arrays import Place

MODULES = {
    name: f"photic.targets.{name}.device" for name in ("c", "opencl", "cuda", "hip", "metal")
}

DEFAULT_TARGET = "c"


class Threads(Protocol):
    """Those that a launch runs on; each needs scratch of its own."""

    @property
    def threads(self) -> int:
        """How many."""

    @property
    def pointer(self) -> int:
        """Where the generated code finds them."""


class Loaded(Protocol):
    """A program's code, ready to run."""

    def pool(self) -> Threads:
        """What a launch would run on now."""

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int, pool: Threads) -> None:
        """Run the entry function; all but the last are addresses."""


@runtime_checkable
class Apart(Loaded, Protocol):
    """A program's code on a device with memory of its own, by address: ``place`` is that memory."""

    @property
    def place(self) -> Place | None:
        """None where memory has no addresses, or is ours."""

    def with_there(self, slots: frozenset[int]) -> Loaded:
        """The same code; the addresses of these slots are the device's."""

    def show_states(self, addresses: Mapping[int, int]) -> None:
        """States by slot are in our memory from now on, after each call and before the next."""

    def forget_states(self) -> None:
        """The next call takes states from our memory."""


@dataclass(frozen=True, slots=True)
class Devices:
    """Those of a target, by number: their names, and the target on one; 0 if none is named."""

    names: Callable[[], Sequence[str]]
    target: Callable[[int], Target]


@dataclass(frozen=True, slots=True)
class Target:
    """One machine: what the planner is told, how its language is spelled, how code gets to run.

    ``worker`` names the module that runs trials in a process of its own, and behind a colon what
    its ``Worker`` is given; ``facts`` are a dataclass for people to read. ``devices`` are None of
    a target that has but one. ``key`` changes whenever code generated here would not fit another
    machine of the same target. ``multiplies_bytes``: if a few rows of bytes times codes take less
    time than numbers of float32 do.
    """

    name: str
    dialect: Dialect
    machine: Callable[[], Machine]
    key: Callable[[], str]
    build: Callable[[str], Path]
    load: Callable[[Path], Loaded]
    worker: str
    facts: Callable[[], object]
    devices: Devices | None = None
    multiplies_bytes: Callable[[], bool] = lambda: False


def target_named(text: str) -> Target:
    """The record of ``opencl``, or on one of several devices of ``opencl:1`` or ``opencl:radeon``.

    No text means PHOTIC_TARGET's, or ``c``. A device is a number, or a part of its name that no
    other has; without one it is what PHOTIC_TARGET says of this target, or the first. Raises
    BadArgument for what is not there, and the target's errors where a device is to be looked for.
    """
    setting = text_setting("target")
    name, _, device = (text or setting or DEFAULT_TARGET).partition(":")
    if name not in MODULES:
        _refuse(text or setting, ", ".join(MODULES))
    found = importlib.import_module(MODULES[name]).TARGET
    assert isinstance(found, Target)
    chosen, _, usual = setting.partition(":")
    device = device or (usual if chosen == name else "")
    return _on_device(found, device) if device else found


def _on_device(target: Target, device: str) -> Target:
    if target.devices is None:
        _refuse(f"{target.name}:{device}", f"{target.name}, which is one device")
    names = target.devices.names()
    found = [k for k, one in enumerate(names) if device.casefold() in one.casefold()]
    if device.isdecimal():
        found = [k for k in range(len(names)) if k == int(device)]
    if len(found) != 1:
        known = (f"{target.name}:{k} ({one})" for k, one in enumerate(names))
        _refuse(f"{target.name}:{device}", ", ".join(known))
    return target.devices.target(found[0])


def _refuse(given: str, expected: str) -> NoReturn:
    raise BadArgument(op="compile", argument="target", given=repr(given), expected=expected)
