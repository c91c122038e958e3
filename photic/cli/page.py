"""A compiled program as one page of HTML, for ``photic explain --html``.

The page needs no network and no other file; all text from the program is escaped. It shows what the
report and the saved program hold, and names what they do not: it invents no figure. Kernels are
drawn once each, however often they are called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from photic.cli.page_style import SCRIPT, STYLE
from photic.cli.page_svg import Bar, bars, roofline
from photic.cli.roofs import Roofs, at_most, limit, speed
from photic.cli.table import duration, quantity

if TYPE_CHECKING:
    from photic.storage.artifact import KernelReport
    from photic.tensor.program import Program

NOT_KEPT = (
    ("The graph as written", "a saved program holds kernels, no graph"),
    ("Matches of rules in the e-graph", "they are counted while a search runs, and not saved"),
    ("Candidates over time", "a tuning record holds the winner and how many it was chosen from"),
    (
        "Rejected candidates and why",
        "a failed check is told while a search runs, a lost race is not; neither is saved",
    ),
    ("Each buffer's place in the arena", "a saved program holds the plan's totals"),
)
"""What the page would show were it kept."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A program as the page shows it; shares are 0 to 1, one for each kernel."""

    name: str
    program: Program
    kernels: Sequence[KernelReport]
    shares: Sequence[float]
    kind: str
    roofs: Roofs


def page(programs: Sequence[Shown]) -> str:
    """The whole document."""
    body = "\n".join(map(_program, programs))
    title = escape("photic: " + ", ".join(one.name for one in programs))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _program(shown: Shown) -> str:
    sections = (
        f'<section data-section="{name}"><h2>{escape(title)}</h2>{make(shown)}</section>'
        for name, title, make in SECTIONS
    )
    return f"<article><h1>{escape(shown.name)}</h1>" + "\n".join(sections) + "</article>"


def _summary(shown: Shown) -> str:
    program, report = shown.program, shown.program.report
    facts = {
        "kernels": str(len(shown.kernels)),
        "calls in a run": str(sum(one.calls for one in shown.kernels)),
        "constants": quantity(program.constant_bytes, "B"),
        "arena and scratch": quantity(program.peak_bytes, "B"),
        "times": shown.kind,
        "candidates": str(report.candidates) if report.candidates else "none searched here",
    }
    return _facts(facts)


def _kernels(shown: Shown) -> str:
    heads = (
        "kernel",
        "calls",
        "share",
        "measured",
        "predicted",
        "flops",
        "bytes",
        "limit",
        "rules",
    )
    rows = [_row(one, share, shown) for one, share in zip(shown.kernels, shown.shares, strict=True)]
    note = (
        f"Shares are of {shown.kind} times. Arithmetic and bytes are of one call at the largest "
        "sizes. The limit compares a kernel's arithmetic a byte with the roofs below."
    )
    return _note(note) + _collapsed(f"{len(rows)} kernels", _table(heads, rows), len(rows))


def _row(kernel: KernelReport, share: float, shown: Shown) -> tuple[str, ...]:
    return (
        kernel.name,
        str(kernel.calls),
        f"{share:.1%}",
        "-" if kernel.seconds is None else duration(kernel.seconds),
        "-" if kernel.predicted_seconds is None else duration(kernel.predicted_seconds),
        quantity(kernel.flops, ""),
        quantity(kernel.bytes, "B"),
        limit(kernel, shown.roofs),
        ", ".join(kernel.rules) or "as written",
    )


def _roofline(shown: Shown) -> str:
    is_symbolic = bool(shown.program.artifact.sizes)
    place = at_most if is_symbolic else speed
    known = [
        (one.name, *found)
        for one in shown.kernels
        if (found := place(one, shown.roofs)) is not None
    ]
    left_out = len(shown.kernels) - len(known)
    note = "The roofs are the cost model's, for all cores of this machine; they are not measured. "
    if is_symbolic:
        note += (
            "With symbolic sizes, times are of the middle of the ranges and arithmetic of their "
            "ends, which gives no speed: each kernel lies on the roof, at its arithmetic a byte. "
        )
    if left_out:
        note += f"Kernels without time, arithmetic or bytes are left out: {left_out}."
    return _note(note) + roofline(known, shown.roofs)


def _rules(shown: Shown) -> str:
    counts = Counter(rule for one in shown.kernels for rule in one.rules)
    if not counts:
        return _note("Every kernel is as written: no rule led to one.")
    found = [Bar(name, count, f"{count} kernels") for name, count in counts.most_common()]
    return _note("The kernels that each rule is needed for.") + bars(found)


def _memory(shown: Shown) -> str:
    artifact, program = shown.program.artifact, shown.program
    sizes = (
        ("constants", program.constant_bytes),
        ("temporaries apart", artifact.buffer_bytes),
        ("arena", artifact.arena_bytes),
        ("least possible arena", artifact.least_bytes),
        ("scratch of a thread", artifact.scratch_bytes),
    )
    return bars([Bar(name, size, quantity(size, "B")) for name, size in sizes])


def _sources(shown: Shown) -> str:
    parts = (
        f"<details><summary>{escape(one.name)}</summary><h3>Nest</h3><pre>{escape(one.nest)}</pre>"
        f"<h3>Source</h3><pre>{escape(one.source)}</pre></details>"
        for one in shown.kernels
    )
    find = (
        '<input type="search" class="find" aria-label="Find a kernel" placeholder="Find a kernel">'
    )
    return find + "\n".join(parts)


def _missing(shown: Shown) -> str:
    matches = shown.program.report.matches
    counts = _counts(matches) if matches else ""
    return counts + _facts(dict(NOT_KEPT))


def _counts(matches: Mapping[str, int]) -> str:
    order = sorted(matches.items(), key=lambda one: (-one[1], one[0]))
    return bars([Bar(name, count, str(count)) for name, count in order if count])


def _facts(facts: Mapping[str, str]) -> str:
    rows = (f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())
    return f"<dl>{''.join(rows)}</dl>"


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table>{inside}</table></div>'


MOST_OPEN = 40  # rows of a table that is shown without a click


def _collapsed(title: str, content: str, count: int) -> str:
    opened = " open" if count <= MOST_OPEN else ""
    return f"<details{opened}><summary>{escape(title)}</summary>{content}</details>"


def _note(text: str) -> str:
    return f"<p>{escape(text)}</p>"


SECTIONS: tuple[tuple[str, str, Callable[[Shown], str]], ...] = (
    ("summary", "Summary", _summary),
    ("kernels", "Kernels", _kernels),
    ("roofline", "Roofline", _roofline),
    ("rules", "Rules behind the kernels", _rules),
    ("memory", "Memory", _memory),
    ("sources", "Nests and sources", _sources),
    ("missing", "Search, and what is not kept", _missing),
)
