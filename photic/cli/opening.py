"""A session for a command: progress is drawn while it is fetched and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from photic.cli.progress import progress

if TYPE_CHECKING:
    from photic.language.session import Session


def opened(
    model: str,
    context: int | None,
    search: float,
    speculative: int,
    cache: str,
    precision: str,
    seed: int = 0,
    told: Callable[[str], object] = str,
) -> Session:
    """As ``open_session``; ``told`` each stage of it, again and again."""
    from photic.language.session import open_session  # heavy: no other command needs it

    def report(stage: str, done: int, total: int) -> None:
        told(stage)
        shown(stage, done, total)

    with progress() as shown:
        return open_session(
            model,
            context=context,
            progress=report,
            search=search,
            seed=seed,
            speculative=speculative,
            cache=cache,
            precision=precision,
        )
