"""A session for a command: progress is drawn while it is fetched and compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from photic.cli.progress import progress

if TYPE_CHECKING:
    from photic.language.session import Session


def opened(model: str, context: int | None, search: float, speculative: int, cache: str) -> Session:
    """As ``open_session``."""
    from photic.language.session import open_session  # heavy: no other command needs it

    with progress() as report:
        return open_session(
            model,
            context=context,
            progress=report,
            search=search,
            speculative=speculative,
            cache=cache,
        )
