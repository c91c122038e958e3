"""A tuning record: the best choices found for a region on a target, and how they were found.

Its key stands for the region's text, the target and the compiler, never for values of constants.
Seconds of one key are comparable: who beats a record in a race should state its seconds times the
ratio. A record has a form as one line of JSON. Where records are kept is not known here.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass

VERSION = 2  # of the lines
MOST_CHARACTERS = 1 << 20  # of a line
SHOWN_CHARACTERS = 60
KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Record:
    """What a search chose (keys of choices and labels), how it came to it, the rules behind it."""

    choices: tuple[tuple[str, str], ...]
    seconds: float
    samples: tuple[float, ...]
    candidates: int
    stopped: str
    rules: tuple[str, ...] = ()


def record_key(region: str, target: str, compiler: str) -> str:
    """The key of a region (its canonical text) on a target."""
    return hashlib.sha256(json.dumps([region, target, compiler]).encode()).hexdigest()


def line_of(key: str, record: Record) -> str:
    """A record and its key as one line."""
    return json.dumps({"version": VERSION, "key": key, **asdict(record)})


def parsed(line: str) -> tuple[str, Record]:
    """A key and its record. Raises ValueError for what ``line_of`` does not write."""
    if not isinstance(line, str) or len(line) > MOST_CHARACTERS:
        raise ValueError("it is too long for a record")
    try:
        given = json.loads(line)
    except json.JSONDecodeError:
        raise ValueError("it is no JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(given, dict) or given.keys() != FIELDS.keys():
        raise ValueError(f"expected an object with the fields {', '.join(FIELDS)}")
    wrong = [name for name, is_right in FIELDS.items() if not is_right(given[name])]
    if wrong:
        raise ValueError(f"{wrong[0]} is {str(given[wrong[0]])[:SHOWN_CHARACTERS]}")
    del given["version"]
    given["choices"] = tuple(map(tuple, given["choices"]))
    given |= {name: tuple(given[name]) for name in ("samples", "rules")}
    return given.pop("key"), Record(**given)


def _is_time(value: object) -> bool:
    return isinstance(value, float) and 0 < value < math.inf


def _is_list_of(is_right: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_right, value))


def _is_choice(value: object) -> bool:
    return isinstance(value, list) and list(map(type, value)) == [str, str]


FIELDS: dict[str, Callable[[object], bool]] = {
    "version": lambda value: value == VERSION,
    "key": lambda value: isinstance(value, str) and KEY.fullmatch(value) is not None,
    "choices": _is_list_of(_is_choice),
    "seconds": _is_time,
    "samples": _is_list_of(_is_time),
    "candidates": lambda value: type(value) is int and value >= 0,
    "stopped": lambda value: isinstance(value, str),
    "rules": _is_list_of(lambda value: isinstance(value, str)),
}
