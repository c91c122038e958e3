"""Normalisations and what networks add to them; losses and attention come by ONNX's own bodies."""

from __future__ import annotations

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.frontends.onnx.value import Value
from photic.ir.dtype import FLOAT32, dtype_of
from photic.tensor import (
    compare,
    creation,
    elementary,
    indexing,
    magnitudes,
    norms,
    padding,
    powers,
    primitive,
    reductions,
    rounding,
    shapes,
    unfolding,
)
from photic.tensor.tensor import Tensor

EPSILON = 1e-5
SKIP_EPSILON = 1e-12


def _batch_norm(call: Call) -> list[Tensor]:
    """By running statistics; in training mode by the batch's own, which move the running ones."""
    x, weight, bias, mean, var = (call.tensor(k) for k in range(5))
    eps = call.number("epsilon", EPSILON)
    if call.version < 7 and not call.flag("is_test"):
        raise call.attribute_error("is_test", 0, "1")
    if call.version >= 14 and call.flag("training_mode"):
        return _batch_norm_training(call, x, weight, bias, mean, var)
    mean, var, weight, bias = (one.astype(x.dtype) for one in (mean, var, weight, bias))
    return [norms.batch_norm(x, mean, var, weight, bias, eps)]


def _batch_norm_training(
    call: Call, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor
) -> list[Tensor]:
    """The running variance is moved by the batch's own, divided by the count."""
    eps, keep = call.number("epsilon", EPSILON), call.number("momentum", 0.9)
    axes = (0, *range(2, x.ndim))
    own_mean, own_var = reductions.mean(x, axes), reductions.var(x, axes)
    result = norms.batch_norm(x, own_mean, own_var, weight, bias, eps)
    return [result, mean * keep + own_mean * (1 - keep), var * keep + own_var * (1 - keep)]


def _instance_norm(call: Call) -> Tensor:
    x, weight, bias = (call.tensor(k) for k in range(3))
    return norms.instance_norm(x, weight, bias, call.number("epsilon", EPSILON))


def _group_norm(call: Call) -> Tensor:
    """Weights are one for each channel; in version 18 one for each group."""
    x, weight, bias = (call.tensor(k) for k in range(3))
    groups, eps = call.integer("num_groups"), call.number("epsilon", EPSILON)
    if call.version < 21:
        times = x.shape[1] // groups
        weight, bias = (
            shapes.ravel(shapes.broadcast_to(one[:, None], (groups, times)))
            for one in (weight, bias)
        )
    return norms.group_norm(x, groups, weight, bias, eps)


def _layer_norm(call: Call) -> list[Value | Tensor]:
    """Over the axes from one on; also the mean and the inverse deviation of each row."""
    value = call.value(0)
    x, weight = value.tensor, call.tensor(1)
    bias = call.optional(2)
    axis = call.integer("axis", -1) % max(1, x.ndim)
    axes = tuple(range(axis, x.ndim))
    eps = call.number("epsilon", EPSILON)
    wide_dtype = dtype_of("float64") if x.dtype == dtype_of("float64") else FLOAT32
    wide = x.astype(wide_dtype)
    result = norms.layer_norm(wide, None, None, eps, axes).astype(x.dtype) * weight
    result = result if bias is None else result + bias
    if len([one for one in call.node.outputs if one]) < 2:
        return [Value(result, value.kind)]
    mean = reductions.mean(wide, axes, keepdims=True)
    spread = elementary.rsqrt(reductions.var(wide, axes, keepdims=True) + eps)
    return [Value(result, value.kind), mean, spread]


def _rms_norm(call: Call) -> Tensor:
    x, weight = call.tensor(0), call.tensor(1)
    axis = call.integer("axis", -1) % max(1, x.ndim)
    axes = tuple(range(axis, x.ndim))
    return norms.rms_norm(x, None, call.number("epsilon", EPSILON), axes) * weight


def _response_norm(call: Call) -> Tensor:
    """Over neighbouring channels, of which an even window has one more after than before."""
    x, size = call.tensor(0), call.integer("size")
    alpha, beta, bias = (
        call.number("alpha", 1e-4),
        call.number("beta", 0.75),
        call.number("bias", 1.0),
    )
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    padded = padding.pad(rounding.square(x), {1: (before, after)})
    total = reductions.sum(unfolding.sliding_window_view(padded, size, 1), -1)
    return x / powers.power(total * (alpha / size) + bias, beta)


def _lp_norm(call: Call) -> Tensor:
    """Lines over their norm; a line of zeros stays 0."""
    x, axis, power = call.tensor(0), call.integer("axis", -1), call.integer("p", 2)
    if power not in (1, 2):
        raise call.attribute_error("p", power, "1, 2")
    length = magnitudes.norm(x, float(power), axis, keepdims=True)
    return primitive.where(compare.equal(length, 0.0), 0.0, x / length)


# --- com.microsoft --------------------------------------------------------------------------


def _skip_layer_norm(call: Call) -> list[Tensor | None]:
    """The sum of two tensors and a bias, normalised; the sum too."""
    x = call.tensor(0) + call.tensor(1)
    weight, beta, bias = call.tensor(2), call.optional(3), call.optional(4)
    x = x if bias is None else x + bias
    return [
        norms.layer_norm(x, weight, beta, call.number("epsilon", SKIP_EPSILON)),
        *_rows(call, x),
    ]


def _skip_simplified(call: Call) -> list[Tensor | None]:
    x = call.tensor(0) + call.tensor(1)
    weight, bias = call.tensor(2), call.optional(3)
    x = x if bias is None else x + bias
    return [norms.rms_norm(x, weight, call.number("epsilon", SKIP_EPSILON)), *_rows(call, x)]


def _rows(call: Call, x: Tensor) -> list[Tensor | None]:
    """The outputs after the first: mean and deviation are not given, the sum is."""
    return [None, None, x]


def _embedding(call: Call) -> list[Tensor | None]:
    """The sum of looked-up words, places and segments, normalised."""
    words = indexing.take(call.tensor(2), call.tensor(0), 0)
    table = call.tensor(3)
    if call.has(8):
        places = indexing.take(table, call.tensor(8), 0)
    else:
        places = table[: words.shape[1]]
    x = words + places
    if call.has(1) and call.has(4):
        x = x + indexing.take(call.tensor(4), call.tensor(1), 0)
    eps = call.number("epsilon", SKIP_EPSILON)
    result = norms.layer_norm(x, call.tensor(5), call.tensor(6), eps)
    if not call.has(7):
        return [result, creation.zeros((words.shape[0],), "int32"), x]
    return [result, reductions.sum(call.tensor(7), 1).astype("int32"), x]


NETWORKS: tuple[Op, ...] = (
    Op("BatchNormalization", _batch_norm),
    Op("InstanceNormalization", _instance_norm),
    Op("GroupNormalization", _group_norm),
    Op("LayerNormalization", _layer_norm),
    Op("RMSNormalization", _rms_norm),
    Op("SimplifiedLayerNormalization", _rms_norm),
    Op("LRN", _response_norm),
    Op("LpNormalization", _lp_norm),
    Op("LayerNormalization", _layer_norm, domain=MICROSOFT),
    Op("SimplifiedLayerNormalization", _rms_norm, domain=MICROSOFT),
    Op("SkipLayerNormalization", _skip_layer_norm, domain=MICROSOFT),
    Op("SkipSimplifiedLayerNormalization", _skip_simplified, domain=MICROSOFT),
    Op("EmbedLayerNormalization", _embedding, domain=MICROSOFT),
)
