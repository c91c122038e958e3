"""The catalogue's entries for convolutions, plain and transposed, of every rank.

PyTorch in float64 is the oracle; for integers, which wrap, NumPy's windows are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from catalogue.entry import INTS, Array, Case, Cases, Dtype, Entry, Speed
from catalogue.inputs import anything, joined, million, of_shapes

import photic as ph

SUMS = 2.0**-19
WHY = "a sum of some tens of products in any order, of the sum of their magnitudes"

Shape = tuple[int, ...]
Options = dict[str, Any]


# --- oracles --------------------------------------------------------------------------------


def torch_of(x: Array) -> Any:
    """A torch tensor with the elements of an array of any strides."""
    return importlib.import_module("torch").from_numpy(np.array(x, order="C"))


def functional(name: str, *arrays: Array, **options: Any) -> Any:
    """What torch's function of neural networks gives of arrays, as an array or several."""
    module = importlib.import_module("torch.nn.functional")
    made = getattr(module, name)(*map(torch_of, arrays), **options)
    return tuple(one.numpy() for one in made) if isinstance(made, tuple) else made.numpy()


def peer(name: str, **options: Any) -> Callable[..., Any]:
    """An oracle: that function with these options."""
    return lambda *arrays: functional(name, *arrays, **options)


def of_magnitudes(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """The scale of a sum of products: the same of the magnitudes."""
    return lambda *arrays: oracle(*map(np.abs, arrays))


def speed_of(name: str, shapes: Sequence[Shape], call: Callable[..., Any], **options: Any) -> Speed:
    """A workload for photic's call and for torch's function of that name."""
    return Speed(
        lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, **options),
        million(*shapes, low=-1.0, high=1.0),
        call,
    )


def sum_of_products(name: str, call: Any, oracle: Any, inputs: Cases, **more: Any) -> Entry:
    return Entry(
        name, call, oracle, inputs, rtol=SUMS, why=WHY, scale=of_magnitudes(oracle), **more
    )


# --- inputs ---------------------------------------------------------------------------------


def _operands(x: Shape, outputs: int, kernel: Shape, groups: int = 1) -> tuple[Shape, Shape, Shape]:
    """Shapes of input, weights and bias; a kernel with as many axes as the input has sizes."""
    channels = x[-len(kernel) - 1]
    return x, (outputs, channels // groups, *kernel), (outputs,)


def _transposed(x: Shape, outputs: int, kernel: Shape, groups: int = 1) -> tuple[Shape, ...]:
    channels = x[-len(kernel) - 1]
    return x, (channels, outputs // groups, *kernel), (outputs,)


def with_odd_values(*shapes: Shape) -> Cases:
    """Ordinary numbers, a few of the input nan, infinite or -0.0."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        (case,) = of_shapes(shapes)(dtype, random)
        x = np.array(case[0])
        for value in (np.nan, np.inf, -np.inf, -0.0):
            x[tuple(random.integers(0, extent) for extent in x.shape)] = value
        yield (x, *case[1:])

    return made


SIZES: tuple[tuple[Shape, Shape], ...] = (((17,), (3,)), ((9, 6), (3, 2)), ((5, 4, 3), (2, 3, 1)))
LARGE: tuple[Shape, ...] = ((1025,), (33, 35), (9, 11, 11))


def _plain(rank: int, made: Callable[..., tuple[Shape, ...]]) -> Cases:
    sizes, kernel = SIZES[rank - 1]
    unit = (1,) * rank
    return joined(
        of_shapes(
            made((2, 3, *sizes), 4, kernel),
            made((3, *sizes), 4, kernel),
            made((0, 3, *sizes), 4, kernel),
            made((1, 1, *unit), 1, unit),
            made((1, 2, *LARGE[rank - 1]), 3, kernel),
        ),
        with_odd_values(*made((2, 3, *sizes), 4, kernel)),
    )


# --- plain ----------------------------------------------------------------------------------


def _named_sizes(rank: int, kernel: Shape, weights: str) -> tuple[str, ...]:
    """Symbolic sizes; the batch too, of images in a line (more takes long to compile)."""
    names = " ".join(f"{name}+" for name in "hwd"[:rank])
    return f"{'n' if rank == 1 else 2} 3 {names}", f"{weights} {' '.join(map(str, kernel))}", "4"


def plain(rank: int) -> Entry:
    name = f"conv{rank}d"
    kernel = SIZES[rank - 1][1]
    call = getattr(ph, name)
    image = ((1, 64, 3136), (1, 64, 56, 56), (1, 8, 16, 28, 28))[rank - 1]
    weights = ((64, 64, 3), (64, 64, 3, 3), (16, 8, 3, 3, 3))[rank - 1]
    return sum_of_products(
        name,
        lambda x, w, b: call(x, w, b, padding=1),
        peer(name, padding=1),
        _plain(rank, _operands),
        sizes=_named_sizes(rank, kernel, "4 3"),
        onnx=("Conv",),
        aten=(name, "convolution"),
        is_peer=True,
        speed=speed_of(name, (image, weights), lambda x, w: call(x, w, padding=1), padding=1),
    )


CHOICES: tuple[Options, ...] = (
    {"stride": 2},
    {"stride": (1, 3), "padding": (2, 1)},
    {"dilation": 2, "padding": 2},
    {"dilation": (1, 2), "padding": "same"},
    {"padding": "valid", "stride": (2, 1)},
)


def each(function: Callable[..., Any], choices: Sequence[Options]) -> Callable[..., Any]:
    """A call that gives a result for every choice of options."""
    return lambda *arrays: tuple(function(*arrays, **options) for options in choices)


def each_peer(name: str, choices: Sequence[Options]) -> Callable[..., Any]:
    """The oracle of ``each``."""
    return lambda *arrays: tuple(functional(name, *arrays, **options) for options in choices)


def _padded(x: Array, w: Array, b: Array, pads: Sequence[int], **options: Any) -> Any:
    """PyTorch's convolution of an input padded as told: (left, right, top, bottom)."""
    return functional("conv2d", np.asarray(functional("pad", x, pad=list(pads))), w, b, **options)


def _lopsided(x: Array, w: Array, b: Array) -> tuple[Array, ...]:
    """Asymmetric padding; "same" with a stride on odd and even sizes, kernel (4, 3), both ways."""
    return (
        _padded(x, w, b, (2, 1, 0, 1)),
        _padded(x, w, b, (0, 1, 1, 2), stride=2),
        _padded(x, w, b, (1, 0, 2, 1), stride=2),
    )


def _in_batches(x: Array, w: Array, b: Array) -> Array:
    made = functional("conv2d", x.reshape(-1, *x.shape[-3:]), w, b)
    return np.asarray(made.reshape(*x.shape[:-3], *made.shape[-3:]))


PLAIN = (
    *(plain(rank) for rank in (1, 2, 3)),
    sum_of_products(
        "conv2d.options",
        each(ph.conv2d, CHOICES),
        each_peer("conv2d", CHOICES),
        of_shapes(
            _operands((1, 2, 9, 8), 3, (3, 2)),
            _operands((2, 1, 5, 7), 1, (1, 1)),
            _operands((1, 2, 41, 27), 3, (3, 2)),
        ),
        onnx=("Conv",),
        aten=("conv2d",),
        is_peer=True,
    ),
    sum_of_products(
        "conv1d.options",
        each(ph.conv1d, ({"stride": 3, "padding": 4}, {"dilation": 2, "padding": "same"})),
        each_peer("conv1d", ({"stride": 3, "padding": 4}, {"dilation": 2, "padding": "same"})),
        of_shapes(_operands((2, 2, 19), 3, (4,)), _operands((1, 2, 1031), 3, (4,))),
        is_peer=True,
    ),
    sum_of_products(
        "conv2d.groups",
        lambda x, w, b: ph.conv2d(x, w, b, stride=2, padding=1, groups=3),
        peer("conv2d", stride=2, padding=1, groups=3),
        of_shapes(_operands((2, 6, 7, 5), 9, (3, 3), 3), _operands((1, 3, 4, 4), 3, (1, 1), 3)),
        is_peer=True,
    ),
    sum_of_products(
        "conv2d.depthwise",
        lambda x, w, b: ph.conv2d(x, w, b, padding="same", groups=4),
        peer("conv2d", padding="same", groups=4),
        of_shapes(_operands((2, 4, 7, 5), 4, (3, 3), 4), _operands((1, 4, 5, 4), 8, (3, 1), 4)),
        is_peer=True,
        speed=speed_of(
            "conv2d",
            ((1, 64, 112, 112), (64, 1, 3, 3)),
            lambda x, w: ph.conv2d(x, w, padding=1, groups=64),
            padding=1,
            groups=64,
        ),
    ),
    sum_of_products(
        "conv",
        lambda x, w, b: (
            ph.conv(x, w, b, padding=((0, 1), (2, 1))),
            ph.conv(x, w, b, stride=2, padding="same"),
            ph.conv(x, w, b, stride=2, padding="same_lower"),
        ),
        _lopsided,
        of_shapes(_operands((2, 2, 9, 6), 3, (4, 3)), _operands((1, 2, 37, 30), 3, (4, 3))),
        onnx=("Conv",),
        is_peer=True,
    ),
    sum_of_products(
        "conv.batches",
        ph.conv,
        _in_batches,
        of_shapes(_operands((2, 3, 2, 5, 4), 3, (2, 2))),
        is_peer=True,
    ),
)


def _integers(x: Array, w: Array) -> Array:
    """Windows of NumPy times weights, summed in int64 and cut to the dtype."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    total = np.einsum("nchwij,ocij->nohw", windows.astype(np.int64), w.astype(np.int64))
    return total.astype(x.dtype)


def whole_range(*shapes: Shape) -> Cases:
    """Integers over their whole range."""
    return lambda dtype, random: iter([tuple(anything(dtype, one, random) for one in shapes)])


INTEGERS = (
    Entry(
        "conv.integers",
        ph.conv,
        _integers,
        whole_range((2, 3, 5, 4), (4, 3, 3, 2)),
        INTS,
        gradient="none: of integers",
        onnx=("ConvInteger",),
    ),
)

# --- transposed -----------------------------------------------------------------------------


def transposed(rank: int) -> Entry:
    name = f"conv_transpose{rank}d"
    kernel = SIZES[rank - 1][1]
    call = getattr(ph, name)
    image = ((1, 64, 784), (1, 64, 28, 28), (1, 8, 8, 14, 14))[rank - 1]
    weights = ((64, 32, 4), (64, 32, 4, 4), (8, 8, 4, 4, 4))[rank - 1]
    return sum_of_products(
        name,
        lambda x, w, b: call(x, w, b, stride=2),
        peer(name, stride=2),
        _plain(rank, _transposed),
        sizes=_named_sizes(rank, kernel, "3 4"),
        onnx=("ConvTranspose",),
        aten=(name, "convolution"),
        is_peer=True,
        speed=speed_of(
            name,
            (image, weights),
            lambda x, w: call(x, w, stride=2, padding=1),
            stride=2,
            padding=1,
        ),
    )


TRANSPOSED_CHOICES: tuple[Options, ...] = (
    {"stride": 1},
    {"stride": 1, "padding": 2},
    {"stride": 2, "padding": 1, "output_padding": 1},
    {"stride": (3, 2), "padding": (1, 0), "output_padding": (2, 1)},
    {"stride": 3, "dilation": 2, "padding": 1},
    {"stride": (1, 2), "dilation": (3, 1), "output_padding": (2, 0)},
)
TRANSPOSED = (
    *(transposed(rank) for rank in (1, 2, 3)),
    sum_of_products(
        "conv_transpose2d.options",
        each(ph.conv_transpose2d, TRANSPOSED_CHOICES),
        each_peer("conv_transpose2d", TRANSPOSED_CHOICES),
        of_shapes(
            _transposed((1, 2, 5, 4), 3, (3, 4)),
            _transposed((2, 1, 5, 5), 1, (2, 3)),
            _transposed((1, 2, 33, 32), 3, (3, 4)),
        ),
        is_peer=True,
    ),
    sum_of_products(
        "conv_transpose2d.groups",
        lambda x, w, b: ph.conv_transpose2d(x, w, b, stride=2, groups=2),
        peer("conv_transpose2d", stride=2, groups=2),
        of_shapes(_transposed((2, 4, 3, 4), 6, (3, 3), 2)),
        is_peer=True,
    ),
    sum_of_products(
        "conv_transpose",
        lambda x, w, b: ph.conv_transpose(x, w, b, stride=2, padding=((1, 0), (2, 1))),
        lambda x, w, b: functional("conv_transpose2d", x, w, b, stride=2)[..., 1:, 2:-1],
        of_shapes(_transposed((2, 2, 4, 3), 3, (3, 4))),
        sizes=("2 2 h+ w+", "2 3 3 4", "3"),
        onnx=("ConvTranspose",),
        is_peer=True,
    ),
)

ENTRIES: tuple[Entry, ...] = (*PLAIN, *INTEGERS, *TRANSPOSED)
