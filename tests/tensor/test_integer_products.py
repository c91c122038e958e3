"""Products with coded weights in integers: every format, the stated bound, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import photic as ph
from photic.frontends.gguf.block_types import BY_NAME
from photic.frontends.gguf.blocks import FORMATS, unpack
from photic.ir.dtype import INT32
from photic.ir.graph import topological
from photic.targets.c.matrix_units import units
from photic.tensor.compiling import graph_of
from photic.tensor.integer_products import whole
from photic.tensor.precision import rounded
from photic.tensor.tensor import Tensor

ROWS, TERMS, COLUMNS = 37, 512, 48
HALF_STEP = 1 / 254  # of the largest of a block: what an element moves by at most
SUMMING = 2.0**-18  # float32 sums of some hundred blocks
CODED = [one.name for one in FORMATS if one.name not in ("F32", "F16", "BF16")]

needs_bytes = pytest.mark.skipif(
    all(one.sums != INT32 for one in units()), reason="this processor has no dot product of bytes"
)


def packed(kind: str, rng: np.random.Generator, columns: int) -> np.ndarray:
    """Blocks of random codes, whose scales are halves of a usual size."""
    block = BY_NAME[kind]
    count = columns * TERMS // block.values
    data = rng.integers(0, 256, (count, block.bytes), dtype=np.uint8)
    if kind in ("Q8_K", "IQ4_XS", "IQ4_NL", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"):
        starts = (0, 2) if kind in ("Q4_1", "Q5_1") else (0,)
    else:
        starts = (block.bytes - 2,) if kind in ("Q3_K", "Q6_K") else (0, 2)
        starts = (block.bytes - 4, block.bytes - 2) if kind == "Q2_K" else starts
    if kind == "Q8_K":
        data[:, :4] = rng.uniform(0.001, 0.01, (count, 1)).astype(np.float32).view(np.uint8)
        return data.reshape(-1)
    for start in starts:
        scale = rng.uniform(0.001, 0.01, (count, 1)).astype(np.float16)
        data[:, start : start + 2] = scale.view(np.uint8)
    return data.reshape(-1)


def weights(
    kind: str, rng: np.random.Generator, columns: int = COLUMNS
) -> tuple[Tensor, np.ndarray]:
    """The tensor of a format, and its values in float64."""
    tensor = unpack(packed(kind, rng, columns), kind, (columns, TERMS))
    (values,) = ph.compile(tensor.contiguous(), search=0)().values()
    return tensor, values.astype(np.float64)


def limit(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How far a product may be off: half a step of each element of x, and float32's sums."""
    largest = np.abs(x.reshape(len(x), -1, 32)).max(axis=-1, keepdims=True)
    step = np.broadcast_to(largest * HALF_STEP, (len(x), x.shape[1] // 32, 32)).reshape(x.shape)
    return step @ np.abs(w).T + SUMMING * np.abs(x) @ np.abs(w).T


@pytest.mark.parametrize("kind", CODED)
def test_every_format_is_multiplied_in_integers_within_half_a_step(kind: str) -> None:
    rng = np.random.default_rng(0)
    w, values = weights(kind, rng)
    assert np.isfinite(values).all() and np.abs(values).max() < 100
    x = rng.standard_normal((ROWS, TERMS)).astype(np.float32)
    product = ph.matmul(ph.input("x", (ROWS, TERMS)), w.transpose())
    program = ph.compile(product, search=0, precision="int8")
    (found,) = program(x=x).values()
    expected = x.astype(np.float64) @ values.T
    assert (np.abs(found - expected) <= limit(x.astype(np.float64), values)).all()
    assert (found != expected.astype(np.float32)).any()
    graph = rounded(graph_of({"y": product}, {}), "int8")
    sums = [one for one in topological(graph.roots) if one.op == "sum" and one.dtype == INT32]
    assert len(sums) == 1


@needs_bytes
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 100, 130])
def test_many_rows_use_the_dot_product_of_bytes(rows: int) -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    w, values = weights("Q4_1", rng)
    product = ph.matmul(ph.input("x", (count, TERMS)), w.transpose())
    program = ph.compile(product, search=0, precision="int8", ranges={"rows": (16,)})
    assert any("vpdpbusd" in one.source for one in program.report.kernels)
    x = rng.standard_normal((rows, TERMS)).astype(np.float32)
    (found,) = program(x=x).values()
    expected = x.astype(np.float64) @ values.T
    assert (np.abs(found - expected) <= limit(x.astype(np.float64), values)).all()


@needs_bytes
@pytest.mark.parametrize("columns", [64, 250])
@pytest.mark.parametrize("kind", [one for one in CODED if not one.startswith("IQ4")])
def test_few_rows_use_the_dot_product_of_bytes_too(kind: str, columns: int) -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    w, values = weights(kind, rng, columns)
    product = ph.matmul(ph.input("x", (count, TERMS)), w.transpose())
    program = ph.compile(product.relu(), search=0, precision="int8", ranges={"rows": (16,)})
    sources = [one.source for one in program.report.kernels if "vpdpbusd" in one.source]
    assert len(sources) == 2 and any("char groups" not in one for one in sources)
    for rows in (1, 7, 15):
        x = rng.standard_normal((rows, TERMS)).astype(np.float32)
        (found,) = program(x=x).values()
        expected = np.maximum(x.astype(np.float64) @ values.T, 0)
        assert (np.abs(found - expected) <= limit(x.astype(np.float64), values)).all()


@needs_bytes
def test_rows_left_of_the_smallest_tile_are_right() -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 16, 31)
    w, values = weights("Q4_1", rng, 64)
    product = ph.matmul(ph.input("x", (count, TERMS)), w.transpose())
    program = ph.compile(product, search=0, precision="int8")
    for rows in (16, 19, 31):
        x = rng.standard_normal((rows, TERMS)).astype(np.float32)
        (found,) = program(x=x).values()
        expected = x.astype(np.float64) @ values.T
        assert (np.abs(found - expected) <= limit(x.astype(np.float64), values)).all()


@needs_bytes
@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(16, 32, 16), (77, 100, 131), (130, 512, 64)]
)
@pytest.mark.parametrize("kinds", [("int8", "uint8"), ("uint8", "int8")], ids=str)
def test_a_product_of_bytes_is_exact(
    rows: int, terms: int, columns: int, kinds: tuple[str, str]
) -> None:
    rng = np.random.default_rng(0)
    shapes = (rows, terms), (terms, columns)
    a, b = (
        rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)
        for kind, shape in zip(kinds, shapes)
    )
    x, y = ph.input("a", a.shape, kinds[0]), ph.input("b", b.shape, kinds[1])
    program = ph.compile(
        ph.matmul(x.astype("int32"), y.astype("int32")), search=0, precision="int8"
    )
    assert any("vpdpbusd" in one.source for one in program.report.kernels)
    (found,) = program(a=a, b=b).values()
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_blocks_that_are_added_up_in_another_type_are_right(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-128, 128, (32, 4, 32)).astype(np.int8)
    b = rng.integers(0, 256, (4, 32, 64)).astype(np.uint8)
    x, y = ph.input("a", a.shape, "int8"), ph.input("b", b.shape, "uint8")
    each = x.astype("int32")[..., None] * y.astype("int32")[None]
    blocks = each.sum(axis=2).astype(dtype) * (ph.arange(4).astype(dtype) + 1)[None, :, None]
    (found,) = ph.compile(blocks.sum(axis=1), search=0, precision="int8")(a=a, b=b).values()
    sums = np.einsum("rbk,bkn->rbn", a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(found, (sums * np.arange(1, 5)[:, None]).sum(axis=1))


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_not_finite_shows_in_its_row_only(special: float) -> None:
    rng = np.random.default_rng(0)
    w, _ = weights("Q8_0", rng)
    x = rng.standard_normal((ROWS, TERMS)).astype(np.float32)
    x[3, 5] = special
    program = ph.compile(
        ph.matmul(ph.input("x", x.shape), w.transpose()), search=0, precision="int8"
    )
    (found,) = program(x=x).values()
    assert not np.isfinite(found[3]).any()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_a_row_of_zeros_stays_zero() -> None:
    rng = np.random.default_rng(0)
    w, _ = weights("Q4_0", rng)
    x = rng.standard_normal((ROWS, TERMS)).astype(np.float32)
    x[2] = 0
    program = ph.compile(
        ph.matmul(ph.input("x", x.shape), w.transpose()), search=0, precision="int8"
    )
    (found,) = program(x=x).values()
    assert (found[2] == 0).all()


def byte(name: str = "p") -> Tensor:
    return ph.input(name, (8, 32), "uint8")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (byte().astype("float32"), (0.0, 255.0)),
        ((byte() % 16).astype("float32"), (0.0, 15.0)),
        ((byte() % 16).astype("float32") - 8.0, (-8.0, 7.0)),
        ((byte().astype("float32") - (byte() % 16).astype("float32")) * 0.0625, (0.0, 15.0)),
        (
            ((byte() % 64).astype("float32") - (byte() % 4).astype("float32")) * 0.25,
            (0.0, 15.0),
        ),
        (byte().astype("float32") * (byte() % 4).astype("float32"), (0.0, 765.0)),
    ],
    ids=["byte", "low bits", "shifted", "high bits", "middle bits", "product"],
)
def test_whole_numbers_are_proven_with_their_range(
    value: Tensor, expected: tuple[float, float]
) -> None:
    assert whole(value.operand) == expected


@pytest.mark.parametrize(
    "value",
    [
        byte().astype("float32") * 0.5,
        (byte().astype("float32") - (byte() % 8).astype("float32")) * 0.0625,
        (byte("q").astype("float32") - (byte() % 16).astype("float32")) * 0.0625,
        byte().astype("float32") + 0.5,
        ph.input("x", (8, 32)),
        ((byte() % 24).astype("float32") - (byte() % 16).astype("float32")) * 0.0625,
    ],
    ids=["half", "less taken", "another byte", "a fraction", "a float", "no multiple"],
)
def test_what_may_not_be_whole_is_not_taken_for_it(value: Tensor) -> None:
    assert whole(value.operand) is None


def test_weights_that_are_no_codes_are_multiplied_as_bfloat16() -> None:
    rng = np.random.default_rng(0)
    w = ph.constant(rng.standard_normal((TERMS, COLUMNS)).astype(np.float32))
    product = ph.matmul(ph.input("x", (ROWS, TERMS)), w)
    kinds = {
        one.dtype.name for one in topological(rounded(graph_of({"y": product}, {}), "int8").roots)
    }
    assert "bfloat16" in kinds and "int32" not in kinds
