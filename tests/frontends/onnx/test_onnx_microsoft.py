"""The operators of com.microsoft that exported models use, one by one, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import graph_proto, model_proto, node, port, read
from numpy.typing import NDArray

from photic.frontends.onnx.errors import OnnxAttribute, OnnxInput
from photic.frontends.onnx.segments import evaluated
from photic.frontends.onnx.session import Session

ort = pytest.importorskip("onnxruntime", reason="onnxruntime not installed: pip install '.[peers]'")

Array = NDArray[Any]
# float32 sums of up to 64 terms of size 1, in another order, and other exponentials
CLOSE = 1e-5
MICROSOFT = "com.microsoft"
R = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return R.standard_normal(shape).astype(np.float32)


def octets(*shape: int) -> Array:
    return R.integers(0, 256, shape).astype(np.uint8)


def proto_of(
    op: str, arrays: Sequence[Array | None], outputs: int, domain: str, attributes: dict[str, Any]
) -> tuple[Any, dict[str, Array]]:
    """A model of one node, and what it is fed."""
    names = [f"x{k}" if one is not None else "" for k, one in enumerate(arrays)]
    feeds = {name: one for name, one in zip(names, arrays) if one is not None}
    code = onnx.helper.np_dtype_to_tensor_dtype
    inputs = [port(name, one.shape, code(one.dtype)) for name, one in feeds.items()]
    made = [f"y{k}" for k in range(outputs)]
    if op == "SkipLayerNormalization":
        made[1:3] = ["", ""]  # means and deviations, which onnxruntime does not give either
    results = [onnx.ValueInfoProto(name=name) for name in made if name]
    one_node = node(op, names, made, domain=domain, **attributes)
    model = model_proto(graph_proto([one_node], inputs, results))
    model.ir_version = 10
    return model, feeds


def both(
    op: str,
    arrays: Sequence[Array | None],
    outputs: int = 1,
    domain: str = MICROSOFT,
    **attributes: Any,
) -> list[tuple[Array, Array]]:
    """(onnxruntime's, ours) of each output."""
    model, feeds = proto_of(op, arrays, outputs, domain, attributes)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    peer = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    ours = Session.of(read(model), runner=evaluated)
    return list(zip(peer.run(None, feeds), ours.run(None, feeds)))


def require_close(pairs: Sequence[tuple[Array, Array]], within: float = CLOSE) -> None:
    for theirs, ours in pairs:
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        assert np.allclose(ours, theirs, rtol=within, atol=within)


def require_one_unit(pairs: Sequence[tuple[Array, Array]]) -> None:
    """Integers may differ by one: a tie may fall to the other side."""
    for theirs, ours in pairs:
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
        assert apart.max() <= 1 and apart.mean() < 0.1


# --- normalisations, gates, products --------------------------------------------------------


def test_skip_layer_normalization_gives_the_sum_too() -> None:
    arrays = [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)]
    require_close(both("SkipLayerNormalization", arrays, 4, epsilon=1e-5))


def test_skip_simplified_layer_normalization() -> None:
    arrays = [floats(2, 3, 8), floats(2, 3, 8), floats(8)]
    require_close(both("SkipSimplifiedLayerNormalization", arrays, epsilon=1e-5))


def test_simplified_layer_normalization() -> None:
    arrays = [floats(2, 3, 8), floats(8)]
    require_close(both("SimplifiedLayerNormalization", arrays, domain="", epsilon=1e-5))


def test_embed_layer_normalization() -> None:
    words, places, kinds = floats(11, 8), floats(5, 8), floats(2, 8)
    ids = R.integers(0, 11, (2, 5)).astype(np.int32)
    segments = R.integers(0, 2, (2, 5)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    arrays = [ids, segments, words, places, kinds, floats(8), floats(8), mask]
    require_close(both("EmbedLayerNormalization", arrays, 2))


@pytest.mark.parametrize(("op", "count"), [("BiasGelu", 2), ("FastGelu", 2), ("QuickGelu", 1)])
def test_gates(op: str, count: int) -> None:
    require_close(both(op, [floats(4, 16), floats(16)][:count]))


def test_fused_matmul_turns_and_scales() -> None:
    arrays = [floats(2, 5, 3), floats(2, 4, 5)]
    require_close(both("FusedMatMul", arrays, transA=1, transB=1, alpha=0.25))


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])],
)
def test_fused_conv_activates_what_it_adds(activation: str, parameters: list[float]) -> None:
    arrays = [floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3)]
    given = {"activation_params": parameters} if parameters else {}
    require_close(both("FusedConv", arrays, activation=activation, pads=[1, 1, 1, 1], **given))


def test_fused_gemm_activates() -> None:
    arrays = [floats(3, 4), floats(5, 4), floats(5)]
    require_close(
        both("FusedGemm", arrays, activation="LeakyRelu", activation_alpha=0.1, transB=1, alpha=2.0)
    )


# --- attention ------------------------------------------------------------------------------


def test_attention_with_a_mask_of_keys() -> None:
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    arrays = [floats(2, 4, 8), floats(8, 24), floats(24), mask]
    require_close(both("Attention", arrays, num_heads=2))


def test_attention_with_ends_of_sequences() -> None:
    arrays = [floats(2, 4, 8), floats(8, 24), floats(24), np.array([3, 4], np.int32)]
    require_close(both("Attention", arrays, num_heads=2))


def test_causal_attention_behind_a_past() -> None:
    arrays = [floats(2, 3, 8), floats(8, 24), floats(24), None, floats(2, 2, 2, 5, 4)]
    require_close(both("Attention", arrays, 2, num_heads=2, unidirectional=1))


def test_multi_head_attention_with_bias_mask_and_scores_added() -> None:
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    arrays = [floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), floats(24), mask]
    arrays += [floats(1, 2, 3, 5)]
    require_close(both("MultiHeadAttention", arrays, num_heads=2))


def test_multi_head_attention_behind_a_past() -> None:
    arrays: list[Array | None] = [floats(2, 1, 8), floats(2, 1, 8), floats(2, 1, 8), None, None]
    arrays += [None, floats(2, 2, 5, 4), floats(2, 2, 5, 4)]
    require_close(both("MultiHeadAttention", arrays, 3, num_heads=2))


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding_at_places_of_each_sequence(interleaved: int) -> None:
    places = np.array([[0, 1, 2], [4, 5, 6]], np.int64)
    arrays = [floats(2, 3, 16), places, floats(9, 4), floats(9, 4)]
    require_close(both("RotaryEmbedding", arrays, interleaved=interleaved))


def test_rotary_embedding_of_some_pairs_behind_an_offset() -> None:
    arrays = [floats(2, 2, 3, 8), np.array([2], np.int64), floats(9, 2), floats(9, 2)]
    require_close(both("RotaryEmbedding", arrays, rotary_embedding_dim=4, num_heads=2))


def grouped(rows: int, past: int, ends: Sequence[int], total: int) -> list[Array | None]:
    """Inputs of GroupQueryAttention: 4 heads, 2 groups of keys, 16 wide, two sequences."""
    size = 2
    cache: list[Array | None] = [None, None]
    if past:
        cache = [floats(size, 2, past, 16), floats(size, 2, past, 16)]
    return [
        *(floats(size, rows, 64), floats(size, rows, 32), floats(size, rows, 32)),
        *cache,
        *(np.array(ends, np.int32), np.array(total, np.int32)),
    ]


def test_grouped_queries_in_a_prompt() -> None:
    pairs = both("GroupQueryAttention", grouped(4, 0, [3, 3], 4), 3, num_heads=4, kv_num_heads=2)
    require_close(pairs)


def test_grouped_queries_behind_a_past_with_rotary_places() -> None:
    arrays = [*grouped(1, 5, [5, 5], 6), floats(9, 8), floats(9, 8)]
    pairs = both(
        "GroupQueryAttention", arrays, 3, num_heads=4, kv_num_heads=2, do_rotary=1, softcap=2.0
    )
    require_close(pairs)


def test_grouped_queries_see_the_newest_keys_of_their_own_sequence() -> None:
    """The cache has 8 places; the sequences have 3 and 5 keys with the new one."""
    arrays = grouped(1, 8, [2, 4], 8)
    pairs = both("GroupQueryAttention", arrays, 3, num_heads=4, kv_num_heads=2, local_window_size=3)
    require_close(pairs[:1])
    for theirs, ours in pairs[1:]:
        assert np.allclose(ours[0, :, :3], theirs[0, :, :3]) and np.allclose(
            ours[1, :, :5], theirs[1, :, :5]
        )


def decoding() -> Any:
    """A model of grouped queries whose caches and prompts have any length."""
    nodes = [
        node("Shape", ["q"], ["s"], start=1, end=2),
        node("Shape", ["k_past"], ["p"], start=2, end=3),
        node("Add", ["s", "p"], ["t"]),
        node("Cast", ["t"], ["total"], to=onnx.TensorProto.INT32),
        node("Sub", ["total", "one"], ["end"]),
        node("Squeeze", ["total"], ["whole"]),
        node(
            "GroupQueryAttention",
            ["q", "k", "v", "k_past", "v_past", "end", "whole"],
            ["y", "k_next", "v_next"],
            domain=MICROSOFT,
            num_heads=4,
            kv_num_heads=2,
        ),
    ]
    inputs = [port("q", [1, "s", 64]), port("k", [1, "s", 32]), port("v", [1, "s", 32])]
    inputs += [port(name, [1, 2, "p", 16]) for name in ("k_past", "v_past")]
    outputs = [port(name, None) for name in ("y", "k_next", "v_next")]
    model = model_proto(graph_proto(nodes, inputs, outputs, one=np.array([1], np.int32)))
    model.ir_version = 10
    return model


def test_one_program_of_grouped_queries_takes_every_length() -> None:
    model = decoding()
    peer = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = Session.of(read(model), {"s": (1, 8), "p": (1, 16)})
    for rows, past in ((1, 5), (1, 16), (3, 4)):
        feeds = {
            "q": floats(1, rows, 64),
            **{name: floats(1, rows, 32) for name in ("k", "v")},
            **{name: floats(1, 2, past, 16) for name in ("k_past", "v_past")},
        }
        require_close(list(zip(peer.run(None, feeds), ours.run(None, feeds))))


def test_attention_says_what_it_does_not_support() -> None:
    arrays = [*grouped(1, 5, [5, 5], 6), None, None, None, None, None, floats(1)]
    with pytest.raises(OnnxInput, match="k_scale"):
        model, feeds = proto_of(
            "GroupQueryAttention", arrays, 3, MICROSOFT, {"num_heads": 4, "kv_num_heads": 2}
        )
        Session.of(read(model), runner=evaluated).run(None, feeds)


# --- weights of a few bits ------------------------------------------------------------------


PACKED = [(bits, zeros) for bits in (2, 4, 8) for zeros in ("none", "packed", "apart")]


# onnxruntime has no zero points apart for 8 bits
@pytest.mark.parametrize(("bits", "zeros"), [one for one in PACKED if one != (8, "apart")])
def test_matmul_of_packed_weights(bits: int, zeros: str) -> None:
    rows, depth, size = 6, 48, 32
    packed = octets(rows, 2, size * bits // 8)
    points = {
        "none": None,
        "packed": octets(rows, -(-2 * bits // 8)),
        "apart": R.integers(0, 1 << bits, (rows, 2)).astype(np.float32),
    }[zeros]
    arrays = [floats(2, 3, depth), packed, floats(rows, 2) * np.float32(0.1), points]
    pairs = both("MatMulNBits", arrays, N=rows, K=depth, bits=bits, block_size=size)
    require_close(pairs, 100 * CLOSE if bits == 8 else 10 * CLOSE)


def test_matmul_of_packed_weights_adds_a_bias() -> None:
    arrays = [floats(3, 32), octets(4, 1, 16), floats(4, 1), None, None, floats(4)]
    require_close(both("MatMulNBits", arrays, N=4, K=32, bits=4, block_size=32), 10 * CLOSE)


def test_matmul_of_packed_weights_of_another_width_is_refused() -> None:
    arrays = [floats(3, 32), octets(4, 1, 12), floats(4, 1)]
    attributes = {"N": 4, "K": 32, "bits": 3, "block_size": 32}
    model, feeds = proto_of("MatMulNBits", arrays, 1, MICROSOFT, attributes)
    with pytest.raises(OnnxAttribute, match="bits is 3; supported: 2, 4, 8"):
        Session.of(read(model), runner=evaluated).run(None, feeds)


def test_lookups_in_packed_tables() -> None:
    index = np.array([[0, 3], [4, 4]], np.int64)
    arrays = [octets(5, 16), index, floats(5, 2), octets(5, 1)]
    attributes = {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    require_close(both("GatherBlockQuantized", arrays, **attributes))


# --- quantised tensors ----------------------------------------------------------------------


def quantised(*shape: int, dtype: type = np.uint8) -> list[Array | None]:
    """Integers, their scale, their zero point."""
    info = np.iinfo(dtype)
    scale = np.float32(R.uniform(0.01, 0.05))
    point = R.integers(info.min // 2, info.max // 2)
    return [
        R.integers(info.min, info.max + 1, shape).astype(dtype),
        np.array(scale, np.float32),
        np.array(point, dtype),
    ]


def target(scale: float, point: int, dtype: type = np.uint8) -> list[Array | None]:
    return [np.array(scale, np.float32), np.array(point, dtype)]


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantised_arithmetic(op: str, dtype: type) -> None:
    arrays = [*quantised(3, 16, dtype=dtype), *quantised(16, dtype=dtype), *target(0.04, 9, dtype)]
    require_one_unit(both(op, arrays))


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu"])
def test_quantised_gates(op: str) -> None:
    require_one_unit(both(op, [*quantised(3, 16), *target(1 / 256, 0)]))


def test_quantised_softmax() -> None:
    arrays = [*quantised(3, 16), *target(1 / 256, 0)]
    require_one_unit(both("QLinearSoftmax", arrays, axis=-1, opset=13))


@pytest.mark.parametrize("last", [0, 1])
def test_quantised_pools(last: int) -> None:
    arrays = [*quantised(1, 6, 6, 3), *target(0.03, 100)]
    require_one_unit(both("QLinearGlobalAveragePool", arrays, channels_last=last))
    windows = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}
    require_one_unit(both("QLinearAveragePool", arrays, channels_last=last, **windows))


def test_quantised_joins_bring_all_parts_to_one_scale() -> None:
    arrays = [*target(0.05, 100), *quantised(2, 3), *quantised(2, 5)]
    require_one_unit(both("QLinearConcat", arrays, axis=1))


@pytest.mark.parametrize("writes", [True, False])
def test_quantised_gemm(writes: bool) -> None:
    arrays = [*quantised(3, 8), *quantised(5, 8, dtype=np.int8)]
    arrays += [R.integers(-500, 500, 5).astype(np.int32), *(target(0.1, 120) if writes else [])]
    pairs = both("QGemm", arrays, transB=1, alpha=0.5)
    require_one_unit(pairs) if writes else require_close(pairs)


def test_matmul_of_integers_to_floats() -> None:
    arrays = [octets(3, 8), octets(8, 4), np.array(0.02, np.float32), floats(4)]
    arrays += [np.array(7, np.uint8), np.array(9, np.uint8), floats(4)]
    require_close(both("MatMulIntegerToFloat", arrays))


def test_matmul_quantised_by_its_range() -> None:
    weight = R.integers(-128, 128, (8, 4)).astype(np.int8)
    arrays = [floats(3, 8), weight, np.array(0.02, np.float32), np.array(3, np.int8), floats(4)]
    require_close(both("DynamicQuantizeMatMul", arrays))
