"""What the rules find in whole programs, what they refuse, which rules each finding needs."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from search.lowered import PATIENT, RULES, region_stores, saturated
from search.value_programs import (
    DEPTH,
    HEADS,
    KEYS,
    ROWS,
    block,
    exponentials,
    folds,
    is_streaming,
    layer,
    mixed,
    naive,
    operations,
    row,
    scores,
    weights,
)

import photic as ph
from photic.search.rules import rules_without
from photic.search.run import LIMITS, EGraph, Limits, saturate


def graph_of(tensor: ph.Tensor) -> EGraph:
    graph = saturated(region_stores(y=tensor))
    assert graph.stopped == "saturated"
    return graph


# --- found ----------------------------------------------------------------------------------


def transposed() -> ph.Tensor:
    """Attention over inputs whose axes are in another order."""
    q, k, v = (ph.input(name, (DEPTH, HEADS, KEYS)) for name in "qkv")
    found = ph.permute(q, (1, 2, 0)) @ ph.permute(k, (1, 0, 2))
    return weights(found, math.e) @ ph.permute(v, (1, 2, 0))


def swapped() -> ph.Tensor:
    """Every commutative operation with its operands the other way round."""
    found = 0.5 * (ph.input("q", (HEADS, ROWS, DEPTH)) @ ph.input("k", (HEADS, DEPTH, KEYS)))
    top = -1.0 * ph.max(found, axis=-1, keepdims=True)
    powers = ph.exp2(math.log2(math.e) * (top + found))
    share = ph.reciprocal(ph.sum(powers, axis=-1, keepdims=True)) * powers
    v = ph.input("v", (HEADS, KEYS, DEPTH))
    return ph.sum(v[:, None] * share[..., None], axis=-2)


def biased() -> ph.Tensor:
    return mixed(weights(scores() + ph.input("bias", (ROWS, KEYS)), math.e))


def tempered() -> ph.Tensor:
    """The scale stands outside the distance to the maximum."""
    found = scores()
    powers = ph.exp2((found - ph.max(found, axis=-1, keepdims=True)) * 0.3 * math.log2(math.e))
    return mixed(powers / ph.sum(powers, axis=-1, keepdims=True))


STREAMING: dict[str, Callable[[], ph.Tensor]] = {
    "plain": naive,
    "base 3": lambda: naive(3.0),
    "base 2": lambda: naive(2.0),
    "no mask": lambda: mixed(weights(scores(causal=False), math.e)),
    "a bias": biased,
    "a scale outside": tempered,
    "operands swapped": swapped,
    "exponentials by the library": lambda: mixed(exponentials(scores())),
    "axes permuted": transposed,
    "the library's own": lambda: ph.attention(
        *(ph.input(name, (HEADS, KEYS, DEPTH)) for name in "qkv"), causal=True
    ),
}


@pytest.mark.parametrize("name", STREAMING)
def test_attention_is_found_to_stream(name: str) -> None:
    graph = graph_of(STREAMING[name]())
    assert is_streaming(graph)
    assert graph.rows < 100


def test_a_softmax_and_a_log_of_sums_fold_once() -> None:
    rows = (ph.softmax(row()), ph.logsumexp(row(), axis=-1), weights(row(), 3.0))
    for tensor in (*rows, exponentials(row()), exponentials(row().astype("float64"))):
        assert len(folds(graph_of(tensor))) == 1


def test_the_scale_of_a_norm_moves_behind_the_next_product() -> None:
    w, g = ph.input("w", (11, 4)), ph.input("g", (11,))
    graph = graph_of(ph.rms_norm(row(), g) @ w)
    products = operations(graph, graph.roots[0], "Prod")
    scale = [child for node in products for child in node.children]
    assert any(node.attributes[:1] == ("recip",) for one in scale for node in graph.classes[one])


def test_scales_of_blocks_leave_the_inner_sum() -> None:
    codes, scale, least = (ph.input(n, (5, 3, k)) for n, k in (("c", 4), ("s", 1), ("m", 1)))
    x = ph.input("x", (2, 12))
    graph = graph_of(x @ ph.swapaxes((codes * scale + least).reshape(5, 12), 0, 1))
    # one sum over blocks of scale*(sum of x*codes), one of least*(sum of x)
    (root,) = graph.roots
    inner = [
        child
        for pair in operations(graph, root, "Pair")
        for total in pair.children
        for node in operations(graph, total, "Reduce")
        for product in operations(graph, node.children[0], "Prod")
        for child in product.children
    ]
    names = {axis for axis, one in graph.table.axes.items() if one.extent == 4}
    assert sum(n.attributes[1] in names for c in inner for n in operations(graph, c, "Reduce")) >= 2


def test_a_layer_with_quantised_weights_norms_and_rotary_positions_saturates_small() -> None:
    roots = region_stores(y=block(2, 6, 8, 8))
    graph = saturate([one.value for one in roots], RULES, PATIENT)
    assert graph.stopped == "saturated" and graph.rows < 5000
    assert len(folds(graph)) >= 2


def test_a_whole_layer_saturates_or_ends_by_its_limits() -> None:
    values = [one.value for one in region_stores(y=layer(2, 6, 8, 8))]
    graph = saturate(values, RULES, LIMITS)
    assert LIMITS.seconds < 2.0  # nothing but the last step may go on after that
    assert graph.stopped in ("saturated", "seconds") and graph.rows < 5000


# --- where terms vanish -------------------------------------------------------------------


def conditions(graph: EGraph, kind: str) -> list[set[str]]:
    """The conditions under which the bodies of a reduction (or of folds) vanish, as text."""
    nodes = [node for nodes in graph.classes.values() for node in nodes]
    found = [node for node in nodes if node.op in ("Reduce", "Fold")]
    bodies = [one.children[-1] for one in found if kind in (one.op, one.attributes[0])]
    return [{str(graph.table.leaves[leaf]) for leaf in graph.vanishing[one]} for one in bodies]


def window() -> ph.Tensor:
    keys, rows = ph.arange(KEYS), ph.arange(ROWS)[:, None]
    return (keys < rows + 3) & (rows < keys + 2)


MASKED: dict[str, tuple[Callable[[], ph.Tensor], int]] = {
    "below the diagonal": (scores, 1),
    "the library's own": (
        lambda: ph.where(ph.arange(KEYS) <= ph.arange(ROWS)[:, None], scores(False), -math.inf),
        1,
    ),
    "the opposite condition": (lambda: ph.where(~window(), -math.inf, scores(False)), 2),
    "a window": (lambda: ph.where(window(), scores(False), -math.inf), 2),
    "added to the scores": (lambda: scores(False) + ph.where(window(), 0.0, -math.inf), 2),
    "half floats": (
        lambda: ph.where(window(), scores(False).astype("float16"), -math.inf).astype("float32"),
        2,
    ),
    "a bias behind the mask": (lambda: scores() * 0.5 + ph.input("bias", (ROWS, KEYS)), 1),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_weights_vanish_in_the_maximum_and_in_both_sums(name: str) -> None:
    found, count = MASKED[name]
    graph = graph_of(mixed(weights(found(), math.e)))
    (top,) = conditions(graph, "max")
    assert len(top) == count
    assert conditions(graph, "Fold") == [top, top]


def test_the_condition_that_makes_weights_vanish_is_the_mask() -> None:
    graph = graph_of(naive())
    (top,) = conditions(graph, "max")
    (column,) = {
        str(n.attributes[1]) for ns in graph.classes.values() for n in ns if n.op == "Fold"
    }
    (text,) = top
    assert text.startswith("positive(3 + ") and text.endswith(f" - {column})")


def test_a_large_negative_mask_is_none() -> None:
    seen = ph.arange(KEYS) <= ph.arange(ROWS)[:, None]
    graph = graph_of(mixed(weights(ph.where(seen, scores(False), -1e30), math.e)))
    assert not any(conditions(graph, "max")) and not any(conditions(graph, "Fold"))


def test_a_mask_from_data_is_none() -> None:
    seen = ph.input("seen", (ROWS, KEYS), "bool")
    graph = graph_of(mixed(weights(ph.where(seen, scores(False), -math.inf), math.e)))
    assert not any(conditions(graph, "max")) and not any(conditions(graph, "Fold"))


def test_a_body_of_a_sum_and_of_a_maximum_vanishes_only_where_both_may_leave_it_out() -> None:
    masked = ph.where(ph.arange(11) < ph.arange(3)[:, None], row(), -math.inf)
    outputs = {"y": ph.sum(masked, axis=-1), "z": ph.max(masked, axis=-1)}
    graph = saturated(region_stores(**outputs))
    assert set(graph.vanishing.values()) == {frozenset()}


def test_padding_vanishes_in_the_sum_over_a_window() -> None:
    x = ph.pad(ph.input("x", (4, 6)), ((1, 1), (1, 1)))
    graph = graph_of(ph.sum(x[1:5, 1:7] * ph.input("w", (4, 6)), axis=-1))
    assert not any(conditions(graph, "sum"))  # the views cancel
    shifted = graph_of(ph.sum(x[0:4, 0:6] * ph.input("w", (4, 6)), axis=-1))
    assert all(len(one) == 2 for one in conditions(shifted, "sum"))


def test_comparisons_of_whole_numbers_that_may_wrap_are_no_index_conditions() -> None:
    small = ph.arange(KEYS).astype("int8") * 100 < ph.arange(ROWS)[:, None].astype("int8")
    graph = graph_of(mixed(weights(ph.where(small, scores(False), -math.inf), math.e)))
    assert not any(conditions(graph, "max"))


def test_without_the_topic_nothing_vanishes() -> None:
    values = [one.value for one in region_stores(y=naive())]
    assert not any(saturate(values, rules_without("ranges"), PATIENT).vanishing.values())


# --- refused --------------------------------------------------------------------------------


def share_of(powers: ph.Tensor) -> ph.Tensor:
    return mixed(powers / ph.sum(powers, axis=-1, keepdims=True))


def over(axis: int) -> ph.Tensor:
    found = scores(causal=False)
    return share_of(ph.exp2(found - ph.max(found, axis=axis, keepdims=True)))


def other_mask() -> ph.Tensor:
    found = scores(causal=False)
    seen = ph.arange(KEYS) < ph.arange(ROWS)[:, None] + 1
    masked, more = (ph.where(seen if k else seen | True, found, -1e30) for k in (1, 0))
    return share_of(ph.exp2(masked - ph.max(more + 1e-3, axis=-1, keepdims=True)))


def other_value() -> ph.Tensor:
    found = scores(causal=False)
    return share_of(ph.exp2(found - ph.max(found * found, axis=-1, keepdims=True)))


REFUSED = {
    "another axis": lambda: over(-2),
    "another mask": other_mask,
    "something else": other_value,
    "no maximum": lambda: share_of(ph.exp2(scores())),
    "a rising weight": lambda: share_of(
        ph.exp2((scores() - ph.max(scores(), axis=-1, keepdims=True)) * -1.0)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_near_miss_is_not_folded(name: str) -> None:
    assert not folds(graph_of(REFUSED[name]()))


def test_without_the_topic_nothing_folds() -> None:
    values = [one.value for one in region_stores(y=naive())]
    assert not folds(saturate(values, rules_without("folds"), PATIENT))


# --- runs -----------------------------------------------------------------------------------


def test_matches_are_counted_by_rule() -> None:
    graph = graph_of(naive())
    assert set(graph.matches) == {rule.name for rule in RULES}
    assert graph.matches["fold"] == 2 and graph.matches["addend out of a maximum"] == 0


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(rows=100, seconds=60.0, steps=50), "rows"),
        (Limits(rows=10**6, seconds=0.0, steps=50), "seconds"),
        (Limits(rows=10**6, seconds=60.0, steps=1), "steps"),
    ],
)
def test_a_run_that_meets_a_limit_says_which(limits: Limits, reason: str) -> None:
    roots = region_stores(y=block(2, 3, 4, 4))
    assert saturate([one.value for one in roots], RULES, limits).stopped == reason


def test_a_panic_inside_the_engine_stops_the_run_and_changes_nothing() -> None:
    from photic.search.rules.record import Rule

    broken = Rule("broken", "(Un o a)", "e", "(= s (multiset-pick (multiset-of)))", "", "exact")
    panics = Rule("panics", "(= e (Un o a))", '(panic "stop")', "", "", "fact")
    for rule in (broken, panics):
        graph = saturate([one.value for one in region_stores(y=naive())], (rule,), PATIENT)
        assert graph.stopped in ("panic", "conflict", "saturated")
        assert all(len(nodes) == 1 for nodes in graph.classes.values())


def test_the_same_program_gives_the_same_graph_in_every_process() -> None:
    script = (
        "import sys, hashlib; sys.path[:0] = [sys.argv[1]]\n"
        "from search.test_values import fingerprint; print(fingerprint())"
    )
    tests = str(Path(__file__).parent.parent)
    seen = {
        subprocess.run(
            [sys.executable, "-c", script, tests],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def fingerprint() -> str:
    graph = saturated(region_stores(y=block(2, 3, 4, 4)))
    return hashlib.sha256(repr(sorted(graph.classes.items())).encode()).hexdigest()


def test_egglog_is_not_loaded_by_the_compiler_before_a_run() -> None:
    script = "import sys, photic.search.run, photic.search.extract; print('egglog' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_signed_zeros_nan_and_infinities_are_different_constants() -> None:
    x = row()
    total = x * 0.0 + x * -0.0 + x * math.nan + x * math.inf + x * -math.inf
    graph = graph_of(total)
    assert graph.stopped == "saturated" and np.isfinite(graph.rows)
