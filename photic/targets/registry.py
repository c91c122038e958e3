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

MODULES = {"c": "photic.targets.c.device"}


class Loaded(Protocol):
    """A program's code, ready to run."""

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int) -> None:
        """Run the entry function; all arguments are addresses."""


@dataclass(frozen=True, slots=True)
class Target:
    """One machine: what the planner is told, how its language is spelled, how code gets to run.

    ``key`` changes whenever code generated here would not fit another machine of the same target.
    """

    name: str
    dialect: Dialect
    machine: Callable[[], Machine]
    key: Callable[[], str]
    build: Callable[[str], Path]
    load: Callable[[Path], Loaded]


def target_named(name: str) -> Target:
    """The target's record; BadArgument for a name that is not in the table."""
    if name not in MODULES:
        raise BadArgument(
            op="compile", argument="target", given=repr(name), expected=", ".join(MODULES)
        )
    found = importlib.import_module(MODULES[name]).TARGET
    assert isinstance(found, Target)
    return found
