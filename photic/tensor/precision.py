"""Lower precision where it was asked for: which operands of which products are rounded.

``rounded`` writes into a graph what ``precision="bf16"`` allows: both operands of a product of
matrices become bfloat16 (half a unit is 2^-9 of a number), sums stay float32. So a sum of products
is off by at most 2^-8 of the sum of their absolute values, beside float32's own rounding.
``narrowed`` lets the planner of a target leave such a rounding out where it would cost time.

A product of matrices is a float32 sum over one axis, long enough for matrix instructions, in which
each operand is used again and again along other axes. Elsewhere nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from photic.forms.constants import evaluate_constants, replaced
from photic.forms.eval import evaluate_operand
from photic.ir import graph as graphs
from photic.ir.dim import Atom, Dim, Var, bounds, substitute, variables
from photic.ir.dtype import BFLOAT16, FLOAT32
from photic.ir.graph import Along, Graph, Node, Operand, operand
from photic.ir.view import View, axis_variables, is_identity
from photic.targets.registry import Target
from photic.tensor.integer_products import in_integers

PRECISIONS = ("exact", "bf16", "int8", "int16")
PLANES = {"int8": 1, "int16": 2}  # bytes of an element that is multiplied with codes
TERMS = 32  # that a matrix instruction takes at once
MANY_TERMS = 64  # enough that some may be left over
LEAST_REUSE = 32  # of each element, or rounding costs more than it gains


def narrowed(target: Target) -> Target:
    """The target, free to leave out roundings that nothing is stored by."""
    return replace(
        target,
        machine=lambda: replace(target.machine(), narrow=True),
        key=lambda: f"{target.key()} narrow",
    )


def rounded(graph: Graph, precision: str = "bf16") -> Graph:
    """The graph with the operands of products of matrices in bfloat16, or in integers.

    It is as it was with ``"exact"``.
    """
    if precision == "exact":
        return graph
    make = partial(_with_integers, PLANES[precision]) if precision in PLANES else _with_rounded
    return replaced(evaluate_constants(graph), {}, make)


def _with_integers(planes: int, node: Node) -> Node:
    made = in_integers(node, planes) if _is_product(node) else None
    return _with_rounded(node) if made is None else made


def _with_rounded(node: Node) -> Node:
    if not _is_product(node):
        return node
    assert isinstance(node.attribute, Along)
    axis = node.attribute.axis
    left, right = (_rounded(one, axis) for one in node.operands[0].node.operands)
    product = operand(graphs.binary("mul", left, right))
    return graphs.with_operands(node, (product,), node.attribute)


def _is_product(node: Node) -> bool:
    """True for a sum over one axis of products in which both operands are used again and again."""
    if node.op != "sum" or node.dtype != FLOAT32 or not isinstance(node.attribute, Along):
        return False
    (value,) = node.operands
    length = value.shape[node.attribute.axis]
    if value.node.op != "mul" or not is_identity(value.view, value.node.shape):
        return False
    is_whole = isinstance(length, int) and length % TERMS == 0
    reuse = [_reuse(one) for one in value.node.operands]
    return (
        bounds(length)[1] >= (TERMS if is_whole else MANY_TERMS)
        and min(reuse) >= LEAST_REUSE
        and all(
            one.dtype == FLOAT32 and not one.view.bounds and _moves(one, node.attribute.axis)
            for one in value.node.operands
        )
    )


def _moves(value: Operand, axis: int) -> bool:
    return _variable(value, axis) in {one for dim in value.view.index for one in variables(dim)}


def _reuse(value: Operand) -> int:
    """How often each element is seen along the axes that do not move it."""
    return math.prod(bounds(n)[1] for k, n in enumerate(value.shape) if not _moves(value, k))


def _variable(value: Operand, axis: int) -> Var:
    return Var(f"i{axis}", value.shape[axis])


def _rounded(value: Operand, axis: int) -> Operand:
    """The value in bfloat16, widened again, for a sum over an axis; constants are rounded now.

    What is computed is stored as it is used, the terms of a sum side by side, unless its elements
    lie side by side along another axis already.
    """
    node = value.node
    if node.op == "contiguous" and node.operands[0].dtype == BFLOAT16:
        return value
    if not _lies_well(value):
        value = _as_used(value, axis)
        node = value.node
    narrow = node if node.dtype == BFLOAT16 else graphs.cast(operand(node), BFLOAT16)
    if node.op == "constant":
        narrow = graphs.constant_node(evaluate_operand(operand(narrow), {}))
    return Operand(graphs.cast(operand(narrow), FLOAT32), value.view)


def _lies_well(value: Operand) -> bool:
    """True if the last axis of a node is an axis of the value."""
    index = value.view.index
    return not index or index[-1] in axis_variables(value.shape)


def _as_used(value: Operand, axis: int) -> Operand:
    """The value as a node of the axes along which it moves, the summed one last."""
    moving = [k for k in range(len(value.shape)) if k != axis and _moves(value, k)] + [axis]
    shape = tuple(value.shape[k] for k in moving)
    places = axis_variables(shape)
    table: dict[Atom, Dim] = {_variable(value, k): places[n] for n, k in enumerate(moving)}
    source = View(shape, tuple(substitute(one, table) for one in value.view.index))
    whole = axis_variables(value.shape)
    made = graphs.cast(Operand(value.node, source), BFLOAT16)
    return Operand(made, View(value.shape, tuple(whole[k] for k in moving)))
