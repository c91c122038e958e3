"""What a search tried, as text: by region how many candidates met which end, and why some lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from photic.cli.table import counted, duration, table

if TYPE_CHECKING:
    from photic.storage.making import Making, Tried

FIRST, WON, SLOWER = "first", "won", "slower"
VERDICTS = (WON, "not clearly faster", SLOWER, "failed", "untimed", "wrong")
MOST_REASONS = 3  # shown of a region, besides the nearest loser


def search_lines(making: Making | None, kernels: frozenset[str]) -> Iterator[str]:
    """The search behind some kernels; one line where there was none, or where none is known."""
    if making is None:
        yield "search: not kept in files of this older version"
        return
    if not making.tried:
        yield f"search: none in this compilation ({making.stopped})"
        return
    seconds = duration(making.seconds)
    yield f"search: {counted(making.candidates, 'candidate')} in {seconds} ({making.stopped})"
    names = regions(making)
    tried = by_region(making)
    shown = {region: ones for region, ones in tried.items() if kernels & set(names.get(region, ()))}
    if not shown:
        yield "none of these kernels is of a region that was searched"
        return
    yield ""
    heads = ("region", "kernels", "at first", "at last", *VERDICTS)
    yield table(heads, [_row(region, names, ones) for region, ones in shown.items()])
    yield ""
    yield "rejected:"
    for region, ones in shown.items():
        yield from (f"  {region}: {text}" for text in _reasons(ones))


def by_region(making: Making) -> Mapping[str, Sequence[Tried]]:
    """The candidates of each region, in order."""
    found: dict[str, list[Tried]] = {}
    for one in making.tried:
        found.setdefault(one.region, []).append(one)
    return found


def regions(making: Making) -> Mapping[str, Sequence[str]]:
    """The kernels that each region came to."""
    found: dict[str, list[str]] = {}
    for kernel, region, _ in making.regions:
        found.setdefault(region, []).append(kernel)
    return found


def span(names: Sequence[str]) -> str:
    """``k3, k4``, or ``k3 to k9`` of many."""
    few = 2
    return ", ".join(names) if len(names) <= few else f"{names[0]} to {names[-1]}"


def path(ones: Sequence[Tried]) -> Sequence[Tried]:
    """What the search began with, and each that was the best from then on."""
    return [one for one in ones if one.verdict in (FIRST, WON)]


def _row(region: str, names: Mapping[str, Sequence[str]], ones: Sequence[Tried]) -> tuple[str, ...]:
    counts = Counter(one.verdict for one in ones)
    times = [one.seconds for one in path(ones) if one.seconds is not None]
    ends = (duration(times[0]), duration(times[-1])) if times else ("-", "-")
    numbers = [str(counts[verdict] or "-") for verdict in VERDICTS]
    return (region, span(names[region]), *ends, *numbers)


def _reasons(ones: Sequence[Tried]) -> Iterator[str]:
    """The fastest that lost, then what else went wrong, each reason once."""
    losers = [one for one in ones if one.verdict not in (FIRST, WON)]
    timed = [one for one in losers if one.seconds is not None]
    if not losers:
        yield "nothing"
    if timed:
        best = min(timed, key=lambda one: one.seconds or 0.0)
        yield f"{len(timed)} in races or checks, the fastest of them {described(best)}"
    faults = Counter(f"{one.verdict}: {one.why}" for one in losers if one.seconds is None)
    yield from (f"{count} {text}" for text, count in faults.most_common(MOST_REASONS))


def described(one: Tried) -> str:
    """``number 7 (values 0, 2 kernels, 1.2 us): slower: 1.2 times as long as the best so far``."""
    seconds = "" if one.seconds is None else f", {duration(one.seconds)}"
    why = f": {one.why}" if one.why else ""
    kernels = counted(one.kernels, "kernel")
    return f"number {one.number} ({one.kind}, {kernels}{seconds}): {one.verdict}{why}"
