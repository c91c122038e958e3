"""Low-rank adapters (LoRA, Hu and others 2021): ``y + scale * (x A^T) B^T`` beside frozen layers.

Adapters stand beside linear layers that need not be modules: whoever builds the graph calls the
adapter with the layer's name and input, and adds what it gives. A is random and B zeros at first,
so that training begins from the model as it is. Names in ``state_dict`` and in files are PEFT's.

Does not know a model's architecture: names and shapes of its layers are given. PEFT's other kinds
of adapters (DoRA, embeddings, biases) are refused by name, not half read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument
from photic.nn.initial import Rng, generator
from photic.nn.layers import Dropout, Linear
from photic.nn.module import Module
from photic.nn.trainer_errors import AdapterUnusable
from photic.storage.errors import FileUnreadable
from photic.storage.files import write_atomic, write_errors
from photic.storage.tensorfile import read_tensors, write_tensors
from photic.tensor.tensor import Array, Tensor

PREFIX = "base_model.model."  # of PEFT, before the model's own names
A, B = "lora_A", "lora_B"
WEIGHTS_FILE, CONFIG_FILE = "adapter_model.safetensors", "adapter_config.json"
JSON_INDENT = 2

Rows = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """How adapters are made; names and defaults as in PEFT.

    ``targets`` are the last parts of layers' names ("q_proj"); ``layers`` the numbers of those
    adapted, empty: all. The scale is ``alpha / r``, or ``alpha / sqrt(r)`` with ``rslora``.
    """

    r: int = 8
    alpha: float = 8.0
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    layers: tuple[int, ...] = ()
    dropout: float = 0.0
    rslora: bool = False

    def __post_init__(self) -> None:
        if self.r < 1:
            _refuse("r", self.r, "1 or more")

    def chooses(self, name: str) -> bool:
        """Whether a layer of this dotted name is adapted."""
        if not any(name == one or name.endswith(f".{one}") for one in self.targets):
            return False
        numbers = [int(part) for part in name.split(".") if part.isdigit()]
        return not self.layers or any(number in self.layers for number in numbers[:1])

    def scale(self, r: int) -> float:
        """What a product of rank ``r`` is multiplied with."""
        return self.alpha / (math.sqrt(r) if self.rslora else r)


class Adapter(Module):
    """The adapter of one layer: float32 A (r, inputs) and B (outputs, r)."""

    def __init__(
        self, outputs: int, inputs: int, r: int, scale: float, dropout: float, rng: Rng
    ) -> None:
        self.lora_A = Linear(inputs, r, bias=False, rng=rng)
        self.lora_B = Linear(r, outputs, bias=False, rng=rng)
        self.lora_B.weight.value = np.zeros((outputs, r))
        self.dropout = Dropout(dropout)
        self.scale = scale

    def forward(self, x: Tensor, rows: Rows | None = None) -> Tensor:
        """What to add to the layer's output; ``rows`` puts B's rows in the layer's own order."""
        down = self.lora_A(self.dropout(x))
        up = self.lora_B.weight.tensor
        added: Tensor = down @ (up if rows is None else rows(up)).T * self.scale
        return added

    def product(self) -> NDArray[np.float32]:
        """``scale * B A``: what merging adds to the layer's weight (outputs, inputs)."""
        up, down = (one.weight.value.astype(np.float32) for one in (self.lora_B, self.lora_A))
        return np.float32(self.scale) * (up @ down)


class Lora(Module):
    """Adapters of a model's layers by name; its parameters are theirs.

    ``shapes`` are (outputs, inputs) of all linear layers by their dotted names, of which
    ``options`` choose. BadArgument where they choose none.
    """

    def __init__(
        self, shapes: Mapping[str, tuple[int, int]], options: LoraOptions, *, rng: Rng
    ) -> None:
        rng = generator(rng)
        chosen = {name: one for name, one in shapes.items() if options.chooses(name)}
        if not chosen:
            _refuse("targets", options.targets, f"last parts of {', '.join(list(shapes)[:8])}, ...")
        self.options = options
        scale = options.scale(options.r)
        # the attribute's name and the keys make PEFT's names
        self.base_model = {
            _key(name): Adapter(*shape, options.r, scale, options.dropout, rng)
            for name, shape in chosen.items()
        }

    def __contains__(self, name: str) -> bool:
        return _key(name) in self.base_model

    def __getitem__(self, name: str) -> Adapter:
        """The adapter of a layer. KeyError where it has none."""
        return self.base_model[_key(name)]

    @property
    def names(self) -> list[str]:
        """The layers that are adapted."""
        return [key.removeprefix("model.") for key in self.base_model]

    def adapted(self, name: str, x: Tensor, y: Tensor, rows: Rows | None = None) -> Tensor:
        """A layer's output ``y`` of ``x``, with its adapter's part where it has one."""
        return y + self[name](x, rows) if name in self else y

    def merged(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        """Weights ``{layer}.weight`` with the adapters' products added, in their dtypes.

        Others are as they were. BadArgument where an adapted layer is missing.
        """
        found = dict(weights)
        for name in self.names:
            key = f"{name}.weight"
            if key not in found:
                _refuse("weights", f"without {key}", "the weight of every adapted layer")
            weight = found[key]
            total = weight.astype(np.float32) + self[name].product()
            found[key] = total.astype(weight.dtype)
        return found

    # --- files ---

    def save_adapter(self, folder: str | Path, *, base_model: str = "") -> None:
        """Write PEFT's two files; ``base_model`` is what they say of the model adapted."""
        place, options = Path(folder), self.options
        with write_errors(place):
            place.mkdir(parents=True, exist_ok=True)
        write_tensors(place / WEIGHTS_FILE, self.state_dict(), {"format": "pt"})
        config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base_model or None,
            "r": options.r,
            "lora_alpha": options.alpha,
            "lora_dropout": options.dropout,
            "target_modules": list(options.targets),
            "layers_to_transform": list(options.layers) or None,
            "use_rslora": options.rslora,
            "bias": "none",
            "fan_in_fan_out": False,
            "inference_mode": True,
        }
        write_atomic(place / CONFIG_FILE, json.dumps(config, indent=JSON_INDENT).encode())


def load_adapter(folder: str | Path) -> Lora:
    """Adapters that ``save_adapter`` or PEFT wrote.

    Raises FileUnreadable, TensorFileCorrupt, or AdapterUnusable for one of another kind.
    """
    place = Path(folder)
    options = _options(place / CONFIG_FILE)
    arrays = read_tensors(place / WEIGHTS_FILE)
    shapes: dict[str, tuple[int, int]] = {}
    ranks: dict[str, int] = {}
    for key in arrays:
        name, _, part = key.removeprefix(PREFIX).rpartition(f".{A}.")
        if part == "weight" and key.startswith(PREFIX):
            up = arrays.get(f"{PREFIX}{name}.{B}.weight")
            if up is None or up.ndim != 2 or arrays[key].ndim != 2:
                _unusable(place, key, "without a B of two axes", "A and B")
            shapes[name] = up.shape[0], arrays[key].shape[1]
            ranks[name] = arrays[key].shape[0]
        elif f".{B}.weight" not in key:
            _unusable(place, "a tensor", key, f"...{A}.weight and ...{B}.weight")
    if not shapes:
        _unusable(place, "a file", "without adapters", "at least one")
    return _loaded(shapes, ranks, options, arrays)


def _loaded(
    shapes: Mapping[str, tuple[int, int]],
    ranks: Mapping[str, int],
    options: LoraOptions,
    arrays: Mapping[str, Array],
) -> Lora:
    made = Lora.__new__(Lora)
    made.options = options
    made.base_model = {
        _key(name): Adapter(*shape, ranks[name], options.scale(ranks[name]), options.dropout, 0)
        for name, shape in shapes.items()
    }
    made.load_state_dict(arrays)
    return made


# What must be so in a configuration, or missing: anything else means another computation.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "use_dora": (False, None),
    "fan_in_fan_out": (False, None),
    "alpha_pattern": ({}, None),
    "modules_to_save": ([], None),
    "lora_bias": (False, None),
}


def _options(path: Path) -> LoraOptions:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileUnreadable(path=path, problem=error.strerror) from error
    except ValueError as error:
        _unusable(path, "the file", f"not JSON ({error})", "an object")
    if not isinstance(config, dict):
        _unusable(path, "the file", type(config).__name__, "an object")
    for key, allowed in NEUTRAL.items():
        if config.get(key, allowed[0]) not in allowed:
            _unusable(path, key, config[key], allowed[0])
    try:
        targets = config.get("target_modules") or ()
        layers = config.get("layers_to_transform") or ()
        return LoraOptions(
            r=int(config["r"]),
            alpha=float(config["lora_alpha"]),
            targets=(targets,) if isinstance(targets, str) else tuple(targets),
            layers=(layers,) if isinstance(layers, int) else tuple(layers),
            dropout=float(config.get("lora_dropout") or 0.0),
            rslora=bool(config.get("use_rslora")),
        )
    except (KeyError, TypeError, ValueError) as error:
        _unusable(path, "its options", repr(error), "r, lora_alpha and target_modules")


def _key(name: str) -> str:
    return f"model.{name}"


def _unusable(path: Path, what: str, given: object, expected: object) -> NoReturn:
    raise AdapterUnusable(path=path, what=what, given=given, expected=expected)


def _refuse(argument: str, given: object, expected: str) -> NoReturn:
    raise BadArgument(op="Lora", argument=argument, given=given, expected=expected)
