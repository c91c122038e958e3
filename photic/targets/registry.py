"""The targets by name, imported when asked for: a new one is a folder and a line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from photic.base.errors import BadArgument
from photic.codegen.dialect import Dialect
from photic.loops.target import Machine

MODULES = {
    name: f"photic.targets.{name}.device" for name in ("c", "opencl", "cuda", "hip", "metal")
}


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


@dataclass(frozen=True, slots=True)
class Target:
    """One machine: what the planner is told, how its language is spelled, how code gets to run.

    ``worker`` names the module that runs trials in a process of its own; ``facts`` are a dataclass
    for people to read.
    ``key`` changes whenever code generated here would not fit another machine of the same target.
    """

    name: str
    dialect: Dialect
    machine: Callable[[], Machine]
    key: Callable[[], str]
    build: Callable[[str], Path]
    load: Callable[[Path], Loaded]
    worker: str
    facts: Callable[[], object]


def target_named(name: str) -> Target:
    """The target's record; BadArgument for a name that is not in the table."""
    if name not in MODULES:
        raise BadArgument(
            op="compile", argument="target", given=repr(name), expected=", ".join(MODULES)
        )
    found = importlib.import_module(MODULES[name]).TARGET
    assert isinstance(found, Target)
    return found
