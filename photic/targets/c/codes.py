"""Codes of quantised weights as bytes: how four terms of many lanes are computed at once.

A code is a whole number of a byte that is taken out of stored bytes by masks, shifts and sums, in
float32 or not. All of that is arithmetic modulo 256 as long as it is whole, so that it can be done
in bytes, 64 at once, where nothing but the last number must fit. ``bytes_of`` proves it for four
terms that are computed alike, and gives one tree for the four; numbers in it may differ by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from photic.ir import index as form
from photic.ir.dtype import FLOAT32, INT8, INT32, UINT8
from photic.ir.index import Access, Expr

TERMS = 4  # whose bytes lie side by side
BYTE = 256
HIGHEST = BYTE - 1
WHOLE = frozenset({UINT8, INT8, INT32, FLOAT32})  # in which a code may be computed
RANGES = {UINT8: (0, HIGHEST), INT8: (-BYTE // 2, BYTE // 2 - 1)}

Exprs = tuple[Expr, ...]
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """A value of four terms, modulo 256, whose true numbers lie in ``low .. high``.

    ``op``: load (of ``places``), numbers, and (with ``numbers``), shift (right by ``numbers[0]``),
    add, mul, less (a mask), choose (by a mask).
    """

    op: str
    parts: tuple[Bytes, ...] = ()
    numbers: Numbers = ()
    places: tuple[Access, ...] = ()
    low: int = field(default=0, compare=False)
    high: int = field(default=HIGHEST, compare=False)

    @property
    def is_byte(self) -> bool:
        """True if the byte is the number."""
        return self.low >= 0 and self.high <= HIGHEST


def bytes_of(values: Exprs) -> Bytes | None:
    """The tree for four values, one a term; None where they are not provably bytes alike."""
    return _Reader().read(values)


@dataclass(slots=True)
class _Reader:
    """Values that were read, by their expressions."""

    known: dict[Exprs, Bytes | None] = field(default_factory=dict)

    def read(self, values: Exprs) -> Bytes | None:
        """The tree for these values."""
        if values not in self.known:
            found = self._read(values)
            low, high = RANGES.get(values[0].dtype, (-math.inf, math.inf))
            fits = found is not None and low <= found.low and found.high <= high
            self.known[values] = found if fits else None  # what wraps around is another number
        return self.known[values]

    def _read(self, values: Exprs) -> Bytes | None:
        ops = {one.op for one in values}
        if ops != {"less_than"} and not {one.dtype for one in values} <= WHOLE:
            return None
        if "mod" in ops and len(ops) > 1:  # a byte is itself modulo 256
            return self._mod(values)
        how = _OPERATIONS.get(values[0].op) if len(ops) == 1 else None
        return None if how is None else how(self, values)

    def _parts(self, values: Exprs) -> tuple[Bytes, ...] | None:
        """What corresponding operands are."""
        made = [self.read(one) for one in zip(*(one.children for one in values), strict=True)]
        known = tuple(one for one in made if one is not None)
        return known if len(known) == len(made) else None

    def _load(self, values: Exprs) -> Bytes | None:
        (dtype, *others) = {one.dtype for one in values}
        if others or dtype not in RANGES:
            return None
        places = tuple(one.attribute for one in values if isinstance(one.attribute, Access))
        low, high = RANGES[dtype]
        return Bytes("load", places=places, low=low, high=high)

    def _number(self, values: Exprs) -> Bytes | None:
        numbers = [form.value_of(one) for one in values]
        if not all(one == one and abs(one) < BYTE and one == int(one) for one in numbers):
            return None
        return _numbers(tuple(map(int, numbers)))

    def _cast(self, values: Exprs) -> Bytes | None:
        parts = self._parts(values)
        return None if parts is None or parts[0].op == "less" else parts[0]

    def _mod(self, values: Exprs) -> Bytes | None:
        pairs = [one.children if one.op == "mod" else (one, None) for one in values]
        value = self.read(tuple(one for one, _ in pairs if one is not None))
        sizes = tuple(BYTE if one is None else _whole(one) for _, one in pairs)
        if value is None or not value.is_byte:
            return None
        if not all(size > 0 and size & (size - 1) == 0 for size in sizes):
            return None
        return _masked(value, tuple(min(size, BYTE) - 1 for size in sizes))

    def _add(self, values: Exprs) -> Bytes | None:
        first, second = zip(*(one.children for one in values), strict=True)
        if all(one.op == "mul" and _whole(one.children[1]) == -1 for one in second):
            left, right = self.read(first), self.read(tuple(one.children[0] for one in second))
            return None if left is None or right is None else _without(left, right)
        parts = self._parts(values)
        if parts is None:
            return None
        low, high = (sum(getattr(one, end) for one in parts) for end in ("low", "high"))
        return Bytes("add", parts, low=low, high=high)

    def _mul(self, values: Exprs) -> Bytes | None:
        value = self.read(tuple(one.children[0] for one in values))
        (factor, *others) = {one.children[1] for one in values}
        if value is None or others or factor.op != "number":
            return None
        size = float(form.value_of(factor))
        if 0 < size < 1:
            return _shifted(value, 1 / size)
        by = _whole(factor)
        if not 0 < by < BYTE:
            return None
        parts = (value, _numbers((by,) * TERMS))
        return Bytes("mul", parts, low=value.low * by, high=value.high * by)

    def _less(self, values: Exprs) -> Bytes | None:
        parts = self._parts(values)
        if parts is None or not all(one.is_byte for one in parts):
            return None
        return Bytes("less", parts, low=0, high=1)

    def _select(self, values: Exprs) -> Bytes | None:
        if all(one.children[0].children[1:] == (form.TRUE,) for one in values):  # a negation
            swapped = [(one.children[0].children[0], *one.children[:0:-1]) for one in values]
            values = tuple(form.make("select", one, form.PLAIN, one[1].dtype) for one in swapped)
        parts = self._parts(values)
        if parts is None or parts[0].op != "less":
            return None
        low, high = min(one.low for one in parts[1:]), max(one.high for one in parts[1:])
        return Bytes("choose", parts, low=low, high=high)


_OPERATIONS: dict[str, Callable[[_Reader, Exprs], Bytes | None]] = {
    "load": _Reader._load,
    "number": _Reader._number,
    "cast": _Reader._cast,
    "mod": _Reader._mod,
    "add": _Reader._add,
    "mul": _Reader._mul,
    "less_than": _Reader._less,
    "select": _Reader._select,
}


def _whole(value: Expr) -> int:
    """The whole number that a literal is; 0 for anything else."""
    if value.op != "number":
        return 0
    number = form.value_of(value)
    return int(number) if number == number and abs(number) <= BYTE and number % 1 == 0 else 0


def _numbers(numbers: Numbers) -> Bytes:
    return Bytes("numbers", numbers=numbers, low=min(numbers), high=max(numbers))


def _masked(value: Bytes, masks: Numbers) -> Bytes:
    """The bits of a byte that the masks have."""
    if value.op == "and":
        masks = tuple(a & b for a, b in zip(masks, value.numbers, strict=True))
        value = value.parts[0]
    return Bytes("and", (value,), masks, high=min(value.high, max(masks)))


def _without(left: Bytes, right: Bytes) -> Bytes | None:
    """``left - right`` where the right side is some of the left one's bits."""
    if right.op != "and":
        return None
    base, own = (left.parts[0], left.numbers) if left.op == "and" else (left, (HIGHEST,) * TERMS)
    if base != right.parts[0] or any(b & ~a for a, b in zip(own, right.numbers, strict=True)):
        return None
    masks = tuple(a & ~b for a, b in zip(own, right.numbers, strict=True))
    return Bytes("and", (base,), masks, high=min(base.high, max(masks)))


def _shifted(value: Bytes, divisor: float) -> Bytes | None:
    """A quotient without a rest by a power of two."""
    size = int(divisor)
    if size != divisor or size & (size - 1) or value.op != "and" or size > HIGHEST:
        return None
    if any(mask & (size - 1) for mask in value.numbers):
        return None
    bits = size.bit_length() - 1
    return Bytes("shift", (value,), (bits,), low=value.low >> bits, high=value.high >> bits)
