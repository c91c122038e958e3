"""The model types of config.json that are known, and what their tensors are called in GGUF.

A record maps names; it promises nothing about a file. ``config.py`` reads the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

OUTER = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
LAYER_PREFIX = "model.layers."
LLAMA = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
HEAD_NORMS = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
# Buffers that old files hold and that say nothing new.
IGNORED_ENDS = (".rotary_emb.inv_freq",)


@dataclass(frozen=True, slots=True)
class Kind:
    """One model type.

    ``activation`` is the only one done, under the key ``activation_key``. ``adds_one``: weights of
    norms leave out a 1. ``base`` is that of the rotation where the config has none.
    """

    model_type: str
    architecture: str
    layer: dict[str, str] = field(hash=False)
    activation: str = "silu"
    activation_key: str = "hidden_act"
    adds_one: bool = False
    base: float = 10000.0


KINDS: tuple[Kind, ...] = (
    Kind("llama", "llama", LLAMA),
    Kind("mistral", "llama", LLAMA),
    Kind("qwen2", "qwen2", LLAMA),
    Kind("qwen3", "qwen3", LLAMA | HEAD_NORMS),
    Kind(
        "gemma3_text",
        "gemma3",
        LLAMA
        | HEAD_NORMS
        | {
            "post_attention_layernorm": "post_attention_norm",
            "pre_feedforward_layernorm": "ffn_norm",
            "post_feedforward_layernorm": "post_ffw_norm",
        },
        activation="gelu_pytorch_tanh",
        activation_key="hidden_activation",
        adds_one=True,
        base=1000000.0,
    ),
    Kind(
        "phi3",
        "phi3",
        {
            "input_layernorm": "attn_norm",
            "self_attn.qkv_proj": "attn_qkv",
            "self_attn.o_proj": "attn_output",
            "post_attention_layernorm": "ffn_norm",
            "mlp.gate_up_proj": "ffn_up",
            "mlp.down_proj": "ffn_down",
        },
    ),
)
BY_TYPE = {one.model_type: one for one in KINDS}


def gguf_name(kind: Kind, name: str) -> str:
    """A tensor's name in GGUF; the name itself where it has none."""
    whole, _, end = name.rpartition(".")
    if whole in OUTER:
        return f"{OUTER[whole]}.{end}"
    if not whole.startswith(LAYER_PREFIX):
        return name
    number, _, inner = whole.removeprefix(LAYER_PREFIX).partition(".")
    return f"blk.{number}.{kind.layer[inner]}.{end}" if inner in kind.layer else name
