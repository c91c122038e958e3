"""What users call: forms of arguments, variables of every kind, errors, and what they say."""

from __future__ import annotations

import numpy as np
import pytest
from autograd.checking import count_of, evaluated

import photic as ph
from photic.autograd.errors import NotAScalar, NotAVariable, NotDifferentiable
from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch


def two() -> tuple[ph.Tensor, ph.Tensor, dict[str, np.ndarray]]:
    x, y = ph.input("x", (3,), "float64"), ph.input("y", (3,), "float64")
    return x, y, {"x": np.array([1.0, 2, 3]), "y": np.array([4.0, 5, 6])}


def test_variables_come_alone_in_a_sequence_or_by_name() -> None:
    x, y, given = two()
    loss = ph.sum(x * y)
    alone, named = ph.grad(loss, x), ph.grad(loss, {"a": x, "b": y})
    many, pair = ph.grad(loss, [x, y]), ph.grad(loss, (x, y))
    assert isinstance(many, list) and isinstance(pair, tuple) and list(named) == ["a", "b"]
    got = evaluated([*many, *pair, *named.values(), alone], given)
    for one, want in zip(got, [given["y"], given["x"]] * 3 + [given["y"]], strict=True):
        np.testing.assert_array_equal(one, want)


def test_the_loss_comes_with_its_gradient() -> None:
    x, y, given = two()
    value, found = ph.value_and_grad(ph.sum(x * y), {"x": x})
    got = evaluated([value, found["x"]], given)
    assert got[0] == 32
    np.testing.assert_array_equal(got[1], given["y"])


def test_a_value_on_the_way_is_a_variable() -> None:
    x, y, given = two()
    inner = x * y
    loss = ph.sum(inner * inner + x)
    (got,) = evaluated([ph.grad(loss, inner)], given)
    np.testing.assert_array_equal(got, 2 * given["x"] * given["y"])


def test_a_state_is_a_variable() -> None:
    w = ph.state("w", (2,), "float64")
    got = ph.grad(ph.sum(w * w), w)
    assert got.shape == (2,) and count_of("state", got) == 1


def test_a_view_that_moves_elements_is_a_variable_seen_the_same_way() -> None:
    x = ph.input("x", (2, 3), "float64")
    given = {"x": np.arange(6.0).reshape(2, 3)}
    for variable, want in (
        (x.reshape(3, 2), given["x"].reshape(3, 2) * 2),
        (x.T, given["x"].T * 2),
        (x[1, ::-1], given["x"][1, ::-1] * 2),
    ):
        (got,) = evaluated([ph.grad(ph.sum(x * x), variable)], given)
        np.testing.assert_array_equal(got, want)


def test_what_the_loss_does_not_depend_on_gets_zeros() -> None:
    x, y, given = two()
    loss = ph.sum(x.astype("int32").astype("float64") + x)
    n = ph.dim("n", 0, 5)
    z = ph.input("z", (n, 2), "float32")
    got = evaluated(ph.grad(loss, [y, z]), given, n=2)
    np.testing.assert_array_equal(got[0], np.zeros(3))
    np.testing.assert_array_equal(got[1], np.zeros((2, 2)))


def test_a_stopped_value_is_a_constant_and_the_same_value() -> None:
    x, _, given = two()
    y = x * ph.stop_gradient(x * x)
    value, (slope,) = ph.value_and_grad(ph.sum(y), [x])
    got = evaluated([value, slope], given)
    assert got[0] == np.sum(given["x"] ** 3)
    np.testing.assert_array_equal(got[1], given["x"] ** 2)


def test_stopping_a_view_or_an_integer_changes_nothing_else() -> None:
    x = ph.input("x", (2, 3), "float64")
    i = ph.input("i", (2,), "int32")
    given = {"x": np.arange(6.0).reshape(2, 3), "i": np.array([1, 2], np.int32)}
    got = evaluated([ph.stop_gradient(x.T[1:]), ph.stop_gradient(i)], given)
    np.testing.assert_array_equal(got[0], given["x"].T[1:])
    np.testing.assert_array_equal(got[1], given["i"])


def test_a_vjp_weighs_outputs_of_any_shape() -> None:
    x, y, given = two()
    weights = ph.constant(np.array([1.0, 10, 100])), ph.constant(np.array(2.0))
    got = evaluated(ph.vjp([x * y, ph.sum(x)], [x, y], weights), given)
    np.testing.assert_array_equal(got[0], np.array([4.0, 50, 600]) + 2)
    np.testing.assert_array_equal(got[1], [1, 20, 300])


def test_a_jvp_has_the_form_of_the_outputs_and_no_input_of_its_own() -> None:
    x, y, given = two()
    tangent = ph.constant(np.array([1.0, 0, 2]))
    got = ph.jvp({"a": x * x, "b": ph.sum(y)}, x, tangent)
    a, b = evaluated([got["a"], got["b"]], given)  # only x and y are asked for
    np.testing.assert_array_equal(a, [2, 0, 12])
    assert b == 0


def test_a_jvp_goes_through_a_loop() -> None:
    x, y, given = two()
    (last,), _ = ph.scan(lambda c, s: ((c[0] * s[0],), ()), (y[0] * 1.0,), (x,))
    (got,) = evaluated([ph.jvp(last, x, ph.constant(np.array([1.0, 0, 0])))], given)
    assert got == 24


# --- checkpoint -----------------------------------------------------------------------------


def test_a_checkpointed_function_has_the_same_gradient() -> None:
    x, y, given = two()

    def function(x: ph.Tensor, *, y: ph.Tensor) -> ph.Tensor:
        return ph.exp(ph.sin(x) * y) * x

    plain = ph.grad(ph.sum(ph.cos(function(x * 1.5, y=y))), [x, y])
    again = ph.grad(ph.sum(ph.cos(ph.checkpoint(function)(x * 1.5, y=y))), [x, y])
    for one, other in zip(evaluated(plain, given), evaluated(again, given)):
        np.testing.assert_allclose(one, other, rtol=1e-15)


def test_a_checkpointed_function_is_computed_again_and_no_more() -> None:
    x, w = ph.input("x", (3,), "float64"), ph.input("w", (3,), "float64")

    def layer(x: ph.Tensor) -> ph.Tensor:
        return ph.sin(ph.exp2(w) * x) * ph.sin(x)

    loss = ph.sum(ph.square(layer(x)))
    plain = ph.grad(loss, x)
    assert count_of("exp2", loss, plain) == 1
    sines = count_of("sin", loss, plain)
    again = ph.grad(ph.sum(ph.square(ph.checkpoint(layer)(x))), x)
    assert count_of("exp2", loss, again) == 1  # it does not depend on the argument
    assert count_of("sin", loss, again) == sines + 2


# --- errors ---------------------------------------------------------------------------------


def test_a_loss_must_be_one_number() -> None:
    x, _, _ = two()
    with pytest.raises(NotAScalar, match=r"P115.*shape \(3,\)(.|\n)*ph\.vjp"):
        ph.grad(x * x, x)


def test_a_loss_must_be_a_float() -> None:
    x, _, _ = two()
    with pytest.raises(NotDifferentiable, match=r"P113.*loss 0 is int64(.|\n)*astype"):
        ph.grad(ph.argmax(x), x)


def test_a_variable_must_be_a_float_and_the_error_names_it() -> None:
    x, _, _ = two()
    k = ph.input("places", (3,), "int32")
    with pytest.raises(NotDifferentiable, match=r"wrt 1 \(places\) is int32"):
        ph.grad(ph.sum(x * k), [x, k])


def test_a_view_that_repeats_or_pads_is_no_variable() -> None:
    x = ph.input("x", (3,), "float64")
    loss = ph.sum(x * x)
    with pytest.raises(NotAVariable, match=r"P114.*wrt 0 \(x\).*more than once(.|\n)*taken of"):
        ph.grad(loss, ph.broadcast_to(x, (2, 3)))
    n = ph.dim("n", 1, 9)
    with pytest.raises(NotAVariable, match="no element"):
        ph.grad(loss, x[n])


def test_what_is_no_tensor_is_refused() -> None:
    x, _, _ = two()
    with pytest.raises(BadArgument, match=r"wrt is 3"):
        ph.grad(ph.sum(x), [x, 3])  # type: ignore[list-item]
    with pytest.raises(BadArgument, match=r"loss is 2\.0"):
        ph.grad(2.0, x)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"result is None"):
        ph.checkpoint(lambda x: None)(x)


def test_cotangents_and_tangents_must_fit() -> None:
    x, y, _ = two()
    with pytest.raises(ShapeMismatch):
        ph.vjp(x * y, x, ph.sum(x))
    with pytest.raises(DtypeMismatch):
        ph.vjp(x * y, x, x.astype("float32"))
    with pytest.raises(BadArgument, match="one for each"):
        ph.jvp(x * y, [x, y], [x])
