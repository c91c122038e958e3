"""Products with coded weights in integers: ``precision="int8"`` and ``"int16"``.

A coded weight is ``a * q + c`` where q is a whole number of a byte and a and c are the same for a
block of terms: every quantised format is such a one, whatever its bits. The other operand is
quantised on the way, ``x = s * p`` with p in -127 .. 127 and s a 127th of the largest |x| of a
block. So a sum of products is, block by block, ``s * a * sum(p * q) + s * sum(p) * c``: the scales
stand outside of a sum of integers, which is exact, and the sum of p is computed once for all
weights. An element of x moves by at most half of s; with two ``planes`` of bytes, of which the
second has what the first left over, by a 254th of that.

That q is whole is proven from how it is computed, not told: ``whole`` gives its range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from photic.ir import graph as graphs
from photic.ir.dim import Atom, Dim, Var, mod, substitute, variables
from photic.ir.dtype import FLOAT32, INT8, INT32, UINT8
from photic.ir.graph import Along, Node, Operand, Payload, operand
from photic.ir.view import Shape, View, axis_variables, composed
from photic.tensor.arithmetic import divide
from photic.tensor.primitive import where
from photic.tensor.tensor import Tensor

BLOCKS = (32, 16)  # terms that share a scale, the longest that fits
LARGEST = 127.0
FINER = 2 * LARGEST  # a plane's steps than those of the one before
CODES = 255  # the largest code; the least is 0
BYTE_RANGE = {INT8: (-128.0, 127.0), UINT8: (0.0, 255.0)}

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Coded:
    """``scale * code + start``: ``code`` is whole and in ``range``; the others vary by block.

    A scale of None is 1, a start of None 0.
    """

    code: Operand
    range: Range
    scale: Tensor | None = None
    start: Tensor | None = None


def in_integers(node: Node, planes: int = 1) -> Node | None:
    """A sum of products over one axis with one coded operand, in integers; None if none is.

    ``planes``: how many bytes stand for an element of the other.
    """
    assert isinstance(node.attribute, Along)
    axis, (product,) = node.attribute.axis, node.operands
    for size in (one for one in BLOCKS if mod(product.shape[axis], one) == 0):
        left, right = (_in_blocks(one, axis, size) for one in product.node.operands)
        for weights, values in ((right, left), (left, right)):
            inner = _axis(weights, axis + 1)
            coded = _coded(weights, inner)
            if coded is not None and coded.range[1] - coded.range[0] <= CODES:
                return _sum(coded, values, axis, planes)
    return None


def _in_blocks(value: Operand, axis: int, size: int) -> Operand:
    """The operand with an axis cut into blocks: (blocks, size) in its place."""
    length = value.shape[axis]
    shape = (*value.shape[:axis], length // size, size, *value.shape[axis + 1 :])
    places = axis_variables(shape)
    index = [*places[:axis], places[axis] * size + places[axis + 1], *places[axis + 2 :]]
    return Operand(value.node, composed(value.view, shape, index, value.view.bounds[:0]))


def _axis(value: Operand, axis: int) -> Var:
    return Var(f"i{axis}", value.shape[axis])


def _moves(value: Operand, axis: Var) -> bool:
    dims = [*value.view.index, *(one.value for one in value.view.bounds)]
    return any(axis in variables(dim) for dim in dims)


def _varies(value: Operand, axis: Var) -> bool:
    """True unless a value is provably the same along an axis."""
    if not _moves(value, axis):
        return False
    node = value.node
    if node.op not in ("add", "mul", "contiguous") or value.view.bounds:
        return True
    return any(_varies(_seen(one, value.view), axis) for one in node.operands)


# --- what is coded ----------------------------------------------------------------------------


def _coded(value: Operand, inner: Var) -> _Coded | None:
    """What a value is in terms of a whole number that moves along the terms of a block."""
    found = whole(value)
    if found is not None:
        return _Coded(value, found) if _varies(value, inner) else None
    node = value.node
    if node.op not in ("add", "mul") or value.view.bounds or node.dtype != FLOAT32:
        return None
    left, right = (_seen(one, value.view) for one in node.operands)
    if left.dtype != FLOAT32:
        return None
    moving, other = (left, right) if _varies(left, inner) else (right, left)
    if _varies(other, inner):
        return None
    made, by = _coded(moving, inner), Tensor(other)
    if made is None:
        return None
    if node.op == "add":
        return _Coded(made.code, made.range, made.scale, _plus(made.start, by))
    start = None if made.start is None else made.start * by
    return _Coded(made.code, made.range, by if made.scale is None else made.scale * by, start)


def _plus(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right


def _seen(value: Operand, view: View) -> Operand:
    """An operand through a view of the node that reads it."""
    return Operand(value.node, composed(value.view, view.shape, view.index, view.bounds))


def whole(value: Operand) -> Range | None:
    """The least and the largest number of a value that is provably whole everywhere."""
    found = _whole(value.node)
    if found is None or not value.view.bounds:
        return found
    return min(found[0], 0.0), max(found[1], 0.0)  # nothing counts as 0


def _whole(node: Node) -> Range | None:
    if node.dtype.kind == "int" and node.dtype.bytes == 1:
        least, largest = BYTE_RANGE[node.dtype]
        if node.op == "mod" and (divisor := _number(node.operands[1])) is not None and divisor > 0:
            return 0.0, min(largest, divisor - 1)
        return least, largest
    if node.op == "contiguous":
        source = node.operands[0]
        if source.dtype.kind in ("int", "float") and node.dtype.kind == "float":
            return whole(source)
        return None
    number = _number(operand(node))
    if number is not None:
        return (number, number) if number == int(number) else None
    if node.op not in ("add", "mul"):
        return None
    left, right = node.operands
    if node.op == "mul":
        return _times(left, right)
    ranges = whole(left), whole(right)
    if ranges[0] is None or ranges[1] is None:
        return None
    return ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1]


def _times(left: Operand, right: Operand) -> Range | None:
    """The range of a product: of a mask and a number, of two whole ones, or of a quotient."""
    ranges, factor = (whole(left), whole(right)), _number(right)
    if left.dtype.kind == "bool":
        return None if ranges[1] is None else (min(ranges[1][0], 0.0), max(ranges[1][1], 0.0))
    if factor is not None and 0 < factor < 1 and 1 / factor == int(1 / factor):
        rest = _left_over(left, int(1 / factor))
        return None if rest is None else (float(rest[0] * factor), float(rest[1] * factor))
    if ranges[0] is None or ranges[1] is None:
        return None
    ends = [a * b for a in ranges[0] for b in ranges[1]]
    return min(ends), max(ends)


def _left_over(value: Operand, divisor: int) -> Range | None:
    """The range of ``x - x % divisor``, where x is not negative: a multiple of the divisor."""
    if value.node.op != "add" or value.view.bounds:
        return None
    first, second = (_seen(one, value.view) for one in value.node.operands)
    if second.node.op != "mul" or _number(second.node.operands[1]) != -1:
        return None
    rest = _seen(second.node.operands[0], second.view)
    top, below = _through_casts(first), _through_casts(rest)
    if below.node.op != "mod" or _number(below.node.operands[1]) != divisor:
        return None
    base = _seen(below.node.operands[0], below.view)
    tops = [top]
    if top.node.op == "mod" and (size := _number(top.node.operands[1])) and size % divisor == 0:
        tops.append(_seen(top.node.operands[0], top.view))
    found = whole(top)
    if found is None or found[0] < 0 or base not in tops:
        return None
    return 0.0, float(found[1] // divisor * divisor)


def _through_casts(value: Operand) -> Operand:
    """What a value is of before it was converted from a byte to a float, exactly."""
    while value.node.op == "contiguous" and value.node.operands[0].dtype.bytes <= value.dtype.bytes:
        value = _seen(value.node.operands[0], value.view)
    return value


def _number(value: Operand) -> float | None:
    """The one number that a value has everywhere."""
    known = value.node.attribute
    if not isinstance(known, Payload) or known.array.size != 1 or value.view.bounds:
        return None
    found = float(known.array.reshape(()))
    return found if math.isfinite(found) else None


# --- the sum ----------------------------------------------------------------------------------


def _sum(coded: _Coded, values: Operand, axis: int, planes: int) -> Node:
    """The sum over blocks (``axis``) and their terms (the next axis), one for each plane."""
    codes, (parts, total) = _codes(coded), _quantised(values, axis, planes)
    sums: list[Node] = []
    for quantised, scale in parts:
        product = Tensor(operand(graphs.binary("mul", _wide(quantised), _wide(codes))))
        inner = Tensor(operand(graphs.reduce("sum", product.operand, axis + 1))).astype(FLOAT32)
        result = inner * scale
        if coded.scale is not None:
            result = result * _of_block(coded.scale, axis + 1)
        start = None if sums else _start(coded)
        if start is not None:
            result = result + total * _of_block(start, axis + 1)
        sums.append(graphs.reduce("sum", result.operand, axis))
    return reduce(lambda a, b: graphs.binary("add", operand(a), operand(b)), sums)


def _wide(value: Operand) -> Operand:
    return Operand(graphs.cast(operand(value.node), INT32), value.view)


def _codes(coded: _Coded) -> Operand:
    """The codes as bytes from 0 on."""
    least = coded.range[0]
    codes = Tensor(coded.code)
    return (codes - least if least else codes).astype(UINT8).operand


def _start(coded: _Coded) -> Tensor | None:
    """What a code of 0, as a byte, stands for."""
    least = coded.range[0]
    if not least:
        return coded.start
    ones = Tensor(operand(graphs.constant_node(np.ones((), np.float32))))
    scale = ones.broadcast_to(coded.code.shape) if coded.scale is None else coded.scale
    return _plus(coded.start, scale * least)


def _of_block(value: Tensor, axis: int) -> Tensor:
    """A value that is the same along an axis, without it."""
    view = value.operand.view
    shape = (*view.shape[:axis], *view.shape[axis + 1 :])
    places: list[Dim] = axis_variables(shape)
    index = [*places[:axis], 0, *places[axis:]]
    return Tensor(Operand(value.operand.node, composed(view, shape, index)))


def _quantised(
    values: Operand, axis: int, planes: int
) -> tuple[list[tuple[Operand, Tensor]], Tensor]:
    """The values in bytes and their scales, by planes, and the sums of each block of values.

    Each plane but the first has what the ones before left over, in steps as much smaller. All are
    seen as the values were.
    """
    terms = [axis, axis + 1]
    rows = [k for k in range(len(values.shape)) if _moves(values, _axis(values, k))]
    moving = [*(k for k in rows if k not in terms), *terms]
    shape = tuple(values.shape[k] for k in moving)
    places = axis_variables(shape)
    table: dict[Atom, Dim] = {_axis(values, k): places[n] for n, k in enumerate(moving)}
    index = tuple(substitute(one, table) for one in values.view.index)
    x = Tensor(Operand(values.node, View(shape, index)))
    most = x.abs().max(axis=-1)
    inverse = where(most == 0.0, 0.0, divide(LARGEST, most))
    left, scale, total = x * inverse[..., None], most * (1 / LARGEST), None
    outer: Shape = (*values.shape[: axis + 1], *values.shape[axis + 2 :])
    kept = [k - (k > axis) for k in moving[:-1]]
    parts: list[tuple[Operand, Tensor]] = []
    for _ in range(planes):
        whole = left.round()
        codes = whole.astype(INT8)
        parts.append(
            (_as_before(codes, values.shape, moving), Tensor(_as_before(scale, outer, kept)))
        )
        total = _plus(total, codes.astype(FLOAT32).sum(axis=-1) * scale)
        left, scale = (left - whole) * FINER, scale * (1 / FINER)
    assert total is not None
    return parts, Tensor(_as_before(total, outer, kept))


def _as_before(value: Tensor, shape: Shape, moving: list[int]) -> Operand:
    """A stored value of some axes, seen with all of them."""
    places = axis_variables(shape)
    kept = value.contiguous().operand
    index = tuple(places[k] for k in moving)
    view = kept.view
    assert len(index) == view.rank
    return Operand(kept.node, composed(view, shape, index))
