"""A compiled program as one page of HTML, for ``photic explain --html``.

The page needs no network and no other file; all text from the program is escaped. It shows what the
report and the saved program hold, and says what they do not: it invents no figure. Kernels are
drawn once each, however often they are called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from photic.cli.page_graph import graph_picture
from photic.cli.page_memory import memory_picture
from photic.cli.page_parts import MOST_OPEN, collapsed, facts, note, numbered, table
from photic.cli.page_roofline import roofline
from photic.cli.page_search import candidates_picture, growth_picture
from photic.cli.page_style import SCRIPT, STYLE
from photic.cli.page_svg import Bar, bars
from photic.cli.roofs import Roofs, speed
from photic.cli.table import counted, quantity

if TYPE_CHECKING:
    from photic.storage.artifact import KernelReport
    from photic.storage.making import Making
    from photic.tensor.program import Program

OLDER = "Not kept in files of this older version; compile and save the program again."


@dataclass(frozen=True, slots=True)
class Shown:
    """A program as the page shows it; shares (0 to 1) and rows of the table, one for each kernel.

    ``kind`` says of which times the shares are, ``ceilings`` what the roofs are, in words.
    """

    name: str
    program: Program
    kernels: Sequence[KernelReport]
    shares: Sequence[float]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    kind: str
    roofs: Roofs
    ceilings: str


def page(programs: Sequence[Shown]) -> str:
    """The whole document."""
    body = "\n".join(_program(one, number) for number, one in enumerate(programs))
    title = escape("photic: " + ", ".join(one.name for one in programs))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _program(shown: Shown, number: int) -> str:
    """The sections, after a line of links to them."""
    links = "".join(
        f'<a href="#{name}-{number}">{escape(title)}</a>' for name, title, _ in SECTIONS
    )
    sections = (
        f'<section data-section="{name}" id="{name}-{number}"><h2>{escape(title)}</h2>'
        f"{make(shown)}</section>"
        for name, title, make in SECTIONS
    )
    head = f"<h1>{escape(shown.name)}</h1><nav>{links}</nav>"
    return f"<article>{head}" + "\n".join(sections) + "</article>"


def _summary(shown: Shown) -> str:
    program, report = shown.program, shown.program.report
    searched = f"{report.candidates} ({report.stopped})"
    return facts(
        {
            "kernels": str(len(shown.kernels)),
            "calls in a run": str(sum(one.calls for one in shown.kernels)),
            "constants": quantity(program.constant_bytes, "B"),
            "arena and scratch": quantity(program.peak_bytes, "B"),
            "times": shown.kind,
            "candidates": searched if report.candidates else "none searched here",
        }
    )


def _kernels(shown: Shown) -> str:
    words = (
        f"Shares are of {shown.kind} times. Arithmetic and bytes are of one call at the largest "
        "sizes. The ceiling is the share reached of what the limit allows at most, where the time "
        "was measured; little of it means that neither arithmetic nor memory binds. Rules are "
        "those without any of which the kernel is not found."
    )
    rows = table(shown.heads, shown.rows)
    title = counted(len(shown.rows), "kernel")
    return note(words) + collapsed(title, rows, is_open=len(shown.rows) <= MOST_OPEN)


def _roofline(shown: Shown) -> str:
    left_out = sum(speed(one) is None for one in shown.kernels)
    words = shown.ceilings[0].upper() + shown.ceilings[1:] + ". "
    words += "The larger a point, the larger its share of the time; hollow ones were not measured."
    if left_out:
        words += f" Kernels without time, arithmetic or bytes are left out: {left_out}."
    return note(words) + roofline(shown.kernels, shown.shares, shown.roofs)


def _rules(shown: Shown) -> str:
    counts = Counter(rule for one in shown.kernels for rule in one.rules)
    if not counts:
        chains = sorted({row[-1] for row in shown.rows})
        return note(f"No rule is known to have led to a kernel: {'; '.join(chains)}.")
    found = [Bar(name, n, counted(n, "kernel")) for name, n in counts.most_common()]
    return note("The kernels that each rule is needed for.") + bars(found)


def _of_making(make: Callable[[Making], str]) -> Callable[[Shown], str]:
    """A section of what is kept of the making, or that nothing is."""

    def section(shown: Shown) -> str:
        making = shown.program.artifact.making
        return note(OLDER) if making is None else make(making)

    return section


def _memory(shown: Shown) -> str:
    from photic.storage.making import Making

    return memory_picture(shown.program, shown.program.artifact.making or Making())


def _sources(shown: Shown) -> str:
    parts = (
        f"<details><summary>{escape(one.name)}</summary><h3>Nest</h3>{numbered(one.nest)}"
        f"<h3>Source</h3>{numbered(one.source)}</details>"
        for one in shown.kernels
    )
    find = (
        '<input type="search" class="find" aria-label="Find a kernel" placeholder="Find a kernel">'
    )
    return find + "\n".join(parts)


SECTIONS: tuple[tuple[str, str, Callable[[Shown], str]], ...] = (
    ("summary", "Summary", _summary),
    ("kernels", "Kernels", _kernels),
    ("roofline", "Roofline", _roofline),
    ("rules", "Rules behind the kernels", _rules),
    ("graph", "The graph", _of_making(graph_picture)),
    ("candidates", "Candidates over time", _of_making(candidates_picture)),
    ("growth", "Growth of the e-graph", _of_making(growth_picture)),
    ("memory", "Memory plan", _memory),
    ("sources", "Nests and sources", _sources),
)
