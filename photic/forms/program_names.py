"""The places of a program by the names that users know."""

from __future__ import annotations

from photic.ir.program import PREFIX, Place, Program, Role


def named_places(program: Program, role: Role) -> dict[str, Place]:
    """The places of inputs, outputs or states by the names that users know."""
    places = program.places.items()
    return {name[len(PREFIX[role]) :]: place for name, place in places if place.role == role}
