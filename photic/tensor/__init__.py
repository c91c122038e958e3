"""The user's handle and the functions composed of primitives; importing it fills the methods."""

from photic.tensor import (
    arithmetic,
    compare,
    creation,
    elementary,
    indexing,
    linear,
    norms,
    primitive,
    reductions,
    rounding,
    shapes,
)

__all__ = [
    "arithmetic",
    "compare",
    "creation",
    "elementary",
    "indexing",
    "linear",
    "norms",
    "primitive",
    "reductions",
    "rounding",
    "shapes",
]
