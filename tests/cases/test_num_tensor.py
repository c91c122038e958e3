"""NUM, REW, IDX, SIZ, ATT, DYN and CRA cases of the tensor functions: evaluator and compiled C.

Each case builds its outputs once and asks both for them; the oracle is NumPy, or the numbers that
the report of the fault states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np
import pytest

import photic as ph
from photic.forms.eval import evaluate
from photic.ir.graph import Graph

Arrays = Mapping[str, np.ndarray]
Run = Callable[..., dict[str, np.ndarray]]
NAN, INF = np.nan, np.inf


def by_evaluator(outputs: Mapping[str, ph.Tensor], given: Arrays, **sizes: int) -> Arrays:
    graph = Graph(tuple((name, one.operand) for name, one in outputs.items()))
    return evaluate(graph, given, {}, sizes, widen=False)[0]


def by_program(outputs: Mapping[str, ph.Tensor], given: Arrays, **sizes: int) -> Arrays:
    return ph.compile(outputs, target="c")(**given, **sizes)


@pytest.fixture(params=[by_evaluator, by_program], ids=["evaluator", "c"])
def run(request: pytest.FixtureRequest) -> Run:
    answer: Run = request.param
    return answer


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def inputs(given: Arrays) -> list[ph.Tensor]:
    return [ph.input(name, one.shape, one.dtype) for name, one in given.items()]


# --- NUM ------------------------------------------------------------------------------------


def test_num_01_a_scale_before_softmax_leaves_rows_finite(run: Run) -> None:
    x = ((np.arange(16) - 7) * np.float32(1.3e9)).astype(np.float32).reshape(1, 16)
    random = np.random.default_rng(0)
    q, k = random.normal(size=(2, 10, 1)).astype(np.float32)
    given = {"x": x, "q": q, "k": k}
    a, b, c = inputs(given)
    scores = (b @ c.T) * -1.7e14
    got = run({"row": ph.softmax(a * (1 / 3)), "rows": ph.softmax(scores)}, given)
    for rows in got.values():
        assert np.isfinite(rows).all()
        # ten or sixteen weights, each rounded to float32 and divided once
        np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-6)
    assert got["row"][0, -1] == 1
    exact = (q.astype(np.float64) @ k.astype(np.float64).T * -1.7e14).argmax(-1)
    assert (got["rows"].argmax(-1) == exact).all()


def test_num_03_nan_and_minus_zero_pass_through_max(run: Run) -> None:
    given = {"x": f32(NAN, -1, 0, 1, INF), "zeros": np.full(8193, -0.0, np.float32)}
    given |= {"low": np.full(5, -INF, np.float32)}
    x, zeros, low = inputs(given)
    outputs = {"relu": ph.relu(x), "few": zeros[:8192].max(), "many": zeros.max(), "low": low.max()}
    got = run(outputs, given)
    np.testing.assert_array_equal(got["relu"], [NAN, 0, 0, 1, INF])
    assert got["few"] == got["many"] == 0
    assert got["low"] == -INF


def test_num_03_nan_is_found_at_every_place_of_every_length(run: Run) -> None:
    n = ph.dim("n", 1, 40)
    x = ph.input("x", (n, n))
    outputs = {"max": x.max(1), "min": x.min(1)}
    program = ph.compile(outputs, target="c") if run is by_program else None
    for size in range(1, 41):
        rows = np.ones((size, size), np.float32)
        np.fill_diagonal(rows, NAN)
        got = program(x=rows) if program else run(outputs, {"x": rows}, n=size)
        assert np.isnan(got["max"]).all()
        assert np.isnan(got["min"]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_num_04_float_floor_division_is_not_the_rounded_quotient(run: Run, dtype: type) -> None:
    a, b = np.array([1, 0.5, 6], dtype), np.array([0.1, 0.1, 0.2], dtype)
    given = {"a": a, "b": b}
    x, y = inputs(given)
    got = run({"quotient": x // y, "rest": x % y}, given)
    assert got["quotient"].tolist() == [9, 4, 29]
    assert ((got["rest"] >= 0) & (got["rest"] < b)).all()
    np.testing.assert_array_equal(got["rest"], np.remainder(a, b))


def test_num_05_small_integers_wrap_before_casts_and_comparisons(run: Run) -> None:
    given = {
        "a": np.array([128], np.uint8),
        "b": np.array([6], np.uint8),
        "c": np.array([2147483647], np.int32),
        "d": np.array([200, 200], np.uint8),
    }
    a, b, c, d = inputs(given)
    y = -ph.abs(d)
    outputs = {
        "sum": (a + a).astype("int16"),
        "less": -b < 4,
        "wide": (c + c).astype("int64"),
        "joined": ph.concat([y, y]).sum().astype("uint8"),
        "parts": y,
    }
    got = run(outputs, given)
    assert got["sum"] == 0
    assert not got["less"]
    assert got["wide"] == -2
    assert got["joined"] == 224
    assert got["parts"].tolist() == [56, 56]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_num_06_an_odd_length_divides_no_unused_lane_by_zero(run: Run, dtype: type) -> None:
    n = ph.dim("n", 1, 17)
    x, y = ph.input("x", (2, n), dtype), ph.input("y", (n,), dtype)
    outputs = {"quotient": x // y, "rest": x % y}
    program = ph.compile(outputs, target="c") if run is by_program else None
    for length in range(1, 18):
        a = np.arange(2 * length, dtype=dtype).reshape(2, length)
        given = {"x": a, "y": np.full(length, 16, dtype)}
        got = program(**given) if program else run(outputs, given, n=length)
        np.testing.assert_array_equal(got["quotient"], a // 16)
        np.testing.assert_array_equal(got["rest"], a % 16)


def test_num_07_integer_division_rounds_down_for_constants_and_inputs(run: Run) -> None:
    a, b = np.array([8, -8, 7, -7]), np.array([-3, 3, -2, 2])
    given = {"a": a, "b": b}
    x, y = inputs(given)
    p, q = ph.constant(a), ph.constant(b)
    outputs = {"x": x // y, "r": x % y, "p": p // q, "s": p % q, "c": x // -3, "d": x % -3}
    got = run(outputs, given)
    assert got["x"].tolist() == got["p"].tolist() == [-3, -3, -4, -4]
    assert got["r"].tolist() == got["s"].tolist() == [-1, 1, -1, 1]
    assert got["c"].tolist() == (a // -3).tolist()
    assert got["d"].tolist() == (a % -3).tolist()


# --- REW ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [("sum",), ("sum", "mean")])
def test_rew_02_times_zero_keeps_nan_whatever_else_is_asked(
    run: Run, shown: tuple[str, ...]
) -> None:
    given = {"values": f32(1, 1), "mask": np.array([False, True])}
    values, mask = inputs(given)
    mean = ph.where(mask, NAN, values).mean()
    outputs = {"sum": values.mean() + mean * 0.0, "mean": mean}
    got = run({name: outputs[name] for name in shown}, given)
    assert all(np.isnan(one) for one in got.values())


def test_rew_02_infinities_do_not_cancel(run: Run) -> None:
    given = {"x": f32(INF, -INF, 1)}
    (x,) = inputs(given)
    got = run({"zero": x * 0.0, "gone": x - x, "one": x / x}, given)
    np.testing.assert_array_equal(got["zero"], [NAN, NAN, 0])
    np.testing.assert_array_equal(got["gone"], [NAN, NAN, 0])
    np.testing.assert_array_equal(got["one"], [NAN, NAN, 1])


def test_rew_03_narrowing_casts_stay(run: Run) -> None:
    given = {
        "x": f32(65504, 65519, 65520, 65536, 1e-8, 1 + 2**-12),
        "i": np.array([300], np.int32),
        "k": np.array([2**24 + 1], np.int32),
    }
    x, i, k = inputs(given)
    outputs = {
        "half": x.astype("float16").astype("float32"),
        "brain": x.astype("bfloat16").astype("float32"),
        "byte": i.astype("uint8").astype("int32"),
        "float": k.astype("float32"),
    }
    got = run(outputs, given)
    assert got["half"].tolist() == [65504, 65504, INF, INF, 0, 1]
    assert got["byte"] == 44
    assert got["float"] == 16777216
    brain = given["x"].astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(got["brain"], brain)


def test_rew_05_padding_does_not_move_into_functions(run: Run) -> None:
    given = {"x": f32(0, 0)}
    (x,) = inputs(given)
    functions: dict[str, tuple[ph.Tensor, float]] = {
        "exp": (ph.exp(x), 2),
        "cos": (ph.cos(x), 2),
        "plus": (x + 1.0, 2),
        "inverse": (1.0 / (x + 1.0), 2),
        "equal": ((x == 0.0).astype("float32"), 2),
        "sigmoid": (ph.sigmoid(x), 1),
    }
    outputs = {name: ph.pad(one, 1).sum() for name, (one, _) in functions.items()}
    outputs["log"] = ph.log(ph.pad(x + 1.0, 1, constant_values=1.0)).sum()
    got = run(outputs, given)
    for name, (_, want) in functions.items():
        assert got[name] == want, name
    assert got["log"] == 0


# --- IDX, SIZ -------------------------------------------------------------------------------


def test_idx_04_the_first_of_equal_values_and_of_nans_is_found(run: Run) -> None:
    given = {
        "a": f32(0, 1, 2, 2),
        "b": np.ones(61, np.float32),
        "c": np.tile(f32(1, 3, 2, 3, 3), (3, 4, 1)),
        "d": f32(1, NAN, 3),
        "e": f32(INF, NAN, NAN),
    }
    handles = inputs(given)
    outputs = {name: one.argmax(-1) for name, one in zip(given, handles, strict=True)}
    outputs |= {f"least_{name}": one.argmin(-1) for name, one in zip(given, handles, strict=True)}
    got = run(outputs, given)
    for name, one in given.items():
        np.testing.assert_array_equal(got[name], one.argmax(-1))
        np.testing.assert_array_equal(got[f"least_{name}"], one.argmin(-1))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_siz_01_reductions_of_nothing(run: Run, symbolic: bool, keepdims: bool) -> None:
    n = ph.dim("n", 0, 4) if symbolic else 0
    x, y = ph.input("x", (n, 4)), ph.input("y", (3, n, 4))
    wants = {"sum": 0.0, "prod": 1.0, "max": -INF, "min": INF, "mean": NAN}
    outputs = {f"x_{name}": getattr(x, name)(0, keepdims) for name in wants}
    outputs |= {f"y_{name}": getattr(y, name)(1, keepdims) for name in wants}
    given = {"x": np.zeros((0, 4), np.float32), "y": np.zeros((3, 0, 4), np.float32)}
    got = run(outputs, given, **({"n": 0} if symbolic else {}))
    for name, want in wants.items():
        for axis, one in ((0, "x"), (1, "y")):
            shape = np.sum(given[one], axis, keepdims=keepdims).shape
            np.testing.assert_array_equal(got[f"{one}_{name}"], np.full(shape, want))


# --- ATT, DYN -------------------------------------------------------------------------------


def test_att_01_causal_rows_are_aligned_to_the_end(run: Run) -> None:
    random = np.random.default_rng(1)
    rows, keys = ph.dim("rows", 1, 10), ph.dim("keys", 1, 10)
    q = ph.input("q", (1, 1, rows, 8))
    k, v = ph.input("k", (1, 1, keys, 8)), ph.input("v", (1, 1, keys, 8))
    outputs = {"y": ph.attention(q, k, v, causal=True)}
    a, b, c = random.normal(size=(3, 1, 1, 10, 8)).astype(np.float32)
    program = ph.compile(outputs, target="c") if run is by_program else None

    def part(start: int, end: int) -> np.ndarray:
        given = {"q": a[:, :, start:end], "k": b[:, :, :end], "v": c[:, :, :end]}
        if program:
            return program(**given)["y"]
        return run(outputs, given, rows=end - start, keys=end)["y"]

    whole = part(0, 10)
    for start, end in ((0, 4), (4, 7), (7, 10), (9, 10), (5, 6)):
        np.testing.assert_allclose(part(start, end), whole[:, :, start:end], rtol=1e-5, atol=1e-6)


def test_att_02_rows_without_a_key_are_0_and_stay_alone(run: Run) -> None:
    random = np.random.default_rng(2)
    q, k, v = random.normal(size=(3, 1, 1, 8, 8)).astype(np.float32)
    seen = np.zeros((8, 8), bool)
    seen[:4, :4] = True
    given = {"q": q, "k": k, "v": v, "m": seen, "a": np.where(seen, 0, -INF).astype(np.float32)}
    a, b, c, mask, added = inputs(given)
    small = ph.attention(a[:, :, :4], b[:, :, :4], c[:, :, :4])
    outputs = {
        "bool": ph.attention(a, b, c, mask),
        "added": ph.attention(a, b, c, added),
        "small": small,
        "after": ph.layer_norm(ph.attention(a, b, c, mask))[:, :, :4].sum(),
    }
    got = run(outputs, given)
    for name in ("bool", "added"):
        assert (got[name][:, :, 4:] == 0).all()
        np.testing.assert_allclose(got[name][:, :, :4], got["small"], rtol=1e-5, atol=1e-6)
    assert np.isfinite(got["after"])


def test_dyn_02_memory_past_a_symbolic_size_does_not_count(run: Run) -> None:
    n = ph.dim("n", 1, 64)
    x = ph.input("x", (10, n))
    outputs = {
        "softmax": ph.softmax(x),
        "mean": x.mean(1),
        "var": ph.var(x, 1),
        "logsumexp": ph.logsumexp(x, 1),
        "argmax": x.argmax(1),
    }
    program = ph.compile(outputs, target="c") if run is by_program else None
    for size in (1, 10, 31, 32, 33):
        padded = np.full((10, 64), NAN, np.float32)
        padded[:, :size] = 1
        rows = np.ascontiguousarray(padded[:, :size])
        got = program(x=rows) if program else run(outputs, {"x": rows}, n=size)
        # up to 33 additions of float32
        np.testing.assert_allclose(got["softmax"], np.full((10, size), 1 / size), rtol=1e-6)
        np.testing.assert_allclose(got["mean"], np.ones(10), rtol=1e-6)
        np.testing.assert_allclose(got["var"], np.zeros(10), atol=1e-6)
        np.testing.assert_allclose(got["logsumexp"], np.full(10, 1 + np.log(size)), rtol=1e-6)
        assert got["argmax"].tolist() == [0] * 10


# --- CRA ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cra_01_integer_division_never_traps(run: Run, dtype: type) -> None:
    low = np.iinfo(dtype).min
    a = np.array([low, 15, -8, 22, 4, low, low], dtype)
    b = np.array([-1, 4, 0, 0, 1, 0, 1], dtype)
    given = {"a": a, "b": b}
    x, y = inputs(given)
    p, q = ph.constant(a), ph.constant(b)
    got = run({"x": x // y, "r": x % y, "p": p // q, "s": p % q, "one": x[:1] // y[:1]}, given)
    assert got["x"].tolist() == got["p"].tolist() == [low, 3, 0, 0, 4, 0, low]
    assert got["r"].tolist() == got["s"].tolist() == [0, 3, 0, 0, 0, 0, 0]
    assert got["one"].tolist() == [low]


def test_cra_04_special_constants_survive_compilation(run: Run) -> None:
    x = f32(1, 2)
    special = [INF, -INF, -0.0, 1e-45, 0.1, NAN]
    outputs = {
        "f32": ph.constant(np.array(special, np.float32)) + -0.0,
        "f64": ph.constant(np.array([*special, 5e-324])) + -0.0,
        "i64": ph.constant(np.array([-(2**63), 2**63 - 1])) + 0,
        "max": ph.maximum(NAN, ph.input("x", (2,))),
        "clip": ph.clip(ph.input("x", (2,)), NAN, 1.5),
        "where": ph.where(ph.constant(NAN) > 0, 1.0, 2.0),
        "softmax": ph.softmax(ph.log2(ph.full((2, 2), -1.0))),
    }
    got = run(outputs, {"x": x})
    wide = np.array([*special, 5e-324])
    for name, array in (("f32", np.array(special, np.float32)), ("f64", wide)):
        np.testing.assert_array_equal(got[name], array)
        assert (np.signbit(got[name]) == np.signbit(array))[:5].all()
    assert got["i64"].tolist() == [-(2**63), 2**63 - 1]
    for name in ("max", "clip", "softmax"):
        assert np.isnan(got[name]).all()
    assert got["where"] == 2
