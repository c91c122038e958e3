"""How an answer is shown: its text on stdout as it comes, its figures as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from photic.cli.table import quantity, table

if TYPE_CHECKING:
    from photic.language.session import Stats

HEADS = ("", "tokens", "seconds", "tok/s")


def write_answer(pieces: Iterator[str]) -> None:
    """Write each piece as it comes; the answer ends with a newline, also when interrupted.

    Raises what ``streams.py`` says where stdout takes no more.
    """
    ends_line = False
    try:
        for piece in pieces:
            _write(piece)
            ends_line = piece.endswith("\n") if piece else ends_line
    finally:
        if not ends_line:
            _write("\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def statistics(stats: Stats) -> str:
    """Speed of both phases, then what the caches and drafts saved, the ending and the memory."""
    fed = stats.prompt_tokens - stats.cached_tokens
    rows = [
        ("prompt", *_speed(fed, stats.prompt_seconds)),
        ("generation", *_speed(stats.generated_tokens, stats.generation_seconds)),
    ]
    lines = [table(HEADS, rows)]
    if stats.cached_tokens:
        lines.append(f"from the cache: {stats.cached_tokens} tokens of the prompt")
    if stats.drafted_tokens:
        lines.append(f"drafts: {stats.accepted_tokens} of {stats.drafted_tokens} tokens were right")
    lines.append(f"ended by: {stats.finish_reason}")
    lines.append(f"peak memory: {quantity(stats.peak_bytes, 'B')}")
    return "\n".join(lines)


def _speed(tokens: int, seconds: float) -> tuple[str, str, str]:
    rate = f"{tokens / seconds:.1f}" if seconds > 0 else "too fast to time"
    return str(tokens), f"{seconds:.2f}", rate
