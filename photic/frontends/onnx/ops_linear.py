"""Products: of matrices, by subscripts; determinants, Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.kinds import KIND
from photic.frontends.onnx.mel import mel_weights
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.ops_types import kind_named
from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT64, DType
from photic.tensor import creation, decompositions, fourier, linear, shapes, spectra, unfolding
from photic.tensor.tensor import Tensor

SHORT_FRAME = 64  # places; the spectrum of such a frame is a product with a table
# parts of a real number that stand for an imaginary part of 0, and for one of exactly 0 over 0
LEAN, SPECK = 2.0**-40, 2.0**-100


def gemm(call: Call) -> Tensor:
    """``alpha*a*b + beta*c``, either matrix turned over."""
    a, b = call.tensor(0), call.tensor(1)
    if call.flag("transA"):
        a = shapes.transpose(a)
    if call.flag("transB"):
        b = shapes.transpose(b)
    alpha, beta = call.number("alpha", 1.0), call.number("beta", 1.0)
    product = linear.matmul(a, b)
    result = product if alpha == 1.0 else scaled(product, alpha)
    bias = call.optional(2)
    if bias is None or beta == 0.0:
        return result
    return result + (bias if beta == 1.0 else scaled(bias, beta))


def scaled(x: Tensor, factor: float) -> Tensor:
    """x times a number, in the dtype of x; integers by a whole number."""
    return x * (factor if x.dtype.kind == "float" else int(factor))


def _fused_matmul(call: Call) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    a = shapes.swapaxes(a, -1, -2) if call.flag("transA") and a.ndim > 1 else a
    b = shapes.swapaxes(b, -1, -2) if call.flag("transB") and b.ndim > 1 else b
    for name in ("transBatchA", "transBatchB"):
        if call.flag(name):
            raise call.attribute_error(name, 1, "0")
    return linear.matmul(a, b) * call.number("alpha", 1.0)


def _einsum(call: Call) -> Tensor:
    return linear.einsum(call.text("equation").replace(" ", ""), *call.tensors())


# --- Fourier transforms ---------------------------------------------------------------------


def _dft(call: Call) -> Tensor:
    """Pairs of numbers along the last axis, transformed along another."""
    x = call.tensor(0)
    if call.version >= 20:
        axis = int(call.scalar(2)) if call.has(2) else -2
    else:
        axis = call.integer("axis", 1)
    axis %= x.ndim
    length = int(call.scalar(1)) if call.has(1) else None
    backward, one_sided = call.flag("inverse"), call.flag("onesided")
    real = x[..., 0]
    if one_sided and backward:
        # in float64: what cancels out is 0, as far as float32 can say
        pairs = (real.astype(FLOAT64), x[..., 1].astype(FLOAT64))
        return fourier.irfft(pairs, length, axis)[..., None].astype(x.dtype)
    if one_sided:
        return shapes.stack(fourier.rfft(real, length, axis), -1)
    imaginary = x[..., 1] if x.shape[-1] == 2 else creation.zeros_like(real)
    transform = fourier.ifft if backward else fourier.fft
    return shapes.stack(transform((real, imaginary), length, axis), -1)


def _stft(call: Call) -> Tensor:
    """Frames of a signal (batch, length, 1 or 2), or (batch, length), each transformed."""
    x, step = call.tensor(0), int(call.scalar(1))
    x = x[..., None] if x.ndim == 2 else x
    window = call.optional(2)
    size = int(call.scalar(3)) if call.has(3) else None
    if size is None and window is not None:
        size = int(window.shape[0])
    if size is None:
        raise call.wrong("neither a window nor a frame length is given")
    real = _framed(x[..., 0], size, step, window)
    if x.shape[-1] == 1 and call.flag("onesided", True) and size <= SHORT_FRAME:
        return shapes.stack([linear.matmul(real, one) for one in _waves(size)], -1)
    if x.shape[-1] == 1 and call.flag("onesided", True):
        return shapes.stack(fourier.rfft(real, None, -1), -1)
    if x.shape[-1] == 1:
        return shapes.stack(fourier.fft((real, creation.zeros_like(real)), None, -1), -1)
    return shapes.stack(fourier.fft((real, _framed(x[..., 1], size, step, window)), None, -1), -1)


def _waves(size: int) -> tuple[Tensor, Tensor]:
    """Tables (size, bins) of which a product with frames is their spectrum, real and imaginary.

    The imaginary parts of the first and the last bin, which are 0, come out with the other sign
    than the real ones and too small to count. Exported models find a phase by ``atan`` and signs:
    a negative real number then has the phase pi, as in PyTorch, and 0 by 0 is not divided.
    """
    turns = np.outer(np.arange(size), np.arange(size // 2 + 1)) * (2 * np.pi / size)
    real, imaginary = np.cos(turns), -np.sin(turns)
    ends = [0] if size % 2 else [0, size // 2]
    imaginary[:, ends] = -LEAN * real[:, ends] - SPECK * np.arange(size)[:, None]
    return creation.constant(real, "float32"), creation.constant(imaginary, "float32")


def _framed(x: Tensor, size: int, step: int, window: Tensor | None) -> Tensor:
    frames = unfolding.sliding_window_view(x, size, -1)[:, ::step]
    return frames if window is None else frames * window


def _window_of(function: Callable[..., Tensor]) -> Callable[[Call], Value]:
    def run(call: Call) -> Value:
        kind = kind_named(call, "output_datatype", KIND["float32"])
        size = int(call.scalar(0))
        periodic = call.flag("periodic", True)
        return Value(function(size, periodic, dtype=kind.carrier), kind)

    return run


def _hamming(size: int, periodic: bool, dtype: DType) -> Tensor:
    """Hamming's window by the two fractions of the standard."""
    alpha, beta = 25 / 46, 21 / 46
    return spectra.hamming_window(size, periodic, alpha, beta, dtype=dtype)


def _mel(call: Call) -> Value:
    """A bank of triangles over the mel scale, as the standard's text computes it."""
    kind = kind_named(call, "output_datatype", KIND["float32"])
    bins, length, rate = (int(call.scalar(k)) for k in range(3))
    low, high = float(call.scalar(3)), float(call.scalar(4))
    return Value(mel_weights(bins, length, rate, low, high).astype(kind.carrier.numpy), kind)


LINEAR: tuple[Op, ...] = (
    Op("MatMul", lambda call: linear.matmul(call.tensor(0), call.tensor(1)), wraps=True),
    Op("Gemm", gemm),
    Op("FusedMatMul", _fused_matmul, domain=MICROSOFT),
    Op("TransposeMatMul", _fused_matmul, domain=MICROSOFT),
    Op("Einsum", _einsum),
    Op("Det", lambda call: decompositions.det(call.tensor(0))),
    Op("DFT", _dft),
    Op("STFT", _stft),
    Op("HannWindow", _window_of(spectra.hann_window)),
    Op("HammingWindow", _window_of(_hamming)),
    Op("BlackmanWindow", _window_of(spectra.blackman_window)),
    Op("MelWeightMatrix", _mel),
)
