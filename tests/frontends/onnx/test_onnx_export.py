"""Exported graphs: valid files that mean what the graph means, by onnxruntime and by our importer.

Movement, choices and integers are equal to the bit. Floats are within a few units in the last place
of float32, relative to the largest result: primitives differ by one, sums in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import read

import photic as ph
from photic.base.errors import BadArgument
from photic.forms.eval import evaluate
from photic.frontends.onnx.errors import OnnxExport
from photic.frontends.onnx.model import load
from photic.frontends.onnx.segments import evaluated
from photic.frontends.onnx.session import Session
from photic.ir.graph import Graph
from photic.tensor.compiling import graph_of

RELATIVE = 1e-5  # 84 units in the last place of float32: sums of hundreds, chains of functions
EXACT = 0.0

Arrays = Mapping[str, Any]
random = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def exported(graph: Graph, **options: Any) -> Any:
    """The model, checked."""
    model = ph.export_onnx(graph, **options)
    onnx.checker.check_model(model, full_check=True)
    return model


def ours(model: Any, feeds: Arrays) -> list[Any]:
    """What our importer makes of a model, by the evaluator."""
    return Session.of(read(model), runner=evaluated).run(None, feeds)


def theirs(model: Any, feeds: Arrays) -> list[Any]:
    """What onnxruntime makes of it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)


RUNTIMES = (
    pytest.param(ours, id="importer"),
    pytest.param(theirs, id="onnxruntime", marks=pytest.mark.peers),
)


def require_equal(
    outputs: Arrays, feeds: Arrays, run: Callable[..., list[Any]], relative: float = EXACT,
    sizes: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """The model of outputs, which gives what the evaluator says of them."""
    graph = graph_of(dict(outputs), {})
    model = exported(graph)
    expected, _ = evaluate(graph, feeds, {}, sizes or {}, widen=False)
    for got, (name, want) in zip(run(model, feeds), expected.items(), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype), name
        largest = np.max(np.abs(want[np.isfinite(want)].astype(np.float64)), initial=0.0)
        np.testing.assert_allclose(got, want, rtol=relative, atol=relative * largest, err_msg=name)
    return model


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


# --- functions ------------------------------------------------------------------------------

x = ph.input("x", (4, 6))
UNARY = (
    *("exp2", "log2", "sin", "sqrt", "reciprocal", "exp", "log", "log1p", "cos", "tan", "tanh"),
    *("sigmoid", "gelu", "softplus", "silu", "erf", "floor", "ceil", "round", "sign", "isnan"),
    *("abs", "rsqrt", "square", "cumsum", "sort", "argsort", "prod", "relu", "mean", "var"),
)
MOVED: dict[str, ph.Tensor] = {
    "transposed": ph.transpose(x),
    "merged": ph.reshape(ph.transpose(x), (3, 8)),
    "split": ph.reshape(x, (2, 2, 3, 2)),
    "turned": ph.flip(x, (0, 1)),
    "every other, backwards": x[::-2, 1::2],
    "diagonal": ph.diagonal(x),
    "repeated": ph.broadcast_to(x[:, None, :, None], (4, 2, 6, 3)),
    "joined": ph.concat([x, x[:2] * 2.0, ph.zeros((1, 6))], 0),
    "padded by reflection": ph.pad(x, ((1, 2), (0, 3)), mode="reflect"),
    "cut out of a padding": ph.pad(x[1:3], ((2, 2), (0, 0)))[1:5],
    "windows": ph.sliding_window_view(x, 3, 1),
    "rolled": ph.roll(x, 2, 1),
    "tiled": ph.tile(x, (2, 2)),
    "a number": x[1, 2],
    "counted": ph.arange(6) * 2 + 1,
    "nothing": x[2:2],
}


@pytest.mark.parametrize("run", RUNTIMES)
def test_functions_of_one_tensor_come_near(run: Callable[..., list[Any]]) -> None:
    positive = ph.input("p", (3, 7))
    outputs = {name: getattr(ph, name)(positive) for name in UNARY}
    require_equal(outputs, {"p": np.abs(floats(3, 7)) + 0.1}, run, RELATIVE)


@pytest.mark.parametrize("run", RUNTIMES)
def test_movement_is_equal_to_the_bit(run: Callable[..., list[Any]]) -> None:
    outputs = {f"y{k}": one for k, one in enumerate(MOVED.values())}
    require_equal(outputs, {"x": floats(4, 6)}, run)


@pytest.mark.parametrize("run", RUNTIMES)
def test_networks_come_near(run: Callable[..., list[Any]]) -> None:
    image, q = ph.input("image", (1, 4, 9, 8)), ph.input("q", (1, 2, 5, 8))
    weights = ph.constant(floats(6, 2, 3, 3))
    outputs = {
        "convolved": ph.conv2d(image, weights, stride=2, padding=1, dilation=1, groups=2),
        "pooled": ph.max_pool2d(image, 3, stride=2, padding=1),
        "resized": ph.interpolate(image, (5, 11), mode="bilinear"),
        "attended": ph.attention(q, q, q, causal=True),
        "normed": ph.layer_norm(q),
        "likelihood": ph.log_softmax(q, -1),
        "product": ph.einsum("bhid,bhjd->bhij", q, q),
        "largest": ph.max(q, -1),
    }
    feeds = {"image": floats(1, 4, 9, 8), "q": floats(1, 2, 5, 8)}
    require_equal(outputs, feeds, run, RELATIVE)


@pytest.mark.parametrize("run", RUNTIMES)
@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "int64", "int32", "int16", "int8", "uint8"]
)
def test_numbers_of_every_dtype_mean_the_same(dtype: str, run: Callable[..., list[Any]]) -> None:
    a, b = ph.input("a", (2, 5), dtype), ph.input("b", (2, 5), dtype)
    outputs = {
        "added": a + b,
        "multiplied": a * b,
        "remainder": a % b,
        "chosen": ph.where(a < b, a, b),
        "largest": ph.max(a, 1),
        "summed": ph.sum(a, 0),
        "cast": a.astype("int8"),
        "moved": ph.pad(ph.concat([a, b], 0), ((1, 0), (0, 0))),
    }
    feeds = {
        "a": np.array([[3, -7, 100, 0, 5], [-1, 2, 90, -128, 127]], np.int64).astype(dtype),
        "b": np.array([[2, 3, 0, 5, -3], [7, -2, 60, -1, 127]], np.int64).astype(dtype),
    }
    require_equal(outputs, feeds, run)


@pytest.mark.parametrize("run", RUNTIMES)
def test_special_values_are_kept(run: Callable[..., list[Any]]) -> None:
    """nan anywhere in a maximum; saturating casts; a mask of nan and infinity."""
    v = ph.input("v", (2, 4))
    outputs = {
        "largest": ph.max(v, 1),
        "int64": v.astype("int64"),
        "int32": v.astype("int32"),
        "uint8": v.astype("uint8"),
        "bool": v.astype("bool"),
        "chosen": ph.where(v < 0, 1.0, v),
        "remainder": v % 2.5,
    }
    values = [[1, np.nan, 3, -np.inf], [np.inf, -3e9, 1e30, 2.75]]
    require_equal(outputs, {"v": np.array(values, np.float32)}, run)


@pytest.mark.parametrize("run", RUNTIMES)
def test_bfloat16_is_rounded_once(run: Callable[..., list[Any]]) -> None:
    """Given and returned as float32, which holds all values of bfloat16."""
    a, b = (ph.input(name, (64,)).astype("bfloat16") for name in "ab")
    outputs = {"y": (a * b).astype("float32"), "z": ph.concat([a, b], 0).astype("float32")}
    require_equal(outputs, {"a": floats(64), "b": floats(64)}, run)


@pytest.mark.parametrize("run", RUNTIMES)
def test_the_logarithm_of_a_power_of_two_is_its_exponent(run: Callable[..., list[Any]]) -> None:
    powers = np.arange(-1022, 1024)
    wide, single = ph.input("wide", (2046,), "float64"), ph.input("single", (253,))
    feeds = {"wide": np.ldexp(1.0, powers), "single": np.ldexp(np.float32(1), powers[896:1149])}
    require_equal({"w": ph.log2(wide), "s": ph.log2(single)}, feeds, run)


@pytest.mark.parametrize("run", RUNTIMES)
def test_the_cosine_of_pi_has_its_sign(run: Callable[..., list[Any]]) -> None:
    """onnxruntime's own sine of float64 gives 0 there."""
    v = ph.input("v", (3,), "float64")
    feeds = {"v": np.array([np.pi, 2 * np.pi, 3 * np.pi])}
    require_equal({"y": ph.cos(v), "w": ph.hann_window(2)}, feeds, run, RELATIVE)


# --- what a sum is written as ---------------------------------------------------------------


@pytest.mark.parametrize("run", RUNTIMES)
def test_a_product_of_matrices_is_one_einsum(run: Callable[..., list[Any]]) -> None:
    outputs = {"y": ph.input("x", (3, 4)) @ ph.constant(floats(4, 5))}
    model = require_equal(outputs, {"x": floats(3, 4)}, run, RELATIVE)
    assert sorted(operators(model)) == ["Einsum", "Transpose"]


@pytest.mark.parametrize("run", RUNTIMES)
def test_a_lookup_makes_no_table_of_ones(run: Callable[..., list[Any]]) -> None:
    index, table = ph.input("i", (5,), "int64"), ph.input("t", (7, 3))
    outputs = {"y": ph.take(table, index, 0)}
    feeds = {"i": np.array([6, 0, -1, 7, 3]), "t": floats(7, 3)}
    model = require_equal(outputs, feeds, run)
    assert "Gather" in operators(model) and "ReduceSum" not in operators(model)


@pytest.mark.parametrize("run", RUNTIMES)
def test_a_lookup_with_axes_of_its_own_for_each_row(run: Callable[..., list[Any]]) -> None:
    index, table = ph.input("i", (2, 3, 4), "int64"), ph.input("t", (2, 5, 4))
    outputs = {"y": ph.take_along_axis(table, index, 1)}
    feeds = {"i": random.integers(-5, 5, (2, 3, 4)), "t": floats(2, 5, 4)}
    assert "GatherND" in operators(require_equal(outputs, feeds, run))


# --- loops, sizes, states -------------------------------------------------------------------


@pytest.mark.parametrize("run", RUNTIMES)
def test_a_scan_over_a_sequence_is_a_scan(run: Callable[..., list[Any]]) -> None:
    rows, gain = ph.input("rows", (9, 3)), ph.input("gain", (3,))

    def body(carried: Any, slices: Any) -> Any:
        following = ph.tanh(carried[0] * gain + slices[0])
        return (following,), (following * 2.0,)

    (last,), (every,) = ph.scan(body, [ph.zeros((3,))], [rows])
    feeds = {"rows": floats(9, 3), "gain": floats(3)}
    model = require_equal({"last": last, "every": every}, feeds, run, RELATIVE)
    assert "Scan" in operators(model)


@pytest.mark.parametrize("run", RUNTIMES)
@pytest.mark.parametrize("trips", [0, 1, 9])
def test_a_scan_of_perhaps_no_trips_is_a_loop(trips: int, run: Callable[..., list[Any]]) -> None:
    n = ph.dim("n", 0, 16)
    rows = ph.input("rows", (n, 3))
    (last,), _ = ph.scan(lambda c, s: ((c[0] * 0.5 + s[0],), ()), [ph.ones((3,))], [rows])
    feeds = {"rows": floats(trips, 3)}
    model = require_equal({"last": last}, feeds, run, RELATIVE, {"n": trips})
    assert "Loop" in operators(model)


@pytest.mark.parametrize("run", RUNTIMES)
def test_a_scan_within_a_scan_reads_what_is_outside_both(run: Callable[..., list[Any]]) -> None:
    rows, gain = ph.input("rows", (3, 4)), ph.input("gain", ())

    def outer(carried: Any, slices: Any) -> Any:
        (inner,), _ = ph.scan(lambda c, s: ((c[0] * gain + s[0],), ()), carried, [slices[0]])
        return (inner,), (inner,)

    _, (every,) = ph.scan(outer, [ph.ones(())], [rows])
    feeds = {"rows": floats(3, 4), "gain": np.array(0.5, np.float32)}
    require_equal({"every": every}, feeds, run, RELATIVE)


@pytest.mark.parametrize("run", RUNTIMES)
@pytest.mark.parametrize("n", [1, 3])
def test_a_model_of_modules_keeps_a_symbolic_batch(n: int, run: Callable[..., list[Any]]) -> None:
    batch = ph.dim("batch", 1, 8)
    image = ph.input("image", (batch, 1, 8, 8))
    hidden = ph.relu(ph.conv2d(image, ph.constant(floats(4, 1, 3, 3)), padding=1))
    hidden = ph.reshape(ph.max_pool2d(hidden, 2), (batch, 64))
    outputs = {"y": ph.softmax(ph.linear(hidden, ph.constant(floats(5, 64))), -1)}
    model = require_equal(outputs, {"image": floats(n, 1, 8, 8)}, run, RELATIVE, {"batch": n})
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


@pytest.mark.parametrize("run", RUNTIMES)
def test_sizes_are_read_off_shapes_in_which_they_stand_with_factors(
    run: Callable[..., list[Any]],
) -> None:
    n = ph.dim("n", 1, 9)
    v = ph.input("v", (2 * n + 1,))
    outputs = {"y": v[1::2] * ph.size(n).astype("float32"), "z": ph.flip(v, 0), "i": ph.arange(n)}
    require_equal(outputs, {"v": floats(7)}, run, sizes={"n": 3})


@pytest.mark.peers
def test_a_size_that_no_input_tells_is_an_input() -> None:
    n = ph.dim("n", 1, 9)
    model = exported(graph_of({"y": ph.arange(n) * 2}, {}))
    (y,) = theirs(model, {"n": np.array(4)})
    assert y.tolist() == [0, 2, 4, 6]


def test_a_state_is_an_input_and_its_next_value_an_output() -> None:
    total, step = ph.state("total", (2,)), ph.input("step", (2,))
    model = exported(graph_of({"before": total * 1.0}, {total: total + step}))
    assert [one.name for one in model.graph.output] == ["before", "total_next"]
    assert model.metadata_props[0].value == '{"total": "total_next"}'
    held = np.zeros(2, np.float32)
    for k in range(3):
        feeds = {"total": held, "step": np.array([1, 2], np.float32)}
        before, held = ours(model, feeds)
        assert before.tolist() == [k, 2 * k]
    assert held.tolist() == [3, 6]


# --- files ----------------------------------------------------------------------------------


def test_constants_may_lie_in_a_file_beside_the_model(tmp_path: Path) -> None:
    weights = floats(64, 32)
    v = ph.input("v", (2, 64))
    ph.export_onnx({"y": v @ ph.constant(weights)}, tmp_path / "m.onnx", external=True)
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    assert (tmp_path / "m.onnx").stat().st_size < weights.nbytes
    assert (tmp_path / "m.onnx.data").stat().st_size == weights.nbytes
    given = floats(2, 64)
    program_graph = load(tmp_path / "m.onnx").graph
    outputs, _ = evaluate(program_graph, {"v": given}, {}, {}, widen=False)
    np.testing.assert_allclose(outputs["y"], given @ weights, rtol=RELATIVE, atol=RELATIVE)


@pytest.mark.parametrize("opset", [15, 18, onnx.defs.onnx_opset_version()])
def test_every_version_that_is_taken_is_written(opset: int) -> None:
    v = ph.input("v", (3, 4))
    model = exported(graph_of({"y": ph.softmax(v, -1), "m": ph.max(v, 0)}, {}), opset=opset)
    given = floats(3, 4)
    assert ours(model, {"v": given})[1].tolist() == given.max(0).tolist()


def test_the_same_graph_is_the_same_file() -> None:
    made = [ph.export_onnx(ph.softmax(ph.input("v", (3, 4)), -1)) for _ in range(2)]
    assert made[0].SerializeToString() == made[1].SerializeToString()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    v = ph.input("v", (3,))
    with pytest.raises(BadArgument, match="opset"):
        ph.export_onnx(v * 2.0, opset=9)
    with pytest.raises(BadArgument, match="outputs"):
        ph.export_onnx([v])  # type: ignore[arg-type]
    with pytest.raises(OnnxExport, match="names two"):
        ph.export_onnx({"v": v * 2.0})
    with pytest.raises(OnnxExport, match="need a path"):
        ph.export_onnx(v * 2.0, external=True)
    with pytest.raises(OnnxExport, match="nowhere"):
        ph.export_onnx(v * 2.0, tmp_path / "nowhere" / "m.onnx")


@pytest.mark.model
@pytest.mark.peers
@pytest.mark.parametrize("name", ["blazeface-front", "magika", "denoiser-enc"])
def test_a_real_model_read_and_written_again_gives_the_same(name: str, tmp_path: Path) -> None:
    from frontends.onnx.test_onnx_real import CASES

    case = next(one for one in CASES if one.name == name)
    data, feeds = case.data(), dict(case.feeds())
    (tmp_path / "m.onnx").write_bytes(data)
    sizes = {f"{key}_{k}": n for key, one in feeds.items() for k, n in enumerate(one.shape)}
    model = load(tmp_path / "m.onnx", sizes)
    got = theirs(exported(model.graph), {one.key: feeds[one.name] for one in model.inputs})
    for one, want in zip(got, theirs(onnx.load_from_string(data), feeds), strict=True):
        largest = float(np.max(np.abs(want)))
        np.testing.assert_allclose(one, want, rtol=RELATIVE, atol=RELATIVE * largest)
