"""``photic targets``: which targets work on this machine, or why not, and what they found.

A target is listed by its name here; everything said about it comes from its own folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from photic.base.errors import PhoticError
from photic.cli.ending import endings


def targets() -> None:
    """List the targets and what they found here.

    For each target: whether it works on this machine, or why not, and the facts it compiles for.

    \b
    Example:
      photic targets
    """
    with endings():
        for name, find_facts in TARGETS.items():
            print("\n".join(described(name, find_facts)))


def _c_facts() -> object:
    from photic.targets.c.facts import facts

    return facts()


TARGETS: dict[str, Callable[[], object]] = {"c": _c_facts}


def described(name: str, find_facts: Callable[[], object]) -> Iterator[str]:
    """One line that says whether the target works, then one line per fact."""
    try:
        found = find_facts()
    except PhoticError as error:
        yield f"{name}: not available: {error}"
        return
    yield f"{name}: available"
    assert is_dataclass(found)
    for field in fields(found):
        yield f"  {fact_line(field.name, getattr(found, field.name))}"


def fact_line(name: str, value: object) -> str:
    """``cache_bytes`` 4096 as ``cache: 4096 bytes``; other units stay in the name."""
    words = name.removesuffix("_bytes").replace("_", " ")
    return f"{words}: {fact_text(value)}{' bytes' if name.endswith('_bytes') else ''}"


def fact_text(value: object) -> str:
    """A fact as a person writes it: no brackets, yes and no."""
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple() | list() | set() | frozenset():
            parts = value if isinstance(value, tuple | list) else sorted(value, key=str)
            return ", ".join(fact_text(part) for part in parts) or "none"
        case _:
            return str(value)
