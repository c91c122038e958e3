"""Plain tables and the units in them; the same in a terminal and in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

_STEP = 1000.0
_PREFIXES = ("", "k", "M", "G", "T", "P")
_DURATIONS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned under their heads, the first to the left, all others to the right."""
    lines = [tuple(heads), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(_line(line, widths) for line in lines)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Texts under each other, all to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.rjust(width) if column else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


def quantity(value: float, unit: str) -> str:
    """``12_300_000, "B"`` as ``12.3 MB``; whole numbers below 1000 stay as they are."""
    size, index = float(value), 0
    while size >= _STEP and index + 1 < len(_PREFIXES):
        size, index = size / _STEP, index + 1
    digits = f"{size:.1f}" if index else f"{size:g}"
    return f"{digits} {_PREFIXES[index]}{unit}".rstrip()


def duration(seconds: float) -> str:
    """``1.25e-5`` as ``12.5 us``: the largest unit of which there is one."""
    if seconds <= 0:
        return "0 s"
    unit, size = next((one for one in _DURATIONS if seconds >= one[1]), _DURATIONS[-1])
    return f"{seconds / size:.3g} {unit}"


def counted(count: int, what: str, many: str = "") -> str:
    """``1 kernel``, ``2 kernels``; ``many`` where that is not written with an s."""
    return f"{count} {what if count == 1 else many or what + 's'}"
