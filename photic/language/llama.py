"""One layer of llama: SmolLM2, Llama 2 and 3, Mistral; of Qwen 2 too, whose layers have biases."""

from __future__ import annotations

from photic.language.modules import Step, attention, gated, norm, projections
from photic.tensor.activations import silu
from photic.tensor.tensor import Tensor


def layer(step: Step, number: int, x: Tensor) -> Tensor:
    """(count, width) to the same: attention, then a gated feed-forward part."""
    name = f"blk.{number}"
    x = x + attention(step, number, *projections(step, name, norm(step, f"{name}.attn_norm", x)))
    return x + gated(step, name, norm(step, f"{name}.ffn_norm", x), silu)
