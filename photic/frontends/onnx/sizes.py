"""Sizes of a model's inputs: numbers, names and texts of the file as numbers and ranges.

A name is one symbolic size wherever it stands; what has no name ("", "?", -1, arithmetic on names)
is a size of its own, named after its input and axis. ``dims`` fixes a size, or gives its range and
perhaps a step, by the name in the file or by that name.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from photic.base.errors import BadArgument
from photic.frontends.onnx.records import Port
from photic.ir.dim import Dim, symbols
from photic.tensor import creation

Given: TypeAlias = int | tuple[int, int] | tuple[int, int, int]
Sizes: TypeAlias = Mapping[str, Given]

LOWEST, HIGHEST = 1, 1024  # of a size of which nothing is said
NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-:/ ]*")


@dataclass(slots=True)
class Naming:
    """Symbolic sizes by the names that a file and its user give them."""

    given: Sizes
    made: dict[str, Dim] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def shape(self, port: Port) -> tuple[Dim, ...]:
        """The shape of an input."""
        return tuple(self._size(port, k, one) for k, one in enumerate(port.sizes or ()))

    def _size(self, port: Port, axis: int, size: int | str) -> Dim:
        own = f"{port.name}_{axis}"
        if own in self.given:
            self.used.add(own)
            return self._made(own, self.given[own])
        if isinstance(size, int) and size >= 0:
            return size
        name = size if isinstance(size, str) and NAMED.fullmatch(size) else own
        if name in self.given:
            self.used.add(name)
        return self._made(name, self.given.get(name, (LOWEST, HIGHEST)))

    def _made(self, name: str, given: Given) -> Dim:
        if name not in self.made:
            self.made[name] = given if isinstance(given, int) else self._range(name, *given)
        return self.made[name]

    def _range(self, name: str, low: int, high: int, step: int = 1) -> Dim:
        """Multiples of the step from low to high, both included. BadArgument."""
        if step < 1 or low % step or high % step:
            expected = "a low and a high that the step divides"
            given = (low, high, step)
            raise BadArgument(op="onnx", argument=f"dims[{name!r}]", given=given, expected=expected)
        return step * creation.dim(self._identifier(name), low // step, high // step)

    def _identifier(self, name: str) -> str:
        """The name as symbols have them, and no other's."""
        text = identifier(name)
        taken = {one.name for size in self.made.values() for one in symbols(size)}
        while text in taken:
            text += "_"
        return text

    def require_all_used(self) -> None:
        """BadArgument for a name that no input has."""
        unknown = sorted(set(self.given) - self.used)
        if unknown:
            known = ", ".join(sorted(self.made)) or "none: all sizes are fixed"
            raise BadArgument(op="onnx", argument="dims", given=unknown[0], expected=known)


def unsaid(ports: Sequence[Port], given: Sizes) -> list[str]:
    """The sizes of inputs that are no numbers and of which nothing is given, each once."""
    naming = Naming({})
    found: list[str] = []
    for port in ports:
        naming.shape(port)
        owns = [f"{port.name}_{axis}" for axis in range(len(port.sizes or ()))]
        kept = [own for own in owns if own in given]
        found += [one for one in naming.made if one not in given and one not in kept]
    return list(dict.fromkeys(found))


def identifier(name: str) -> str:
    """A name with only what Python's names have."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII)
    is_axis = re.fullmatch(r"i\d+", text)
    return text if text.isidentifier() and not is_axis and not _is_keyword(text) else f"n_{text}"


def _is_keyword(text: str) -> bool:
    return keyword.iskeyword(text)
