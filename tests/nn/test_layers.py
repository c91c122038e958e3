"""Every layer beside torch's of the same name: names and shapes of weights, results, gradients.

Each record of ``LAYERS`` says how to make the layer in both worlds and what it is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from nn.evaluating_modules import CLOSE, assert_like_torch

from photic import nn
from photic.forms.eval import Array

pytestmark = pytest.mark.peers


@dataclass(frozen=True, slots=True)
class Layer:
    """``name(*arguments, **keywords)``, called with normal numbers of these shapes and ``how``.

    ``drawn``: the constructor takes ``rng``. ``integers``: below this, instead of normal numbers.
    """

    name: str
    arguments: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = True
    integers: int = 0
    relative: float = CLOSE
    training: bool = True
    how: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        said = [*map(str, self.arguments), *(f"{k}={v}" for k, v in self.keywords.items())]
        return f"{self.name}({', '.join(said)}){'' if self.training else ' eval'}"


def padding(rows: int, keys: int) -> Array:
    """True beyond each row's own length."""
    return np.arange(keys) >= np.arange(rows)[:, None] + keys - rows


def plain(name: str, *arguments: Any, shape: tuple[int, ...] = (3, 4, 6), **keywords: Any) -> Layer:
    return Layer(name, arguments, (shape,), keywords, drawn=False)


IMAGE = (2, 4, 7, 6)
ATTENDED = ((2, 5, 8),) * 3
LATER = np.triu(np.ones((5, 5), bool), 1)

PRODUCTS = [
    Layer("Linear", (5, 3), ((2, 4, 5),)),
    Layer("Linear", (5, 3), ((5,),), {"bias": False}),
    Layer("Embedding", (7, 3), ((2, 5),), integers=7),
    Layer("Embedding", (7, 3), ((2, 5),), {"padding_idx": 2}, integers=7),
    Layer("Conv1d", (4, 6, 3), ((2, 4, 9),), {"stride": 2, "padding": 1}),
    Layer("Conv2d", (4, 6, (3, 2)), (IMAGE,), {"stride": (2, 1), "padding": (1, 0)}),
    Layer("Conv2d", (4, 6, 3), (IMAGE,), {"groups": 2, "dilation": 2, "padding": "same"}),
    Layer("Conv2d", (4, 4, 3), ((4, 5, 6),), {"groups": 4, "bias": False}),
    Layer("Conv2d", (4, 2, 3), (IMAGE,), {"padding": 1, "padding_mode": "reflect"}),
    Layer("Conv2d", (4, 2, 3), (IMAGE,), {"padding": "same", "padding_mode": "circular"}),
    Layer("Conv2d", (4, 2, 3), (IMAGE,), {"padding": 2, "padding_mode": "replicate"}),
    Layer("Conv3d", (2, 3, 2), ((2, 2, 4, 3, 5),), {"padding": 1}),
    Layer("ConvTranspose1d", (4, 6, 3), ((2, 4, 5),), {"stride": 2}),
    Layer("ConvTranspose2d", (4, 6, 3), (IMAGE,), {"stride": 2, "padding": 1, "groups": 2}),
    Layer(
        "ConvTranspose2d", (4, 2, 3), (IMAGE,), {"stride": 2, "output_padding": 1, "dilation": 2}
    ),
    Layer("ConvTranspose3d", (2, 3, 2), ((1, 2, 3, 2, 3),)),
    Layer("Bilinear", (3, 4, 2), ((5, 3), (5, 4))),
    Layer("EmbeddingBag", (7, 3), ((2, 5),), {"mode": "sum"}, integers=7),
    Layer("EmbeddingBag", (7, 3), ((2, 5),), integers=7),
]

NORMS = [
    plain("LayerNorm", 6),
    plain("LayerNorm", (4, 6), eps=1e-3),
    plain("LayerNorm", 6, bias=False),
    plain("LayerNorm", 6, elementwise_affine=False),
    plain("RMSNorm", 6),
    plain("RMSNorm", (4, 6), eps=1e-3),
    plain("GroupNorm", 2, 4),
    plain("GroupNorm", 4, 4, affine=False),
    plain("BatchNorm1d", 4),
    plain("BatchNorm1d", 4, shape=(5, 4), momentum=0.3),
    plain("BatchNorm1d", 4, momentum=None),
    plain("BatchNorm1d", 4, track_running_stats=False),
    plain("BatchNorm2d", 4, shape=IMAGE),
    plain("BatchNorm3d", 2, shape=(2, 2, 2, 3, 2), affine=False),
    Layer("BatchNorm2d", (4,), (IMAGE,), drawn=False, training=False),
    plain("InstanceNorm1d", 4),
    plain("InstanceNorm2d", 4, shape=IMAGE, affine=True),
    plain("InstanceNorm2d", 4, shape=IMAGE[1:]),
    plain("InstanceNorm3d", 2, shape=(2, 2, 2, 3, 2), eps=1e-3),
    plain("LocalResponseNorm", 3, shape=IMAGE, alpha=0.1),
]

POOLS = [
    plain("MaxPool1d", 2),
    plain("MaxPool2d", 3, shape=IMAGE, stride=2, padding=1),
    plain("MaxPool2d", (2, 3), shape=IMAGE, ceil_mode=True),
    plain("MaxPool3d", 2, shape=(1, 2, 4, 4, 4)),
    plain("AvgPool1d", 2),
    plain("AvgPool2d", 3, shape=IMAGE, stride=2, padding=1, count_include_pad=False),
    plain("AdaptiveAvgPool2d", (3, 2), shape=IMAGE),
    plain("AdaptiveAvgPool2d", 1, shape=IMAGE),
    plain("AdaptiveAvgPool2d", (None, 2), shape=IMAGE),
    plain("AdaptiveAvgPool1d", 4),
    plain("AdaptiveAvgPool3d", 2, shape=(1, 2, 3, 4, 5)),
    plain("AdaptiveMaxPool1d", 4),
    plain("AdaptiveMaxPool2d", (3, None), shape=IMAGE),
    plain("AdaptiveMaxPool3d", 2, shape=(1, 2, 3, 4, 5)),
    plain("AvgPool3d", 2, shape=(1, 2, 4, 4, 4)),
    plain("LPPool1d", 2, 2),
    plain("LPPool2d", 2, (2, 3), shape=IMAGE, stride=2),
    plain("LPPool3d", 2, 2, shape=(1, 2, 4, 4, 4)),
]

FIVE = (1, 2, 4, 4, 4)
SHAPES = [
    plain("ConstantPad1d", (1, 2), 0.5),
    plain("ConstantPad2d", (1, 0, 2, 3), -1.0, shape=IMAGE),
    plain("ConstantPad3d", 1, 2.0, shape=FIVE),
    plain("ZeroPad1d", 2),
    plain("ZeroPad2d", (1, -1, 0, 2), shape=IMAGE),
    plain("ZeroPad3d", (0, 1, 1, 0, 2, 0), shape=FIVE),
    *(
        plain(f"{kind}Pad{rank}d", 2, shape=shape)
        for kind in ("Reflection", "Replication", "Circular")
        for rank, shape in ((1, (3, 4, 6)), (2, IMAGE), (3, FIVE))
    ),
    plain("Upsample", scale_factor=2, shape=IMAGE),
    plain("Upsample", (5, 9), shape=IMAGE, mode="bilinear", align_corners=True),
    plain("PixelShuffle", 2, shape=IMAGE),
    plain("PixelUnshuffle", 2, shape=(1, 2, 4, 6)),
    plain("ChannelShuffle", 2, shape=IMAGE),
    plain("Unfold", (2, 3), shape=IMAGE, padding=1, stride=2),
    plain("Fold", (4, 5), (2, 2), shape=(2, 8, 12)),
    Layer("CosineSimilarity", (-1,), ((3, 5), (3, 5)), drawn=False),
    Layer("PairwiseDistance", (3.0,), ((3, 5), (3, 5)), {"keepdim": True}, drawn=False),
]

GATES = [
    *(
        plain(name)
        for name in (
            "Identity",
            "ReLU",
            "ReLU6",
            "Sigmoid",
            "LogSigmoid",
            "Tanh",
            "Tanhshrink",
            "SiLU",
            "Mish",
            "SELU",
            "Hardswish",
            "Softsign",
            "GELU",
            "ELU",
            "CELU",
            "Softplus",
            "LeakyReLU",
            "PReLU",
            "Hardtanh",
            "GLU",
            "Flatten",
        )
    ),
    # torch's slope is a sixth in float32
    Layer("Hardsigmoid", (), ((3, 4, 6),), drawn=False, relative=1e-7),
    plain("GELU", "tanh"),
    plain("ELU", 0.7),
    plain("CELU", 0.5),
    plain("Softplus", 2.0),
    plain("LeakyReLU", 0.2),
    plain("PReLU", 4),
    plain("Hardtanh", -0.5, 0.2),
    plain("GLU", 1),
    plain("Hardshrink", 0.3),
    plain("Softshrink", 0.3),
    plain("Threshold", 0.1, 2.0),
    plain("Softmin", 1),
    plain("Softmax2d", shape=IMAGE),
    plain("Softmax", 1),
    plain("LogSoftmax", -1),
    plain("Flatten", 0, 1),
    plain("Unflatten", 2, (2, 3)),
]

ATTENTION = [
    Layer("MultiheadAttention", (8, 2), ATTENDED),
    Layer("MultiheadAttention", (8, 2), ATTENDED, {"batch_first": True, "bias": False}),
    Layer("MultiheadAttention", (8, 2), ((5, 8),) * 3, how={"average_attn_weights": False}),
    Layer(
        "MultiheadAttention",
        (8, 4),
        ((3, 2, 8), (5, 2, 6), (5, 2, 7)),
        {"kdim": 6, "vdim": 7},
        how={"key_padding_mask": padding(2, 5)},
    ),
    Layer(
        "MultiheadAttention",
        (8, 2),
        ATTENDED,
        {"batch_first": True},
        how={"attn_mask": LATER, "key_padding_mask": padding(2, 5), "need_weights": False},
    ),
    Layer(
        "MultiheadAttention",
        (8, 2),
        ATTENDED,
        {"batch_first": True},
        how={"attn_mask": LATER, "is_causal": True, "need_weights": False},
    ),
    Layer(
        "MultiheadAttention",
        (8, 2),
        ATTENDED,
        {"batch_first": True},
        how={"attn_mask": np.random.default_rng(2).normal(size=(4, 5, 5))},
    ),
    Layer("TransformerEncoderLayer", (8, 2, 12, 0.0), ((5, 2, 8),)),
    Layer(
        "TransformerEncoderLayer",
        (8, 2, 12, 0.0, "gelu"),
        ((2, 5, 8),),
        {"batch_first": True, "norm_first": True},
        how={"src_mask": LATER, "src_key_padding_mask": padding(2, 5)},
    ),
    Layer("TransformerDecoderLayer", (8, 2, 12, 0.0), ((5, 2, 8), (4, 2, 8))),
    Layer(
        "TransformerDecoderLayer",
        (8, 2, 12, 0.0, "gelu"),
        ((2, 5, 8), (2, 4, 8)),
        {"batch_first": True, "norm_first": True},
        how={"tgt_mask": LATER, "memory_key_padding_mask": padding(2, 4)},
    ),
    Layer("Transformer", (8, 2, 1, 2, 12, 0.0), ((4, 2, 8), (5, 2, 8)), how={"tgt_mask": LATER}),
]

RECURRENT = [
    Layer("LSTM", (4, 3), ((5, 2, 4),)),
    Layer("LSTM", (4, 3, 2), ((2, 5, 4),), {"batch_first": True, "bidirectional": True}),
    Layer("LSTM", (4, 3, 2), ((5, 2, 4),), {"proj_size": 2, "bias": False}),
    Layer("GRU", (4, 3, 2), ((5, 2, 4), (4, 2, 3)), {"bidirectional": True}),
    Layer("RNN", (4, 3), ((5, 4),), {"nonlinearity": "relu"}),
    Layer("LSTMCell", (4, 3), ((2, 4),)),
    Layer("GRUCell", (4, 3), ((2, 4), (2, 3)), {"bias": False}),
    Layer("RNNCell", (4, 3), ((4,), (3,)), {"nonlinearity": "relu"}),
]

LAYERS = [*PRODUCTS, *NORMS, *POOLS, *SHAPES, *GATES, *ATTENTION, *RECURRENT]


def arrays_of(layer: Layer) -> list[Array]:
    random = np.random.default_rng(3)
    if layer.integers:
        return [random.integers(0, layer.integers, one) for one in layer.shapes]
    return [random.normal(size=one) for one in layer.shapes]


# torch says which of its encoder's short cuts it does not take
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_a_layer_has_torchs_weights_results_and_gradients(layer: Layer) -> None:
    import torch

    make: Callable[..., nn.Module] = getattr(nn, layer.name)
    drawn = {"rng": 0} if layer.drawn else {}
    module = make(*layer.arguments, **layer.keywords, **drawn)
    torch.manual_seed(0)
    peer = getattr(torch.nn, layer.name)(*layer.arguments, **layer.keywords)
    assert_like_torch(module, peer, arrays_of(layer), layer.training, layer.relative, **layer.how)
