"""Sessions of real models, opened in silence, and short answers of theirs."""

from __future__ import annotations

from pathlib import Path

from photic.language.sampling import SamplingOptions
from photic.language.session import Session, open_session

SMOLLM2 = "smollm2-135m"
ANSWER_TOKENS = 24


def opened(model: str | Path, context: int | None = None, **options: object) -> Session:
    """As ``open_session``, in silence."""
    silent = {"progress": lambda stage, done, total: None}
    return open_session(model, context=context, **silent, **options)  # type: ignore[arg-type]


def answer(session: Session, text: str, raw: bool = False, **options: float) -> str:
    """The first tokens of an answer; ``options`` are those of sampling."""
    sampling = SamplingOptions(**options)  # type: ignore[arg-type]
    pieces = session.generate(
        text, system=None, raw=raw, max_tokens=ANSWER_TOKENS, sampling=sampling, stops=()
    )
    return "".join(pieces)
