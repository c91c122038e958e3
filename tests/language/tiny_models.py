"""Tiny random models of every architecture, by transformers: as folders, as GGUF files, as logits.

Names of tensors in GGUF come from the ``gguf`` package's own map, and its keys from its writer, so
that neither is checked against photic's tables. What a file must say is transformers' in float64
(which computes norms and rotations in float32 even then).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gguf
import numpy as np
from numpy.typing import NDArray

from photic.forms.eval import evaluate
from photic.frontends.model_file import ModelFile
from photic.ir.graph import Graph
from photic.language.config import read_config
from photic.language.decoder import build

if TYPE_CHECKING:
    import transformers

Float = NDArray[np.float64]
CONTEXT, CHUNK = 64, 16
VOCABULARY = 40
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "attn_implementation": "eager",
}


@dataclass(frozen=True)
class Tiny:
    """A config of transformers by its class's name, and GGUF's name of the architecture.

    ``gguf``: adds the keys that the sizes do not say; None where GGUF has no way to say them.
    """

    config: str
    architecture: str
    changes: dict[str, object]
    gguf: Callable[[gguf.GGUFWriter], None] | None


def nothing(writer: gguf.GGUFWriter) -> None:
    """No further keys."""


LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
    "long_factor": [1.5, 2.0, 3.0, 4.0, 5.0, 6.0],
    "original_max_position_embeddings": 8,
}
GEMMA = {
    "num_hidden_layers": 3,
    "head_dim": 16,
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "query_pre_attn_scalar": 16,
}


def head_of_16(writer: gguf.GGUFWriter) -> None:
    writer.add_key_length(16)
    writer.add_value_length(16)


def windows_of_gemma(writer: gguf.GGUFWriter) -> None:
    head_of_16(writer)
    writer.add_sliding_window(4)
    writer.add_array("gemma3.attention.sliding_window_pattern", [True, False, True])
    writer.add_rope_freq_base(1000000.0)


TINY: dict[str, Tiny] = {
    "llama": Tiny("LlamaConfig", "llama", {}, nothing),
    "llama, one key head, a tied head": Tiny(
        "LlamaConfig", "llama", {"num_key_value_heads": 1, "tie_word_embeddings": True}, nothing
    ),
    "llama with Llama 3's rope": Tiny("LlamaConfig", "llama", {"rope_parameters": LLAMA3}, None),
    "mistral with a window": Tiny("MistralConfig", "llama", {"sliding_window": 5}, None),
    "qwen2": Tiny("Qwen2Config", "qwen2", {}, nothing),
    "qwen2 with windows": Tiny(
        "Qwen2Config",
        "qwen2",
        {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
        None,
    ),
    "qwen3": Tiny("Qwen3Config", "qwen3", {"head_dim": 16}, head_of_16),
    "gemma3": Tiny("Gemma3TextConfig", "gemma3", GEMMA, windows_of_gemma),
    "gemma3 with another scale": Tiny(
        "Gemma3TextConfig", "gemma3", GEMMA | {"query_pre_attn_scalar": 20}, None
    ),
    "phi3": Tiny("Phi3Config", "phi3", {}, nothing),
    "phi3 turned in part, with a window": Tiny(
        "Phi3Config", "phi3", {"partial_rotary_factor": 0.5, "sliding_window": 5}, None
    ),
    "phi3 with LongRoPE": Tiny("Phi3Config", "phi3", {"rope_parameters": LONG}, None),
}


def model_of(tiny: Tiny, seed: int = 0) -> transformers.PreTrainedModel:
    """The model in float64, its weights as float32 holds them, far from uniform attention."""
    import torch
    import transformers

    config = getattr(transformers, tiny.config)(**{**SIZES, **tiny.changes})
    model = transformers.AutoModelForCausalLM.from_config(config)
    rng = np.random.default_rng(seed)
    for name, one in model.named_parameters():
        spread = 0.2 if one.dim() == 1 else 1.5 / np.sqrt(one.shape[-1])
        start = 1.0 if name.endswith("norm.weight") and "Gemma" not in tiny.config else 0.0
        values = (rng.standard_normal(one.shape) * spread + start).astype(np.float32)
        one.data = torch.from_numpy(values).double()
    return model.eval()


def expected(model: transformers.PreTrainedModel, ids: Sequence[int]) -> Float:
    """The logits after the last of ``ids``."""
    import torch

    with torch.no_grad():
        found: Float = model(torch.tensor([list(ids)])).logits[0, -1].numpy()
    return found


def write_folder(
    model: transformers.PreTrainedModel, path: Path, shard: str = "1GB", dtype: str = "float32"
) -> Path:
    """As transformers saves it."""
    import torch

    plain = type(model)(model.config)
    plain.load_state_dict(model.state_dict())
    plain.to(getattr(torch, dtype)).save_pretrained(path, max_shard_size=shard)
    return path


def write_gguf(tiny: Tiny, model: transformers.PreTrainedModel, path: Path) -> Path:
    """As llama.cpp's converter would write it, in float32."""
    assert tiny.gguf is not None
    config, name = model.config, tiny.architecture
    writer = gguf.GGUFWriter(str(path), name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    tiny.gguf(writer)
    kind = next(one for one, text in gguf.MODEL_ARCH_NAMES.items() if text == name)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for own, values in model.state_dict().items():
        array = values.numpy().astype(np.float32)
        if name == "gemma3" and own.endswith("norm.weight"):
            array = array + 1
        for part in heads if name == "llama" else ():
            if part in own:
                array = neighbours(array, heads[part])
        if not (own == "lm_head.weight" and config.tie_word_embeddings):
            writer.add_tensor(names.get_name(own, (".weight", ".bias")), array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def neighbours(values: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows of each head from halves, as transformers turns them, to neighbours."""
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, -1)
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(values.shape)


def evaluated(
    file: ModelFile, ids: Sequence[int], parts: Sequence[int], cache: str = "float32"
) -> Float:
    """The last token's logits after each part, by the evaluator in float64."""
    model = build(file, read_config(file), CONTEXT, CHUNK, cache=cache)
    updates = tuple((old.operand.node, new.operand) for old, new in model.updates.items())
    graph = Graph((("logits", model.logits.operand),), updates)
    found, states, past = [], {}, 0
    for count in parts:
        given = {"ids": np.asarray(ids[past : past + count], np.int64)}
        sizes = {"count": count, "past": past, "answers": 1}
        outputs, states = evaluate(graph, given, states, sizes, widen=cache == "float32")
        found.append(outputs["logits"][0])
        past += count
    return np.stack(found).astype(np.float64)
