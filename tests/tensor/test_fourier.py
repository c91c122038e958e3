"""Fourier transforms beyond the catalogue: errors by length, symbolic axes, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, ShapeMismatch
from photic.tensor.errors import UnknownSize

# Relative to the root mean square of the transform, in units of the dtype's epsilon.
UNITS_A_FACTOR = 1.5
FACTORS_OF_CHIRP = 6  # two transforms of more than twice the length, and three products


def parts(call: Callable[..., tuple[ph.Tensor, ...]], *arrays: np.ndarray) -> np.ndarray:
    """The complex array of a pair."""
    given = {f"x{k}": one for k, one in enumerate(arrays)}
    real, imag = call(*(ph.input(name, one.shape, one.dtype) for name, one in given.items()))
    return of(real, given).astype(np.float64) + 1j * of(imag, given).astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [8, 30, 64, 97, 251, 1000, 1024, 4096, 15015, 16384, 32768])
def test_errors_grow_with_the_logarithm_of_the_length(length: int, dtype: type) -> None:
    random = np.random.default_rng(length)
    x, y = (random.normal(size=length).astype(dtype) for _ in range(2))
    true = np.fft.fft(x.astype(np.longdouble) + 1j * y.astype(np.longdouble))
    got = parts(lambda a, b: ph.fft((a, b)), x, y)
    error = np.sqrt(
        np.mean(np.abs(got - true.astype(np.complex128)) ** 2) / np.mean(np.abs(true) ** 2)
    )
    steps = math.log2(length) / 2 + (FACTORS_OF_CHIRP if length in (97, 251) else 0)
    assert error <= UNITS_A_FACTOR * steps * np.finfo(dtype).eps


def test_a_transform_and_its_inverse_give_the_numbers_back() -> None:
    random = np.random.default_rng(0)
    for length in (1, 2, 9, 64, 131, 200):
        x, y = random.normal(size=(2, 2, length))
        for norm in ("backward", "ortho", "forward"):
            got = parts(lambda a, b, n=norm: ph.ifft(ph.fft((a, b), norm=n), norm=n), x, y)
            np.testing.assert_allclose(got, x + 1j * y, atol=1e-13)
        got = value(lambda a, n=length: ph.irfft(ph.rfft(a), n), x)
        np.testing.assert_allclose(got, x, atol=1e-13)


def test_a_single_wave_has_one_number() -> None:
    wave = np.cos(2 * np.pi * 3 * np.arange(360) / 360)
    got = parts(ph.rfft, wave)
    assert np.argmax(np.abs(got)) == 3
    assert abs(got[3] - 180) < 1e-11
    assert np.abs(np.delete(got, 3)).max() < 1e-11


def test_other_axes_may_be_symbolic() -> None:
    n = ph.dim("n", 0, 9)
    x = ph.input("x", (n, 12), "float64")
    real, imag = ph.fft(x)
    back = ph.irfft(ph.rfft(x))
    for size in (0, 1, 5):
        a = np.random.default_rng(size).normal(size=(size, 12))
        got = of(real, {"x": a}, n=size) + 1j * of(imag, {"x": a}, n=size)
        np.testing.assert_allclose(got, np.fft.fft(a) if size else np.zeros((0, 12)), atol=1e-13)
        np.testing.assert_allclose(of(back, {"x": a}, n=size), a, atol=1e-13)


def test_windows_and_short_transforms_of_symbolic_signals() -> None:
    n = ph.dim("n", 40, 500)
    x = ph.input("x", (n,), "float64")
    window = ph.hann_window(32, dtype="float64")
    pair = ph.stft(x, 32, 8, window=window)
    back = ph.istft(pair, 32, 8, window=window)
    for size in (40, 41, 333):
        a = np.random.default_rng(size).normal(size=size)
        got = of(back, {"x": a}, n=size)
        assert got.shape == (size // 8 * 8,)
        np.testing.assert_allclose(got, a[: len(got)], atol=1e-13)
    assert of(ph.hann_window(n), n=40).shape == (40,)


def test_what_no_window_weighs_is_not_finite() -> None:
    frames = np.zeros((9, 2))
    weights = np.array([0.0, 1.0] * 8)
    got = value(lambda x, w: ph.istft((x, x), 16, 16, window=w, center=False), frames, weights)
    assert not np.isfinite(got[::2]).any()
    assert (got[1::2] == 0).all()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ph.fft(ph.ones((3, 0))), BadArgument),
        (lambda: ph.fft(ph.ones(3), n=0), BadArgument),
        (lambda: ph.fft(ph.ones(3), norm="unitary"), BadArgument),
        (lambda: ph.fft(ph.ones((3, ph.dim("n", 1, 9)))), UnknownSize),
        (lambda: ph.fft((ph.ones(3), ph.ones(4))), ShapeMismatch),
        (lambda: ph.fft((ph.ones(3),) * 3), BadArgument),  # type: ignore[arg-type]
        (lambda: ph.rfft((ph.ones(3), ph.ones(3))), BadArgument),  # type: ignore[arg-type]
        (lambda: ph.irfft(ph.ones(1)), BadArgument),
        (lambda: ph.fftn(ph.ones((3, 3)), (3,), (0, 1)), BadArgument),
        (lambda: ph.fftn(ph.ones(())), BadArgument),
        (lambda: ph.fftfreq(0), BadArgument),
        (lambda: ph.dct(ph.ones(3), 1), BadArgument),
        (lambda: ph.dct(ph.ones(3), norm="forward"), BadArgument),
        (lambda: ph.stft(ph.ones(64), 16, win_length=17), BadArgument),
        (lambda: ph.stft(ph.ones(64), 16, window=ph.ones(8)), ShapeMismatch),
        (lambda: ph.stft((ph.ones(64), ph.ones(64)), 16, onesided=True), BadArgument),
        (lambda: ph.stft(ph.ones(8), 16, center=False), BadArgument),
        (lambda: ph.istft((ph.ones((8, 3)), ph.ones((8, 3))), 16), BadArgument),
        (lambda: ph.mel_filter_bank(9, 100, 50, 4, 8000), BadArgument),
        (lambda: ph.mel_filter_bank(9, 0, 50, 4, 8000, mel_scale="bark"), BadArgument),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
