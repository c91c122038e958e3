"""Each finding lists the rules that it needs, and without any one of them it is gone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from search.lowered import (
    PATIENT,
    RULES,
    extracted,
    region_stores,
    run_region,
    run_stores,
    stores_of,
)
from search.value_programs import (
    KEYS,
    ROWS,
    exponentials,
    folds,
    inputs_of,
    is_streaming,
    mixed,
    naive,
    operations,
    row,
    scores,
    weights,
)

import photic as ph
from photic.ir.index import Store
from photic.search.run import EGraph, saturate
from photic.tuning.proof import minimal_rules

CLASSES = 9


@dataclass(frozen=True)
class Finding:
    """A program, what is found in it, and by which rules."""

    program: Callable[[], ph.Tensor]
    goal: Callable[[EGraph], bool]
    rules: frozenset[str]


PRODUCT = frozenset(["product in a sum", "flatten a product in a sum"])
FLASH = PRODUCT | {"factors out of a sum", "relative: a product", "fold"}
DISTANCE = "relative: a power of the distance"
BLOCKS = PRODUCT | {
    "factors out of a sum",
    "distribute over an addend that loses the axis",
    "sum of two addends",
}
PLACE = frozenset(
    [
        "relative: the place of a maximum",
        "relative: a choice",
        "nothing or more",
        "a cast of a small number",
        "fold of places",
    ]
)
MASK = {
    "a condition where it does not hold",
    "minus infinity anywhere",
    "a choice that is not made",
    "a sum with minus infinity",
    "a positive factor of minus infinity",
    "a power with the exponent minus infinity",
}


# --- goals ----------------------------------------------------------------------------------


def has_one_fold(graph: EGraph) -> bool:
    return len(folds(graph)) == 1


def scale_is_behind(graph: EGraph) -> bool:
    """True if a reciprocal is a factor of the root itself."""
    products = operations(graph, graph.roots[0], "Prod")
    factors = {child for node in products for child in node.children}
    return any(node.attributes[:1] == ("recip",) for one in factors for node in graph.classes[one])


def scales_are_outside(graph: EGraph) -> bool:
    """True if the root adds two sums over blocks, each of a factor times a sum over a block."""
    names = {axis for axis, one in graph.table.axes.items() if one.extent == 4}
    return any(
        all(_is_sum_of_sums(graph, total, names) for total in pair.children)
        for pair in operations(graph, graph.roots[0], "Pair")
    )


def _is_sum_of_sums(graph: EGraph, total: int, names: set[str]) -> bool:
    factors = [
        child
        for node in operations(graph, total, "Reduce")
        if node.attributes[1] not in names
        for product in operations(graph, node.children[0], "Prod")
        for child in product.children
    ]
    return any(
        n.attributes[1] in names for one in factors for n in operations(graph, one, "Reduce")
    )


def sum_vanishes(graph: EGraph) -> bool:
    """True if the body of a fold is 0 under an index condition."""
    return any(graph.vanishing[node.children[-1]] for node in folds(graph))


# --- programs -------------------------------------------------------------------------------


def norm_before_product() -> ph.Tensor:
    return ph.rms_norm(row(), ph.input("g", (11,))) @ ph.input("w", (11, 4))


def norm_before_product_swapped() -> ph.Tensor:
    x, g, w = row(), ph.input("g", (11,)), ph.input("w", (4, 11))
    scale = ph.reciprocal(ph.sqrt(1e-5 + (1 / 11) * ph.sum(x * x, axis=-1, keepdims=True)))
    return ph.sum(w * (g * (scale * x))[:, None], axis=-1)


def blocks(is_swapped: bool) -> ph.Tensor:
    """A product with weights of blocks of four numbers with a scale and a least value."""
    codes, scale, least = (ph.input(n, (5, 3, k)) for n, k in (("c", 4), ("s", 1), ("m", 1)))
    x = ph.input("x", (2, 12))
    weight = least + scale * codes if is_swapped else codes * scale + least
    if is_swapped:
        return ph.sum(weight.reshape(5, 12) * x[:, None], axis=-1)
    return x @ ph.swapaxes(weight.reshape(5, 12), 0, 1)


def softmax_swapped() -> ph.Tensor:
    x = row()
    powers = ph.exp2(math.log2(math.e) * (-1.0 * ph.max(x, axis=-1, keepdims=True) + x))
    return ph.reciprocal(ph.sum(powers, axis=-1, keepdims=True)) * powers


def scaled_inside() -> ph.Tensor:
    q, k = ph.input("q", (2, 1, ROWS, 4)) * 0.5, ph.input("k", (2, 1, KEYS, 4))
    return mixed(weights(q @ ph.swapaxes(k, -1, -2), math.e))


def powers_of_two() -> ph.Tensor:
    found = scores()
    powers = ph.exp2(found - ph.max(found, axis=-1, keepdims=True))
    return mixed(powers / ph.sum(powers, axis=-1, keepdims=True))


def scaled_outside() -> ph.Tensor:
    found = scores()
    powers = ph.exp2((found - ph.max(found, axis=-1, keepdims=True)) * 0.3 * math.log2(math.e))
    return mixed(powers / ph.sum(powers, axis=-1, keepdims=True))


def cross_entropy() -> ph.Tensor:
    """Minus the logarithm of the share that each row gives to its class."""
    logits, target = ph.input("logits", (ROWS, CLASSES)), ph.input("target", (ROWS,), "int64")
    is_target = ph.arange(CLASSES) == target[:, None]
    return -ph.sum(ph.where(is_target, ph.log_softmax(logits), 0.0), axis=-1)


def exponentials_of_rows() -> ph.Tensor:
    return exponentials(row())


def ties() -> ph.Tensor:
    x = row()
    return ph.sum((x == ph.max(x, axis=-1, keepdims=True)).astype("float32"), axis=-1)


def argmax() -> ph.Tensor:
    return ph.argmax(row(), -1)


def whole_argmax() -> ph.Tensor:
    return ph.argmax(ph.input("x", (5, 11), "int64"), -1)


FINDINGS: dict[str, Finding] = {
    "attention streams": Finding(naive, is_streaming, FLASH | {DISTANCE}),
    "base 3": Finding(lambda: naive(3.0), is_streaming, FLASH | {DISTANCE}),
    "powers of two": Finding(
        powers_of_two, is_streaming, FLASH | {"relative: a power of two of the distance"}
    ),
    "a scale outside the distance": Finding(
        scaled_outside, is_streaming, FLASH | {"relative: a power of the scaled distance"}
    ),
    "a bias": Finding(
        lambda: mixed(weights(scores() + ph.input("bias", (ROWS, KEYS)), math.e)),
        is_streaming,
        FLASH | {DISTANCE},
    ),
    "a scale inside": Finding(scaled_inside, is_streaming, FLASH | {DISTANCE}),
    "exponentials by the library": Finding(
        lambda: mixed(exponentials(scores())),
        is_streaming,
        FLASH
        | {DISTANCE}
        | {"a power taken apart", "a limit below a power", "a limit above a power"},
    ),
    "softmax is one fold": Finding(
        lambda: ph.softmax(row()), has_one_fold, frozenset([DISTANCE, "fold"])
    ),
    "softmax, operands swapped": Finding(
        softmax_swapped, has_one_fold, frozenset([DISTANCE, "fold"])
    ),
    "log of a sum of exponentials is one fold": Finding(
        lambda: ph.logsumexp(row(), axis=-1),
        has_one_fold,
        frozenset(["relative: a power of the distance to a finite maximum", "fold"]),
    ),
    "cross-entropy is one fold": Finding(
        cross_entropy, has_one_fold, frozenset([DISTANCE, "fold"])
    ),
    "ties are counted in one fold": Finding(
        ties, has_one_fold, frozenset(["relative: a tie with the maximum", "fold"])
    ),
    "the place of the greatest is one fold": Finding(argmax, has_one_fold, PLACE),
    "the place of the least is one fold": Finding(
        lambda: ph.argmin(row(), -1), has_one_fold, PLACE
    ),
    "the place of the greatest whole number is one fold": Finding(
        whole_argmax,
        has_one_fold,
        PLACE - {"relative: the place of a maximum"} | {"relative: the place of a whole maximum"},
    ),
    "a norm's scale stands behind the product": Finding(
        norm_before_product, scale_is_behind, PRODUCT | {"factors out of a sum"}
    ),
    "a norm's scale, operands swapped": Finding(
        norm_before_product_swapped, scale_is_behind, PRODUCT | {"factors out of a sum"}
    ),
    "scales of blocks stand outside": Finding(lambda: blocks(False), scales_are_outside, BLOCKS),
    "scales of blocks, operands swapped": Finding(lambda: blocks(True), scales_are_outside, BLOCKS),
    "masked tiles vanish": Finding(naive, sum_vanishes, frozenset([DISTANCE, "fold", *MASK])),
}


@cache
def stores(name: str) -> tuple[Store, ...]:
    return region_stores(y=FINDINGS[name].program())


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_needs_these_rules(name: str) -> None:
    finding = FINDINGS[name]
    values = [one.value for one in stores(name)]
    needed = minimal_rules(RULES, lambda some: finding.goal(saturate(values, some, PATIENT)))
    assert {rule.name for rule in needed} == finding.rules
    for rule in needed:
        rest = [one for one in RULES if one != rule]
        assert not finding.goal(saturate(values, rest, PATIENT)), rule.name


def test_a_cross_entropy_stores_no_matrix_of_shares() -> None:
    roots = region_stores(y=cross_entropy())
    region = extracted(saturate([one.value for one in roots], RULES, PATIENT), roots, 0, 0.0)
    # values over rows and classes are tiles: relative to the running maximum
    assert any(one.weight for one in region.statements)
    assert all(len(one.axes) == 1 or one.running for one in region.statements)


def places_of_nan() -> ph.Tensor:
    x = row()
    return ph.argmax(ph.where(x < 0, x, math.nan), -1)


@pytest.mark.parametrize("program", [exponentials_of_rows, ties, argmax, places_of_nan])
def test_random_regions_of_the_finding_mean_what_was_written(
    program: Callable[[], ph.Tensor],
) -> None:
    tensor = program()
    roots, (written, _) = region_stores(y=tensor), stores_of(y=tensor)
    inputs = inputs_of([tensor], np.random.default_rng(0))
    inputs["in_x"] = np.round(inputs["in_x"])  # some are equal
    inputs["in_x"][0, :4], inputs["in_x"][1] = -np.inf, -np.inf
    expected = run_stores(written, inputs)["out_y"]
    graph = saturate([one.value for one in roots], RULES, PATIENT)
    for seed in range(8):
        region = extracted(graph, roots, seed, spread=1.0 if seed else 0.0)
        got = run_region(region, inputs, 1 + seed % 3)["out_y"]
        # the numbers of an exponential are rounded to float32, and its limit is not 0 in float64
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-30, err_msg=str(region))
