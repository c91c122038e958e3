"""Programs whose fast forms the search must find, and inputs that try them."""

from __future__ import annotations

import math

import numpy as np

import photic as ph
from photic.forms.eval import Array
from photic.search.language import ENode
from photic.search.run import EGraph

HEADS, GROUPS, ROWS, KEYS, DEPTH = 2, 2, 5, 7, 4


def weights(scores: ph.Tensor, base: float) -> ph.Tensor:
    """``base**scores`` over its sum along the last axis, the maximum taken off first."""
    shifted = scores - ph.max(scores, axis=-1, keepdims=True)
    powers = ph.exp2(shifted * math.log2(base))
    return powers / ph.sum(powers, axis=-1, keepdims=True)


def exponentials(scores: ph.Tensor) -> ph.Tensor:
    """``weights`` to base e with the library's exponential."""
    powers = ph.exp(scores - ph.max(scores, axis=-1, keepdims=True))
    return powers / ph.sum(powers, axis=-1, keepdims=True)


def scores(causal: bool = True) -> ph.Tensor:
    """Masked scores (heads, groups, rows, keys) of grouped heads."""
    q = ph.input("q", (HEADS * GROUPS, ROWS, DEPTH)).reshape(HEADS, GROUPS, ROWS, DEPTH)
    k = ph.input("k", (HEADS, 1, KEYS, DEPTH))
    found = q @ ph.swapaxes(k, -1, -2) * (1 / math.sqrt(DEPTH))
    if not causal:
        return found
    seen = ph.arange(KEYS) < ph.arange(ROWS)[:, None] + (KEYS - ROWS + 1)
    return ph.where(seen, found, -math.inf)


def mixed(share: ph.Tensor) -> ph.Tensor:
    """Values weighed by shares (heads, groups, rows, keys)."""
    return share @ ph.input("v", (HEADS, 1, KEYS, DEPTH))


def naive(base: float = math.e) -> ph.Tensor:
    """Masked attention of grouped heads as its definition says."""
    return mixed(weights(scores(), base))


def row() -> ph.Tensor:
    """Rows of numbers."""
    return ph.input("x", (3, 11))


def inputs_of(tensors: list[ph.Tensor], rng: np.random.Generator) -> dict[str, Array]:
    """A normal array for each input of the tensors."""
    from photic.forms.graph_names import named_sources
    from photic.ir.graph import Graph

    graph = Graph(tuple((f"y{k}", one.operand) for k, one in enumerate(tensors)))
    return {
        f"in_{name}": rng.standard_normal(node.shape).astype(np.float32)
        for name, node in named_sources(graph, "input").items()
    }


def quantised(name: str, rows: int, columns: int, size: int) -> ph.Tensor:
    """A weight (rows, columns) of blocks of whole numbers with a scale and a least value each."""
    codes = ph.input(f"{name}_codes", (columns, rows // size, size), "int8").astype("float32")
    scale = ph.input(f"{name}_scale", (columns, rows // size, 1))
    least = ph.input(f"{name}_least", (columns, rows // size, 1))
    return ph.swapaxes((codes * scale + least).reshape(columns, rows), 0, 1)


def block(heads: int, rows: int, depth: int, size: int) -> ph.Tensor:
    """A transformer's first half: norm, quantised products, norms of q and k, rope, attention."""
    width = heads * depth
    x = ph.input("x", (rows, width))
    normed = ph.rms_norm(x, ph.input("norm", (width,)))
    cos, sin = (ph.input(name, (rows, depth // 2)) for name in ("cos", "sin"))

    def turned(name: str) -> ph.Tensor:
        product = normed @ quantised(name, width, width, size)
        split = ph.swapaxes(product.reshape(rows, heads, depth), 0, 1)
        return ph.rope_halves(ph.rms_norm(split, ph.input(f"{name}_norm", (depth,))), cos, sin)

    values = (normed @ quantised("v", width, width, size)).reshape(rows, heads, depth)
    found = turned("q") @ ph.swapaxes(turned("k"), -1, -2) * 0.5
    seen = ph.arange(rows) <= ph.arange(rows)[:, None]
    share = weights(ph.where(seen, found, -math.inf), math.e)
    mixed = ph.swapaxes(share @ ph.swapaxes(values, 0, 1), 0, 1).reshape(rows, width)
    return mixed @ quantised("o", width, width, size)


def layer(heads: int, rows: int, depth: int, size: int) -> ph.Tensor:
    """A whole layer: ``block``, then a norm and a gated product, both added to x."""
    width = heads * depth
    x = ph.input("x", (rows, width)) + block(heads, rows, depth, size)
    normed = ph.rms_norm(x, ph.input("second_norm", (width,)))
    gate, up = (normed @ quantised(name, width, 2 * width, size) for name in ("gate", "up"))
    return x + (ph.silu(gate) * up) @ quantised("down", 2 * width, width, size)


# --- what is found --------------------------------------------------------------------------


def operations(graph: EGraph, number: int, op: str) -> list[ENode]:
    """The operations of one kind in a class."""
    return [node for node in graph.classes[number] if node.op == op]


def folds(graph: EGraph) -> list[ENode]:
    """All folds of a graph."""
    return [node for nodes in graph.classes.values() for node in nodes if node.op == "Fold"]


def is_streaming(graph: EGraph) -> bool:
    """True if the root is a product of two folds' values: recip(fold of 1) times fold of v.

    Or chooses that product: where a row sees nothing, another value stands in its place.
    """
    (root,) = graph.roots
    chosen = [node.children[1] for node in operations(graph, root, "Select")]
    for product in (node for at in (root, *chosen) for node in operations(graph, at, "Prod")):
        below = [one for child in product.children for one in graph.classes[child]]
        inner = [one for n in below if n.op == "Un" for one in graph.classes[n.children[0]]]
        if any(n.op == "Fold" for n in below) and any(n.op == "Fold" for n in inner):
            return True
    return False
