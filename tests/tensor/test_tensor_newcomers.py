"""What someone who knows NumPy and PyTorch tries first: it works, or the error says what to do."""

from __future__ import annotations

import builtins
from collections.abc import Callable

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import PhoticError
from photic.tensor.other_names import FUNCTION_HINTS, METHOD_HINTS

X = ph.input("x", (3, 4))
I = ph.input("i", (3, 4), "int32")
MASK = ph.input("m", (3, 4), "bool")
V = ph.input("v", (4,))

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "an axis too far": (lambda: ph.mean(X, axis=5), r"mean: axis 5 is outside a tensor of rank 2"),
    "an axis twice": (
        lambda: ph.sum(X, axis=(0, -2)),
        "axis is .0, -2., expected each axis once",
    ),
    "a float as axis": (lambda: ph.any(X, axis=1.0), "any: axis is 1.0, expected an integer"),
    "a name as axis": (lambda: ph.min(X, axis="rows"), "min: axis is 'rows', expected an integer"),
    "a tensor as axis": (lambda: ph.max(X, V), "max: axis is Tensor.*, expected an integer"),
    "two axes of argmax": (lambda: ph.argmax(X, axis=(0, 1)), "argmax: axis is .0, 1., expected"),
    "two axes of argmin": (lambda: ph.argmin(X, axis=(0, 1)), "axis is .0, 1., expected"),
    "joining nothing": (lambda: ph.concat([]), "concat: values is .., expected a sequence"),
    "stacking a number": (lambda: ph.stack(3), "stack: values is 3, expected a sequence"),
    "a number of keys": (lambda: ph.lexsort(3), "lexsort: values is 3, expected a sequence"),
    "a number of matrices": (lambda: ph.multi_dot(3), "multi_dot: values is 3, expected a seq"),
    "a number of choices": (lambda: ph.choose(I, 3), "choose: values is 3, expected a sequence"),
    "a number of conditions": (lambda: ph.select(3, [X]), "select: values is 3, expected a seq"),
    "a number as lengths": (lambda: ph.fftn(X, 3, (0, 1)), "fftn: .*a length for each"),
    "a number as range": (lambda: ph.histogram(X, range=1), "range is 1, expected two numbers"),
    "a number as indices": (lambda: ph.index_put(X, 1, V), "indices is 1, expected a sequence"),
    "a number as places": (lambda: ph.ravel_multi_index(1, (3, 4)), "expected 2 tensors and mod"),
    "a number as sizes": (lambda: ph.resize(X, 5), "sizes is 5, expected 2 of them"),
    "a number as scales": (lambda: ph.resize(X, scales=2), "expected 2 of them, or as many scale"),
    "a number as a grid's size": (
        lambda: ph.affine_grid(ph.input("t", (1, 2, 3)), 5),
        r"affine_grid: size is \(5,\), expected \(batch, channels, \*sizes\)",
    ),
    "a number as window": (
        lambda: ph.attention(*[ph.input("q", (1, 1, 3, 4))] * 3, window=2),
        "attention: window is 2, expected two sizes",
    ),
    "a negative count": (lambda: ph.linspace(0, 1, -1), "linspace: num is -1, expected 0 or more"),
    "stacking two shapes": (lambda: ph.stack([X, V]), r"stack: shapes \(3, 4\) and \(4,\)"),
    "an axis beside a stack": (lambda: ph.stack([X, X], axis=3), "stack: axis 3 is outside"),
    "text in brackets": (lambda: X["row"], "index is 'row', expected integers, slices"),
    "too many indices": (lambda: X[0, 0, 0], "axis 2 is outside a tensor of rank 2"),
    "a mask that is computed": (lambda: X[MASK], "masked_fill keep the shape"),
    "two sizes of a letter": (lambda: ph.einsum("ij,jk", X, X), "j of 4 and 3.*one size a letter"),
    "infinity among integers": (lambda: ph.masked_fill(I, MASK, -np.inf), "what int32 holds"),
    "nan among integers": (lambda: ph.full((2,), np.nan, "int8"), "what int8 holds"),
    "sizes of a layer_norm": (lambda: ph.layer_norm(X, (4,)), "weight is .4,., expected a tensor"),
    "a size of a layer_norm": (lambda: ph.layer_norm(X, 4), "weight is 4, expected a tensor"),
    "a truth value": (lambda: bool(X), r"ph.where\(...\) to choose"),
    "a number": (lambda: float(X), "has no floating-point value before the program runs"),
    "an array": (lambda: np.asarray(X), "has no elements before the program runs"),
    "text as operand": (lambda: X + "1", "add: got str, expected a tensor"),
    "a list as operand": (lambda: X + [1, 2, 3, 4], "add: got list, expected a tensor"),
    "a bool's negative": (lambda: -MASK, "negative: got dtype bool"),
    "outputs without names": (lambda: ph.compile([X, X]), "outputs is .*, expected a tensor, or"),
    "bits of floats": (lambda: X & 1, "bitwise_and: got dtype float32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_function_and_what_was_expected(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(PhoticError, match=message):
        call()


def test_a_name_of_numpys_or_pytorchs_says_what_it_is_called_here() -> None:
    for name, message in (("cat", "ph.concat"), ("float32", "np.float32"), ("rand", "uniform")):
        with pytest.raises(AttributeError, match=f"'{name}'; here: .*{message}"):
            getattr(ph, name)
    for name, message in (("item", "ph.compile"), ("half", "astype"), ("add_", r"x = x.add\(")):
        with pytest.raises(AttributeError, match=f"'{name}'; here: .*{message}"):
            getattr(X, name)


def test_what_a_hint_stands_for_is_missing_and_what_it_names_is_there() -> None:
    assert not [name for name in FUNCTION_HINTS if hasattr(ph, name)]
    assert not [name for name in METHOD_HINTS if hasattr(X, name)]
    for hint in (*FUNCTION_HINTS.values(), *METHOD_HINTS.values()):
        if hint.startswith("ph.") and " " not in hint:
            found: object = ph
            for part in hint.partition("(")[0].removeprefix("ph.").split("."):
                found = getattr(found, part)


def test_pythons_builtins_on_a_tensor_are_numpys(rng: np.random.Generator) -> None:
    a = rng.normal(size=(3, 4)).astype(np.float32) * 10
    np.testing.assert_array_equal(value(builtins.round, a), np.round(a))
    # a product with a power of ten and a quotient by it: each rounded
    np.testing.assert_allclose(value(lambda x: builtins.round(x, 1), a), np.round(a, 1), rtol=3e-7)
    np.testing.assert_array_equal(value(builtins.abs, a), np.abs(a))
    for place in (0, 1):
        got = value(lambda x, k=place: divmod(x, 3)[k], a)
        np.testing.assert_array_equal(got, divmod(a, 3)[place])
        got = value(lambda x, k=place: divmod(7.0, x)[k], a)
        np.testing.assert_array_equal(got, divmod(np.float32(7), a)[place])
    assert len(list(X)) == len(X) == 3


def test_the_transpose_of_matrices_is_an_attribute() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(value(lambda x: x.mT, a), a.mT)
    np.testing.assert_array_equal(value(lambda x: x.T, a), a.T)


def test_a_tensor_is_joined_by_its_parts_as_numpys_arrays_are() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    for function, numpys in (
        (ph.concat, np.concatenate),
        (ph.stack, np.stack),
        (ph.vstack, np.vstack),
        (ph.hstack, np.hstack),
    ):
        np.testing.assert_array_equal(value(function, a), numpys(a))
    pairs = ((one, one + 1) for one in [a[0]])
    np.testing.assert_array_equal(of(ph.concat(next(pairs))), np.concatenate([a[0], a[0] + 1]))
