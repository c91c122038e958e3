"""The parts of the page that are text: notes, facts, tables, what opens at a click. All escape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_OPEN = 40  # rows of a table that is shown without a click


def note(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def facts(given: Mapping[str, str]) -> str:
    """Names and values."""
    rows = (f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in given.items())
    return f"<dl>{''.join(rows)}</dl>"


def table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself where it is wide."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table>{inside}</table></div>'


def collapsed(title: str, content: str, *, is_open: bool) -> str:
    """Content under a title; a click opens or closes it."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(title)}</summary>{content}</details>"


def numbered(text: str) -> str:
    """Lines of code with their numbers, which are not copied with them."""
    lines = "".join(f"<span>{escape(one)}\n</span>" for one in text.splitlines())
    return f'<pre class="code">{lines}</pre>'
