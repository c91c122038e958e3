"""Where values are narrow on the way: what products read so, and how to leave roundings out."""

from __future__ import annotations

from collections.abc import Callable

from photic.ir import index as form
from photic.ir.dim import Dim
from photic.ir.dtype import BFLOAT16
from photic.ir.index import Expr


def unrounded(value: Expr) -> Expr:
    """A value whose parts are not rounded on the way."""

    def build(one: Expr, children: tuple[Expr, ...], dim: Callable[[Dim], Dim]) -> Expr:
        inner = children[0].children if children and children[0].op == one.op == "cast" else ()
        is_back = bool(inner) and inner[0].dtype == one.dtype and children[0].dtype.is_half
        return inner[0] if is_back else form.rebuilt(one, children, dim)

    return form.rewritten(value, {}, build)


def is_widened(value: Expr) -> bool:
    """True for a factor of exact products: a bfloat16 number in float32, a byte in an integer."""
    if value.op != "cast":
        return False
    source = value.children[0].dtype
    return source == BFLOAT16 or (source.bytes == 1 and value.dtype.kind == "int")
