"""Gemma 3: norms before and after each part, over the heads of queries and keys too.

Embeddings are multiplied by the root of the width; most layers see a window only. Weights of norms
are as GGUF has them, with the 1 added that the model's own files leave out.
"""

from __future__ import annotations

import math
from functools import partial

from photic.language.modules import Step, attention, gated, norm, projections
from photic.tensor.activations import gelu
from photic.tensor.tensor import Tensor


def enlarged(step: Step, x: Tensor) -> Tensor:
    """Embeddings (count, width) as the first layer takes them."""
    return x * math.sqrt(step.config.width)


def layer(step: Step, number: int, x: Tensor) -> Tensor:
    """(count, width) to the same: attention, then a gated feed-forward part."""
    name = f"blk.{number}"
    q, k, v = projections(step, name, norm(step, f"{name}.attn_norm", x))
    q, k = norm(step, f"{name}.attn_q_norm", q), norm(step, f"{name}.attn_k_norm", k)
    mixed = attention(step, number, q, k, v)
    x = x + norm(step, f"{name}.post_attention_norm", mixed)
    y = gated(step, name, norm(step, f"{name}.ffn_norm", x), partial(gelu, approximate="tanh"))
    return x + norm(step, f"{name}.post_ffw_norm", y)
