"""What users may write for an integer, a size, an axis and a shape.

NumPy's integers become Python's here: sizes are compared and remembered by value, so none of
NumPy's may get into the graph. Axes may count from the end, and one extent may be left open.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex, cast

from photic.base.errors import BadArgument, NoTruthValue
from photic.forms.errors import CannotReshape
from photic.ir.dim import Dim, Int, exact_div, product
from photic.ir.view import Shape
from photic.tensor.errors import AxisOutOfRange, UnknownSize


def as_integer(op: str, argument: str, given: object) -> int:
    """A plain integer of Python's; UnknownSize for a symbolic one, BadArgument for no integer."""
    if isinstance(given, Int):
        raise UnknownSize(op=op, given=given)
    try:
        return operator.index(cast(SupportsIndex, given))
    except (TypeError, NoTruthValue):
        raise BadArgument(
            op=op, argument=argument, given=repr(given), expected="an integer"
        ) from None


def as_size(op: str, argument: str, given: object) -> Dim:
    """A symbolic size, or a plain integer of Python's; BadArgument."""
    return given if isinstance(given, Int) else as_integer(op, argument, given)


def is_many(given: object) -> bool:
    """True for what has members: not for numbers, strings, arrays of rank 0."""
    is_text = isinstance(given, str)
    return isinstance(given, Iterable) and not is_text and getattr(given, "ndim", 1) != 0


def as_many(given: object) -> tuple[object, ...]:
    """The members of what has some; anything else by itself."""
    return tuple(cast(Iterable[object], given)) if is_many(given) else (given,)


def as_sizes(op: str, argument: str, given: object) -> Shape:
    """One size, or a sequence of them; BadArgument."""
    return tuple(as_size(op, argument, one) for one in as_many(given))


def checked_axis(op: str, axis: object, rank: int) -> int:
    """The axis counted from the front; AxisOutOfRange outside -rank..rank-1, BadArgument."""
    place = as_integer(op, "axis", axis)
    if not -rank <= place < rank:
        raise AxisOutOfRange(op=op, axis=place, rank=rank)
    return place % rank


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
