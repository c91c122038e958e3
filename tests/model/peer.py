"""transformers' llama with the weights of a GGUF file, unpacked to float32 by the ``gguf`` package.

transformers can read such files itself, by way of another package; this is the same in few lines,
and shares nothing with photic's reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gguf
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import transformers

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


def llama_of(path: Path) -> transformers.LlamaForCausalLM:
    """A llama with a tied head, ready to be asked, in float32."""
    import torch
    import transformers

    reader = gguf.GGUFReader(path)
    heads = {"attn_q": _number(reader, "attention.head_count")}
    heads["attn_k"] = _number(reader, "attention.head_count_kv")
    state = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        name = tensor.name.removeprefix("blk.").removesuffix(".weight")
        layer, _, inner = name.partition(".")
        new = f"model.layers.{layer}.{LAYER_NAMES[inner]}" if inner else NAMES[name]
        if inner in heads:
            values = _halves(values, int(heads[inner]))
        state[f"{new}.weight"] = torch.from_numpy(np.array(values, np.float32))
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model = transformers.LlamaForCausalLM(_config(reader, transformers.LlamaConfig))
    model.load_state_dict(state)
    return model.eval()


def logits_of(peer: transformers.LlamaForCausalLM, ids: Sequence[int]) -> NDArray[np.float32]:
    """All logits (tokens, vocabulary)."""
    import torch

    with torch.no_grad():
        found: NDArray[np.float32] = peer(torch.tensor([list(ids)])).logits[0].numpy()
    return found


def _halves(values: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of each head from neighbours, as GGUF has them, to halves."""
    pairs = values.reshape(heads, values.shape[0] // heads // 2, 2, -1)
    return pairs.swapaxes(1, 2).reshape(values.shape)


def _number(reader: gguf.GGUFReader, key: str) -> float:
    field = reader.get_field(f"llama.{key}")
    assert field is not None
    return float(field.contents())


def _config(
    reader: gguf.GGUFReader, make: type[transformers.LlamaConfig]
) -> transformers.LlamaConfig:
    return make(
        vocab_size=int(_number(reader, "vocab_size")),
        hidden_size=int(_number(reader, "embedding_length")),
        intermediate_size=int(_number(reader, "feed_forward_length")),
        num_hidden_layers=int(_number(reader, "block_count")),
        num_attention_heads=int(_number(reader, "attention.head_count")),
        num_key_value_heads=int(_number(reader, "attention.head_count_kv")),
        rms_norm_eps=_number(reader, "attention.layer_norm_rms_epsilon"),
        max_position_embeddings=int(_number(reader, "context_length")),
        rope_parameters={"rope_type": "default", "rope_theta": _number(reader, "rope.freq_base")},
        tie_word_embeddings=True,
    )
