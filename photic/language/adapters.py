"""LoRA adapters beside a language model's linear layers, under the names that PEFT gives them.

Adapters hold their rows in the order of the model's first publication; files of some architectures
keep those of queries and keys in another, and what is here turns between the two. So what
``Lora.save_adapter`` writes suits the model as others have it, and theirs suits its file.

Layers of a model's file are frozen: their weights are constants of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from photic.forms.eval import evaluate
from photic.frontends.model_file import ModelFile
from photic.ir.graph import Graph
from photic.language.config import Config
from photic.language.modules import Adapt
from photic.nn.initial import Rng
from photic.nn.lora import Lora, LoraOptions, Rows
from photic.tensor.creation import constant
from photic.tensor.tensor import Tensor

Float = NDArray[np.float32]

# The last part of a layer's name in a file, and in the model as it was published.
LAYERS: dict[str, str] = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
FUSED = {"ffn_up": "mlp.gate_up_proj"}  # where a layer has no gate of its own
TURNED = ("attn_q", "attn_k")
BLOCK = "blk."


def published_name(file: ModelFile, name: str) -> str:
    """``model.layers.3.self_attn.q_proj`` of ``blk.3.attn_q``; "" for what is no such layer."""
    number, _, part = name.removeprefix(BLOCK).partition(".")
    if not name.startswith(BLOCK) or part not in LAYERS:
        return ""
    fused = part in FUSED and f"{BLOCK}{number}.ffn_gate.weight" not in file.shapes
    return f"model.layers.{number}.{FUSED[part] if fused else LAYERS[part]}"


def lora_for(file: ModelFile, options: LoraOptions, *, rng: Rng) -> Lora:
    """New adapters of the chosen layers of a model's file. BadArgument where none is chosen."""
    shapes: dict[str, tuple[int, int]] = {}
    for key, shape in file.shapes.items():
        name = published_name(file, key.removesuffix(".weight"))
        if name and key.endswith(".weight") and len(shape) == 2:
            shapes[name] = shape[0], shape[1]
    return Lora(shapes, options, rng=rng)


def adapting(file: ModelFile, config: Config, lora: Lora) -> Adapt:
    """What ``build`` and ``build_training`` take as ``adapt``."""

    def adapt(name: str, x: Tensor, y: Tensor) -> Tensor:
        return lora.adapted(published_name(file, name), x, y, _rows(config, name))

    return adapt


def _rows(config: Config, name: str) -> Rows | None:
    """From published rows to the file's: of a head the halves' k-th rows become neighbours."""
    if config.halves or name.rpartition(".")[2] not in TURNED:
        return None

    def paired(x: Tensor) -> Tensor:
        size, count = (int(one) for one in x.shape)
        heads = x.reshape((size // config.head, 2, config.head // 2, count))
        return heads.permute((0, 2, 1, 3)).reshape((size, count))

    return paired


# --- merging --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class MergedFile(ModelFile):
    """A model's file whose adapted layers have their adapters' products added, as float32."""

    base: ModelFile
    products: dict[str, Tensor]

    def values(self, name: str) -> Tensor:
        """The base's tensor; or, computed here and now, the sum."""
        found = self.base.values(name)
        return constant(computed(found + self.products[name])) if name in self.products else found

    def corrupt(self, key: str, given: object, expected: str) -> NoReturn:
        self.base.corrupt(key, given, expected)

    def unsupported(self, what: str, given: object, expected: str) -> NoReturn:
        self.base.unsupported(what, given, expected)


def merged_file(file: ModelFile, config: Config, lora: Lora) -> MergedFile:
    """The model with its adapters merged, for ``build``."""
    products: dict[str, Tensor] = {}
    for key in file.shapes:
        name = key.removesuffix(".weight")
        published = published_name(file, name)
        if published in lora:
            product, rows = constant(lora[published].product()), _rows(config, name)
            products[key] = product if rows is None else rows(product)
    given = {one.name: getattr(file, one.name) for one in fields(ModelFile)}
    return MergedFile(**given, base=file, products=products)


def merged_weights(file: ModelFile, config: Config, lora: Lora) -> dict[str, Float]:
    """The weights of the adapted layers with their adapters merged, float32, as published.

    Names (``model.layers.0.self_attn.q_proj.weight``) and rows are those of the model's first
    publication, whose other weights stay as they are.
    """
    whole = merged_file(file, config, lora)
    return {
        f"{published_name(file, key.removesuffix('.weight'))}.weight": _published(
            config, key.removesuffix(".weight"), computed(whole.values(key))
        )
        for key in whole.products
    }


def _published(config: Config, name: str, values: Float) -> Float:
    """The file's rows in published order: the other way round than ``_rows``."""
    if _rows(config, name) is None:
        return values
    heads = values.reshape(-1, config.head // 2, 2, values.shape[1])
    return heads.swapaxes(1, 2).reshape(values.shape)


def computed(x: Tensor) -> Float:
    """A tensor of constants as an array."""
    graph = Graph((("x", x.operand),))
    return np.asarray(evaluate(graph, {}, {}, {}, widen=False)[0]["x"], np.float32)
