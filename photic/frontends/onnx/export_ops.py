"""The primitives as nodes of an ONNX file.

Arithmetic on halves is done in float32 and rounded once; that on integers of 8 and 16 bits in
int32, of which the low bits are kept: runtimes have few operators for these types, and photic means
the same. Where ONNX leaves open what happens (nan in a maximum, a division by 0, a float that no
integer is near) nodes are added that say it.

``exp2`` is Pow, within 1 unit in the last place (Exp of a multiple is 60 off); ``log2`` a logarithm
in float64, exact at powers of two; ``sin`` is the runtime's. A sum's order is the runtime's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from photic.forms.eval import identity_of_add, lowest
from photic.frontends.onnx.export_writer import Sheet, cast_code
from photic.ir.dim import bounds
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT8, INT32, INT64, DType
from photic.ir.graph import Node, Operand, Payload

LN_2 = float(np.log(2.0))
# pi in parts of 33 bits (fdlibm's e_rem_pio2.c, doubled), exact times fewer turns than MOST_TURNS
PI_PARTS = (3.14159265346825122833, 1.21542010126079319532e-10, 4.04453249742233291160e-21)
MOST_TURNS = 2.0**19
WIDE_INTS = (INT64, INT32)
FLOAT32_HOLDS_BYTES = INT8.bytes  # float32 holds the ends of integers of so many bytes


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Operators in one dtype, in which they are computed."""

    sheet: Sheet
    dtype: DType

    def node(self, op: str, *inputs: str | float) -> str:
        """An operator of tensors and numbers."""
        return self.sheet.node(op, *(self.of(one) for one in inputs))

    def of(self, value: str | float) -> str:
        """A number as a constant."""
        return value if isinstance(value, str) else self.sheet.number(value, self.dtype)

    def where(self, mask: str, yes: str | float, no: str | float) -> str:
        """One or the other."""
        return self.node("Where", mask, yes, no)

    def less(self, left: str | float, right: str | float) -> str:
        """left < right."""
        return self.node("Less", left, right)

    def is_nan(self, value: str) -> str:
        """True where nan."""
        return self.sheet.node("IsNaN", value)


def computed_in(dtype: DType) -> DType:
    """The dtype in which operators of a dtype are computed."""
    if dtype.is_half:
        return FLOAT32
    return INT32 if dtype.kind == "int" and dtype not in WIDE_INTS else dtype


def cast(sheet: Sheet, value: str, given: DType, wanted: DType) -> str:
    """A Cast that is defined: between floats, of integers, or of bools."""
    return value if given == wanted else sheet.node("Cast", value, to=cast_code(wanted))


# --- element by element ---------------------------------------------------------------------


def element_by_element(sheet: Sheet, node: Node, values: Sequence[str]) -> str:
    """One of the primitives on values that broadcast together."""
    given = [one.dtype for one in node.operands]
    if node.op == "contiguous":
        return converted(sheet, values[0], given[0], node.dtype)
    if given[0] == BOOL:
        return _of_bools(sheet, node, values)
    inner = computed_in(given[0])
    wide = [cast(sheet, one, given[0], inner) for one in values]
    made = ELEMENTS[node.op](Arithmetic(sheet, inner), *wide)
    return made if node.dtype == BOOL else cast(sheet, made, inner, node.dtype)


def _of_bools(sheet: Sheet, node: Node, values: Sequence[str]) -> str:
    left, right = values
    if node.op == "less_than" and is_true(node.operands[1]):
        return sheet.node("Not", left)
    if node.op == "less_than":
        return sheet.node("And", sheet.node("Not", left), right)
    if node.op == "add":
        return sheet.node("Or", left, right)
    if node.dtype == BOOL:
        return sheet.node("And", left, right)
    inner = computed_in(node.dtype)
    nothing = sheet.number(identity_of_add(inner.numpy), inner)  # type: ignore[arg-type]
    chosen = sheet.node("Where", left, cast(sheet, right, node.dtype, inner), nothing)
    return cast(sheet, chosen, inner, node.dtype)


def is_true(value: Operand) -> bool:
    """True for a constant that is true everywhere."""
    attribute = value.node.attribute
    is_known = isinstance(attribute, Payload) and value.dtype == BOOL and not value.view.bounds
    return isinstance(attribute, Payload) and is_known and bool(attribute.array.all())


def _log2(by: Arithmetic, x: str) -> str:
    """The nearest to log(x)/log(2); of a power of two, its exponent."""
    wide = Arithmetic(by.sheet, FLOAT64)
    value = cast(by.sheet, x, by.dtype, FLOAT64)
    found = wide.node("Div", wide.node("Log", value), LN_2)
    if by.dtype == FLOAT64:
        whole = wide.node("Round", found)
        is_power = wide.node("Equal", wide.node("Pow", 2.0, whole), value)
        found = wide.where(is_power, whole, found)
    return cast(by.sheet, found, FLOAT64, by.dtype)


def _sin(by: Arithmetic, x: str) -> str:
    """Of float64, the sine of what is left of x after multiples of pi, with their sign.

    Runtimes give 0 for sin(pi), on whose sign functions made of sines depend.
    """
    if by.dtype != FLOAT64:
        return by.node("Sin", x)
    turns = by.node("Round", by.node("Mul", x, 1 / np.pi))
    rest = x
    for part in PI_PARTS:
        rest = by.node("Sub", rest, by.node("Mul", turns, part))
    rest = by.where(by.node("Equal", turns, 0.0), x, rest)  # keeps the sign of a zero
    is_odd = by.sheet.node("Mod", by.node("Abs", turns), by.of(2.0), fmod=1)
    sign = by.node("Sub", 1.0, by.node("Mul", is_odd, 2.0))
    near = by.node("Mul", sign, by.node("Sin", rest))
    return by.where(by.less(by.node("Abs", turns), MOST_TURNS), near, by.node("Sin", x))


def _mod(by: Arithmetic, x: str, y: str) -> str:
    """Floored, the sign that of ``y``."""
    if by.dtype.kind == "int":
        # a division by 0 or of the lowest by -1 may stop the machine; both have the remainder 0
        is_no_divisor = by.node("Equal", y, 0)
        if by.dtype.signed:
            is_no_divisor = by.sheet.node("Or", is_no_divisor, by.node("Equal", y, -1))
        return by.sheet.node("Mod", x, by.where(is_no_divisor, 1, y), fmod=0)
    rest = by.sheet.node("Mod", x, y, fmod=1)
    is_below, is_negative = by.less(rest, 0.0), by.less(y, 0.0)
    is_none = by.node("Equal", rest, 0.0)
    other_sign = by.sheet.node("Xor", is_below, is_negative)
    floored = by.where(other_sign, by.node("Add", rest, y), rest)
    return by.where(is_none, by.where(is_negative, -0.0, 0.0), floored)


ELEMENTS: Mapping[str, Callable[..., str]] = {
    "exp2": lambda by, x: by.node("Pow", 2.0, x),
    "log2": _log2,
    "sin": _sin,
    "sqrt": lambda by, x: by.node("Sqrt", x),
    "recip": lambda by, x: by.node("Reciprocal", x),  # runtimes make y/x of y*(1/x)
    "add": lambda by, x, y: by.node("Add", x, y),
    "mul": lambda by, x, y: by.node("Mul", x, y),
    "mod": _mod,
    "less_than": lambda by, x, y: by.less(x, y),
}


# --- casts ----------------------------------------------------------------------------------


def converted(sheet: Sheet, value: str, given: DType, wanted: DType) -> str:
    """The cast; of a float to an integer it truncates and saturates, and nan gives 0."""
    if given.kind != "float" or wanted.kind != "int":
        return cast(sheet, value, given, wanted)
    is_exact = given != FLOAT64 and wanted.bytes <= FLOAT32_HOLDS_BYTES
    by = Arithmetic(sheet, FLOAT32 if is_exact else FLOAT64)
    x = cast(sheet, value, given, by.dtype)
    x = by.where(by.is_nan(x), 0.0, x)
    if wanted != INT64:
        inside = by.node("Clip", x, float(wanted.low), float(wanted.high))
        return cast(sheet, inside, by.dtype, wanted)
    below = float(np.nextafter(2.0**63, 0))
    inside = cast(sheet, by.node("Clip", x, float(wanted.low), below), by.dtype, wanted)
    is_above = by.less(below, x)
    return Arithmetic(sheet, INT64).where(is_above, wanted.high, inside)


# --- reductions -----------------------------------------------------------------------------


def reduction(sheet: Sheet, node: Node, value: str, axis: int) -> str:
    """``sum`` or ``max`` over one axis."""
    if node.op == "max" and node.dtype != BOOL:
        return _maximum(sheet, node, value, axis)
    inner = INT32 if node.dtype == BOOL else computed_in(node.dtype)
    wide = cast(sheet, value, node.dtype, inner)
    return cast(sheet, sheet.reduced("ReduceSum", wide, axis), inner, node.dtype)


def _maximum(sheet: Sheet, node: Node, value: str, axis: int) -> str:
    """nan if any is nan; of nothing the lowest there is."""
    inner = computed_in(node.dtype)
    by = Arithmetic(sheet, inner)
    wide = cast(sheet, value, node.dtype, inner)
    found = sheet.reduced("ReduceMax", wide, axis)
    if bounds(node.operands[0].shape[axis])[0] == 0 and inner.kind == "int":
        found = by.node("Max", found, int(lowest(node.dtype.numpy)))
    if inner.kind == "float":
        is_nan = cast(sheet, by.is_nan(wide), BOOL, INT32)
        any_nan = cast(sheet, sheet.reduced("ReduceSum", is_nan, axis), INT32, BOOL)
        found = by.where(any_nan, float("nan"), found)
    return cast(sheet, found, inner, node.dtype)
