"""The user's handle and the functions composed of primitives; importing it fills the methods."""

from photic.tensor import (
    activations,
    arithmetic,
    bitwise,
    compare,
    creation,
    elementary,
    indexing,
    linear,
    loops,
    norms,
    powers,
    primitive,
    reductions,
    rounding,
    shapes,
)

__all__ = [
    "activations",
    "arithmetic",
    "bitwise",
    "compare",
    "creation",
    "elementary",
    "indexing",
    "linear",
    "loops",
    "norms",
    "powers",
    "primitive",
    "reductions",
    "rounding",
    "shapes",
]
