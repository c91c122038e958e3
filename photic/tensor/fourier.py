"""Fourier transforms of any length. Complex numbers are pairs (real part, imaginary part).

A function takes a real tensor or a pair of tensors of one shape, and gives a pair (or a real tensor
where it says so). Lengths and norms are NumPy's; lengths are plain integers, other axes may be
symbolic. A length is taken apart into factors of at most 32: one small matrix product each, between
them products with roots of unity (Stockham's order, in which nothing changes places). Other primes
up to 64 are one matrix product too; with a larger prime factor a transform is a convolution of a
power of two (Bluestein 1970). Roots of unity are computed in float64 and rounded, so errors grow
with the number of factors only. Halves are computed in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import at_most, product
from photic.ir.dtype import DType
from photic.tensor.axes import as_integer, as_many, checked_axis
from photic.tensor.linear import in_floats
from photic.tensor.primitive import apply, reduced
from photic.tensor.shapes import (
    checked_axes,
    concat,
    expand_dims,
    flip,
    moveaxis,
    moved,
    reshape,
    roll,
    stack,
    swapaxes,
)
from photic.tensor.tensor import Axes, DTypeLike, Tensor, Value, fixed, tensor

Pair = tuple[Tensor, Tensor]
Complex = Value | tuple[Value, Value]
Table = npt.NDArray[np.complex128]

LARGEST_FACTOR = 32  # of a length, as one matrix product
LARGEST_PRIME = 64  # that is one matrix product too
MANY_ROWS = 64  # from which on a table that they share is read from a near cache
FORWARD, BACKWARD = -1, 1  # the signs of the exponent

# What a transform of so many numbers is multiplied by: forward, and back.
NORMS: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "backward": (lambda n: 1.0, lambda n: 1.0 / n),
    "ortho": (lambda n: n**-0.5, lambda n: n**-0.5),
    "forward": (lambda n: 1.0 / n, lambda n: 1.0),
}


def _scale(op: str, norm: str, length: int, sign: int) -> float:
    if norm not in NORMS:
        expected = "one of " + ", ".join(map(repr, NORMS))
        raise BadArgument(op=op, argument="norm", given=repr(norm), expected=expected)
    return NORMS[norm][sign == BACKWARD](length)


# --- one axis -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """What is transformed: (..., parts, length), where it came from, and the result's dtype."""

    value: Tensor
    axis: int
    dtype: DType

    @property
    def length(self) -> int:
        """How many numbers."""
        return fixed("fft", self.value.shape[-1])

    def back(self, pair: Tensor, scale: float) -> Pair:
        """The two parts of (..., 2, k), scaled, the last axis where it was."""
        scaled = pair if scale == 1.0 else pair * scale
        return self.both(scaled[..., 0, :], scaled[..., 1, :], 1.0)

    def both(self, first: Tensor, second: Tensor, scale: float) -> Pair:
        """Two parts (..., k), scaled, the last axis where it was."""
        scaled = (one if scale == 1.0 else one * scale for one in (first, second))
        real, imaginary = (moveaxis(one, -1, self.axis).astype(self.dtype) for one in scaled)
        return real, imaginary


def _line(op: str, x: Complex, n: int | None, axis: int) -> _Line:
    """The axis last, cut or extended to ``n``, both parts before it."""
    dtype, parts = in_floats(op, *(x if isinstance(x, tuple) else (x,)))
    if len(parts) not in (1, 2):
        raise BadArgument(op=op, argument="x", given=f"{len(parts)} parts", expected="a pair")
    if parts[0].shape != parts[-1].shape:
        raise ShapeMismatch(op=op, left=parts[0].shape, right=parts[1].shape)
    place = checked_axis(op, axis, parts[0].ndim)
    length = fixed(op, parts[0].shape[place] if n is None else n)
    if length < 1:
        raise BadArgument(op=op, argument="length", given=length, expected="1 or more")
    laid = [_fitted(moveaxis(one, place, -1), length) for one in parts]
    return _Line(stack(laid, -2) if len(laid) > 1 else expand_dims(laid[0], -2), place, dtype)


def _fitted(x: Tensor, length: int) -> Tensor:
    """The last axis cut, or extended by zeros."""
    extent = x.shape[-1]
    return x if extent == length else moved(x, movement.pad, x.ndim - 1, 0, length - extent)


def fft(x: Complex, n: int | None = None, axis: int = -1, norm: str = "backward") -> Pair:
    """The discrete Fourier transform along an axis: sums of ``x[j]*exp(-2*pi*i*j*k/n)``.

    ``n`` cuts the axis, or extends it by zeros. ``norm``: "backward", "ortho" or "forward". Raises
    BadArgument for n < 1 or another norm, UnknownSize for a symbolic length, ShapeMismatch.
    """
    line = _line("fft", x, n, axis)
    return line.back(_transform(line.value, FORWARD), _scale("fft", norm, line.length, FORWARD))


def ifft(x: Complex, n: int | None = None, axis: int = -1, norm: str = "backward") -> Pair:
    """The inverse of ``fft``."""
    line = _line("ifft", x, n, axis)
    return line.back(_transform(line.value, BACKWARD), _scale("ifft", norm, line.length, BACKWARD))


def rfft(x: Value, n: int | None = None, axis: int = -1, norm: str = "backward") -> Pair:
    """The first ``n//2 + 1`` numbers of the transform of a real tensor; the rest mirror them."""
    if isinstance(x, tuple):
        raise BadArgument(op="rfft", argument="x", given="a pair", expected="a real tensor")
    line = _line("rfft", x, n, axis)
    scale = _scale("rfft", norm, line.length, FORWARD)
    if line.length % 2:
        return line.back(_transform(line.value, FORWARD)[..., : line.length // 2 + 1], scale)
    return line.both(*_real_transform(line.value), scale)


def irfft(x: Complex, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real tensor of ``n`` numbers (``2*(m - 1)`` if left out) whose ``rfft`` is x (..., m).

    The imaginary part of the first number, and of the last for even n, counts as 0.
    """
    parts = x if isinstance(x, tuple) else (x,)
    first = tensor(parts[0], "irfft")
    place = checked_axis("irfft", axis, first.ndim)
    length = 2 * (fixed("irfft", first.shape[place]) - 1) if n is None else fixed("irfft", n)
    if length < 1:
        raise BadArgument(op="irfft", argument="length", given=length, expected="1 or more")
    line = _line("irfft", x, length // 2 + 1, place)
    made = _real_inverse(line.value, length)
    scaled = made * _scale("irfft", norm, length, BACKWARD)
    return moveaxis(scaled, -1, place).astype(line.dtype)


# --- the transform --------------------------------------------------------------------------


def _roots(counts: npt.NDArray[np.int64], n: int, sign: int) -> Table:
    """``exp(sign*2*pi*i*count/n)``, the count reduced first so that the angle is small."""
    angles = np.mod(counts, n) * (2 * np.pi / n)
    return np.cos(angles) + 1j * sign * np.sin(angles)


def _as_matrix(table: Table) -> npt.NDArray[np.float64]:
    """Complex factors as real 2x2 matrices on two new leading axes: result's part, given part."""
    return np.array([[table.real, -table.imag], [table.imag, table.real]])


def _times(x: Tensor, matrix: npt.NDArray[np.float64]) -> Tensor:
    """Pairs (..., parts, k) times factors (2, parts, k) of their own."""
    return _part(expand_dims(x, -3), matrix)


def _part(x: Tensor, factors: npt.NDArray[np.float64]) -> Tensor:
    """The sum over pairs (..., parts, k) of their products with factors (..., parts, k)."""
    taken = tensor(factors[..., : x.shape[-2], :].astype(x.dtype.numpy))
    return reduced("sum", apply("mul", x, taken), -2)


def _factors(length: int) -> list[int]:
    """The length as a product of few numbers up to LARGEST_FACTOR, alike; and of larger primes."""
    found = []
    while length > 1:
        small = [k for k in range(2, LARGEST_FACTOR + 1) if length % k == 0]
        steps = max(1, math.ceil(math.log(length, LARGEST_FACTOR)))
        enough = [k for k in small if k**steps >= length]
        primes = (k for k in range(LARGEST_FACTOR, math.isqrt(length) + 1) if length % k == 0)
        found.append(enough[0] if enough else small[-1] if small else next(primes, length))
        length //= found[-1]
    return found or [1]


def _transform(x: Tensor, sign: int) -> Tensor:
    """Sums of ``x[j]*exp(sign*2*pi*i*j*k/n)`` of (..., parts, n), as (..., 2, n)."""
    factors = _factors(fixed("fft", x.shape[-1]))
    return _by_factors(x, factors, sign) if max(factors) <= LARGEST_PRIME else _by_chirp(x, sign)


def _by_factors(x: Tensor, factors: Sequence[int], sign: int) -> Tensor:
    """With ``n = r*left*done``, places are (r, left, done); done holds the wave numbers so far.

    A step turns ``(j, l, d)`` into ``(l, k, d)``: a root of r*done for each (j, d), then the sums
    over j; so that in the end the wave number is ``d + done*k``.
    """
    lead, length = x.shape[:-2], fixed("fft", x.shape[-1])
    if len(factors) == 2 and at_most(MANY_ROWS, product(lead)):
        return _by_two_factors(x, factors[0], factors[1], sign)
    done, left = 1, length
    for r in factors:
        left //= r
        parts = fixed("fft", x.shape[-2])
        if done > 1:
            places = np.multiply.outer(np.arange(r), np.arange(done))
            turned = _as_matrix(_roots(places, r * done, sign)).reshape(2, 2, r, 1, done)
            spread = reshape(x, (*lead, 1, parts, r, left, done))
            x = reduced("sum", apply("mul", spread, tensor(turned.astype(x.dtype.numpy))), -4)
        waves = _as_matrix(_roots(np.multiply.outer(np.arange(r), np.arange(r)), r, sign))
        matrix = waves[:, :parts].reshape(2, parts * r, 1, r, 1).astype(x.dtype.numpy)
        spread = reshape(x, (*lead, 1, parts * r, left, 1, done))
        x = reduced("sum", apply("mul", spread, tensor(matrix)), -4)
        done *= r
        x = reshape(x, (*lead, 2, length))
    return x


def _by_two_factors(x: Tensor, r: int, left: int, sign: int) -> Tensor:
    """As ``_by_factors``, the roots between the two steps taken into the first one's table.

    A pass less over what is transformed; a table as large as some transforms, which many share.
    """
    lead, parts = x.shape[:-2], fixed("fft", x.shape[-2])
    first, second = np.arange(r), np.arange(left)
    counts = np.multiply.outer(first, first)[:, None] * left + np.multiply.outer(second, first)
    table = _as_matrix(_roots(counts, r * left, sign))[:, :parts]
    spread = reshape(x, (*lead, 1, parts * r, left, 1))
    matrix = table.reshape(2, parts * r, left, r).astype(x.dtype.numpy)
    z = reduced("sum", apply("mul", spread, tensor(matrix)), -3)
    waves = _as_matrix(_roots(np.multiply.outer(second, second), left, sign))
    spread = reshape(z, (*lead, 1, 2 * left, 1, r))
    matrix = waves.reshape(2, 2 * left, left, 1).astype(x.dtype.numpy)
    made = reduced("sum", apply("mul", spread, tensor(matrix)), -3)
    return reshape(made, (*lead, 2, r * left))


def _by_chirp(x: Tensor, sign: int) -> Tensor:
    """With ``2*j*k = j*j + k*k - (k - j)**2`` the sums are a convolution with a chirp."""
    length = fixed("fft", x.shape[-1])
    wide = 1 << (2 * length - 2).bit_length()  # a power of two of at least 2*length - 1
    places = np.arange(length, dtype=np.int64)
    chirp = _roots(places * places, 2 * length, sign)
    kernel = np.zeros(wide, np.complex128)
    kernel[:length] = chirp.conj()
    kernel[wide - length + 1 :] = chirp[:0:-1].conj()
    spectrum = np.fft.fft(kernel) / wide
    turned = _fitted(_times(x, _as_matrix(chirp)), wide)
    passed = _times(_transform(turned, FORWARD), _as_matrix(spectrum))
    return _times(_transform(passed, BACKWARD)[..., :length], _as_matrix(chirp))


# --- real values ----------------------------------------------------------------------------


def _mirrored(table: Table) -> npt.NDArray[np.float64]:
    """As ``_as_matrix``, of factors of the conjugate."""
    return np.array([[table.real, table.imag], [table.imag, -table.real]])


def _real_transform(x: Tensor) -> Pair:
    """Of (..., 1, 2*h): even places as real, odd ones as imaginary parts of h numbers z.

    With w = exp(-pi*i/h) it is ``z[k]*(1 - i*w**k)/2 + conj(z[-k])*(1 + i*w**k)/2``.
    """
    half = fixed("rfft", x.shape[-1]) // 2
    pairs = reshape(x, (*x.shape[:-2], half, 2))
    z = _transform(swapaxes(pairs, -1, -2), FORWARD)
    a, b = z[..., 0, :], z[..., 1, :]
    # the ends apart, so that z[k] and z[-k] are plain views of the places between
    inside, turned = ((one[..., 1:], flip(one[..., 1:], -1)) for one in (a, b))
    waves = _roots(np.arange(1, half), 2 * half, FORWARD) / 2
    u, v = (tensor(one.astype(x.dtype.numpy)) for one in (waves.real, waves.imag))
    odd, even = inside[0] - inside[1], turned[0] + turned[1]
    real = (inside[0] + inside[1]) * 0.5 + (even * u + odd * v)
    imaginary = (turned[0] - turned[1]) * 0.5 + (even * v - odd * u)
    first, last = a[..., :1] + b[..., :1], a[..., :1] - b[..., :1]
    nothing = first * 0.0  # but nan where the first is
    return concat([first, real, last], -1), concat([nothing, imaginary, nothing], -1)


def _real_inverse(x: Tensor, length: int) -> Tensor:
    """The real part of the inverse transform, not scaled, of (..., parts, length//2 + 1)."""
    ends = np.zeros((2, 2, length // 2 + 1))
    ends[0, 0], ends[1, 1, 1:] = 1.0, 1.0
    if length % 2 == 0:
        ends[1, 1, -1] = 0.0
    x = _times(x, ends)  # without the imaginary parts that count as 0
    if length % 2:
        mirror = _times(flip(x[..., 1:], -1), np.array([[[1.0], [0.0]], [[0.0], [-1.0]]]))
        return _transform(concat([x, mirror], -1), BACKWARD)[..., 0, :]
    half = length // 2
    waves = 1j * _roots(np.arange(half), length, BACKWARD)
    there, back = x[..., :half], flip(x[..., 1:], -1)
    z = _times(there, _as_matrix(1 + waves)) + _times(back, _mirrored(1 - waves))
    pairs = swapaxes(_transform(z, BACKWARD), -1, -2)
    return reshape(pairs, (*pairs.shape[:-2], length))


# --- several axes ---------------------------------------------------------------------------

Lengths = Sequence[int] | None


def _axes_and_lengths(op: str, x: Complex, s: Lengths, axes: Axes) -> list[tuple[int, int | None]]:
    """Each axis with the length that is asked for; the last ones if only lengths are given."""
    rank = tensor(x[0] if isinstance(x, tuple) else x, op).ndim
    s = None if s is None else [as_integer(op, "s", one) for one in as_many(s)]
    if axes is None and s is not None:
        axes = range(rank - len(s), rank)
    places = checked_axes(op, axes, rank)
    lengths: Sequence[int | None] = [None] * len(places) if s is None else list(s)
    if len(lengths) != len(places) or not places:
        expected = "one or more axes, and a length for each"
        raise BadArgument(op=op, argument="s, axes", given=(s, axes), expected=expected)
    return list(zip(places, lengths))


def fftn(x: Complex, s: Lengths = None, axes: Axes = None, norm: str = "backward") -> Pair:
    """The transform along several axes (all of them for None), to lengths ``s``; as ``fft``."""
    return _each("fftn", fft, x, s, axes, norm)


def ifftn(x: Complex, s: Lengths = None, axes: Axes = None, norm: str = "backward") -> Pair:
    """The inverse of ``fftn``."""
    return _each("ifftn", ifft, x, s, axes, norm)


def _each(op: str, one: Callable[..., Pair], x: Complex, s: Lengths, axes: Axes, norm: str) -> Pair:
    """Axis by axis, rounded once."""
    dtype, result = _wide(op, x)
    for place, length in _axes_and_lengths(op, x, s, axes):
        result = one(result, length, place, norm)
    assert isinstance(result, tuple)
    first, second = (tensor(part).astype(dtype) for part in result)
    return first, second


def _wide(op: str, x: Complex) -> tuple[DType, Complex]:
    """The dtype of the result, and the value or pair in that of the computation."""
    dtype, parts = in_floats(op, *(x if isinstance(x, tuple) else (x,)))
    return dtype, (parts[0], parts[1]) if len(parts) > 1 else parts[0]


def fft2(x: Complex, s: Lengths = None, axes: Axes = (-2, -1), norm: str = "backward") -> Pair:
    """``fftn`` along the last two axes."""
    return fftn(x, s, axes, norm)


def ifft2(x: Complex, s: Lengths = None, axes: Axes = (-2, -1), norm: str = "backward") -> Pair:
    """The inverse of ``fft2``."""
    return ifftn(x, s, axes, norm)


def rfftn(x: Value, s: Lengths = None, axes: Axes = None, norm: str = "backward") -> Pair:
    """``rfft`` along the last of several axes, then ``fft`` along the others."""
    *others, (place, length) = _axes_and_lengths("rfftn", x, s, axes)
    dtype, value = _wide("rfftn", x)
    assert not isinstance(value, tuple)
    result = rfft(value, length, place, norm)
    for place, length in others:
        result = fft(result, length, place, norm)
    return result[0].astype(dtype), result[1].astype(dtype)


def irfftn(x: Complex, s: Lengths = None, axes: Axes = None, norm: str = "backward") -> Tensor:
    """The inverse of ``rfftn``; the last length is ``2*(m - 1)`` if left out."""
    *others, (place, length) = _axes_and_lengths("irfftn", x, s, axes)
    dtype, result = _wide("irfftn", x)
    for other, extent in others:
        result = ifft(result, extent, other, norm)
    return irfft(result, length, place, norm).astype(dtype)


def rfft2(x: Value, s: Lengths = None, axes: Axes = (-2, -1), norm: str = "backward") -> Pair:
    """``rfftn`` along the last two axes."""
    return rfftn(x, s, axes, norm)


def irfft2(x: Complex, s: Lengths = None, axes: Axes = (-2, -1), norm: str = "backward") -> Tensor:
    """The inverse of ``rfft2``."""
    return irfftn(x, s, axes, norm)


# --- wave numbers ---------------------------------------------------------------------------


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    """The frequencies of ``fft`` for samples ``d`` apart: 0, 1, ..., -1 over ``n*d``."""
    return tensor(np.fft.fftfreq(_count("fftfreq", n), d)).astype(dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike = "float32") -> Tensor:
    """The frequencies of ``rfft``: 0, 1, ..., n//2 over ``n*d``."""
    return tensor(np.fft.rfftfreq(_count("rfftfreq", n), d)).astype(dtype)


def _count(op: str, n: int) -> int:
    if fixed(op, n) < 1:
        raise BadArgument(op=op, argument="n", given=n, expected="1 or more")
    return n


def fftshift(x: Value, axes: Axes = None) -> Tensor:
    """Frequency 0 moved to the middle of axes (all for None); of a pair shift both parts."""
    return _moved_by_half("fftshift", x, axes, 1)


def ifftshift(x: Value, axes: Axes = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return _moved_by_half("ifftshift", x, axes, -1)


def _moved_by_half(op: str, x: Value, axes: Axes, direction: int) -> Tensor:
    value = tensor(x, op)
    for place in checked_axes(op, axes, value.ndim):
        value = roll(value, direction * (fixed(op, value.shape[place]) // 2), place)
    return value
