"""The workloads of ``bench/kernels.py`` as records: photic's function, torch's, inputs, operations.

Both sides get the same arrays. What is known before the first call (weights, tables) is a constant
for photic and for the peers that compile. A record promises no expected numbers: its judge is
torch's function in float64. Bytes are counted from the arrays: each read or written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import photic as ph

Maker = Callable[..., Any]

FLOAT, HALF, PLACES = "float32", "bfloat16", "int64"
DTYPES = {FLOAT: "f32", HALF: "bf16"}
WIDTH = 1024
ROWS = (10, 100, 1000, 10_000)  # of WIDTH: 1e4 to 1e7 elements
HEADS, KEY_HEADS, DEPTH, LENGTH = 8, 2, 64, 1024
FEW, MANY = 32, 4096  # queries and keys of a long context
CHANNELS, GROUPS = 64, 8
VOCABULARY, MODEL, TOKENS = 32_000, 576, 512
MILLION = 1_000_000
CUBE, SQUARE = (100, 100, 100), (3200, 3200)


@dataclass(frozen=True, slots=True)
class Given:
    """An array: normal numbers, or for ``below`` integers from 0 up to there."""

    shape: tuple[int, ...]
    dtype: str = FLOAT
    below: int = 0

    def made(self, random: np.random.Generator) -> np.ndarray:
        """The array, the same for the same generator."""
        if self.below:
            return random.integers(0, self.below, self.shape).astype(self.dtype)
        return random.standard_normal(self.shape, np.float32).astype(self.dtype)


@dataclass(frozen=True, slots=True)
class Work:
    """What is computed: ``make(*handles)`` by photic and ``peer(torch, *tensors)`` by torch.

    The last ``constants`` of the inputs are known beforehand. ``flops`` counts multiplications and
    additions where they may be the limit. Errors are measured against ``scale(torch, *tensors)``
    where there is one; with ``is_linear`` (the result is sums of products of inputs, or no steeper
    than those) against the peer's result for absolute values; else against the largest element.
    ``is_exact``: any difference is an error.
    """

    family: str
    name: str
    make: Maker
    peer: Maker
    inputs: tuple[Given, ...]
    constants: int = 0
    flops: int = 0
    is_linear: bool = False
    is_exact: bool = False
    scale: Maker | None = None

    @property
    def dtype(self) -> str:
        """The dtype of the arithmetic."""
        return self.inputs[0].dtype


# --- products -------------------------------------------------------------------------------


def product(torch: Any, x: Any, w: Any) -> Any:
    return torch.matmul(x, w)


def product_of(name: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> Work:
    """A product with a right side that is known only at the call."""
    shapes = (Given(left, dtype), Given(right, dtype))
    flops = 2 * int(np.prod(left)) * right[-1]
    made = f"{name} {DTYPES[dtype]}"
    family = f"product {DTYPES[dtype]}"
    return Work(family, made, ph.matmul, product, shapes, flops=flops, is_linear=True)


def with_constant(work: Work) -> Work:
    """The same with a right side that is known beforehand."""
    family = f"{work.family}, constant"
    return replace(work, family=family, name=f"{work.name}, constant", constants=1)


def transposed_left(dtype: str) -> Work:
    work = product_of("512 cube, left transposed", (512, 512), (512, 512), dtype)
    return replace(
        work,
        make=lambda x, w: ph.swapaxes(x, 0, 1) @ w,
        peer=lambda torch, x, w: torch.matmul(x.T, w),
    )


def transposed_right(dtype: str) -> Work:
    work = product_of("512 cube, right transposed", (512, 512), (512, 512), dtype)
    return replace(
        work,
        make=lambda x, w: x @ ph.swapaxes(w, 0, 1),
        peer=lambda torch, x, w: torch.matmul(x, w.T),
    )


def with_gelu(name: str, rows: int, inner: int, columns: int, dtype: str) -> Work:
    """With a bias and a gelu, as in a transformer's block: weights are constants."""
    work = product_of(name, (rows, inner), (inner, columns), dtype)
    return replace(
        with_constant(work),
        name=f"{name} + bias, gelu {DTYPES[dtype]}, constant",
        make=lambda x, w, b: ph.gelu(x @ w + b),
        peer=lambda torch, x, w, b: torch.nn.functional.gelu(torch.addmm(b, x, w)),
        inputs=(*work.inputs, Given((columns,), dtype)),
        constants=2,
    )


def products(dtype: str) -> list[Work]:
    cubes = [product_of(f"{n} cube", (n, n), (n, n), dtype) for n in (256, 512, 1024, 2048)]
    others = [
        product_of("128x576x1536", (128, 576), (576, 1536), dtype),
        product_of("1x576x1536", (1, 576), (576, 1536), dtype),
        product_of("1x4096x4096", (1, 4096), (4096, 4096), dtype),
        product_of("333x517x129", (333, 517), (517, 129), dtype),
    ]
    plain = [*cubes, *others]
    batch = product_of("12 of 128x64x128", (12, 128, 64), (12, 64, 128), dtype)
    turned = [transposed_left(dtype), transposed_right(dtype)]
    bent = [
        with_gelu("512 cube", 512, 512, 512, dtype),
        with_gelu("128x576x1536", 128, 576, 1536, dtype),
    ]
    constant = [with_constant(one) for one in (*plain, turned[1])]
    return [*constant, *bent, *plain, batch, *turned]


# --- attention ------------------------------------------------------------------------------


def mixed_scale(torch: Any, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """What an element of attention is made of: rounded scores move the weights of all values.

    The weights times absolute values times one and the absolute sum behind each score.
    """
    groups = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
    scores, sums = q @ k.mT / DEPTH**0.5, q.abs() @ k.abs().mT / DEPTH**0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, float("-inf"))
    return torch.softmax(scores, -1) * (1 + sums) @ v.abs()


def attention_of(
    name: str, heads: int, keys_heads: int, rows: int, keys: int, causal: bool, dtype: str
) -> Work:
    """Queries, keys and values of a batch of one; heads may share keys."""
    shared = (keys_heads, keys, DEPTH)
    pairs = rows * (keys + 1) // 2 if causal else rows * keys

    def peer(torch: Any, q: Any, k: Any, v: Any) -> Any:
        function = torch.nn.functional.scaled_dot_product_attention
        return function(q[None], k[None], v[None], is_causal=causal, enable_gqa=True)[0]

    return Work(
        f"attention {DTYPES[dtype]}",
        f"{name} {DTYPES[dtype]}",
        lambda q, k, v: ph.attention(q, k, v, causal=causal),
        peer,
        (Given((heads, rows, DEPTH), dtype), Given(shared, dtype), Given(shared, dtype)),
        flops=4 * heads * pairs * DEPTH,
        scale=lambda torch, q, k, v: mixed_scale(torch, q, k, v, causal),
    )


def attentions(dtype: str) -> list[Work]:
    size = (HEADS, HEADS, LENGTH, LENGTH)
    return [
        attention_of("attention 8x1024x64", *size, False, dtype),
        attention_of("attention 8x1024x64, causal", *size, True, dtype),
        attention_of("32 queries, 4096 keys", HEADS, HEADS, FEW, MANY, False, dtype),
        attention_of("8 heads on 2, causal", HEADS, KEY_HEADS, LENGTH, LENGTH, True, dtype),
    ]


# --- convolutions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution over a square image; ``turned`` is the transposed one."""

    name: str
    channels: int
    outputs: int
    size: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    turned: bool = False

    def work(self, batch: int) -> Work:
        """Its record for a batch of images."""
        image = (batch, self.channels, self.size, self.size)
        each = (self.outputs, self.channels // self.groups, self.kernel, self.kernel)
        places = self.size if self.turned else self.size // self.stride
        return Work(
            "convolution",
            f"{self.name}, batch {batch}",
            self.make,
            self.peer,
            (Given(image), Given((each[1], each[0], *each[2:]) if self.turned else each)),
            constants=1,
            flops=2 * batch * places * places * int(np.prod(each)),
            is_linear=True,
        )

    def make(self, x: ph.Tensor, w: ph.Tensor) -> ph.Tensor:
        """By photic."""
        if self.turned:
            return ph.conv_transpose(x, w, stride=self.stride, padding=self.padding)
        return ph.conv(x, w, stride=self.stride, padding=self.padding, groups=self.groups)

    def peer(self, torch: Any, x: Any, w: Any) -> Any:
        """By torch."""
        functions = torch.nn.functional
        if self.turned:
            return functions.conv_transpose2d(x, w, None, self.stride, self.padding)
        return functions.conv2d(x, w, None, self.stride, self.padding, 1, self.groups)


CONVOLUTIONS = (
    Conv("3x3 64->64 at 56", 64, 64, 56, 3, padding=1),
    Conv("7x7 stride 2 3->64 at 224", 3, 64, 224, 7, stride=2, padding=3),
    Conv("1x1 256->64 at 56", 256, 64, 56, 1),
    Conv("depthwise 3x3 of 64 at 112", 64, 64, 112, 3, padding=1, groups=64),
    Conv("transposed 4x4 stride 2 64->64 at 28", 64, 64, 28, 4, stride=2, padding=1, turned=True),
    Conv("3x3 128->128 in 8 groups at 28", 128, 128, 28, 3, padding=1, groups=8),
)


def three_in_a_row() -> Work:
    """1x1 convolutions with a relu each: no layout need change between them."""

    def make(x: ph.Tensor, *weights: ph.Tensor) -> ph.Tensor:
        for one in weights:
            x = ph.relu(ph.conv(x, one))
        return x

    def peer(torch: Any, x: Any, *weights: Any) -> Any:
        for one in weights:
            x = torch.relu(torch.nn.functional.conv2d(x, one))
        return x

    channels, places = 128, 28
    weight = Given((channels, channels, 1, 1))
    flops = 3 * 2 * channels * channels * places * places
    image = Given((1, channels, places, places))
    given = (image, weight, weight, weight)
    return Work("convolution", "three 1x1 in a row", make, peer, given, constants=3, flops=flops)


def convolutions() -> list[Work]:
    return [*(one.work(batch) for one in CONVOLUTIONS for batch in (1, 8)), three_in_a_row()]


# --- rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """A function of rows of WIDTH elements: ``inputs(rows)`` beside them, the last are constant."""

    name: str
    make: Maker
    peer: Maker
    shape: Callable[[int], tuple[int, ...]] = lambda rows: (rows, WIDTH)
    inputs: Callable[[int], tuple[Given, ...]] = lambda rows: ()
    constants: int = 0

    def work(self, rows: int) -> Work:
        """Its record for so many rows."""
        name = f"{self.name} {rows * WIDTH:.0e}".replace("e+0", "e")
        given = (Given(self.shape(rows)), *self.inputs(rows))
        return Work("rows", name, self.make, self.peer, given, self.constants)


def turned(torch: Any, x: Any, c: Any, s: Any) -> Any:
    """Rotary position on halves."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * c - second * s, second * c + first * s), -1)


VECTOR, PAIR = (Given((WIDTH,)),), (Given((WIDTH,)), Given((WIDTH,)))
ROWWISE = (
    Rows("softmax", ph.softmax, lambda torch, x: torch.softmax(x, -1)),
    Rows(
        "layer norm",
        ph.layer_norm,
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (WIDTH,), w, b),
        inputs=lambda rows: PAIR,
        constants=2,
    ),
    Rows(
        "rms norm",
        ph.rms_norm,
        lambda torch, x, w: torch.nn.functional.rms_norm(x, (WIDTH,), w, 1e-5),
        inputs=lambda rows: VECTOR,
        constants=1,
    ),
    Rows(
        "group norm",
        lambda x, w, b: ph.group_norm(x, GROUPS, w, b),
        lambda torch, x, w, b: torch.nn.functional.group_norm(x, GROUPS, w, b),
        shape=lambda rows: (rows, CHANNELS, WIDTH // CHANNELS),
        inputs=lambda rows: (Given((CHANNELS,)), Given((CHANNELS,))),
        constants=2,
    ),
    Rows(
        "log-softmax + loss",
        ph.cross_entropy,
        lambda torch, x, target: torch.nn.functional.cross_entropy(x, target),
        inputs=lambda rows: (Given((rows,), PLACES, WIDTH),),
    ),
    Rows(
        "rope",
        ph.rope_halves,
        turned,
        shape=lambda rows: (WIDTH // DEPTH, rows, DEPTH),
        inputs=lambda rows: (Given((rows, DEPTH // 2)), Given((rows, DEPTH // 2))),
    ),
    Rows(
        "gelu chain",
        lambda x, y, w, b: ph.gelu(x * w + b) * y,
        lambda torch, x, y, w, b: torch.nn.functional.gelu(x * w + b) * y,
        inputs=lambda rows: (Given((rows, WIDTH)), *PAIR),
        constants=2,
    ),
)


def rowwise() -> list[Work]:
    return [one.work(rows) for one in ROWWISE for rows in ROWS]


# --- reductions and orders ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Along:
    """A function along an axis."""

    name: str
    make: Maker
    peer: Maker
    is_linear: bool = False
    is_exact: bool = False

    def work(self, shape: tuple[int, ...], axis: int) -> Work:
        """Its record for a shape and an axis."""
        return Work(
            "reductions",
            f"{self.name} of {'x'.join(map(str, shape))} along {axis}",
            lambda x: self.make(x, axis),
            lambda torch, x: self.peer(torch, x, axis),
            (Given(shape),),
            is_linear=self.is_linear,
            is_exact=self.is_exact,
        )


ALONG = (
    Along("sum", ph.sum, lambda torch, x, axis: torch.sum(x, axis), is_linear=True),
    Along("max", ph.max, lambda torch, x, axis: torch.amax(x, axis), is_exact=True),
    Along("argmax", ph.argmax, lambda torch, x, axis: torch.argmax(x, axis), is_exact=True),
    Along("cumsum", ph.cumsum, lambda torch, x, axis: torch.cumsum(x, axis), is_linear=True),
)


def reductions() -> list[Work]:
    places = [(shape, axis) for shape in (CUBE, SQUARE) for axis in range(len(shape))]
    return [one.work(shape, axis) for one in ALONG for shape, axis in places]


def largest(count: int, shape: tuple[int, ...]) -> Work:
    name = f"top {count} of {'x'.join(map(str, shape))}"
    return Work(
        "orders",
        name,
        lambda x: ph.topk(x, count),
        lambda torch, x: torch.topk(x, count),
        (Given(shape),),
        is_exact=True,
    )


def in_order(shape: tuple[int, ...]) -> Work:
    return Work(
        "orders",
        f"sort of {'x'.join(map(str, shape))}",
        ph.sort,
        lambda torch, x: torch.sort(x)[0],
        (Given(shape),),
        is_exact=True,
    )


def looked_up() -> Work:
    return Work(
        "lookups",
        f"embedding {TOKENS} of {VOCABULARY}x{MODEL}",
        ph.embedding,
        lambda torch, places, table: torch.nn.functional.embedding(places, table),
        (Given((TOKENS,), PLACES, VOCABULARY), Given((VOCABULARY, MODEL))),
        constants=1,
        is_exact=True,
    )


def orders() -> list[Work]:
    return [
        largest(10, (MILLION,)),
        largest(100, (MILLION,)),
        largest(5, (1000, 1000)),
        in_order((MILLION,)),
        in_order((1000, 1000)),
        in_order((10_000,)),
        looked_up(),
    ]


WORKS: tuple[Work, ...] = (
    *products(FLOAT),
    *products(HALF),
    *attentions(FLOAT),
    *attentions(HALF),
    *convolutions(),
    *rowwise(),
    *reductions(),
    *orders(),
)
