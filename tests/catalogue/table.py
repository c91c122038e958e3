"""The catalogue as a table: one row a public function, made of its entries.

``docs/catalogue.md`` holds the rows between two marks; ``bench/catalogue.py --table`` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from catalogue.entry import ALL, BOOL, FLOATS, GRADIENTS, HALVES, INTS, NO_GRADIENT, Entry
from catalogue.inputs import is_float

PAGE = Path(__file__).resolve().parents[2] / "docs" / "catalogue.md"
BEGIN, END = "<!-- begin of the table -->", "<!-- end of the table -->"
HEADS = ("function", "dtypes", "within", "gradient", "ONNX", "ATen")
GROUPS = (
    (ALL, "all"),
    (FLOATS, "floats"),
    (HALVES, "halves"),
    (INTS, "integers"),
    (BOOL, "bool"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What the entries of one function say together."""

    function: str
    cases: tuple[str, ...]
    dtypes: tuple[str, ...]
    accuracy: str
    gradient: str
    onnx: tuple[str, ...]
    aten: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        names = [", ".join(f"`{one}`" for one in many) for many in (self.onnx, self.aten)]
        dtypes = grouped(self.dtypes)
        return f"`{self.function}`", dtypes, self.accuracy, self.gradient, *names


def rows(entries: Iterable[Entry]) -> list[Row]:
    """A row for each function, by name."""
    by_function: dict[str, list[Entry]] = {}
    for one in entries:
        by_function.setdefault(one.function, []).append(one)
    return [_row(name, found) for name, found in sorted(by_function.items())]


def _row(name: str, entries: Sequence[Entry]) -> Row:
    dtypes = [one for entry in entries for one in entry.dtypes]
    return Row(
        name,
        tuple(one.name for one in entries),
        tuple(one for one in ALL if one in dtypes),
        accuracy(entries),
        gradient(entries),
        _united(entries, lambda one: one.onnx),
        _united(entries, lambda one: one.aten),
    )


def _united(entries: Sequence[Entry], names: Callable[[Entry], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({name for one in entries for name in names(one)}))


def grouped(dtypes: Sequence[str]) -> str:
    """Dtypes by the names of their groups, where a whole group is there."""
    left, words = list(dtypes), []
    for group, word in GROUPS:
        if set(group) <= set(left):
            words.append(word)
            left = [one for one in left if one not in group]
    return ", ".join([*left, *words])


def accuracy(entries: Sequence[Entry]) -> str:
    """The loosest that any entry on floats allows."""
    floats = [one for one in entries if set(one.dtypes) & set(FLOATS)]
    exact = [one for one in floats if _is_exact(one)]
    if len(exact) == len(floats):
        return "exact"
    loose = [one for one in floats if one.rtol or one.atol]
    if not loose:
        units = max(one.ulps for one in floats if one not in exact)
        return "rounded once" if units == 0.5 else f"{units:g} ulp"
    worst = max(loose, key=lambda one: (one.rtol, one.atol))
    return f"{max(worst.rtol, worst.atol):.0e}: {worst.why}"


def _is_exact(entry: Entry) -> bool:
    """To the bit: asked for, or because the result is no float."""
    if entry.ulps == 0:
        return True
    made = entry.result_dtype and entry.result_dtype(np.dtype(entry.dtypes[0]))
    dtypes = made if isinstance(made, tuple) else (made,)
    return bool(made) and not any(is_float(np.dtype(one)) for one in dtypes)


def gradient(entries: Sequence[Entry]) -> str:
    """The best that any entry has: smooth before almost everywhere before none."""
    found = [one.gradient for one in entries]
    for one in GRADIENTS:
        if one in found:
            return one
    return found[0].replace(NO_GRADIENT, "none, ")


def text(entries: Iterable[Entry]) -> str:
    """The table in Markdown."""
    lines = [HEADS, ("---",) * len(HEADS), *(one.cells() for one in rows(entries))]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def page(old: str, entries: Iterable[Entry]) -> str:
    """The page with the table between its marks made anew."""
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text(entries)}\n\n{END}{after}"
