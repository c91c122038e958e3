"""Every PHOTIC_* environment variable, as one table; the only reader of the environment.

``setting("cache")`` returns the parsed value at the time of the call. An unparsable value is an
error that names the variable.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from photic.base.errors import BadArgument


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: ``PHOTIC_<NAME>``, its parser, its default text and what it is for."""

    name: str
    default: str
    parse: Callable[[str], object]
    expected: str
    why: str


def _flag(text: str) -> bool:
    return {"0": False, "": False, "1": True}[text]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


SETTINGS: tuple[Setting, ...] = (
    Setting("CACHE", "", str, "a folder", "where compiled kernels and models are kept"),
    Setting("THREADS", "0", int, "an integer; 0 = all cores", "threads of the c target"),
    Setting("SHOW", "", _names, "graph,search,nests,source,times", "stages to print (cli only)"),
    Setting("DUMP", "", str, "a folder", "one file per compiler pass is written here"),
    Setting("OFFLINE", "0", _flag, "0 or 1", "never touch the network"),
    Setting("TARGET", "", str, "a target's name", "the target used when none is named"),
    Setting("SEARCH", "0", float, "seconds", "measured search of programs where none is given"),
    Setting("CPU", "", str, "native or a Clang -mcpu name", "the processor to compile for"),
)

_BY_NAME = {one.name.lower(): one for one in SETTINGS}


def setting(name: str) -> object:
    """The value of ``PHOTIC_<NAME>``; raises BadArgument when it does not parse."""
    record = _BY_NAME[name]
    variable = f"PHOTIC_{record.name}"
    text = os.environ.get(variable, record.default)
    try:
        return record.parse(text)
    except (ValueError, KeyError):
        fields = {"argument": variable, "given": repr(text), "expected": record.expected}
        raise BadArgument(op="settings", **fields) from None


def text_setting(name: str) -> str:
    """As ``setting``, for variables that hold text."""
    return str(setting(name))


def int_setting(name: str) -> int:
    """As ``setting``, for variables that hold a number."""
    value = setting(name)
    assert isinstance(value, int)
    return int(value)


def child_environment(**extra: str) -> dict[str, str]:
    """The environment for a process that photic starts: ours, with ``extra`` on top."""
    return {**os.environ, **extra}


def clean_environment(keep: tuple[str, ...], **extra: str) -> dict[str, str]:
    """The environment of a process that photic starts: only the names in ``keep``, and ``extra``.

    Starting from few names keeps a user's variables from changing what is built.
    """
    return {**{name: os.environ[name] for name in keep if name in os.environ}, **extra}


def override_setting(name: str, text: str) -> None:
    """Set ``PHOTIC_<NAME>`` for this process and those that it starts from now on."""
    os.environ[f"PHOTIC_{_BY_NAME[name].name}"] = text
