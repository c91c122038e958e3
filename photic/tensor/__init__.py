"""The user's handle and the functions composed of primitives; each file is imported on use."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = [
    "activations",
    "arithmetic",
    "attention",
    "bags",
    "bitwise",
    "brackets",
    "compare",
    "counting",
    "creation",
    "ctc",
    "distinct",
    "elementary",
    "error_functions",
    "gamma_functions",
    "gates",
    "indexing",
    "inverse_functions",
    "likelihoods",
    "linear",
    "loops",
    "methods",
    "losses",
    "nan_reductions",
    "norms",
    "ordering",
    "powers",
    "primitive",
    "random",
    "recurrent",
    "reductions",
    "rope",
    "rope_rates",
    "rope_scalings",
    "rounding",
    "running",
    "searching",
    "selection",
    "shapes",
    "spans",
    "waves",
]


def __getattr__(name: str) -> ModuleType:
    """A file of this folder."""
    if name not in __all__:
        raise AttributeError(f"module 'photic.tensor' has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
