"""Products of matrices and vectors: a broadcast product summed over the joined axes.

The summed axis stands last in the product, which exists only as a view: the compiler fuses it.
Halves are multiplied and summed in float32 and rounded once; integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.tensor.primitive import accumulated, apply, reduced
from photic.tensor.shapes import expand_dims, moveaxis, moved, reshape, swapaxes, transpose
from photic.tensor.tensor import Tensor, Value, in_dtype, joined_dtype, method, tensor


def _in_accumulator(op: str, *values: Value) -> tuple[list[Tensor], Tensor]:
    """The values in the dtype of the sum, and (for its dtype) the first in the result's."""
    dtype = joined_dtype(values, op)
    given = [in_dtype(one, dtype) for one in values]
    return [one.astype(accumulated(dtype)) for one in given], given[0]


def contracted(left: Tensor, right: Tensor) -> Tensor:
    """The product of two broadcast tensors summed over their last axis."""
    return reduced("sum", apply("mul", left, right), -1)


@method
def matmul(left: Value, right: Value) -> Tensor:
    """The matrix product over the last axis of ``left`` and the last but one of ``right``.

    As NumPy: a vector on the left is a row, on the right a column, and its axis goes; leading
    axes broadcast. Raises ShapeMismatch; BadArgument for a number of rank 0.
    """
    (a, b), first = _in_accumulator("matmul", left, right)
    if a.ndim == 0 or b.ndim == 0:
        raise BadArgument(op="matmul", argument="operand", given="of rank 0", expected="an axis")
    depth = b.shape[-1] if b.ndim == 1 else b.shape[-2]
    if a.shape[-1] != depth:
        raise ShapeMismatch(op="matmul", left=a.shape, right=b.shape)
    rows = expand_dims(a, -2) if a.ndim > 1 and b.ndim > 1 else a
    columns = b if b.ndim == 1 else swapaxes(b, -1, -2)
    if a.ndim > 1 and b.ndim > 1:
        columns = expand_dims(columns, -3)
    return contracted(rows, columns).astype(first.dtype)


def dot(left: Value, right: Value) -> Tensor:
    """As NumPy: the sum over the last axis of ``left`` and the last but one of ``right``."""
    a, b = tensor(left, "dot"), tensor(right, "dot")
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ((a.ndim - 1,), (0 if b.ndim == 1 else b.ndim - 2,)))


def inner(left: Value, right: Value) -> Tensor:
    """The sum of products over both last axes."""
    a, b = tensor(left, "inner"), tensor(right, "inner")
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(left: Value, right: Value) -> Tensor:
    """Every element of ``left`` times every element of ``right``, as a matrix."""
    a, b = reshape(left, (-1, 1)), reshape(right, (1, -1))
    return a * b


def tensordot(
    left: Value, right: Value, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sum of products over pairs of axes: the last and first ``axes``, or those named."""
    (a, b), first = _in_accumulator("tensordot", left, right)
    if isinstance(axes, int):
        axes = (range(a.ndim - axes, a.ndim), range(axes))
    gone_a = [axis % a.ndim for axis in axes[0]]
    gone_b = [axis % b.ndim for axis in axes[1]]
    kept_a = [axis for axis in range(a.ndim) if axis not in gone_a]
    kept_b = [axis for axis in range(b.ndim) if axis not in gone_b]
    if [a.shape[k] for k in gone_a] != [b.shape[k] for k in gone_b]:
        raise ShapeMismatch(op="tensordot", left=a.shape, right=b.shape)
    a = transpose(a, [*kept_a, *gone_a])
    b = transpose(b, [*kept_b, *gone_b])
    rows = reshape(a, (*a.shape[: len(kept_a)], *(1,) * len(kept_b), *a.shape[len(kept_a) :]))
    result = apply("mul", rows, b)
    for _ in gone_a:
        result = reduced("sum", result, -1)
    return result.astype(first.dtype)


# --- einsum ---------------------------------------------------------------------------------


def einsum(subscripts: str, *operands: Value) -> Tensor:
    """Sums of products by letters, as NumPy: ``"bij,bjk->bik"``; ``...`` stands for any axes.

    A letter twice in one operand is a diagonal; a letter missing on the right is summed. Operands
    are joined from left to right, and a letter is summed as soon as no later operand has it.
    """
    values, first = _in_accumulator("einsum", *operands)
    terms, result = parse(subscripts, [one.ndim for one in values])
    pairs = [_without_twins(one, term) for one, term in zip(values, terms)]
    joined, letters = pairs[0]
    for place, (other, others) in enumerate(pairs[1:], start=2):
        later = {letter for _, term in pairs[place:] for letter in term}
        wanted = [one for one in dict.fromkeys((*letters, *others)) if one in later | set(result)]
        joined = _joined(joined, letters, other, others, wanted)
        letters = wanted
    wanted = [one for one in letters if one in result]
    joined = _summed_to(joined, letters, wanted)
    return transpose(joined, [wanted.index(one) for one in result]).astype(first.dtype)


def _joined(a: Tensor, in_a: list[str], b: Tensor, in_b: list[str], wanted: list[str]) -> Tensor:
    gone = [one for one in dict.fromkeys((*in_a, *in_b)) if one not in wanted]
    order = [*wanted, *gone]
    product = apply("mul", _spread(a, in_a, order), _spread(b, in_b, order))
    return _summed_to(product, order, wanted)


def _spread(x: Tensor, letters: list[str], order: list[str]) -> Tensor:
    """The axes of ``x`` in a wider order, size 1 where it has no such letter."""
    here = [one for one in order if one in letters]
    moved = transpose(x, [letters.index(one) for one in here])
    sizes = dict(zip(here, moved.shape))
    return reshape(moved, tuple(sizes.get(one, 1) for one in order))


def _summed_to(x: Tensor, letters: list[str], wanted: list[str]) -> Tensor:
    for place in reversed(range(len(letters))):
        if letters[place] not in wanted:
            x = reduced("sum", x, place)
    return x


def _without_twins(x: Tensor, term: Sequence[str]) -> tuple[Tensor, list[str]]:
    """The diagonal for each letter that stands twice."""
    letters = list(term)
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            a = letters.index(letter)
            b = letters.index(letter, a + 1)
            x = diagonal_of(x, a, b)
            letters.pop(b)
    return x, letters


def diagonal_of(x: Tensor, a: int, b: int) -> Tensor:
    """Axis ``b`` read at the index of axis ``a`` (a before b), and gone."""
    if x.shape[a] != x.shape[b]:
        raise ShapeMismatch(op="diagonal", left=x.shape[a], right=x.shape[b])
    extent = x.shape[a]
    flat = transpose(x, [k for k in range(x.ndim) if k not in (a, b)] + [a, b])
    rest = flat.shape[:-2]
    line = reshape(flat, (*rest, extent * extent))
    # a square with a column more, its rows one longer: the diagonal is its first column
    steps = moved(line, movement.pad, len(rest), 0, extent)
    column = reshape(steps, (*rest, extent, extent + 1))[..., 0]
    return moveaxis(column, -1, a)


def parse(subscripts: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The letters of each operand's axes and of the result's; axes under ``...`` get digits.

    Without ``->`` the result has the letters that stand once, in alphabetical order.
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise _bad_subscripts(subscripts, f"{len(ranks)} operands")
    free = [rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks)]
    hidden = max((n for part, n in zip(parts, free) if "..." in part), default=0)
    terms: list[list[str]] = []
    for part, count in zip(parts, free):
        if count < 0 or (count > 0 and "..." not in part):
            raise _bad_subscripts(subscripts, "as many letters as axes")
        terms.append(_letters(part, hidden, count, subscripts))
    everything = [letter for term in terms for letter in term]
    if arrow:
        result = _letters(right, hidden, hidden, subscripts)
    else:
        once = sorted(x for x in set(everything) if everything.count(x) == 1 and x.isalpha())
        result = [*_dots(hidden, hidden), *once]
    if len(set(result)) != len(result) or not set(result) <= set(everything):
        raise _bad_subscripts(subscripts, "each letter of the result once, and in an operand")
    return terms, result


def _letters(part: str, hidden: int, count: int, subscripts: str) -> list[str]:
    before, dots, after = part.partition("...")
    if not (before + after).isalpha() and before + after:
        raise _bad_subscripts(subscripts, "letters, commas, ... and ->")
    return [*before, *(_dots(hidden, count) if dots else []), *after]


def _dots(hidden: int, count: int) -> list[str]:
    """Names for the axes under ``...``, aligned from the right."""
    return [f"{k}" for k in range(hidden - count, hidden)]


def _bad_subscripts(given: str, expected: str) -> BadArgument:
    return BadArgument(op="einsum", argument="subscripts", given=repr(given), expected=expected)
