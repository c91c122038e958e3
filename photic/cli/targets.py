"""``photic targets``: which targets work on this machine, or why not, and what they found.

The targets are those of the registry; everything said about one comes from its own folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Annotated

import typer

from photic.base.errors import PhoticError
from photic.cli.ending import Ending, endings


def targets(
    check: Annotated[
        str,
        typer.Option(
            metavar="NAME[:DEVICE]", help="Compile and run a few programs on this target."
        ),
    ] = "",
) -> None:
    """List the targets and what they found here.

    For each target: whether it works on this machine, or why not, and the facts it compiles for.
    With --check, one target runs small programs whose results are known.

    \b
    Example:
      photic targets --check opencl
    """
    with endings():
        if check:
            _check(check)
            return
        for name, find_facts in finders().items():
            print("\n".join(described(name, find_facts)))


def _check(name: str) -> None:
    """A line for each check; exit code 1 if one failed."""
    from photic.cli.options import use_target
    from photic.cli.targets_check import faults_of
    from photic.targets.registry import target_named

    faults = 0
    use_target(name if ":" in name else "")
    for what, problem in faults_of(target_named(name)):
        print(f"{name}: {what}: {problem or 'right'}", flush=True)
        faults += bool(problem)
    if faults:
        raise SystemExit(int(Ending.FAILED))


def finders() -> dict[str, Callable[[], object]]:
    """How each target finds its facts."""
    from photic.targets.registry import MODULES

    return {name: partial(_facts, name) for name in MODULES}


def _facts(name: str) -> object:
    from photic.targets.registry import target_named

    return target_named(name).facts()


def availability() -> Iterator[str]:
    """For each target whether it works, or why not, and its devices where it has several."""
    for name, find_facts in finders().items():
        first, *others = described(name, find_facts)
        yield first
        yield from (one for one in others if one.startswith("  devices:"))


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
