"""What the file of a language model says, whatever its format: typed values by key, tensors.

Keys and names of tensors are GGUF's; the frontend of another format gives what it reads these
names. It is promised that a value has the type asked for; what it means is not known here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

if TYPE_CHECKING:
    from photic.tensor.tensor import Tensor

MetadataValue = int | float | bool | str | list["MetadataValue"]

_INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_NUMBERS = ("float32", "float64", *_INTEGERS)


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """An open file. The accessors check the declared type; ``corrupt`` names the key.

    With a ``default`` a missing key is not an error; a key of another type always is.
    """

    path: Path
    metadata: Mapping[str, MetadataValue]
    types: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]
    """Of the tensors by name, in NumPy's order of axes."""

    @abstractmethod
    def values(self, name: str) -> Tensor:
        """A tensor of the file as float32; GgufUnsupported where its elements are not read."""

    @abstractmethod
    def corrupt(self, key: str, given: object, expected: str) -> NoReturn:
        """Raise this format's error for a value that makes no sense."""

    @abstractmethod
    def unsupported(self, what: str, given: object, expected: str) -> NoReturn:
        """Raise this format's error for something that is not done here."""

    def integer(self, key: str, default: int | None = None) -> int:
        """An integer of any width (a bool is none)."""
        return cast(int, self._value(key, "an integer", _INTEGERS, default))

    def number(self, key: str, default: float | None = None) -> float:
        """A float or an integer, as float."""
        return float(cast(float, self._value(key, "a number", _NUMBERS, default)))

    def flag(self, key: str, default: bool | None = None) -> bool:
        """A bool."""
        return cast(bool, self._value(key, "a bool", ("bool",), default))

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        return cast(str, self._value(key, "a string", ("string",), default))

    def strings(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """An array of strings; a new list."""
        found = self._value(key, "an array of strings", _arrays_of(("string",)), default)
        return list(cast(Sequence[str], found))

    def integers(self, key: str, default: Sequence[int] | None = None) -> list[int]:
        """An array of integers of any width; a new list."""
        found = self._value(key, "an array of integers", _arrays_of(_INTEGERS), default)
        return list(cast(Sequence[int], found))

    def floats(self, key: str, default: Sequence[float] | None = None) -> list[float]:
        """An array of float32 or float64 (integers are refused: scores are never integers)."""
        kinds = _arrays_of(("float32", "float64"))
        return list(cast(Sequence[float], self._value(key, "an array of floats", kinds, default)))

    def flags(self, key: str, default: Sequence[bool] | None = None) -> list[bool]:
        """An array of bools; a new list."""
        found = self._value(key, "an array of bools", _arrays_of(("bool",)), default)
        return list(cast(Sequence[bool], found))

    def _value(self, key: str, expected: str, types: tuple[str, ...], default: object) -> object:
        given = self.types.get(key)
        if given is None and default is not None:
            return default
        if given not in types:
            self.corrupt(key, "missing" if given is None else f"of type {given}", expected)
        return self.metadata[key]


def _arrays_of(types: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"array of {one}" for one in types)
