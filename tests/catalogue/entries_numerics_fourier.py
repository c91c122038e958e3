"""The catalogue's entries for Fourier and cosine transforms, windows, filters on the mel scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft
from catalogue.entry import FLOATS, INTS, Array, Cases, Entry, Speed, floated
from catalogue.inputs import given, million, of_shape, of_shapes

import photic as ph

# Each of at most five factors adds the error of a sum of 64 products; with a large prime factor
# three transforms and as many products follow each other. Relative to the largest number.
ERROR = 2.0**-19
FACTORS = (
    "two passes of products with small tables, 40 to 64 for each number, where a radix-8 butterfly"
    " needs some 12; 25 of 32 lanes are used of a length of 500"
)
WHY = "a few roundings for each factor of the length, relative to the largest number"

# Powers of two, other composites, primes below 64, larger primes, and a length with one.
LENGTHS = (1, 2, 3, 5, 7, 8, 12, 16, 37, 49, 67, 134, 360, 1009, 1024)


def pair(z: Any) -> tuple[Any, Any]:
    """A complex array, or torch's tensor, as photic gives it."""
    return z.real, z.imag


def _of_pairs(*shapes: tuple[int, ...]) -> Cases:
    return of_shapes(*((shape, shape) for shape in shapes))


def transform(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Cases,
    dtypes: tuple[str, ...] = FLOATS,
    **more: Any,
) -> Entry:
    def answers(*x: Array) -> Any:
        made = oracle(*x)
        return pair(made) if np.iscomplexobj(made) else made

    def scale(*x: Array) -> tuple[Array, ...]:
        made = oracle(*x)
        count = 2 if np.iscomplexobj(made) else 1
        return (np.full(made.shape, np.abs(made).max(initial=0)),) * count

    more = {"result_dtype": floated, "aten": (f"fft_{name.partition('.')[0]}",), **more}
    return Entry(name, call, answers, inputs, dtypes, rtol=ERROR, scale=scale, why=WHY, **more)


def _complex(real: Array, imag: Array) -> Array:
    return real + 1j * imag


ONE_AXIS = (
    transform(
        "fft",
        lambda x, y: ph.fft((x, y)),
        lambda x, y: np.fft.fft(_complex(x, y)),
        _of_pairs(*((2, n) for n in LENGTHS)),
        aten=("fft_fft", "_fft_c2c"),
        onnx=("DFT",),
        sizes=("n 8", "n 8"),
        speed=Speed(
            lambda torch, x, y: pair(torch.fft.fft(torch.complex(x, y))),
            million((1000, 1024), (1000, 1024)),
            why=FACTORS,
        ),
    ),
    transform(
        "fft.real",
        ph.fft,
        np.fft.fft,
        of_shape(*((2, n) for n in (1, 2, 7, 12, 67))),
        (*FLOATS, *INTS),
        onnx=("DFT",),
        aten=("fft_fft", "_fft_r2c"),
    ),
    transform(
        "fft.axis",
        lambda x: ph.fft(x, 7, 0, norm="ortho"),
        lambda x: np.fft.fft(x, 7, 0, norm="ortho"),
        of_shape((4, 3), (7, 1), (12, 2, 3)),
        onnx=("DFT",),
    ),
    transform(
        "fft.million",
        lambda x, y: ph.fft((x, y)),
        lambda x, y: np.fft.fft(_complex(x, y)),
        _of_pairs((4096,), (5000,)),
        onnx=("DFT",),
        speed=Speed(
            lambda torch, x, y: pair(torch.fft.fft(torch.complex(x, y))),
            million((1_000_000,), (1_000_000,)),
            why=FACTORS,
        ),
    ),
    transform(
        "ifft",
        lambda x, y: ph.ifft((x, y)),
        lambda x, y: np.fft.ifft(_complex(x, y)),
        _of_pairs((2, 1), (2, 2), (7,), (3, 12), (67,)),
        onnx=("DFT",),
        sizes=("n 12", "n 12"),
    ),
    transform(
        "ifft.norms",
        lambda x, y: ph.ifft((x, y), 5, 0, "forward"),
        lambda x, y: np.fft.ifft(_complex(x, y), 5, 0, "forward"),
        _of_pairs((5, 4), (6, 1)),
    ),
    transform(
        "rfft",
        ph.rfft,
        np.fft.rfft,
        of_shape(*((2, n) for n in LENGTHS)),
        onnx=("DFT",),
        aten=("fft_rfft", "_fft_r2c"),
        sizes=("n 8",),
        speed=Speed(lambda torch, x: pair(torch.fft.rfft(x)), million((1000, 1000)), why=FACTORS),
    ),
    transform(
        "irfft",
        lambda x, y: ph.irfft((x, y)),
        lambda x, y: np.fft.irfft(_complex(x, y)),
        _of_pairs((2, 2), (3,), (5, 9), (181,)),
        aten=("fft_irfft", "_fft_c2r"),
        onnx=("DFT",),
        sizes=("n 9", "n 9"),
        speed=Speed(
            lambda torch, x, y: torch.fft.irfft(torch.complex(x, y)),
            million((1000, 501), (1000, 501)),
            why=FACTORS,
        ),
    ),
    transform(
        "irfft.length",
        lambda x, y: ph.irfft((x, y), 7, 0),
        lambda x, y: np.fft.irfft(_complex(x, y), 7, 0),
        _of_pairs((4, 3), (9, 2)),
    ),
)

IMAGES = ((4, 6), (3, 5, 7), (2, 1, 8))
SEVERAL = tuple(
    transform(
        name,
        lambda x, y, own=name: getattr(ph, own)((x, y)),
        lambda x, y, own=name: getattr(np.fft, own)(_complex(x, y)),
        _of_pairs(*IMAGES),
    )
    for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")
) + tuple(
    transform(
        name,
        getattr(ph, name),
        getattr(np.fft, name),
        of_shape(*IMAGES),
    )
    for name in ("rfft2", "rfftn")
)
LENGTHENED = (
    transform(
        "fftn.lengths",
        lambda x, y: ph.fftn((x, y), (3, 5), (0, 2), norm="ortho"),
        lambda x, y: np.fft.fftn(_complex(x, y), (3, 5), (0, 2), norm="ortho"),
        _of_pairs((4, 2, 3)),
    ),
    transform(
        "rfftn.lengths",
        lambda x: ph.rfftn(x, (3, 5), (0, 2)),
        lambda x: np.fft.rfftn(x, (3, 5), (0, 2)),
        of_shape((4, 2, 3)),
    ),
    transform(
        "irfftn.lengths",
        lambda x, y: ph.irfftn((x, y), (3, 5), (0, 2)),
        lambda x, y: np.fft.irfftn(_complex(x, y), (3, 5), (0, 2)),
        _of_pairs((4, 2, 3)),
    ),
)

FREQUENCIES = tuple(
    Entry(
        name,
        lambda x, own=name: getattr(ph, own)(x, (0, -1)),
        lambda x, own=name: getattr(np.fft, own)(x, (0, -1)),
        of_shape((5, 3, 4), (1, 2), (4, 1)),
        (*FLOATS, *INTS),
        aten=(f"fft_{name}",),
    )
    for name in ("fftshift", "ifftshift")
) + tuple(
    Entry(
        name,
        lambda x, own=name: tuple(
            getattr(ph, own)(n, 0.5, "float64").astype(x.dtype) for n in (1, 2, 7, 8)
        ),
        lambda x, own=name: tuple(getattr(np.fft, own)(n, 0.5) for n in (1, 2, 7, 8)),
        given([0.0]),
        half_ulps=0.5,
        gradient="none: constants",
        aten=(f"fft_{name}",),
    )
    for name in ("fftfreq", "rfftfreq")
)


# --- cosine transforms ----------------------------------------------------------------------

COSINES = of_shape(*((3, n) for n in (1, 2, 3, 8, 9, 50)))


def cosine(name: str, own: str, kind: int, norm: str | None, **more: Any) -> Entry:
    return transform(
        name,
        lambda x: getattr(ph, own)(x, kind, norm=norm),
        lambda x: getattr(scipy.fft, own)(x, kind, norm=norm),
        COSINES,
        aten=(),
        **more,
    )


COSINE = (
    cosine("dct", "dct", 2, None, sizes=("n 8",)),
    cosine("dct.ortho", "dct", 2, "ortho"),
    cosine("dct.third", "dct", 3, None),
    cosine("dct.third_ortho", "dct", 3, "ortho"),
    cosine("idct", "idct", 2, None),
    cosine("idct.ortho", "idct", 3, "ortho"),
)


# --- windows and short-time transforms ------------------------------------------------------


def window(name: str, cosines: Sequence[float]) -> Entry:
    def oracle(x: Array) -> tuple[Array, ...]:
        return tuple(
            _window(n, n if periodic else n - 1, cosines)
            for n in (1, 2, 7, 400)
            for periodic in (True, False)
        )

    return Entry(
        name,
        lambda x: tuple(
            getattr(ph, name)(n, periodic, dtype=x.dtype)
            for n in (1, 2, 7, 400)
            for periodic in (True, False)
        ),
        oracle,
        given([0.0]),
        atol=2.0**-21,
        why="sums of weighted cosines cancel; computed in float64",
        gradient="none: constants",
        onnx=(name.replace("_", " ").title().replace(" ", ""),),
        aten=(name,),
    )


def _window(count: int, period: int, cosines: Sequence[float]) -> Array:
    if count == 1:
        return np.ones(1)
    angle = 2 * math.pi * np.arange(count) / period
    return sum(weight * np.cos(k * angle) for k, weight in enumerate(cosines))


WINDOWS = (
    window("hann_window", (0.5, -0.5)),
    window("hamming_window", (0.54, -0.46)),
    window("blackman_window", (0.42, -0.5, 0.08)),
)

SIGNALS = of_shapes([(2, 100), (16,)], [(64,), (16,)])
SHORT: dict[str, Any] = {"n_fft": 16, "hop_length": 5}


def _frames(x: Array, weights: Array, size: int, hop: int) -> Array:
    """Windows of the padded signal, transformed."""
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(size // 2, size // 2)], "reflect")
    starts = range(0, padded.shape[-1] - size + 1, hop)
    cut = np.stack([padded[..., k : k + size] * weights for k in starts], -1)
    return np.fft.rfft(cut, axis=-2)


def _signal(x: Array, weights: Array, size: int, hop: int) -> Array:
    """The windows' inverse transforms added, over the sum of squares of their weights."""
    lines = np.fft.irfft(x, size, axis=-2) * weights[:, None]
    length = (x.shape[-1] - 1) * hop + size
    total, squares = np.zeros((*x.shape[:-2], length)), np.zeros(length)
    for k in range(x.shape[-1]):
        total[..., k * hop : k * hop + size] += lines[..., k]
        squares[k * hop : k * hop + size] += weights**2
    return (total / squares)[..., size // 2 : length - size // 2]


SHORT_TIME = (
    transform(
        "stft",
        lambda x, w: ph.stft(x, window=w, **SHORT),
        lambda x, w: _frames(x, w, 16, 5),
        SIGNALS,
        onnx=("STFT",),
        aten=("stft",),
        speed=Speed(
            lambda torch, x: pair(
                torch.stft(x, 400, 160, return_complex=True, window=torch.hann_window(400))
            ),
            million((10, 16_000)),
            lambda x: ph.stft(x, 400, 160, window=ph.hann_window(400)),
            why=FACTORS,
        ),
    ),
    transform(
        "stft.plain",
        lambda x, w: ph.stft(x, 16, win_length=12, center=False, normalized=True, onesided=False),
        lambda x, w: _plain(x),
        SIGNALS,
        onnx=("STFT",),
        aten=("stft",),
    ),
    transform(
        "istft",
        lambda x, y, w: ph.istft((x, y), window=w, **SHORT),
        lambda x, y, w: _signal(_complex(x, y), w, 16, 5),
        of_shapes([(2, 9, 7), (2, 9, 7), (16,)], [(9, 3), (9, 3), (16,)], low=1.0, high=3.0),
        aten=("istft",),
        sizes=("9 n+", "9 n+", "16"),
    ),
)


def _plain(x: Array) -> Array:
    """Of 16 places the middle 12, 4 apart, all waves."""
    starts = range(0, x.shape[-1] - 15, 4)
    weights = np.pad(np.ones(12), 2)
    cut = np.stack([x[..., k : k + 16] * weights for k in starts], -1)
    return np.fft.fft(cut, axis=-2, norm="ortho")


# --- mel filters ----------------------------------------------------------------------------


def _hertz(mel: float, scale: str) -> float:
    """From the mel scales' definitions, one number at a time."""
    if scale == "htk":
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    return 200.0 * mel / 3.0 if mel < 15 else 1000.0 * 6.4 ** ((mel - 15.0) / 27.0)


def _mel(hertz: float, scale: str) -> float:
    if scale == "htk":
        return 2595.0 * math.log10(1.0 + hertz / 700.0)
    return 3.0 * hertz / 200.0 if hertz < 1000 else 15.0 + 27.0 * math.log(hertz / 1000.0, 6.4)


def _filters(low: float, high: float, norm: str | None, scale: str) -> Array:
    """Filter by filter: the frequencies between its corners, up to its middle and down."""
    ends = _mel(low, scale), _mel(high, scale)
    corners = [_hertz(ends[0] + (ends[1] - ends[0]) * k / 11, scale) for k in range(12)]
    filters = np.zeros((33, 10))
    for m in range(10):
        left, middle, right = corners[m : m + 3]
        for k in range(33):
            f = 4000.0 * k / 32
            height = (f - left) / (middle - left) if f <= middle else (right - f) / (right - middle)
            area = (right - left) / 2 if norm == "slaney" else 1.0
            filters[k, m] = max(0.0, height) / area
    return filters


BANKS = ((0.0, 4000.0, None, "htk"), (50.0, 3800.0, "slaney", "slaney"), (0, 2000, None, "slaney"))
MEL = (
    Entry(
        "mel_filter_bank",
        lambda x: tuple(
            ph.mel_filter_bank(33, low, high, 10, 8000, norm, scale, x.dtype)
            for low, high, norm, scale in BANKS
        ),
        lambda x: tuple(_filters(*bank) for bank in BANKS),
        given([0.0]),
        atol=2.0**-18,
        why="corners of filters are rounded in float64",
        gradient="none: constants",
    ),
)

ENTRIES = (*ONE_AXIS, *SEVERAL, *LENGTHENED, *FREQUENCIES, *COSINE, *WINDOWS, *SHORT_TIME, *MEL)
