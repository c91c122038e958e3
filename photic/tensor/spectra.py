"""Windows, short-time Fourier transforms, cosine transforms, filters on the mel scale.

Complex numbers are pairs, as in ``fourier.py``. Names and conventions are PyTorch's (the cosine
transform's SciPy's, the mel filters' torchaudio's). Sizes of windows and hops are plain integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms import movement
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT64
from photic.tensor.axes import as_integer, checked_axis
from photic.tensor.compare import equal
from photic.tensor.creation import counted
from photic.tensor.fourier import Complex, Pair, fft, ifft, irfft, rfft
from photic.tensor.linear import in_floats
from photic.tensor.padding import pad
from photic.tensor.primitive import less, mod, reciprocal, reduced, where
from photic.tensor.shapes import concat, flip, moveaxis, moved, reshape, stack, swapaxes
from photic.tensor.tensor import DTypeLike, Tensor, Value, fixed, size_value, tensor
from photic.tensor.unfolding import windows
from photic.tensor.waves import cos

Floats = npt.NDArray[np.float64]

# --- windows --------------------------------------------------------------------------------


def hann_window(size: Dim, periodic: bool = True, dtype: DTypeLike = "float32") -> Tensor:
    """``1/2 - cos(2*pi*k/size)/2``; not periodic: over size - 1, equal at both ends."""
    return _cosines(size, periodic, (0.5, -0.5), dtype)


def hamming_window(
    size: Dim,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    dtype: DTypeLike = "float32",
) -> Tensor:
    """``alpha - beta*cos(2*pi*k/size)``; not periodic: over size - 1, equal at both ends."""
    return _cosines(size, periodic, (alpha, -beta), dtype)


def blackman_window(size: Dim, periodic: bool = True, dtype: DTypeLike = "float32") -> Tensor:
    """``0.42 - cos(a)/2 + 0.08*cos(2*a)`` with ``a = 2*pi*k/size`` (size - 1 if not periodic)."""
    return _cosines(size, periodic, (0.42, -0.5, 0.08), dtype)


def bartlett_window(size: int, periodic: bool = True, dtype: DTypeLike = "float32") -> Tensor:
    """A triangle, ``1 - |2*k/size - 1|``; not periodic: over size - 1, 0 at both ends."""
    return _known_window("bartlett_window", size, periodic, np.bartlett, dtype)


KAISER_BETA = 12.0  # PyTorch's


def kaiser_window(
    size: int, periodic: bool = True, beta: float = KAISER_BETA, dtype: DTypeLike = "float32"
) -> Tensor:
    """``I0(beta*sqrt(1 - t*t))/I0(beta)`` for t from -1 to 1; not periodic: equal at both ends."""
    return _known_window("kaiser_window", size, periodic, lambda n: np.kaiser(n, beta), dtype)


def _known_window(
    op: str, size: int, periodic: bool, made: Callable[[int], Floats], dtype: DTypeLike
) -> Tensor:
    """A constant, computed in float64; a periodic one lacks the last place of one longer."""
    count = as_integer(op, "size", size)
    if count < 0:
        raise BadArgument(op=op, argument="size", given=size, expected="0 or more")
    longer = count + (periodic and count > 1)
    return tensor(np.asarray(made(longer)[:count], np.float64)).astype(dtype)


def _cosines(size: Dim, periodic: bool, weights: Sequence[float], dtype: DTypeLike) -> Tensor:
    """A sum of weighted cosines of multiples of the angle, in float64; a single place holds 1."""
    places, count = counted(0, size).astype(FLOAT64), size_value(size)
    period = count.astype(FLOAT64) - (0.0 if periodic else 1.0)
    result = places * 0.0 + weights[0]
    for k, weight in enumerate(weights[1:], start=1):
        part = mod(places * float(k), period)
        near = where(less(part * 2.0, period), part, period - part)  # a small angle is precise
        result = result + cos(near * reciprocal(period) * (2 * math.pi)) * weight
    return where(equal(count, 1), 1.0, result).astype(dtype)


# --- short-time transforms ------------------------------------------------------------------


def stft(
    x: Complex,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
) -> Pair:
    """Transforms of windows of (..., samples), ``hop_length`` apart: (..., waves, windows).

    As PyTorch's: if left out, ``hop_length`` is ``n_fft//4`` and ``win_length`` is ``n_fft``;
    ``window`` (win_length,) is in the middle of n_fft places; ``center`` pads both ends by
    ``n_fft//2``; ``normalized`` divides by ``sqrt(n_fft)``; ``onesided``, so for a real x if left
    out, gives ``n_fft//2 + 1`` waves. BadArgument where x may be shorter than a window.
    """
    n_fft = as_integer("stft", "n_fft", n_fft)
    dtype, parts = in_floats("stft", *(x if isinstance(x, tuple) else (x,)))
    half = len(parts) == 1 if onesided is None else onesided
    if half and len(parts) > 1:
        raise BadArgument(op="stft", argument="onesided", given=True, expected="False for a pair")
    hop, weights = _framing("stft", n_fft, hop_length, win_length, window)
    frames = [_framed(one, n_fft, hop, center, pad_mode) for one in parts]
    if weights is not None:
        frames = [one * weights.astype(one.dtype) for one in frames]
    norm = "ortho" if normalized else "backward"
    if half:
        made = rfft(frames[0], norm=norm)
    else:
        made = fft((frames[0], frames[1]) if len(frames) > 1 else frames[0], norm=norm)
    first, second = (swapaxes(one, -1, -2).astype(dtype) for one in made)
    return first, second


def _framing(
    op: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Value | None
) -> tuple[int, Tensor | None]:
    """The hop, and the window in the middle of ``n_fft`` places (None: all ones)."""
    length = n_fft if win_length is None else as_integer(op, "win_length", win_length)
    hop = n_fft // 4 if hop_length is None else as_integer(op, "hop_length", hop_length)
    if not 0 < length <= n_fft or hop < 1:
        expected = "0 < win_length <= n_fft, and a hop of 1 or more"
        raise BadArgument(
            op=op, argument="n_fft, win_length, hop_length", given=(n_fft, length, hop),
            expected=expected,
        )  # fmt: skip
    if window is None and length == n_fft:
        return hop, None
    weights = tensor(np.ones(length, np.float32)) if window is None else tensor(window, op)
    if weights.shape != (length,):
        raise ShapeMismatch(op=op, left=weights.shape, right=(length,))
    before = (n_fft - length) // 2
    return hop, pad(weights, (before, n_fft - length - before))


def _framed(x: Tensor, n_fft: int, hop: int, center: bool, pad_mode: str) -> Tensor:
    """(..., samples) as (..., windows, n_fft)."""
    axis = checked_axis("stft", -1, x.ndim)
    if center:
        x = pad(x, {axis: (n_fft // 2, n_fft // 2)}, pad_mode)
    return windows(x, axis, n_fft, hop, 1, "stft")


def istft(
    x: tuple[Value, Value],
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
) -> Tensor:
    """The real (..., samples) whose ``stft`` with these arguments is x (..., waves, windows).

    The windows' transforms back, weighted once more and added up, over the sum of squares of the
    weights; inf or nan where that is 0 (PyTorch refuses it). ``length`` cuts, or extends by zeros.
    """
    n_fft = as_integer("istft", "n_fft", n_fft)
    hop, weights = _framing("istft", n_fft, hop_length, win_length, window)
    dtype, parts = in_floats("istft", *x)
    count = n_fft // 2 + 1 if onesided else n_fft
    if parts[0].ndim < 2 or parts[0].shape[-2] != count:
        raise BadArgument(
            op="istft", argument="shape", given=parts[0].shape, expected=f"(..., {count}, windows)"
        )
    frames = swapaxes(parts[0], -1, -2), swapaxes(parts[1], -1, -2)
    norm = "ortho" if normalized else "backward"
    lines = irfft(frames, n_fft, norm=norm) if onesided else ifft(frames, norm=norm)[0]
    factors = tensor(np.ones(n_fft)) if weights is None else weights
    factors = factors.astype(lines.dtype)
    squares = (factors * factors) + lines[..., :1] * 0.0
    total = _added_up(lines * factors, hop) * reciprocal(_added_up(squares, hop))
    return _trimmed(total, n_fft // 2 if center else 0, length).astype(dtype)


def _trimmed(x: Tensor, edge: int, length: int | None) -> Tensor:
    """Without what ``center`` padded; cut or extended to a length."""
    axis = x.ndim - 1
    if length is None:
        return moved(x, movement.pad, axis, -edge, -edge)
    size = as_integer("istft", "length", length)
    return moved(x, movement.pad, axis, -edge, size + edge - x.shape[axis]) + 0.0


def _added_up(x: Tensor, hop: int) -> Tensor:
    """(..., windows, n) laid ``hop`` apart and added: (..., (windows - 1)*hop + n).

    Windows are cut in parts of a hop. Part k of window f belongs to place f + k: with rows of all
    parts k made longer by their number and then read one place shorter, they line up.
    """
    lead, count, size = x.shape[:-2], x.shape[-2], fixed("istft", x.shape[-1])
    parts = -(-size // hop)
    axis = len(lead)
    x = moved(x, movement.pad, axis + 1, 0, parts * hop - size)
    x = swapaxes(reshape(x, (*lead, count, parts, hop)), -2, -3)
    wide = count + parts
    rows = reshape(moved(x, movement.pad, axis + 1, 0, parts), (*lead, parts * wide, hop))
    rows = moved(rows, movement.shrink, axis, 0, 1, parts * (wide - 1))
    places = reduced("sum", reshape(rows, (*lead, parts, wide - 1, hop)), axis)
    line = reshape(places, (*lead, (wide - 1) * hop))
    return moved(line, movement.pad, axis, 0, size - parts * hop)


# --- cosine transforms ----------------------------------------------------------------------


def dct(x: Value, type: int = 2, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete cosine transform of type 2 or 3 along an axis, as SciPy's.

    Type 2: ``2*sum(x[j]*cos(pi*k*(2*j + 1)/(2*n)))``; ``norm="ortho"`` makes it orthogonal. Type 3
    is the inverse of type 2 but for a factor 2*n. By ``fft`` of the same length (Makhoul 1980).
    """
    return _cosine_transform("dct", x, type, axis, norm)


def idct(x: Value, type: int = 2, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``dct``."""
    dtype, (value,) = in_floats("idct", x)
    made = _cosine_transform("idct", value, {2: 3, 3: 2}.get(type, type), axis, norm)
    length = fixed("idct", value.shape[checked_axis("idct", axis, value.ndim)])
    return (made if norm == "ortho" else made * (0.5 / length)).astype(dtype)


def _cosine_transform(op: str, x: Value, type: int, axis: int, norm: str | None) -> Tensor:
    if type not in (2, 3) or norm not in (None, "backward", "ortho"):
        expected = "2 or 3; None, 'backward' or 'ortho'"
        raise BadArgument(op=op, argument="type, norm", given=(type, norm), expected=expected)
    dtype, (value,) = in_floats(op, x)
    place = checked_axis(op, axis, value.ndim)
    line = moveaxis(value, place, -1)
    length = fixed(op, line.shape[-1])
    if length < 1:
        raise BadArgument(op=op, argument="length", given=length, expected="1 or more")
    weights: Floats = np.full(length, 2.0 if norm != "ortho" else math.sqrt(2.0 / length))
    if norm == "ortho" or type == 3:
        weights[0] *= math.sqrt(0.5) if norm == "ortho" else 0.5
    made = _second(line, weights) if type == 2 else _third(line, weights)
    return moveaxis(made, -1, place).astype(dtype)


def _weighted(x: Tensor, weights: Floats, wave: Callable[[Floats], Floats]) -> Tensor:
    """Element k times a weight and the sine or cosine of k quarter waves over the length."""
    angles = np.arange(len(weights), dtype=np.float64) * (0.5 * np.pi / len(weights))
    return x * tensor(np.multiply(weights, wave(angles)).astype(x.dtype.numpy))


def _second(x: Tensor, weights: Floats) -> Tensor:
    """Even places, then odd ones from the end, transformed; the real part after k/4 turns."""
    first, second = fft(concat([x[..., ::2], flip(x[..., 1::2], -1)], -1))
    return _weighted(first, weights, np.cos) + _weighted(second, weights, np.sin)


def _third(x: Tensor, weights: Floats) -> Tensor:
    """The transpose of ``_second``: its steps in the opposite order."""
    turned, _ = fft((_weighted(x, weights, np.cos), -_weighted(x, weights, np.sin)))
    length = len(weights)
    even, odd = turned[..., : (length + 1) // 2], flip(turned[..., (length + 1) // 2 :], -1)
    odd = moved(odd, movement.pad, odd.ndim - 1, 0, length % 2)
    both = stack([even, odd], -1)
    return reshape(both, (*both.shape[:-2], length + length % 2))[..., :length]


# --- the mel scale --------------------------------------------------------------------------

# Slaney's scale is linear below 1000 Hz, 15 mel there, and logarithmic above: 27 steps are a
# factor 6.4 (M. Slaney, Auditory Toolbox, 1998). HTK's is logarithmic throughout.
SLANEY_HERTZ, SLANEY_MEL, SLANEY_STEP = 1000.0, 15.0, math.log(6.4) / 27.0
HTK_MEL, HTK_HERTZ = 2595.0, 700.0


def _mel_of_slaney(hertz: Floats) -> Floats:
    linear = hertz * (SLANEY_MEL / SLANEY_HERTZ)
    above = np.maximum(hertz, SLANEY_HERTZ) / SLANEY_HERTZ
    return np.where(hertz < SLANEY_HERTZ, linear, SLANEY_MEL + np.log(above) / SLANEY_STEP)


def _slaney_of_mel(mel: Floats) -> Floats:
    above = SLANEY_HERTZ * np.exp(SLANEY_STEP * (np.maximum(mel, SLANEY_MEL) - SLANEY_MEL))
    return np.where(mel < SLANEY_MEL, mel * (SLANEY_HERTZ / SLANEY_MEL), above)


MEL_SCALES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "htk": (
        lambda hertz: HTK_MEL * np.log10(1.0 + hertz / HTK_HERTZ),
        lambda mel: HTK_HERTZ * (10.0 ** (mel / HTK_MEL) - 1.0),
    ),
    "slaney": (_mel_of_slaney, _slaney_of_mel),
}


def mel_filter_bank(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: float,
    norm: str | None = None,
    mel_scale: str = "htk",
    dtype: DTypeLike = "float32",
) -> Tensor:
    """Triangular filters (n_freqs, n_mels), evenly spread over a mel scale from f_min to f_max.

    As torchaudio's ``melscale_fbanks``: rows are frequencies from 0 to half the sample rate;
    ``norm="slaney"`` gives every filter the same area; ``mel_scale`` is "htk" or "slaney". A
    constant, computed in float64. BadArgument.
    """
    if mel_scale not in MEL_SCALES or norm not in (None, "slaney") or not 0 <= f_min < f_max:
        raise BadArgument(
            op="mel_filter_bank",
            argument="mel_scale, norm, f_min, f_max",
            given=(mel_scale, norm, f_min, f_max),
            expected="'htk' or 'slaney', None or 'slaney', 0 <= f_min < f_max",
        )
    to_mel, to_hertz = MEL_SCALES[mel_scale]
    low, high = to_mel(np.array([f_min, f_max], np.float64))
    corners = to_hertz(np.linspace(low, high, n_mels + 2))
    frequencies = np.linspace(0.0, sample_rate // 2, n_freqs)
    slopes = corners[None, :] - frequencies[:, None]
    widths = np.diff(corners)
    rising, falling = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if norm == "slaney":
        filters = filters * (2.0 / (corners[2:] - corners[:-2]))
    return tensor(filters).astype(dtype)
