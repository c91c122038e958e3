"""Eigenvalues of symmetric matrices and singular values, by Jacobi's rotations.

In each step every axis is rotated with a partner, in planes that share no axis; in as many steps as
there are axes every pair meets once, which is a round. A fixed number of rounds is done, enough for
the sizes that this is meant for: up to a few hundred. Matrices are scaled by their largest
magnitude first. Halves are computed in float32 and rounded once, integers become float32.
"""

from __future__ import annotations

from dataclasses import dataclass

from photic.ir.dim import Dim, bounds
from photic.ir.dtype import FLOAT32, FLOAT64, INT64, DType
from photic.tensor.compare import equal
from photic.tensor.creation import counted, eye
from photic.tensor.decompositions import Step, checked_matrices, checked_square, qr
from photic.tensor.diagonals import diagonal, diagonal_length, tril
from photic.tensor.indexing import take, take_along_axis
from photic.tensor.linear import in_floats, matmul
from photic.tensor.loops import Tensors, scan
from photic.tensor.primitive import less, masked, negated, reciprocal, reduced, sqrt, where
from photic.tensor.reductions import max as largest
from photic.tensor.reductions import sum as total
from photic.tensor.repeating import tile
from photic.tensor.rounding import abs
from photic.tensor.shapes import concat, flip, reshape, swapaxes
from photic.tensor.tensor import Tensor, Value, expanded, size_value

# Rounds until all rotations are by less than half an ulp: so many, and so many more each time that
# the size doubles. Matrices of size 200 with magnitudes over 12 decades need a few more.
ROUNDS = 3
MORE_ROUNDS: dict[DType, int] = {FLOAT32: 1, FLOAT64: 2}
# Of the largest value, which is about 1: what is smaller is not rotated, its inverse is not finite.
NEGLIGIBLE: dict[DType, float] = {FLOAT32: 2.0**-100, FLOAT64: 2.0**-900}
EPSILON: dict[DType, float] = {FLOAT32: 2.0**-23, FLOAT64: 2.0**-52}


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Who meets whom in a step: axes i and j with i + j = step modulo their number.

    Some meet themselves. In as many steps as there are axes every pair meets once.
    """

    size: Dim
    step: Tensor

    def partner(self) -> Tensor:
        """Of each axis, the one that it meets."""
        other = self.step - counted(0, self.size)
        return where(less(other, 0), other + size_value(self.size), other)

    def turns(self, first: Tensor, second: Tensor, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Of each axis the cosine, and the sine with which its partner comes in.

        ``first`` is its own value, ``second`` its partner's. The angle makes ``shared`` 0: the
        smaller one (Golub and Van Loan, section 8.5: t = sign(z)/(|z| + sqrt(1 + z**2)) with
        z = (second - first)/(2*shared), written so that it has its slope where shared is 0), or the
        other, so that the larger value comes first: without that order matrices of many magnitudes
        take far more rounds. A partner's is the opposite.
        """
        place, partner = counted(0, self.size), self.partner()
        apart, both = second - first, shared * 2.0
        bottom = abs(apart) + sqrt(apart * apart + both * both)
        is_below = less(apart, 0.0) + equal(apart, 0.0) * less(partner, place)
        is_still = less(bottom, NEGLIGIBLE[bottom.dtype]) + equal(place, partner)
        top = where(is_below, -both, both)
        tangent = where(is_still, 0.0, top * reciprocal(bottom))
        cosine = reciprocal(sqrt(tangent * tangent + 1.0))
        sine = -tangent * cosine
        rise = (second + tangent * shared) - (first - tangent * shared)
        is_wrong = where(less(place, partner), less(0.0, rise), less(rise, 0.0))
        return where(is_wrong, -sine, cosine), where(is_wrong, cosine, sine)


def _steps(a: Tensor) -> Tensor:
    """The number of each step within its round, for all rounds."""
    doublings = (bounds(a.shape[-1])[1] - 1).bit_length()
    return tile(counted(0, a.shape[-1]), ROUNDS + MORE_ROUNDS[a.dtype] * doublings)


def _scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices over their largest magnitude, and that; zeros over 1."""
    top = largest(abs(x), (-2, -1), keepdims=True)
    top = where(less(0.0, top), top, where(less(top, 1.0), 1.0, top))  # nan stays
    return x * reciprocal(top), top[..., 0]


def _order(values: Tensor) -> Tensor:
    """The places of values when they rise; equal ones (and nan) stay in order."""
    place = counted(0, values.shape[-1])
    mine, other = values[..., :, None], values[..., None, :]
    is_before, is_after = less(other, mine), less(mine, other)
    is_alike = negated(is_before) * negated(is_after) * less(place, place[:, None])
    rank = total((is_before + is_alike).astype(INT64), -1)
    return reduced("sum", masked(equal(rank[..., None, :], place[:, None]), place), -1)


# --- symmetric matrices ---------------------------------------------------------------------


def eigh(a: Value) -> tuple[Tensor, Tensor]:
    """Eigenvalues w (..., n), rising, and orthonormal v (..., n, n): ``a @ v == v * w``.

    ``a`` (..., n, n) is symmetric; only its lower triangle counts. Errors of the values are small
    relative to the largest magnitude of them. Raises BadArgument.
    """
    dtype, (value,) = in_floats("eigh", a)
    checked_square("eigh", value)
    scaled, top = _scaled(tril(value))
    values, rows = _diagonalised(scaled + swapaxes(tril(scaled, -1), -1, -2))
    order = _order(values)
    vectors = swapaxes(take_along_axis(rows, order[..., None], -2), -1, -2)
    return (take_along_axis(values, order, -1) * top).astype(dtype), vectors.astype(dtype)


def eigvalsh(a: Value) -> Tensor:
    """The eigenvalues of ``eigh``."""
    return eigh(a)[0]


def _diagonalised(a: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues in no order, and in the rows of a matrix their vectors."""

    def body(carried: Tensors, sliced: Tensors) -> Step:
        rest, vectors = carried
        meeting = _Meeting(a.shape[-1], sliced[0])
        partner = meeting.partner()
        values = diagonal(rest, 0, -2, -1)
        across = take_along_axis(rest, _as_batch(partner[:, None], rest), -1)[..., 0]
        down = take_along_axis(rest, _as_batch(partner[None, :], rest), -2)[..., 0, :]
        shared = (across + down) * 0.5  # the same for both of a pair
        cosine, sine = meeting.turns(values, take(values, partner, -1), shared)
        rest = cosine[..., None] * rest + sine[..., None] * take(rest, partner, -2)
        across_cosine, across_sine = cosine[..., None, :], sine[..., None, :]
        rest = across_cosine * rest + across_sine * take(rest, partner, -1)
        vectors = cosine[..., None] * vectors + sine[..., None] * take(vectors, partner, -2)
        return (rest, vectors), ()

    start = expanded(eye(a.shape[-1], dtype=a.dtype), a.shape)
    (rest, vectors), _ = scan(body, (a, start), (_steps(a),))
    return diagonal(rest, 0, -2, -1), vectors


def _as_batch(index: Tensor, x: Tensor) -> Tensor:
    """With leading axes of size 1, to the rank of ``x``."""
    return reshape(index, (1,) * (x.ndim - index.ndim) + index.shape)


# --- singular values ------------------------------------------------------------------------


def _is_tall(op: str, a: Tensor) -> bool:
    """Whether rows are no fewer than columns; BadArgument where sizes leave that open."""
    rows, columns = checked_matrices(op, a)
    return diagonal_length(rows, columns) == columns


def svd(a: Value, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """U, s, Vh with ``U * s @ Vh == a`` (..., m, n), U and Vh orthonormal, s falling.

    Full: U is (..., m, m), Vh (..., n, n); else U (..., m, k), Vh (..., k, n) with k the smaller.
    Errors of s are small relative to the largest; U and V are orthogonal to rounding whatever the
    rank is. BadArgument, also where symbolic sizes leave open which is the smaller.
    """
    dtype, (value,) = in_floats("svd", a)
    if _is_tall("svd", value):
        left, s, right = _svd_of_tall(value, full_matrices)
    else:
        left, s, right = _svd_of_tall(swapaxes(value, -1, -2), full_matrices)
        left, right = swapaxes(right, -1, -2), swapaxes(left, -1, -2)
    return left.astype(dtype), s.astype(dtype), right.astype(dtype)


def svdvals(a: Value) -> Tensor:
    """The singular values of ``a`` (..., m, n), falling."""
    dtype, (value,) = in_floats("svdvals", a)
    scaled, top = _scaled(value if _is_tall("svdvals", value) else swapaxes(value, -1, -2))
    upper = qr(scaled, "r")
    assert isinstance(upper, Tensor)
    return (_orthogonalised(upper)[0] * top).astype(dtype)


def _svd_of_tall(a: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """With a = Q @ R: the rotated rows of (R @ V).T are s times those of another orthonormal U."""
    scaled, top = _scaled(a)
    size = a.shape[-1]
    outer, upper = qr(scaled, "complete" if full else "reduced")
    s, lines, right = _orthogonalised(upper[..., :size, :])
    # the factor Q of columns that are orthogonal already is their directions, also where s is 0
    inner, corners = qr(swapaxes(lines, -1, -2))
    signs = where(less(diagonal(corners, 0, -2, -1), 0.0), -1.0, 1.0).astype(a.dtype)
    left = matmul(outer[..., :size], inner * signs[..., None, :])
    return concat([left, outer[..., size:]], -1) if full else left, s * top, right


def _orthogonalised(upper: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of R (..., n, n): s, falling, the rows of ``(R @ V).T``, and V.T.

    One-sided rotations: pairs of rows of R.T are turned until they are orthogonal (Hestenes 1958).
    """

    def body(carried: Tensors, sliced: Tensors) -> Step:
        lines, vectors = carried
        meeting = _Meeting(upper.shape[-1], sliced[0])
        partner = meeting.partner()
        squares = total(lines * lines, -1)
        shared = total(lines * take(lines, partner, -2), -1)
        cosine, sine = meeting.turns(squares, take(squares, partner, -1), shared)
        cosine, sine = cosine[..., None], sine[..., None]
        lines = cosine * lines + sine * take(lines, partner, -2)
        return (lines, cosine * vectors + sine * take(vectors, partner, -2)), ()

    start = expanded(eye(upper.shape[-1], dtype=upper.dtype), upper.shape)
    (lines, vectors), _ = scan(body, (swapaxes(upper, -1, -2), start), (_steps(upper),))
    length = sqrt(total(lines * lines, -1))
    place = flip(_order(length), -1)
    lines, vectors = (take_along_axis(one, place[..., None], -2) for one in (lines, vectors))
    return take_along_axis(length, place, -1), lines, vectors


def pinv(a: Value, rtol: float | None = None) -> Tensor:
    """The Moore-Penrose inverse (..., n, m) of ``a`` (..., m, n), by ``svd``.

    Singular values up to ``rtol`` times the largest count as 0; if left out, the larger size times
    the dtype's epsilon, as PyTorch's.
    """
    dtype, (value,) = in_floats("pinv", a)
    left, s, right = svd(value, full_matrices=False)
    is_kept = _is_counted(value, s, rtol)
    inverse = masked(is_kept, reciprocal(s)) + 0.0
    result = matmul(swapaxes(right, -1, -2) * inverse[..., None, :], swapaxes(left, -1, -2))
    return result.astype(dtype)


def matrix_rank(a: Value, rtol: float | None = None) -> Tensor:
    """How many singular values are above ``rtol`` times the largest (as in ``pinv``), as int64."""
    _, (value,) = in_floats("matrix_rank", a)
    s = svdvals(value)
    return total(_is_counted(value, s, rtol).astype("int64"), -1)


def _is_counted(a: Tensor, s: Tensor, rtol: float | None) -> Tensor:
    longer = size_value(a.shape[-2] if _is_tall("rank", a) else a.shape[-1])
    limit = longer.astype(a.dtype) * EPSILON[a.dtype] if rtol is None else rtol
    return less(largest(s, -1, keepdims=True) * limit, s)
