"""Where values are narrow on the way: what products read so, and how to leave roundings out."""

from __future__ import annotations

from collections.abc import Callable

from photic.ir import index as form
from photic.ir.dim import Dim
from photic.ir.dtype import BFLOAT16, DType
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
    source = value.children[0].dtype if value.op == "cast" else value.dtype
    return source == BFLOAT16 != value.dtype or is_wider(source, value.dtype)


def is_wider(source: DType, dtype: DType) -> bool:
    """True if an integer takes more memory than the byte that it was made of."""
    return source.bytes == 1 and dtype.kind == "int" and dtype.bytes > 1
