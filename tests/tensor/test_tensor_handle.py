"""The handle: operators with numbers and arrays, questions without answer, public names."""

from __future__ import annotations

import builtins
import operator
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, NoTruthValue, ShapeMismatch
from photic.forms.errors import CannotReshape
from photic.ir.dtype import DTYPES
from photic.tensor.errors import AxisOutOfRange, NotATensor, UnknownSize

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda one: one.__name__)
def test_an_operator_equals_numpys_with_tensors_numbers_and_arrays(
    apply: Callable[..., object], rng: np.random.Generator
) -> None:
    a = rng.uniform(0.5, 4, (3, 1)).astype(np.float32)
    b = rng.uniform(0.5, 4, (2,)).astype(np.float32)
    # a quotient is a product with the inverse, a power goes through float64: both within 2 ulp
    pairs = [
        (value(apply, a, b), apply(a, b)),
        (value(lambda x: apply(x, 2.5), a), apply(a, np.float32(2.5))),
        (value(lambda x: apply(2.5, x), a), apply(np.float32(2.5), a)),
        (value(lambda x: apply(x, b), a), apply(a, b)),
        (value(lambda x: apply(a, x), b), apply(a, b)),
    ]
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=2.5e-7)
        assert got.dtype == np.asarray(want).dtype


def test_integers_with_numbers_keep_their_dtype() -> None:
    x = np.array([5, -5], np.int8)
    for apply in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
        got = value(lambda y, f=apply: f(y, 3), x)
        assert got.dtype == np.int8
        assert got.tolist() == apply(x, np.int8(3)).tolist()
        assert value(lambda y, f=apply: f(3, y), x).tolist() == apply(np.int8(3), x).tolist()


def test_a_symbolic_size_takes_part_as_a_number() -> None:
    n = ph.dim("n", 0, 9)
    x = ph.input("x", (2,))
    assert of(x * n + n, {"x": np.array([1, 2], np.float32)}, n=3).tolist() == [6, 9]
    assert of(ph.size(2 * n + 1), n=4) == 9


def test_methods_are_the_functions_of_the_same_name(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 4)).astype(np.float32)
    for name in ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin"):
        got = value(lambda y, m=name: getattr(y, m)(axis=1, keepdims=True), x)
        np.testing.assert_allclose(got, getattr(np, name)(x, axis=1, keepdims=True), rtol=1e-6)
    assert value(lambda y: y.reshape(4, -1), x).shape == (4, 6)
    assert value(lambda y: y.reshape((6, 4)), x).shape == (6, 4)
    assert value(lambda y: y.permute(2, 0, 1), x).shape == (4, 2, 3)
    assert value(lambda y: y.transpose(), x).shape == value(lambda y: y.T, x).shape == (4, 3, 2)
    assert value(lambda y: y.swapaxes(0, -1), x).shape == (4, 3, 2)
    assert value(lambda y: y[:, :1].expand(2, 5, 4), x).shape == (2, 5, 4)
    assert value(lambda y: y[:1].squeeze(), x).shape == (3, 4)
    assert value(lambda y: y.flatten(), x).shape == (24,)
    np.testing.assert_array_equal(value(lambda y: y.clip(-1, 1), x), x.clip(-1, 1))
    np.testing.assert_array_equal(value(abs, x), abs(x))
    np.testing.assert_array_equal(value(lambda y: +y, x), x)


def test_astype_to_the_same_dtype_is_the_same_handle() -> None:
    x = ph.ones(2)
    assert x.astype("float32") is x
    assert x.astype(np.float32) is x
    assert str(x.astype(int).dtype) == "int64"


@pytest.mark.parametrize(
    "question",
    [bool, int, float, np.asarray, lambda x: 1 in x, lambda x: range(x)],
    ids=["bool", "int", "float", "array", "in", "index"],
)
def test_a_tensor_has_no_value_before_the_program_runs(
    question: Callable[[ph.Tensor], object],
) -> None:
    with pytest.raises(NoTruthValue):
        question(ph.ones(3))


def test_iteration_and_length_go_over_the_first_axis() -> None:
    rows = list(ph.constant(np.arange(6.0).reshape(3, 2)))
    assert [of(one).tolist() for one in rows] == [[0, 1], [2, 3], [4, 5]]
    assert len(ph.zeros((4, 2))) == 4
    with pytest.raises(UnknownSize):
        len(ph.zeros((ph.dim("n", 1, 3),)))
    with pytest.raises(BadArgument):
        len(ph.zeros(()))


def test_handles_can_be_keys_and_cannot_change() -> None:
    x, y = ph.ones(2), ph.ones(2)
    assert {x: 1, y: 2}[x] == 1
    with pytest.raises(AttributeError):
        x.operand = y.operand  # type: ignore[misc]


def test_the_text_of_a_handle_names_dtype_and_shape() -> None:
    assert repr(ph.input("x", (ph.dim("n", 1, 3), 4))) == "Tensor(float32[n, 4] of input)"


def test_equal_expressions_are_one_node() -> None:
    x = ph.input("x", (3,))
    assert ph.exp(x * 2.0).operand == ph.exp(x * 2.0).operand


@pytest.mark.parametrize(
    ("error", "mistake"),
    [
        (ShapeMismatch, lambda: ph.ones(3) + ph.ones(2)),
        (ShapeMismatch, lambda: ph.ones((3, 2)) @ ph.ones((3, 2))),
        (ShapeMismatch, lambda: ph.concat([ph.ones((2, 3)), ph.ones((2, 2))])),
        (ShapeMismatch, lambda: ph.broadcast_to(ph.ones(3), (2, 2))),
        (CannotReshape, lambda: ph.ones(6).reshape(4, -1)),
        (AxisOutOfRange, lambda: ph.ones((2, 3)).sum(axis=2)),
        (AxisOutOfRange, lambda: ph.ones((2, 3))[0, 0, 0]),
        (BadArgument, lambda: ph.ones((2, 3)).sum(axis=(0, 0))),
        (BadArgument, lambda: ph.ones(3)[3]),
        (UnknownSize, lambda: ph.ones(3)[:: ph.dim("k", 1, 2)]),
        (BadArgument, lambda: ph.ones(3).squeeze(0)),
        (BadArgument, lambda: ph.input("", (3,))),
        (BadArgument, lambda: ph.zeros((-2,))),
        (BadArgument, lambda: ph.ones(3, "float8")),
        (NotATensor, lambda: ph.ones(3) + "x"),
        (NotATensor, lambda: ph.exp(None)),
    ],
)
def test_a_mistake_is_an_error_with_a_code(
    error: type[Exception], mistake: Callable[[], object]
) -> None:
    with pytest.raises(error, match=r"\[P1\d\d\]"):
        mistake()


def test_every_public_name_leads_to_something_of_that_name() -> None:
    for name in dir(ph):
        if not name.startswith("_") and name not in ("annotations", "builtins", "importlib"):
            assert getattr(ph, name) is not None
    assert ph.softmax.__name__ == "softmax"
    with pytest.raises(AttributeError, match="no attribute 'soft_max'"):
        ph.soft_max  # noqa: B018


def test_a_star_import_hides_no_builtin() -> None:
    assert not set(ph.__all__) & set(dir(builtins))
    assert "sum" in dir(ph)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, photic; sys.exit('numpy' in sys.modules or 'photic.tensor' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_dtype_equals_its_name_numpys_dtype_and_numpys_type() -> None:
    for one in DTYPES.values():
        for other in (one, one.name, one.numpy, one.numpy.type):
            assert one == other
            assert other == one
        assert one in {one.name: 0}
        assert {other.name for other in DTYPES.values() if one == other} == {one.name}
    assert ph.input("x", (2,)).dtype != "float64"
    assert ph.input("x", (2,)).dtype != 4
