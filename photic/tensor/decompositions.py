"""Matrices taken apart: Cholesky, triangular solves, LU, QR, and what rests on them.

Each is a ``scan`` over columns, for any leading axes: meant for small matrices, and for many of
them. Halves are computed in float32 and rounded once, integers become float32. No function looks at
elements to raise: where a matrix is singular (or not positive definite) results are inf or nan.
Errors are those of the standard algorithms: in LU with partial pivoting, Cholesky and QR small
relative to the norm of the matrix, in solutions also times its condition.
"""

from __future__ import annotations

from dataclasses import dataclass

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim
from photic.ir.dtype import INT64
from photic.tensor.axes import as_integer
from photic.tensor.compare import equal, less_equal, not_equal
from photic.tensor.creation import counted, eye
from photic.tensor.diagonals import diagonal_length, tril, triu
from photic.tensor.elementary import log
from photic.tensor.indexing import take, take_along_axis
from photic.tensor.linear import in_floats, matmul
from photic.tensor.loops import Tensors, scan
from photic.tensor.primitive import accumulated, less, masked, mod, reciprocal, reduced, sqrt, where
from photic.tensor.reductions import argmax
from photic.tensor.reductions import max as largest
from photic.tensor.reductions import sum as total
from photic.tensor.rounding import abs, copysign, sign
from photic.tensor.running import cumsum
from photic.tensor.shapes import concat, flip, moveaxis, moved, swapaxes, window
from photic.tensor.tensor import (
    Tensor,
    Value,
    broadcast_shape,
    expanded,
    number,
    size_value,
    tensor,
)

Step = tuple[Tensors, Tensors]


def checked_square(op: str, x: Tensor) -> Dim:
    """The size of square matrices on the last two axes; BadArgument for others."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise BadArgument(op=op, argument="shape", given=x.shape, expected="(..., n, n)")
    return x.shape[-1]


def checked_matrices(op: str, x: Tensor) -> tuple[Dim, Dim]:
    """Rows and columns of matrices on the last two axes; BadArgument for a lower rank."""
    if x.ndim < 2:
        raise BadArgument(op=op, argument="shape", given=x.shape, expected="(..., rows, columns)")
    return x.shape[-2], x.shape[-1]


def _outer(column: Tensor, row: Tensor) -> Tensor:
    return column[..., :, None] * row[..., None, :]


# --- Cholesky -------------------------------------------------------------------------------


def cholesky(a: Value, upper: bool = False) -> Tensor:
    """The lower triangular L with ``L @ L.T == a`` (upper: U with ``U.T @ U == a``).

    ``a`` (..., n, n) is symmetric and positive definite; only its lower (upper) triangle counts.
    From the first column on where it is not positive, the result is nan. BadArgument.
    """
    dtype, (value,) = in_floats("cholesky", a)
    size = checked_square("cholesky", value)
    value = swapaxes(value, -1, -2) if upper else value
    place = counted(0, size)

    def body(carried: Tensors, sliced: Tensors) -> Step:
        (rest,), (k,) = carried, sliced
        below = take(rest, k, -1)
        pivot = sqrt(take(below, k, -1))[..., None]
        column = where(equal(place, k), pivot, masked(less(k, place), below * reciprocal(pivot)))
        return (rest - _outer(column, column),), (column + 0.0,)

    _, (columns,) = scan(body, (value,), (place,))
    factor = columns if upper else moveaxis(columns, 0, -1)
    return (moveaxis(factor, 0, -2) if upper else factor).astype(dtype)


def cholesky_solve(b: Value, factor: Value, upper: bool = False) -> Tensor:
    """The x with ``a @ x == b``, given ``cholesky(a, upper)``, as PyTorch's."""
    dtype, (right, triangle) = in_floats("cholesky_solve", b, factor)
    half = solve_triangular(triangle, right, upper, transposed=upper)
    return solve_triangular(triangle, half, upper, transposed=not upper).astype(dtype)


# --- triangles ------------------------------------------------------------------------------


def solve_triangular(
    a: Value,
    b: Value,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    transposed: bool = False,
) -> Tensor:
    """The x with ``a @ x == b``, where ``a`` (..., n, n) is upper or lower triangular.

    ``b`` is (..., n, k), or (n,). ``left=False``: x with ``x @ a == b``; ``transposed``: with a's
    transpose, of which ``upper`` is not meant; ``unitriangular``: a's diagonal counts as ones.
    The other triangle is not read. A 0 on the diagonal gives inf or nan. Raises ShapeMismatch.
    """
    dtype, (matrix, right) = in_floats("solve_triangular", a, b)
    checked_square("solve_triangular", matrix)
    if transposed == left:  # a on the right is its transpose on the left
        matrix, upper = swapaxes(matrix, -1, -2), not upper
    known = right[:, None] if right.ndim == 1 else right if left else swapaxes(right, -1, -2)
    result = solve_lower_or_upper(matrix, known, upper, unitriangular).astype(dtype)
    if right.ndim == 1:
        return result[..., 0]
    return result if left else swapaxes(result, -1, -2)


def solve_lower_or_upper(a: Tensor, b: Tensor, upper: bool, unit: bool) -> Tensor:
    """``solve_triangular`` of (..., n, n) and (..., n, k) in one dtype."""
    if b.ndim == 0 or a.shape[-1] != b.shape[-2]:
        raise ShapeMismatch(op="solve_triangular", left=a.shape, right=b.shape)
    if not upper:
        return _solve_lower(a, b, unit)
    return flip(_solve_lower(flip(a, (-1, -2)), flip(b, -2), unit), -2)


def _solve_lower(a: Tensor, b: Tensor, unit: bool) -> Tensor:
    """Column by column: each row of x, once known, is taken from what remains of b."""
    batch = broadcast_shape("solve_triangular", a.shape[:-2], b.shape[:-2])
    place = counted(0, a.shape[-1])

    def body(carried: Tensors, sliced: Tensors) -> Step:
        (rest,), (column, k) = carried, sliced
        row = take(rest, k, -2)
        row = row if unit else row * reciprocal(take(column, k, -1))[..., None]
        below = masked(less(k, place), column) + 0.0
        return (rest - _outer(below, row),), (row,)

    start = expanded(b, (*batch, *b.shape[-2:]))
    _, (rows,) = scan(body, (start,), (moveaxis(a, -1, 0), place))
    return moveaxis(rows, 0, -2)


# --- LU -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Eliminated:
    """U on and above the diagonal (below it what it was made from), rows in their order.

    ``factors`` (steps, ..., rows) are L's columns below the diagonal, rows where they were, and
    ``corners`` (steps, ...) U's diagonal. ``sign`` is that of the order.
    """

    upper: Tensor
    factors: Tensor
    corners: Tensor
    order: Tensor
    sign: Tensor


def _eliminated(a: Tensor) -> _Eliminated:
    """Gauss's elimination. A column's pivot is its largest magnitude, of equal ones the first.

    Rows stay where they are until all are done: ``turn`` says in which step each was the pivot's.
    """
    batch, rows, columns = a.shape[:-2], *a.shape[-2:]
    steps = diagonal_length(rows, columns)
    down, across = counted(0, rows), counted(0, columns)
    never = expanded(size_value(steps), (*batch, rows))
    even = expanded(number(1, a.dtype), batch)
    if steps == 0:
        shapes = (0, *batch, rows), (0, *batch)
        factors, corners = (expanded(number(0, a.dtype), shape) for shape in shapes)
        return _Eliminated(a, factors, corners, expanded(down, (*batch, rows)), even)

    def body(carried: Tensors, sliced: Tensors) -> Step:
        (rest, turn, sign), (k,) = carried, sliced
        is_free, column = less_equal(k, turn), take(rest, k, -1)
        pivot = argmax(where(is_free, abs(column), -1.0), -1)[..., None]
        row = take_along_axis(rest, pivot[..., None], -2)[..., 0, :]
        corner = take(row, k, -1)[..., None]
        # the pivot's row moves past the free rows before it
        passed = total((is_free * less(down, pivot)).astype(INT64), -1)
        sign = where(equal(mod(passed, 2), 1), -sign, sign)
        turn = where(equal(down, pivot), k, turn)
        is_below = less(k, turn) * not_equal(corner, 0.0)
        factors = masked(is_below, column * reciprocal(corner)) + 0.0
        beyond = masked(less(k, across), row) + 0.0
        return (rest - _outer(factors, beyond), turn, sign), (factors, corner[..., 0])

    (rest, turn, sign), (factors, corners) = scan(body, (a, never, even), (counted(0, steps),))
    order = _order_of_rows(turn, steps)
    upper = take_along_axis(rest, order[..., None], -2)
    return _Eliminated(upper, factors, corners, order, sign)


def _order_of_rows(turn: Tensor, steps: Dim) -> Tensor:
    """Which row is the first, the second, ...; those without a turn come last, in their order."""
    place = counted(0, turn.shape[-1])
    is_free = equal(turn, size_value(steps))
    rank = turn + masked(is_free, cumsum(is_free.astype(INT64), -1) - 1)
    return reduced("sum", masked(equal(rank[..., None, :], place[:, None]), place), -1)


def lu(a: Value) -> tuple[Tensor, Tensor, Tensor]:
    """P, L, U with ``P @ L @ U == a`` (..., m, n): a permutation, unit lower, upper triangular.

    Partial pivoting. L is (..., m, k), U (..., k, n) with k the smaller size. BadArgument where
    symbolic sizes leave open which that is.
    """
    dtype, (value,) = in_floats("lu", a)
    rows, columns = checked_matrices("lu", value)
    made = _eliminated(value)
    size = diagonal_length(rows, columns)
    columns_of_lower = take_along_axis(moveaxis(made.factors, 0, -1), made.order[..., None], -2)
    lower = tril(columns_of_lower, -1) + eye(rows, size, dtype=value.dtype)
    upper = triu(window(made.upper, value.ndim - 2, 0, size, "lu"))
    permutation = equal(counted(0, rows)[:, None], made.order[..., None, :])
    return permutation.astype(dtype), lower.astype(dtype), upper.astype(dtype)


def solve(a: Value, b: Value) -> Tensor:
    """The x with ``a @ x == b``, as NumPy's: ``b`` is (..., n, k), or a vector (n,).

    By LU with partial pivoting of ``a`` (..., n, n) beside b. Where a is singular, inf or nan.
    Raises ShapeMismatch, BadArgument.
    """
    dtype, (matrix, right) = in_floats("solve", a, b)
    size = checked_square("solve", matrix)
    columns = right[:, None] if right.ndim == 1 else right
    if columns.ndim < 2 or columns.shape[-2] != size:
        raise ShapeMismatch(op="solve", left=matrix.shape, right=right.shape)
    batch = broadcast_shape("solve", matrix.shape[:-2], columns.shape[:-2])
    sides = [expanded(one, (*batch, *one.shape[-2:])) for one in (matrix, columns)]
    both = _eliminated(concat(sides, -1)).upper
    axis, width = both.ndim - 1, both.shape[-1]
    upper, known = window(both, axis, 0, size, "solve"), window(both, axis, size, width, "solve")
    result = solve_lower_or_upper(upper, known, upper=True, unit=False).astype(dtype)
    return result[..., 0] if right.ndim == 1 else result


def inv(a: Value) -> Tensor:
    """The inverse of ``a`` (..., n, n), by LU with partial pivoting; inf or nan if singular."""
    dtype, (value,) = in_floats("inv", a)
    size = checked_square("inv", value)
    return solve(value, eye(size, dtype=value.dtype)).astype(dtype)


def det(a: Value) -> Tensor:
    """The determinant of ``a`` (..., n, n), by LU; 0 where a pivot is 0, 1 for size 0."""
    dtype, (value,) = in_floats("det", a)
    checked_square("det", value)
    made = _eliminated(value)
    return _product(made.sign, made.corners).astype(dtype)


def slogdet(a: Value) -> tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its magnitude: 0 and -inf if singular."""
    dtype, (value,) = in_floats("slogdet", a)
    checked_square("slogdet", value)
    made = _eliminated(value)
    found = _product(made.sign, sign(made.corners))
    return found.astype(dtype), total(log(abs(made.corners)), 0).astype(dtype)


def _product(first: Tensor, values: Tensor) -> Tensor:
    """``first`` times all values along the first axis, one after another."""
    return scan(lambda carried, sliced: ((carried[0] * sliced[0],), ()), (first,), (values,))[0][0]


def matrix_power(a: Value, n: int) -> Tensor:
    """``a @ a @ ... @ a``, n times, by squaring; the identity for 0, of the inverse below 0.

    Integers stay integers for ``n >= 0``, and wrap; halves are rounded once. BadArgument.
    """
    given = tensor(a, "matrix_power")
    size = checked_square("matrix_power", given)
    n = as_integer("matrix_power", "n", n)
    value = given.astype(accumulated(given.dtype))
    if n < 0:
        inverse = matrix_power(inv(value), -n)
        return inverse.astype(given.dtype) if given.dtype.kind == "float" else inverse
    result: Tensor | None = None
    while n:
        if n % 2:
            result = value if result is None else matmul(result, value)
        n //= 2
        value = matmul(value, value) if n else value
    if result is None:
        result = expanded(eye(size, dtype=value.dtype), value.shape)
    return result.astype(given.dtype)


# --- QR -------------------------------------------------------------------------------------


def reflected(a: Tensor) -> tuple[Tensor, Tensor]:
    """R (..., m, n) and the unit vectors u (k, ..., m) of its Householder reflections.

    The last row of a square, which has nothing below it, and a column of zeros stay: u is 0 then.
    Signs are LAPACK's, which leaves any column that is 0 below the diagonal; that has no slope.
    """
    rows, columns = a.shape[-2:]
    place, last = counted(0, rows), size_value(rows) - 1

    def body(carried: Tensors, sliced: Tensors) -> Step:
        (rest,), (k,) = carried, sliced
        column = masked(less(k, place + 1), take(rest, k, -1))
        top = largest(abs(column), -1, keepdims=True)
        scaled = column * reciprocal(top)
        beyond = total(masked(less(k, place), scaled * scaled), -1, keepdims=True)
        corner = take(scaled, k, -1)[..., None]
        length = sqrt(corner * corner + beyond)
        vector = where(equal(place, k), corner + copysign(length, corner), scaled)
        square = length * (length + abs(corner)) * 2.0
        is_needed = not_equal(top, 0) * less(k, last)
        unit = masked(is_needed, vector * reciprocal(sqrt(square))) + 0.0
        return (_reflection(unit, rest),), (unit,)

    steps = diagonal_length(rows, columns)
    (rest,), (vectors,) = scan(body, (a,), (counted(0, steps),))
    return rest, vectors


def _reflection(unit: Tensor, x: Tensor) -> Tensor:
    """``x - 2*u*(u.T @ x)``."""
    along = total(unit[..., None] * x, -2)
    return x - _outer(unit, along * 2.0)


def reflections(vectors: Tensor, x: Tensor) -> Tensor:
    """All reflections, the first first, of (..., m, k): Q.T @ x; of the vectors flipped Q @ x."""
    batch = broadcast_shape("qr", vectors.shape[1:-1], x.shape[:-2])
    start = expanded(x, (*batch, *x.shape[-2:]))

    def body(carried: Tensors, sliced: Tensors) -> Step:
        return (_reflection(sliced[0], carried[0]),), ()

    return scan(body, (start,), (vectors,))[0][0]


def qr(a: Value, mode: str = "reduced") -> tuple[Tensor, Tensor] | Tensor:
    """Q with orthonormal columns and upper triangular R, ``Q @ R == a`` (..., m, n).

    ``mode``: "reduced", Q (..., m, k) with k the smaller size; "complete", Q (..., m, m); "r", R
    alone. By Householder reflections, signs as LAPACK's where a column has anything below the
    diagonal. Q is orthogonal to rounding whatever ``a`` is.
    """
    dtype, (value,) = in_floats("qr", a)
    rows, columns = checked_matrices("qr", value)
    if mode not in ("reduced", "complete", "r"):
        expected = "'reduced', 'complete' or 'r'"
        raise BadArgument(op="qr", argument="mode", given=repr(mode), expected=expected)
    rest, vectors = reflected(value)
    height = rows if mode == "complete" else diagonal_length(rows, columns)
    upper = triu(window(rest, rest.ndim - 2, 0, height, "qr")).astype(dtype)
    if mode == "r":
        return upper
    start = eye(rows, height, dtype=value.dtype)
    return reflections(flip(vectors, 0), start).astype(dtype), upper


def lstsq(a: Value, b: Value) -> Tensor:
    """The x that makes ``|a @ x - b|`` least; of several the shortest. By QR, for full rank.

    ``a`` is (..., m, n), ``b`` (..., m, k) or (m,). Where the rank is not full, inf or nan: take
    ``pinv(a) @ b``. Unlike NumPy's, the solution alone. Raises ShapeMismatch, BadArgument.
    """
    dtype, (matrix, right) = in_floats("lstsq", a, b)
    rows, columns = checked_matrices("lstsq", matrix)
    known = right[:, None] if right.ndim == 1 else right
    if known.ndim < 2 or known.shape[-2] != rows:
        raise ShapeMismatch(op="lstsq", left=matrix.shape, right=right.shape)
    is_tall = diagonal_length(rows, columns) == columns
    solved = _least_squares if is_tall else _shortest
    result = solved(matrix, known).astype(dtype)
    return result[..., 0] if right.ndim == 1 else result


def _least_squares(a: Tensor, b: Tensor) -> Tensor:
    rest, vectors = reflected(a)
    turned = reflections(vectors, b)
    size = a.shape[-1]
    upper = window(rest, rest.ndim - 2, 0, size, "lstsq")
    known = window(turned, turned.ndim - 2, 0, size, "lstsq")
    return solve_lower_or_upper(upper, known, upper=True, unit=False)


def _shortest(a: Tensor, b: Tensor) -> Tensor:
    """With ``a.T = Q @ R`` it is ``Q @ inv(R.T) @ b``."""
    rest, vectors = reflected(swapaxes(a, -1, -2))
    size = a.shape[-2]
    lower = swapaxes(window(rest, rest.ndim - 2, 0, size, "lstsq"), -1, -2)
    known = solve_lower_or_upper(lower, b, upper=False, unit=False)
    longer = moved(known, movement.pad, known.ndim - 2, 0, a.shape[-1] - size)
    return reflections(flip(vectors, 0), longer + 0.0)
