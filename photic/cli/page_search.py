"""The search on the page: every candidate as a point over time, and how the e-graphs grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from photic.cli.page_parts import collapsed, note, table
from photic.cli.page_svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Bar,
    bars,
    decades,
    grid,
    linear,
    svg,
    titled,
)
from photic.cli.rejected import FIRST, VERDICTS, WON, by_region, described, path, regions, span
from photic.cli.table import counted, duration

if TYPE_CHECKING:
    from photic.storage.making import Grown, Making, Tried

MOST_OPEN = 4  # regions that are shown without a click
RADIUS = 4
PERCENT = 100
CLASSES = {FIRST: "won", WON: "won", "wrong": "wrong", "failed": "wrong", "untimed": "wrong"}
NOTHING = "No search was made in this compilation: its choices are those of earlier records, or \
the cost model's."


def candidates_picture(making: Making) -> str:
    """A plot a region, and a table of verdicts."""
    if not making.tried:
        return note(NOTHING)
    names, tried = regions(making), by_region(making)
    words = (
        f"{counted(making.candidates, 'candidate')} in {duration(making.seconds)} "
        f"({making.stopped}). The line is what was best so far; a cross on the upper edge was not "
        "timed. A point tells its number and its verdict under the pointer."
    )
    plots = "".join(
        collapsed(
            _title(region, names),
            plot(ones, making.seconds) + _rejected(ones),
            is_open=number < MOST_OPEN,
        )
        for number, (region, ones) in enumerate(tried.items())
    )
    return note(words) + f'<div class="plots">{plots}</div>'


def _title(region: str, names: Mapping[str, Sequence[str]]) -> str:
    return f"region {region}: {span(names.get(region, ['kernels not timed']))}"


def plot(ones: Sequence[Tried], seconds: float) -> str:
    """Seconds of a call over seconds of the search, which took so long in all."""
    timed = [one.seconds for one in ones if one.seconds is not None]
    if not timed:
        return note("No candidate could be timed.")
    x = linear(max(seconds, *(one.elapsed for one in ones)), LEFT, WIDTH - RIGHT)
    y = decades(timed, HEIGHT - BOTTOM, TOP)
    marks = [
        _cross(one, x.at(one.elapsed))
        if one.seconds is None
        else _point(one, x.at(one.elapsed), y.at(one.seconds))
        for one in sorted(ones, key=lambda each: each.verdict in (FIRST, WON))
    ]
    best = [(x.at(one.elapsed), y.at(one.seconds)) for one in path(ones) if one.seconds is not None]
    across = [f"{one:g} s" for one in x.ticks]
    up = [duration(one) for one in y.ticks]
    lines = [grid(x, y, across, up, "time of the search", "a call"), _path(best, x.end)]
    return svg("Candidates over time", [*lines, *marks])


def _path(points: Sequence[tuple[float, float]], end: float) -> str:
    """Level until the next best, then down; to the end of the search."""
    (x, y), *rest = points
    text = f"M{x:.1f} {y:.1f}" + "".join(f"H{nx:.1f}V{ny:.1f}" for nx, ny in rest)
    return f'<path class="roof best" d="{text}H{end:.1f}"/>'


def _point(one: Tried, x: float, y: float) -> str:
    kind = CLASSES.get(one.verdict, "lost")
    mark = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"'
    return titled(mark, described(one))


def _cross(one: Tried, x: float) -> str:
    corner, size = x - RADIUS, 2 * RADIUS
    path = f"M{corner:.1f} {TOP}l{size} {size}m0 -{size}l-{size} {size}"
    return titled(f'<path class="wrong" d="{path}"', described(one))


def _rejected(ones: Sequence[Tried]) -> str:
    """How many met which end, then what was not only slower, with the reasons."""
    counts = [(one, sum(each.verdict == one for each in ones)) for one in VERDICTS]
    found = bars([Bar(name, count, str(count)) for name, count in counts if count])
    odd = [one for one in ones if CLASSES.get(one.verdict) == "wrong"]
    heads = ("number", "at", "values", "verdict", "why")
    rows = [(str(one.number), duration(one.elapsed), one.kind, one.verdict, one.why) for one in odd]
    return found + (collapsed("rejected, and why", table(heads, rows), is_open=True) if odd else "")


# --- growth ---------------------------------------------------------------------------------


def growth_picture(making: Making) -> str:
    """A table a region: matches by rule and step, and the size after each step."""
    if not making.matches:
        return note(NOTHING)
    seen: dict[str, list[Grown]] = {}
    for one in making.grown:
        seen.setdefault(one.region, []).append(one)
    names = regions(making)
    words = (
        "How often each rule found something in a step of the search's rules, and how many "
        "operations the e-graph held after it; all rules of a step apply at once."
    )
    tables = "".join(
        collapsed(
            f"{_title(region, names)}, {steps[-1].stopped}",
            _growth(steps),
            is_open=number < MOST_OPEN,
        )
        for number, (region, steps) in enumerate(seen.items())
    )
    order = sorted(making.matches, key=lambda one: (-one[1], one[0]))
    total = bars([Bar(name, count, str(count)) for name, count in order if count])
    return note(words) + tables + collapsed("all regions and steps", total, is_open=not seen)


def _growth(steps: Sequence[Grown]) -> str:
    head = "".join(f'<th scope="col">step {one.step}</th>' for one in steps)
    rows = "".join(_growth_rows(steps))
    inside = f"<thead><tr><th>rule</th>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="wide"><table class="heat">{inside}</table></div>'


def _growth_rows(steps: Sequence[Grown]) -> Iterator[str]:
    totals: dict[str, int] = {}
    for one in steps:
        for name, count in one.matches:
            totals[name] = totals.get(name, 0) + count
    most = max((count for one in steps for _, count in one.matches), default=1)
    for name in sorted(totals, key=lambda each: (-totals[each], each)):
        cells = "".join(_cell(dict(one.matches).get(name, 0), most) for one in steps)
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    largest = max((one.rows for one in steps), default=1) or 1
    sizes = "".join(
        f'<td class="size"><i style="height:{PERCENT * one.rows / largest:.0f}%"></i>'
        f"<span>{one.rows}</span></td>"
        for one in steps
    )
    yield f'<tr class="sizes"><th scope="row">operations after it</th>{sizes}</tr>'


def _cell(count: int, most: int) -> str:
    """The more matches, the stronger the colour."""
    if not count:
        return "<td></td>"
    return f'<td style="--part:{PERCENT * (count / most) ** 0.5:.0f}%">{count}</td>'
