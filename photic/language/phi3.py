"""One layer of Phi 3: as llama's, with queries, keys and values of one matrix, gate and up too."""

from __future__ import annotations

from photic.language.modules import Step, attention, in_heads, linear, norm
from photic.tensor.activations import silu
from photic.tensor.tensor import Tensor


def layer(step: Step, number: int, x: Tensor) -> Tensor:
    """(count, width) to the same: attention, then a gated feed-forward part."""
    config, name = step.config, f"blk.{number}"
    q_end = config.heads * config.head
    k_end = q_end + config.kv_heads * config.head
    width = k_end + config.kv_heads * config.head
    y = linear(step, f"{name}.attn_qkv", norm(step, f"{name}.attn_norm", x), width)
    q, k, v = y[:, :q_end], y[:, q_end:k_end], y[:, k_end:]
    x = x + attention(step, number, in_heads(step, q), in_heads(step, k), in_heads(step, v))
    both = linear(step, f"{name}.ffn_up", norm(step, f"{name}.ffn_norm", x), 2 * config.hidden)
    gate, up = both[:, : config.hidden], both[:, config.hidden :]
    return x + linear(step, f"{name}.ffn_down", silu(gate) * up, config.width)
