"""Stores become one region: which axes are one, what is inlined, what stays; all evaluated."""

from __future__ import annotations

import numpy as np
import pytest
from search.lowered import region_stores, run_stores, stores_of
from search.value_programs import block, inputs_of, mixed, naive, row, scores, weights

import photic as ph
from photic.ir import index as form
from photic.ir.dim import Var, var
from photic.ir.dtype import FLOAT32
from photic.ir.index import Buffer, Store
from photic.search.region import shared_axes

RNG = np.random.default_rng(0)


def names(stores: tuple[Store, ...]) -> list[str]:
    return [one.buffer.name for one in stores]


def check_same(tensor: ph.Tensor) -> tuple[Store, ...]:
    """The region of a tensor; what it evaluates to is what the lowered stores do."""
    stores, temporary = stores_of(y=tensor)
    roots = shared_axes(stores, temporary)
    inputs = inputs_of([tensor], RNG)
    expected, got = run_stores(stores, inputs)["out_y"], run_stores(roots, inputs)["out_y"]
    np.testing.assert_allclose(got, expected, rtol=1e-12)  # the same sums in the same order
    return roots


def reduced(store: Store) -> dict[str, list[Var]]:
    found: dict[str, list[Var]] = {"sum": [], "max": []}
    for one in form.walk(store.value):
        if isinstance(one.attribute, form.Over):
            found[one.op].append(one.attribute.axis)
    return found


def test_masked_attention_of_grouped_heads_is_one_store_and_its_keys_one_axis() -> None:
    (root,) = check_same(naive())
    axes = reduced(root)
    assert len(axes["max"]) == 1 and axes["sum"].count(axes["max"][0]) == 2


def test_an_input_that_two_stores_reduce_gives_them_one_axis() -> None:
    (root,) = check_same(ph.softmax(row()))
    axes = reduced(root)
    assert axes["max"] == axes["sum"] == [root.axes[1]]


def test_rows_and_keys_of_one_input_stay_apart() -> None:
    x = ph.input("x", (5, 4))
    (root,) = check_same(weights(x @ ph.swapaxes(x, 0, 1), 2.0) @ x)
    assert reduced(root)["max"][0] not in root.axes


def test_a_matrix_times_itself_keeps_three_axes() -> None:
    x = ph.input("x", (4, 4))
    (root,) = check_same(x @ x @ x)
    axes = {*root.axes, *reduced(root)["sum"]}
    assert len(axes) == 4


def test_a_reader_of_parts_splits_the_axis_of_its_source() -> None:
    x = ph.input("x", (3, 12)) * 2.0
    w = ph.input("w", (3, 4, 5))
    product = ph.exp2(ph.exp2(x)) @ (w * w).reshape(12, 5)
    (root,) = check_same(product)
    assert sorted(one.extent for one in reduced(root)["sum"]) == [3, 4]


def test_a_temporary_read_elsewhere_than_at_its_axes_is_stored() -> None:
    x = ph.input("x", (6, 6))
    softened = ph.softmax(x)
    roots = check_same(softened[1:, :] + softened[:-1, :])
    assert len(roots) == 2 and roots[-1].buffer.name == "out_y"


def test_several_outputs_share_axes_and_values() -> None:
    x = row()
    share = weights(x, 2.0)
    roots = region_stores(y=share, z=ph.sum(share * share, axis=-1))
    assert names(roots) == ["out_y", "out_z"]
    inside = [set(form.walk(one.value)) for one in roots]
    assert roots[0].value in inside[1] and roots[0].axes[0] == roots[1].axes[0]


def test_an_output_that_is_read_is_still_an_output() -> None:
    x = ph.exp2(row())
    roots = region_stores(y=x, z=ph.sum(x, axis=-1))
    assert sorted(names(roots)) == ["out_y", "out_z"]


def test_a_gather_inside_a_region_keeps_its_data_index() -> None:
    table, places = ph.input("table", (9, 4)), ph.input("places", (5,), "int64")
    tensor = weights(ph.take(table, places, axis=0) * 2.0, 2.0)
    stores, temporary = stores_of(y=tensor)
    roots = shared_axes(stores, temporary)
    inputs = {
        "in_table": RNG.standard_normal((9, 4)).astype(np.float32),
        "in_places": np.array([3, 0, 8, 3, 1]),
    }
    expected = run_stores(stores, inputs)["out_y"]
    np.testing.assert_allclose(run_stores(roots, inputs)["out_y"], expected, rtol=1e-12)


def test_a_whole_layer_in_quantised_blocks_evaluates_the_same() -> None:
    stores, temporary = stores_of(y=block(2, 3, 4, 4))
    roots = shared_axes(stores, temporary)
    inputs = {
        access.buffer.name: RNG.integers(-8, 8, access.buffer.shape).astype(
            access.buffer.dtype.numpy
        )
        for store in stores
        for access in form.loads(store.value)
        if access.buffer.name.startswith("in_")
    }
    expected = run_stores(stores, inputs)["out_y"]
    np.testing.assert_allclose(run_stores(roots, inputs)["out_y"], expected, rtol=1e-12)


def test_axes_are_named_by_first_appearance_not_by_the_stores_names() -> None:
    a, b = region_stores(y=naive()), region_stores(y=mixed(weights(scores(), np.e)))
    assert list(map(str, a)) == list(map(str, b))


def test_a_buffer_that_is_written_after_a_read_is_refused() -> None:
    axis = Var("a", 4)
    one, other = (Buffer(name, (4,), FLOAT32) for name in ("p", "q"))
    at = (var("a", 4),)
    stores = [
        Store(one, (axis,), at, form.load(other, at)),
        Store(other, (axis,), at, form.number(1.0, FLOAT32)),
    ]
    with pytest.raises(AssertionError, match="write after a read"):
        shared_axes(stores, set())
