"""What users may write for an axis and a shape: axes from the end, one extent left open."""

from __future__ import annotations

from collections.abc import Sequence

from photic.forms.errors import CannotReshape
from photic.ir.dim import Dim, exact_div, product
from photic.ir.view import Shape
from photic.tensor.errors import AxisOutOfRange


def checked_axis(op: str, axis: int, rank: int) -> int:
    """The axis counted from the front; AxisOutOfRange outside -rank..rank-1."""
    if not -rank <= axis < rank:
        raise AxisOutOfRange(op=op, axis=axis, rank=rank)
    return axis % rank


def infer_shape(old: Shape, given: Sequence[Dim]) -> Shape:
    """``given`` with its one -1 replaced; CannotReshape where the counts do not fit."""
    known = product(n for n in given if n != -1)
    if -1 in given:
        size = None if known == 0 else exact_div(product(old), known)
    else:
        size = 1 if known == product(old) else None
    if size is None or list(given).count(-1) > 1:
        raise CannotReshape(given=product(old), old=old, new=tuple(given))
    return tuple(size if n == -1 else n for n in given)
