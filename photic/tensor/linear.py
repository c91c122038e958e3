"""Products of matrices and vectors: a broadcast product summed over the joined axes.

The summed axis stands last in the product, which exists only as a view: the compiler fuses it.
Halves are multiplied and summed in float32 and rounded once; integers wrap in their own dtype.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, bounds, mul
from photic.ir.dtype import FLOAT32, DType
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.diagonals import diagonal
from photic.tensor.primitive import accumulated, apply, numbers_together, reduced
from photic.tensor.shapes import (
    as_values,
    checked_axes,
    expand_dims,
    moveaxis,
    ravel,
    reshape,
    roll,
    squeeze,
    swapaxes,
    transpose,
)
from photic.tensor.tensor import (
    Axes,
    Tensor,
    Value,
    in_dtype,
    joined_dtype,
    method,
    tensor,
)


def _in_accumulator(op: str, *values: Value) -> tuple[list[Tensor], Tensor]:
    """The values in the dtype of the sum, and (for its dtype) the first in the result's."""
    dtype = joined_dtype(values, op)
    given = [in_dtype(one, dtype) for one in values]
    return [one.astype(accumulated(dtype)) for one in given], given[0]


def in_floats(op: str, *values: Value) -> tuple[DType, list[Tensor]]:
    """The float dtype of a result, and the values in that of its computation."""
    joined = joined_dtype(values, op)
    dtype = joined if joined.kind == "float" else FLOAT32
    return dtype, [in_dtype(one, dtype).astype(accumulated(dtype)) for one in values]


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


def tensordot(left: Value, right: Value, axes: int | tuple[Axes, Axes] = 2) -> Tensor:
    """The sum of products over pairs of axes: the last and first ``axes``, or those named.

    Raises ShapeMismatch; AxisOutOfRange; BadArgument for an axis twice or lists of two lengths.
    """
    (a, b), first = _in_accumulator("tensordot", left, right)
    if not isinstance(axes, Sequence):
        count = as_integer("tensordot", "axes", axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            expected = f"0..{min(a.ndim, b.ndim)}"
            raise BadArgument(op="tensordot", argument="axes", given=count, expected=expected)
        axes = (range(a.ndim - count, a.ndim), range(count))
    if len(axes) != 2:
        raise BadArgument(op="tensordot", argument="axes", given=axes, expected="a pair")
    gone_a = checked_axes("tensordot", axes[0], a.ndim)
    gone_b = checked_axes("tensordot", axes[1], b.ndim)
    if len(gone_a) != len(gone_b):
        raise BadArgument(op="tensordot", argument="axes", given=axes, expected="as many of each")
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


def vecdot(left: Value, right: Value, axis: int = -1) -> Tensor:
    """The sum of products along one axis of each of two tensors; other axes broadcast."""
    (a, b), first = _in_accumulator("vecdot", left, right)
    rows, columns = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    return reduced("sum", apply("mul", rows, columns), -1).astype(first.dtype)


def vdot(left: Value, right: Value) -> Tensor:
    """The sum of products of all elements in row-major order, as a number of rank 0.

    ShapeMismatch for two counts of elements.
    """
    one, other = ravel(left), ravel(right)
    if one.shape != other.shape:
        raise ShapeMismatch(op="vdot", left=one.shape, right=other.shape)
    return vecdot(one, other)


def cross(left: Value, right: Value, axis: int = -1) -> Tensor:
    """The vector product along an axis of size 3 of each; other axes broadcast. Halves round once.

    Raises BadArgument for another size, DtypeMismatch for two bools.
    """
    given = (tensor(left, "cross"), tensor(right, "cross"))
    for one in given:
        extent = one.shape[checked_axis("cross", axis, one.ndim)]
        if extent != 3:
            raise BadArgument(op="cross", argument=f"axis {axis}", given=extent, expected="size 3")
    # each has the axis at its own place, so it goes last before they broadcast
    last = (moveaxis(one, axis, -1) for one in given)
    (a, b), first = _in_accumulator("cross", *numbers_together("cross", *last))
    turned = roll(a, -1, -1) * roll(b, -2, -1) - roll(a, -2, -1) * roll(b, -1, -1)
    return moveaxis(turned, -1, axis).astype(first.dtype)


def kron(left: Value, right: Value) -> Tensor:
    """Every element of ``left`` times the whole of ``right``, laid in its place (Kronecker).

    Ranks may differ: shapes are aligned from the right, the sizes of the result are products.
    """
    a, b = tensor(left, "kron"), tensor(right, "kron")
    rank = max(a.ndim, b.ndim)
    tall = (1,) * (rank - a.ndim) + a.shape
    small = (1,) * (rank - b.ndim) + b.shape
    sparse = reshape(a, tuple(one for n in tall for one in (n, 1)))
    dense = reshape(b, tuple(one for n in small for one in (1, n)))
    return reshape(sparse * dense, tuple(mul(m, n) for m, n in zip(tall, small)))


def multi_dot(values: Sequence[Value]) -> Tensor:
    """The product of two or more matrices in the order that takes the fewest multiplications.

    The first may be a vector (a row), the last one too (a column). Symbolic sizes count as their
    largest. Halves are rounded once. Raises BadArgument, ShapeMismatch.
    """
    values = as_values("multi_dot", values)
    ranks = [tensor(one, "multi_dot").ndim for one in values]
    fits = all(rank in (1, 2) for rank in ranks) and all(rank == 2 for rank in ranks[1:-1])
    if len(ranks) < 2 or not fits:
        expected = "two or more matrices, or vectors at the ends"
        raise BadArgument(op="multi_dot", argument="values", given=ranks, expected=expected)
    given, like = _in_accumulator("multi_dot", *values)
    row, column = ranks[0] == 1, ranks[-1] == 1
    chain = list(given)
    chain[0] = expand_dims(chain[0], 0) if row else chain[0]
    chain[-1] = expand_dims(chain[-1], 1) if column else chain[-1]
    result = _product_of(chain, _cuts(chain), 0, len(chain) - 1)
    gone = tuple(axis for axis, is_gone in ((0, row), (1, column)) if is_gone)
    return (squeeze(result, gone) if gone else result).astype(like.dtype)


def _cuts(chain: Sequence[Tensor]) -> dict[tuple[int, int], int]:
    """For each run of the chain the place after which it is best cut."""
    sizes = [bounds(one.shape[0])[1] for one in chain] + [bounds(chain[-1].shape[1])[1]]
    cost = {(k, k): 0 for k in range(len(chain))}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, len(chain)):
        for first in range(len(chain) - length):
            last = first + length
            options = [
                (
                    cost[first, cut]
                    + cost[cut + 1, last]
                    + sizes[first] * sizes[cut + 1] * sizes[last + 1],
                    cut,
                )
                for cut in range(first, last)
            ]
            cost[first, last], cuts[first, last] = min(options)
    return cuts


def _product_of(
    chain: Sequence[Tensor], cuts: dict[tuple[int, int], int], first: int, last: int
) -> Tensor:
    if first == last:
        return chain[first]
    cut = cuts[first, last]
    return matmul(_product_of(chain, cuts, first, cut), _product_of(chain, cuts, cut + 1, last))


# --- einsum ---------------------------------------------------------------------------------


def einsum(subscripts: str, *operands: Value) -> Tensor:
    """Sums of products by letters, as NumPy: ``"bij,bjk->bik"``; ``...`` stands for any axes.

    A letter twice in one operand is a diagonal; a letter missing on the right is summed. Operands
    are joined from left to right, and a letter is summed as soon as no later operand has it.
    """
    values, first = _in_accumulator("einsum", *operands)
    terms, result = parse(subscripts, [one.ndim for one in values])
    pairs = [_without_twins(one, term) for one, term in zip(values, terms)]
    _require_one_size(subscripts, pairs)
    joined, letters = pairs[0]
    for place, (other, others) in enumerate(pairs[1:], start=2):
        later = {letter for _, term in pairs[place:] for letter in term}
        wanted = [one for one in dict.fromkeys((*letters, *others)) if one in later | set(result)]
        joined = _joined(joined, letters, other, others, wanted)
        letters = wanted
    wanted = [one for one in letters if one in result]
    joined = _summed_to(joined, letters, wanted)
    return transpose(joined, [wanted.index(one) for one in result]).astype(first.dtype)


def _require_one_size(subscripts: str, pairs: Sequence[tuple[Tensor, list[str]]]) -> None:
    """BadArgument for a letter of two sizes, neither of which is 1."""
    sizes: dict[str, Dim] = {}
    for value, letters in pairs:
        for letter, size in zip(letters, value.shape):
            known = sizes.get(letter, 1)
            if known != size and known != 1 and size != 1:
                which = f"axes under ... of {known}" if letter.isdigit() else f"{letter} of {known}"
                raise _bad_subscripts(f"{subscripts} with {which} and {size}", "one size a letter")
            sizes[letter] = size if known == 1 else known


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
            x = moveaxis(_diagonal(x, a, b), -1, a)
            letters.pop(b)
    return x, letters


def _diagonal(x: Tensor, a: int, b: int) -> Tensor:
    if x.shape[a] != x.shape[b]:
        raise ShapeMismatch(op="einsum", left=(x.shape[a],), right=(x.shape[b],))
    return diagonal(x, 0, a, b)


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
