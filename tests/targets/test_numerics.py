"""The C numerics against NumPy, ml_dtypes and exact integers, for every instruction set here."""

from functools import cache

import ml_dtypes
import numerics_library as library
import numpy as np
import pytest
from numerics_library import (
    EVERY,
    INTEGERS,
    LANES,
    NUMBERS,
    NUMPY,
    UNARY,
    same,
    stored_values,
)

from photic.targets.c import numerics
from photic.targets.c.toolchain import build_kernels

MAX_ULP = 2.0  # the promise of docs/numbers.md for exp2, log2 and sin
LANE = pytest.mark.parametrize("lanes", LANES)
REFERENCE = {
    "exp2": np.exp2,
    "log2": np.log2,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "recip": lambda x: 1 / x,
}
QUIET = {"over": "ignore", "invalid": "ignore", "divide": "ignore", "under": "ignore"}


def stratified(bits: int, exponent_bits: int, each: int) -> np.ndarray:
    """`each` values of every sign and exponent, the ends of the binade among them."""
    generator = np.random.default_rng(bits)
    fraction_bits = bits - 1 - exponent_bits
    ends = [0, 1, 2, 2**fraction_bits - 1, 2**fraction_bits - 2, 2 ** (fraction_bits - 1)]
    fractions = generator.integers(0, 2**fraction_bits, (2 ** (exponent_bits + 1), each))
    fractions[:, : len(ends)] = ends
    heads = np.arange(2 ** (exponent_bits + 1))[:, None] << fraction_bits
    unsigned = np.uint32 if bits == 32 else np.uint64
    patterns = (heads.astype(unsigned) | fractions.astype(unsigned)).reshape(-1)
    return patterns.view(np.float32 if bits == 32 else np.float64)


@cache
def f32_sample() -> np.ndarray:
    return stratified(32, 8, 2048)


@cache
def f64_sample() -> np.ndarray:
    near_pi = np.arange(1, 3000) * np.longdouble("3.14159265358979323846264338327950288")
    # The double nearest to a multiple of pi of all: its sine is 4.7e-19.
    closest = [6381956970095103.0 * 2.0**797]
    ordinary = np.random.default_rng(1).normal(0, 30, 20000)
    return np.concatenate([stratified(64, 11, 16), near_pi.astype(np.float64), closest, ordinary])


@cache
def reference(operation: str, dtype: str) -> np.ndarray:
    with np.errstate(**QUIET):
        narrow, wide = (
            (f32_sample(), np.float64) if dtype == "f32" else (f64_sample(), np.longdouble)
        )
        return REFERENCE[operation](narrow.astype(wide))


def ulp_errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|got - exact| in units of the last place of the rounded exact value; 0 where alike."""
    with np.errstate(**QUIET):
        near = exact.astype(got.dtype)
        error = np.abs(got.astype(exact.dtype) - exact) / np.spacing(np.abs(near))
    alike = (got == near) | (np.isnan(got) & np.isnan(near))
    return np.where(alike & ~np.isfinite(near), 0, np.where(np.isfinite(near), error, np.inf))


@LANE
@pytest.mark.parametrize("operation", UNARY)
def test_f32_functions_stay_within_two_ulp_over_every_exponent(machine, operation, lanes):
    got = machine.apply(operation, "f32", lanes, f32_sample())
    errors = ulp_errors(got, reference(operation, "f32"))
    worst = int(np.argmax(errors))
    assert errors[worst] <= MAX_ULP, f"{errors[worst]} ulp at {f32_sample()[worst]!r}"


@LANE
@pytest.mark.parametrize("operation", UNARY)
def test_f64_functions_stay_within_two_ulp_over_every_exponent(machine, operation, lanes):
    if np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        pytest.skip("no long double wider than float64 here")
    got = machine.apply(operation, "f64", lanes, f64_sample())
    errors = ulp_errors(got, reference(operation, "f64"))
    worst = int(np.argmax(errors))
    assert errors[worst] <= MAX_ULP, f"{errors[worst]} ulp at {f64_sample()[worst]!r}"


@LANE
@pytest.mark.parametrize("operation", ["sqrt", "recip"])
def test_sqrt_and_recip_are_correctly_rounded(machine, operation, lanes):
    for dtype, sample in (("f32", f32_sample()), ("f64", f64_sample())):
        with np.errstate(**QUIET):
            want = REFERENCE[operation](sample)
        same(machine.apply(operation, dtype, lanes, sample), want)


@LANE
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_arguments_give_the_written_values(machine, dtype, lanes):
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0, 1.0], NUMPY[dtype])
    table = {
        "exp2": [1, 1, inf, 0.0, nan, 0.5, 2],
        "log2": [-inf, -inf, inf, nan, nan, nan, 0.0],
        "recip": [inf, -inf, 0.0, -0.0, nan, -1, 1],
        "sqrt": [0.0, -0.0, inf, nan, nan, nan, 1],
    }
    for operation, want in table.items():
        same_sign_too(machine.apply(operation, dtype, lanes, x), np.array(want, NUMPY[dtype]))
    sines = machine.apply("sin", dtype, lanes, x[:5])
    same_sign_too(sines, np.array([0.0, -0.0, nan, nan, nan], NUMPY[dtype]))


@LANE
def test_exp2_of_an_integer_is_exact_also_among_subnormals(machine, lanes):
    for dtype, low, high in (("f32", -160, 129), ("f64", -1080, 1025)):
        n = np.arange(low, high + 1)
        with np.errstate(**QUIET):
            want = np.ldexp(NUMPY[dtype](1), n)
        same(machine.apply("exp2", dtype, lanes, n.astype(NUMPY[dtype])), want)


# ---- casts -----------------------------------------------------------------------------------

BOUNDS = {name: np.iinfo(NUMPY[name]) for name in INTEGERS}


@cache
def cast_inputs(source: str) -> np.ndarray:
    """Edge values as `source` stores them; all patterns of the half types."""
    if source in ("f16", "bf16"):
        return np.arange(2**16).astype(np.uint16)
    if source == "bool":
        return np.array([False, True])
    generator = np.random.default_rng(7)
    around = [b + d for info in BOUNDS.values() for b in (info.min, info.max) for d in (-1, 0, 1)]
    around += [2**k + d for k in range(63) for d in (-1, 0, 1)]
    around += [-v for v in around] + [2**53 + 2, 2**62 + 2**53 + 1, 2**62 + 2**54 - 1]
    if source in BOUNDS:
        low, high = BOUNDS[source].min, BOUNDS[source].max
        random = generator.integers(low, high, 3000, NUMPY[source], endpoint=True)
        edges = np.array([v for v in around if low <= v <= high], NUMPY[source])
        shifted = random >> generator.integers(0, BOUNDS[source].bits, 3000).astype(NUMPY[source])
        return np.concatenate([edges, random, shifted])
    return float_cast_inputs(NUMPY[source], np.array(around, np.float64), generator)


def float_cast_inputs(dtype, around: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    halves = np.arange(2**16).astype(np.uint16)
    values = [halves.view(np.float16).astype(np.float64), bf16_values(halves)]
    with np.errstate(**QUIET):
        finite = np.concatenate([v[np.isfinite(v)] for v in values])
        # Neighbours of every half value and of every midpoint between two: where rounding turns.
        middle = np.concatenate([(v[1:] + v[:-1]) / 2 for v in (np.unique(finite), around)])
        exact = np.concatenate([finite, middle, around, around / 2, [np.inf, -np.inf, np.nan]])
        base = exact.astype(dtype)
        up, down = np.nextafter(base, dtype(np.inf)), np.nextafter(base, dtype(-np.inf))
        width = np.uint32 if dtype is np.float32 else np.uint64
        random = generator.integers(0, 2 ** (8 * dtype().itemsize), 20000, width).view(dtype)
    return np.concatenate([base, up, down, random])


def bf16_values(patterns: np.ndarray) -> np.ndarray:
    with np.errstate(**QUIET):
        return patterns.view(ml_dtypes.bfloat16).astype(np.float64)


def numbers(source: str, values: np.ndarray) -> np.ndarray:
    """The values of stored elements, in float64 for floats, unchanged for integers."""
    with np.errstate(**QUIET):
        if source == "f16":
            return values.view(np.float16).astype(np.float64)
        if source == "bf16":
            return bf16_values(values)
        return values.astype(np.float64) if source in ("f32", "f64") else values


def expected_cast(values: np.ndarray, to: str) -> np.ndarray:
    """What a cast of numbers gives, as float64 for the half types (their values), else stored."""
    with np.errstate(**QUIET):
        if to == "bool":
            return values != 0
        if to in INTEGERS:
            return expected_integers(values, to)
        if to == "bf16":
            return round_to_bf16(values)
        if to == "f16":
            # Integers that float64 does not hold lie far beyond float16's range.
            return values.astype(np.float64).astype(np.float16).astype(np.float64)
        return values.astype(NUMPY[to])


def expected_integers(values: np.ndarray, to: str) -> np.ndarray:
    if values.dtype.kind != "f":
        return values.astype(NUMPY[to])
    low, high = BOUNDS[to].min, BOUNDS[to].max
    whole = np.where(np.isnan(values), 0, np.clip(values, -(2.0**64), 2.0**64))
    return np.array([min(max(int(v), low), high) for v in whole], NUMPY[to])


def round_to_bf16(values: np.ndarray) -> np.ndarray:
    """Rounded once, to nearest even, to 8 significant bits (fewer where subnormal)."""
    if values.dtype.kind != "f":
        return np.array([round_integer(int(v)) for v in values])
    exponent = np.maximum(np.frexp(values)[1], -125)
    unit = np.ldexp(1.0, exponent - 8)
    rounded = np.where(np.isfinite(values), np.rint(values / unit) * unit, values)
    return np.where(np.abs(rounded) >= 2.0**128, np.copysign(np.inf, rounded), rounded)


def round_integer(value: int) -> float:
    unit = 1 << max(abs(value).bit_length() - 8, 0)
    return float(round_half_even(value, unit) * unit)


def round_half_even(value: int, unit: int) -> int:
    quotient, rest = divmod(value, unit)
    up = 2 * rest > unit or (2 * rest == unit and quotient % 2 == 1)
    return quotient + int(up)


@pytest.mark.parametrize("to", EVERY)
@pytest.mark.parametrize("source", EVERY)
def test_casts_round_once_wrap_and_saturate(machine, source, to):
    values = cast_inputs(source)
    want = expected_cast(numbers(source, values), to)
    for lanes in LANES:
        got = machine.apply(f"cast_{source}", to, lanes, values)
        if source == to:
            assert got.tobytes() == values.tobytes()
        else:
            same_sign_too(numbers(to, got) if to in ("f16", "bf16") else got, want)


# ---- integers --------------------------------------------------------------------------------


def integer_pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    info = BOUNDS[dtype]
    edges = [info.min, info.min + 1, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, info.max - 1, info.max]
    edges = sorted({e for e in edges if info.min <= e <= info.max})
    grid = np.array([(a, b) for a in edges for b in edges], NUMPY[dtype])
    random = np.random.default_rng(3).integers(info.min, info.max, (2000, 2), NUMPY[dtype])
    random[::2, 1] >>= info.bits // 2
    both = np.concatenate([grid, random])
    return both[:, 0].copy(), both[:, 1].copy()


@LANE
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_modulo_is_floored_and_zero_for_divisor_zero(machine, dtype, lanes):
    a, b = integer_pairs(dtype)
    want = [int(x) % int(y) if y else 0 for x, y in zip(a, b, strict=True)]
    same(machine.apply("mod", dtype, lanes, a, b), np.array(want, NUMPY[dtype]))


@LANE
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps_and_compares_in_its_own_type(machine, dtype, lanes):
    a, b = integer_pairs(dtype)
    with np.errstate(**QUIET):
        table = {"add": a + b, "mul": a * b, "max": np.maximum(a, b)}
        table |= {"lt": a < b, "le": a <= b, "eq": a == b}
        same(machine.apply("fma", dtype, lanes, a, b, b), a * b + b)
    for operation, want in table.items():
        same(machine.apply(operation, dtype, lanes, a, b), want)


@LANE
def test_bool_arithmetic_is_logic(machine, lanes):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    table = {"add": a | b, "max": a | b, "or": a | b, "mul": a & b, "and": a & b, "mod": a & ~a}
    table |= {"lt": ~a & b, "le": ~a | b, "eq": a == b}
    for operation, want in table.items():
        same(machine.apply(operation, "bool", lanes, a, b), want)
    same(machine.apply("not", "bool", lanes, a), ~a)
    same(machine.apply("fma", "bool", lanes, a, b, ~b), (a & b) | ~b)


# ---- floats ----------------------------------------------------------------------------------


def float_pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    info = np.finfo(NUMPY[dtype])
    edges = [0.0, 1.0, 2.5, 3.0, 1e-3, 1e10, info.max, info.tiny, info.smallest_subnormal]
    edges = [s * e for e in [*edges, np.inf] for s in (1, -1)] + [np.nan]
    grid = np.array([(a, b) for a in edges for b in edges], NUMPY[dtype])
    generator = np.random.default_rng(5)
    near = generator.normal(0, 100, (3000, 2)).astype(NUMPY[dtype])
    whole = generator.integers(-99, 99, (2000, 2)).astype(NUMPY[dtype])
    width = np.uint32 if dtype == "f32" else np.uint64
    wild = generator.integers(0, 2 ** (8 * info.dtype.itemsize), (3000, 2), width)
    both = np.concatenate([grid, near, whole, wild.view(NUMPY[dtype])])
    return both[:, 0].copy(), both[:, 1].copy()


@LANE
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_float_modulo_is_numpys_to_the_bit(machine, dtype, lanes):
    a, b = float_pairs(dtype)
    with np.errstate(**QUIET):
        want = np.mod(a, b)
    same_sign_too(machine.apply("mod", dtype, lanes, a, b), want)


@LANE
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_float_comparisons_are_false_and_max_is_nan_where_an_operand_is_nan(machine, dtype, lanes):
    a, b = float_pairs(dtype)
    with np.errstate(**QUIET):
        table = {"max": np.maximum(a, b), "lt": a < b, "le": a <= b, "eq": a == b}
        table |= {"add": a + b, "mul": a * b}
    for operation, want in table.items():
        same(machine.apply(operation, dtype, lanes, a, b), want)


@LANE
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_fma_is_fused_or_rounded_twice(machine, dtype, lanes):
    generator = np.random.default_rng(8)
    a, b, c = generator.normal(size=(3, 1000)).astype(NUMPY[dtype])
    wide = np.float64 if dtype == "f32" else np.longdouble
    once = (a.astype(wide) * b + c).astype(NUMPY[dtype])
    got = machine.apply("fma", dtype, lanes, a, b, c)
    twice = a * b + c
    tolerance = np.spacing(np.abs(a * b) + np.abs(c))  # the oracle itself rounds twice in `wide`
    assert np.all((np.abs(got - once) <= tolerance) | (got == twice))


# ---- choice, reductions, memory ----------------------------------------------------------------


@LANE
@pytest.mark.parametrize("dtype", EVERY)
def test_sel_takes_the_second_value_where_the_mask_is_false(machine, dtype, lanes):
    mask = stored_values("bool", 67)
    a, b = stored_values(dtype, 67), stored_values(dtype, 67)[::-1]
    same(machine.apply("sel", dtype, lanes, mask, a, b), np.where(mask, a, b))


@LANE
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_hmax_passes_nan_from_every_lane(machine, dtype, lanes):
    rows = np.ones((lanes, lanes), NUMPY[dtype])
    np.fill_diagonal(rows, np.nan)
    assert np.isnan(machine.reduce("hmax", dtype, lanes, rows.reshape(-1))).all()


@LANE
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_horizontal_sums_and_maxima_combine_halves(machine, dtype, lanes):
    rows = stored_values(dtype, 8 * lanes).reshape(8, lanes)
    want = rows
    while want.shape[1] > 1:
        half = want.shape[1] // 2
        want = want[:, :half] + want[:, half:]
    same(machine.reduce("hsum", dtype, lanes, rows.reshape(-1)), want[:, 0])
    same(machine.reduce("hmax", dtype, lanes, rows.reshape(-1)), rows.max(axis=1))


@LANE
def test_iota_counts_and_splat_repeats(machine, lanes):
    for dtype in EVERY:
        one = stored_values(dtype, 3)[:1]
        same(machine.fill("splat", dtype, lanes, one), np.repeat(one, lanes))
    for dtype in INTEGERS:
        same(machine.fill("iota", dtype, lanes), np.arange(lanes).astype(NUMPY[dtype]))


# ---- the text ----------------------------------------------------------------------------------


def test_prelude_depends_only_on_its_needs_and_defines_each_function_once():
    needs = [("exp2", "f32", 16), ("load", "u8", 16), ("cast_f32", "f16", 16), ("mod", "f32", 8)]
    text = numerics.prelude(frozenset(needs))
    assert text == numerics.prelude(frozenset(reversed(needs)))
    for need in needs:
        assert text.count(f" {numerics.function(need)}(") >= 1
    assert text.count("INLINE f32x16 exp2_f32x16(") == 1


def test_prelude_of_nothing_defines_no_function():
    assert "INLINE" not in numerics.prelude(frozenset()).replace("#define INLINE", "")


def test_prelude_of_a_type_is_its_typedef():
    text = numerics.prelude(frozenset({("type", "bf16", 8)}))
    assert "typedef unsigned short bf16x8 __attribute__((ext_vector_type(8)));" in text


@pytest.mark.parametrize("need", [("exp2", "i32", 4), ("add", "f16", 4), ("sine", "f32", 4)])
def test_prelude_refuses_functions_that_do_not_exist(need):
    assert not numerics.exists(need)
    with pytest.raises(KeyError, match=numerics.function(need)):
        numerics.prelude(frozenset({need}))


@pytest.mark.parametrize(
    "target", [("x86_64-linux-gnu", "x86_64"), ("aarch64-linux-gnu", "generic")], ids=lambda t: t[0]
)
def test_every_function_links_without_any_library_for_other_processors(target):
    system, cpu = target
    flags = ("-target", system, f"-mcpu={cpu}", "-Wl,-z,defs")
    assert build_kernels(library.source((1, 2, 16)), flags=flags).is_file()


def same_sign_too(got: np.ndarray, want: np.ndarray) -> None:
    same(got, want)
    if got.dtype.kind == "f":
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
