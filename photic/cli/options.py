"""Options that several commands have, and the checks that typer's own do not make."""

from __future__ import annotations

import math
from typing import Annotated

import typer


def _finite(seconds: float | None) -> float | None:
    if seconds is not None and not 0 <= seconds < math.inf:
        raise typer.BadParameter(f"{seconds} is not a number of seconds, 0 or more")
    return seconds


Search = Annotated[
    float,
    typer.Option(callback=_finite, metavar="SECONDS", help="Seconds to search; it may end sooner."),
]
SearchSeed = Annotated[
    int, typer.Option("--seed", min=0, help="The seed of the search's random choices.")
]
Context = Annotated[int | None, typer.Option(min=1, help="Tokens that prompt and answer may fill.")]
