"""The architectures that are known, one record each: what their files say and leave unsaid.

A record holds what a model's numbers mean; the graph of one layer is in the file of the same name
(``decoder.py`` says which). Nothing here reads a file or builds a graph.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture, by the name that GGUF gives it.

    ``halves``: which pairs of a head turn in GGUF files: k with k + half, or neighbours.
    ``layers_a_full_one``: of so many layers the last sees everything, where a file has a sliding
    window and does not say which layers have it; 0: all have it. ``local_base``: of the rotation
    in layers with a window, 0: as in the others. ``width_scaled_layers``: the model of so many
    layers divides scores by the root of width / heads instead of a head's size.
    """

    name: str
    halves: bool
    keys: tuple[str, ...] = ()
    layers_a_full_one: int = 0
    local_base: float = 0.0
    width_scaled_layers: int = 0


ARCHITECTURES: tuple[Architecture, ...] = (
    Architecture("llama", halves=False),
    Architecture("qwen2", halves=True),
    Architecture("qwen3", halves=True),
    # Gemma 3's report, section 2: five local layers to a global one, bases 10,000 and 1,000,000.
    Architecture(
        "gemma3",
        halves=True,
        keys=("rope.freq_base_swa",),
        layers_a_full_one=6,
        local_base=10000.0,
        width_scaled_layers=62,
    ),
    Architecture("phi3", halves=True),
)

BY_NAME = {one.name: one for one in ARCHITECTURES}
