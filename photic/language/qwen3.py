"""One layer of Qwen 3: as llama's, with a norm over each head of queries and keys."""

from __future__ import annotations

from photic.language.modules import Step, attention, gated, norm, projections
from photic.tensor.activations import silu
from photic.tensor.tensor import Tensor


def layer(step: Step, number: int, x: Tensor) -> Tensor:
    """(count, width) to the same: attention, then a gated feed-forward part."""
    name = f"blk.{number}"
    q, k, v = projections(step, name, norm(step, f"{name}.attn_norm", x))
    q, k = norm(step, f"{name}.attn_q_norm", q), norm(step, f"{name}.attn_k_norm", k)
    x = x + attention(step, number, q, k, v)
    return x + gated(step, name, norm(step, f"{name}.ffn_norm", x), silu)
