"""Products of bfloat16 numbers by tiles or dots: where they fit, and that they mean the same."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tensor.test_integer_products import weights

import photic as ph
from photic.forms.eval import Array
from photic.targets.c.matrix_units import units

INSTRUCTION = units()[0].instruction if units() else "no instruction"
HALF = 2.0**-8  # half a unit of bfloat16's last place
SUMMING = 2.0**-18  # float32 sums of some thousand products, each exact

needs_tiles = pytest.mark.skipif(
    not units(), reason="this processor has no instruction for products of bfloat16 numbers"
)


def drawn(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)


def called(program: ph.Program, **given: Array) -> Array:
    (found,) = program(**given).values()
    return found.astype(np.float64)


def uses_tiles(program: ph.Program) -> bool:
    return any(INSTRUCTION in one.source for one in program.report.kernels)


def require_product(found: Array, a: Array, b: Array) -> None:
    wide = [one.astype(np.float64) for one in (a, b)]
    expected, scale = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    assert (np.abs(found - expected) <= HALF * np.abs(expected) + SUMMING * scale).all()


@needs_tiles
@pytest.mark.parametrize("is_constant", [False, True], ids=["run time", "constant"])
@pytest.mark.parametrize(
    ("rows", "terms", "columns"),
    [(16, 32, 32), (40, 256, 48), (77, 288, 131), (128, 544, 64), (333, 96, 129)],
)
def test_products_use_tiles_and_equal_those_in_float64(
    rows: int, terms: int, columns: int, is_constant: bool
) -> None:
    rng = np.random.default_rng(rows)
    a, b = drawn(rng, rows, terms), drawn(rng, terms, columns)
    x = ph.input("a", a.shape, "bfloat16")
    given = {"a": a} if is_constant else {"a": a, "b": b}
    y = ph.constant(b) if is_constant else ph.input("b", b.shape, "bfloat16")
    program = ph.compile(x @ y, search=0)
    # a small constant is widened to float32 before anything runs
    assert uses_tiles(program) or is_constant
    require_product(called(program, **given), a, b)


@needs_tiles
def test_every_size_of_a_symbolic_number_of_rows_is_right() -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    b = drawn(rng, 64, 96)
    x, y = ph.input("a", (count, 64), "bfloat16"), ph.input("b", b.shape, "bfloat16")
    program = ph.compile(x @ y, search=0)
    assert uses_tiles(program)
    for rows in (1, 31, 32, 33, 95, 200):
        a = drawn(rng, rows, 64)
        require_product(called(program, a=a, b=b), a, b)


@needs_tiles
@pytest.mark.parametrize("in_pairs", [True, False], ids=["even", "odd"])
def test_weights_that_are_unpacked_for_tiles_lie_in_pairs_where_there_are_pairs(
    in_pairs: bool,
) -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    blocks, block, columns = (16, 32, 131) if in_pairs else (32, 15, 131)
    packed = rng.integers(0, 255, (columns, blocks, block)).astype(np.uint8)
    scale = rng.standard_normal((columns, blocks, 1)).astype(np.float32)
    terms = blocks * block
    w = (ph.constant(packed).astype("float32") * ph.constant(scale)).reshape((columns, terms))
    product = ph.matmul(ph.input("x", (count, terms)), w.transpose())
    program = ph.compile(product, search=0, ranges={"rows": (16,)}, precision="bf16")
    (source,) = (one.source for one in program.report.kernels if INSTRUCTION in one.source)
    assert ("store_pairs_bf16x16(staged0" in source) == in_pairs
    assert ("char groups[" in source) != in_pairs
    b = (packed * scale.astype(np.float64)).reshape(columns, terms).T
    for rows in (1, 15, 16, 33, 130, 200):
        a = drawn(rng, rows, terms).astype(np.float32)
        # each weight may be rounded to bfloat16
        limit = (HALF + SUMMING) * (np.abs(a).astype(np.float64) @ np.abs(b))
        assert (np.abs(called(program, x=a) - a @ b) <= limit).all()


@needs_tiles
@pytest.mark.parametrize("kind", ["Q4_1", "Q5_0", "Q4_K", "Q5_K", "Q6_K"])
def test_weights_of_quantised_formats_are_unpacked_for_tiles(kind: str) -> None:
    rng, count = np.random.default_rng(0), ph.dim("rows", 1, 200)
    w, values = weights(kind, rng, 64)
    x = ph.input("x", (count, w.shape[1]))
    program = ph.compile(
        ph.matmul(x, w.transpose()), search=0, ranges={"rows": (16,)}, precision="bf16"
    )
    assert uses_tiles(program)
    a = drawn(rng, 130, values.shape[1]).astype(np.float32)
    limit = (HALF + SUMMING) * (np.abs(a).astype(np.float64) @ np.abs(values.T))
    assert (np.abs(called(program, x=a) - a @ values.T) <= limit).all()


@needs_tiles
def test_products_under_a_condition_have_any_number_of_rows_and_lanes() -> None:
    rng, room, width = np.random.default_rng(0), 192, 64
    count, past = ph.dim("count", 16, 128), ph.dim("past", 0, 64)
    q = ph.input("q", (3, count, width), "bfloat16")
    k = ph.input("k", (3, room, width), "bfloat16")[:, : past + count]
    places = ph.arange(past, past + count)[:, None], ph.arange(past + count)[None, :]
    scores = q.astype("float32") @ k.astype("float32").swapaxes(1, 2)
    program = ph.compile(ph.where(places[0] < places[1], -np.inf, scores), search=0)
    keys = drawn(rng, 3, room, width)
    for now, before in ((16, 0), (64, 63), (100, 17), (128, 64)):
        rows = drawn(rng, 3, now, width)
        (found,) = program(q=rows, k=keys, past=before).values()
        seen = np.arange(before + now) <= np.arange(before, before + now)[:, None]
        assert (found[:, ~seen] == -np.inf).all()
        exact, size = (
            one(rows.astype(np.float64))
            @ one(keys[:, : before + now].astype(np.float64)).swapaxes(1, 2)
            for one in (np.asarray, np.abs)
        )
        assert (np.abs(found - exact)[:, seen] <= SUMMING * size[:, seen]).all()


@needs_tiles
def test_batches_and_what_follows_a_product_stay_in_its_kernel() -> None:
    rng = np.random.default_rng(0)
    a, b, c = drawn(rng, 3, 48, 64), drawn(rng, 3, 64, 64), drawn(rng, 64)
    x, y, z = (ph.input(n, one.shape, "bfloat16") for n, one in (("a", a), ("b", b), ("c", c)))
    program = ph.compile(x @ y + z, search=0)
    assert uses_tiles(program) and len(program.report.kernels) == 1
    wide = (a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    found = called(program, a=a, b=b, c=c)
    # a product on the border between two bfloat16 numbers may round to either
    np.testing.assert_allclose(found, (wide + c).astype(np.float64), rtol=2 * HALF, atol=2**-4)


@needs_tiles
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinities_reach_the_sums_they_belong_to(special: float) -> None:
    rng = np.random.default_rng(0)
    a, b = drawn(rng, 32, 64), drawn(rng, 64, 32)
    a[3, 5] = special
    x, y = (ph.input(n, one.shape, "bfloat16") for n, one in (("a", a), ("b", b)))
    program = ph.compile(x @ y, search=0)
    assert uses_tiles(program)
    found = called(program, a=a, b=b)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected))
    require_product(np.delete(found, 3, axis=0), np.delete(a, 3, axis=0), b)


@needs_tiles
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (ph.input("a", (64, 61), "bfloat16"), ph.input("b", (61, 64), "bfloat16")),
        (ph.input("a", (64, 64)), ph.input("b", (64, 64))),
        (ph.input("a", (64, 64), "float16"), ph.input("b", (64, 64), "float16")),
        (ph.input("a", (8, 64), "bfloat16"), ph.input("b", (64, 64), "bfloat16")),
    ],
    ids=["terms", "float32", "float16", "few rows"],
)
def test_other_products_do_without_tiles(x: ph.Tensor, y: ph.Tensor) -> None:
    assert not uses_tiles(ph.compile(x @ y, search=0))


@needs_tiles
@pytest.mark.parametrize("columns", [32, 96, 131])
def test_a_transposed_right_side_uses_tiles(columns: int) -> None:
    rng = np.random.default_rng(0)
    a, b = drawn(rng, 64, 320), drawn(rng, columns, 320)
    x, y = (ph.input(n, one.shape, "bfloat16") for n, one in (("a", a), ("b", b)))
    program = ph.compile(x @ ph.swapaxes(y, 0, 1), search=0)
    assert uses_tiles(program)
    require_product(called(program, a=a, b=b), a, b.T)


@needs_tiles
def test_a_transposed_left_side_does_without_tiles() -> None:
    rng = np.random.default_rng(0)
    a, b = drawn(rng, 64, 96), drawn(rng, 64, 128)
    x, y = (ph.input(n, one.shape, "bfloat16") for n, one in (("a", a), ("b", b)))
    program = ph.compile(ph.swapaxes(x, 0, 1) @ y, search=0)
    assert not uses_tiles(program)
    require_product(called(program, a=a, b=b), a.T, b)
