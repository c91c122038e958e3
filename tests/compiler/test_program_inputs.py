"""What a call accepts, and what it says of what it does not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch, PhoticError, ShapeMismatch
from photic.forms.errors import (
    InputDtype,
    InputMissing,
    InputShape,
    InputUnknown,
    InputUnreadable,
    SizeConflict,
    SizeMissing,
    SizeOutOfRange,
)
from photic.targets.errors import TooLarge

N = ph.dim("n", 1, 8)
ONES = np.ones((3, 4), np.float32)


@pytest.fixture(scope="module")
def program() -> ph.Program:
    x, y = ph.input("x", (N, 4)), ph.input("y", (4,), "int32")
    return ph.compile({"z": x * 2.0, "w": y + 1})


INTS = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"x": ONES}, InputMissing, "needs the input 'y' (int32[4])"),
        ({}, InputMissing, "given were: none"),
        ({"x": ONES, "y": INTS, "q": ONES}, InputUnknown, "no input 'q'; its inputs are: x, y, n"),
        ({"x": ONES, "q": INTS}, InputUnknown, "no input 'q'"),
        ({"x": ONES.astype(np.float64), "y": INTS}, InputDtype, "float64"),
        ({"x": ONES.astype(">f4"), "y": INTS}, InputDtype, ">f4"),
        ({"x": ONES, "y": INTS.astype(np.int64)}, InputDtype, "int64"),
        ({"x": [[1.0, 2.0, 3.0, 4.0]], "y": INTS}, InputDtype, "float64"),
        ({"x": np.array([["a"] * 4]), "y": INTS}, InputDtype, "<U1"),
        ({"x": None, "y": INTS}, InputDtype, "object"),
        ({"x": ONES[0], "y": INTS}, InputShape, "expected [n, 4]"),
        ({"x": ONES[:, :3], "y": INTS}, InputShape, "(3, 3)"),
        ({"x": ONES, "y": INTS[:3]}, InputShape, "expected [4]"),
        ({"x": ONES, "y": INTS[:, None]}, InputShape, "(4, 1)"),
        ({"x": ONES[:0], "y": INTS}, SizeOutOfRange, "size 'n' is 0, outside its range 1..8"),
        ({"x": np.ones((9, 4), np.float32), "y": INTS}, SizeOutOfRange, "9"),
        ({"x": ONES, "y": INTS, "n": 4}, SizeConflict, "3 by input 'x', but 4 by the call"),
        ({"x": ONES, "y": INTS, "n": 2.5}, BadArgument, "an integer"),
        ({"x": ONES, "y": INTS, "n": "3"}, BadArgument, "an integer"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(
    program: ph.Program, given: dict[str, object], error: type[PhoticError], says: str
) -> None:
    with pytest.raises(error) as caught:
        program(**given)
    assert says in str(caught.value)
    assert program(x=ONES, y=INTS)["w"].tolist() == [1, 2, 3, 4]  # and harms no later call


def test_sizes_may_be_given_as_well_as_read(program: ph.Program) -> None:
    for size in (3, np.int64(3)):
        assert program(x=ONES, y=INTS, n=size)["z"].shape == (3, 4)


def test_two_inputs_of_one_size_must_agree() -> None:
    x, y = ph.input("x", (N,)), ph.input("y", (N,))
    program = ph.compile({"z": x + y})
    with pytest.raises(SizeConflict, match="by input 'y', but 3 by input 'x'"):
        program(x=np.ones(3, np.float32), y=np.ones(4, np.float32))


def test_a_size_that_stands_in_no_shape_must_be_given() -> None:
    m = ph.dim("m", 0, 9)
    x = ph.input("x", (5,))
    program = ph.compile({"z": ph.broadcast_to(x[:, None], (5, m))})
    with pytest.raises(SizeMissing, match="size 'm'"):
        program(x=np.ones(5, np.float32))
    assert program(x=np.ones(5, np.float32), m=0)["z"].shape == (5, 0)


def test_a_size_is_read_off_a_multiple_and_a_sum() -> None:
    x = ph.input("x", (2 * N + 1,))
    program = ph.compile({"sum": ph.sum(x), "n": ph.broadcast_to(x[:1], (N,))})
    result = program(x=np.ones(7, np.float32))
    assert result["sum"] == 7
    assert result["n"].shape == (3,)
    with pytest.raises(InputShape, match="2\\*n"):
        program(x=np.ones(8, np.float32))


def test_arrays_of_any_strides_are_read() -> None:
    x = ph.input("x", (4, 6))
    program = ph.compile({"y": x + 0.0})
    base = np.arange(96, dtype=np.float32).reshape(8, 12)
    for one in (base[::2, ::2], base[:4, 5::-1], base[::-2, 1::2], base[:6, :4].T):
        np.testing.assert_array_equal(program(x=one)["y"], one)
    for order in ("C", "F"):
        np.testing.assert_array_equal(
            program(x=np.array(base[:4, :6], order=order))["y"], base[:4, :6]
        )
    spread = np.broadcast_to(np.float32(3), (4, 6))
    np.testing.assert_array_equal(program(x=spread)["y"], spread)


def test_read_only_unaligned_and_derived_arrays_are_read() -> None:
    x = ph.input("x", (5,), "int64")
    program = ph.compile({"y": x * 2})
    data = np.arange(5)
    data.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + data.tobytes(), np.uint8)[1:].view(np.int64)
    assert not unaligned.flags.aligned
    for one in (data, unaligned, data.view()):
        assert program(x=one)["y"].tolist() == [0, 2, 4, 6, 8]
    assert data.tolist() == [0, 1, 2, 3, 4]


def test_arrays_without_axes_or_elements_are_read() -> None:
    x, y = ph.input("x", ()), ph.input("y", (0, 3))
    program = ph.compile({"z": x + 1.0, "w": y * 2.0})
    result = program(x=np.float32(2).reshape(()), y=np.zeros((0, 3), np.float32))
    assert result["z"].shape == ()
    assert result["z"] == 3
    assert result["w"].shape == (0, 3)
    assert program(x=np.float32(2), y=np.zeros((0, 3), np.float32))["z"] == 3


def test_every_dtype_goes_in_and_comes_out() -> None:
    dtypes = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    inputs = {one: ph.input(one, (3,), one) for one in [*dtypes, "bfloat16"]}
    program = ph.compile(inputs)
    given = {one: np.array([0, 1, 1]).astype(one) for one in dtypes}
    given["bfloat16"] = np.array([0, 1, 1]).astype(ml_dtypes.bfloat16)
    for name, array in program(**given).items():
        assert array.dtype == given[name].dtype
        np.testing.assert_array_equal(array, given[name])


class Exported:
    """What DLPack shares, and nothing else of an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: object) -> object:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


class Elsewhere(Exported):
    """An array in the memory of a device that is not here."""

    def __dlpack__(self, **kwargs: object) -> object:
        raise BufferError("the memory is on a GPU")

    def __dlpack_device__(self) -> object:
        return (2, 0)


def test_what_dlpack_shares_is_read_without_a_copy(program: ph.Program) -> None:
    result = program(x=Exported(ONES), y=Exported(INTS))
    np.testing.assert_array_equal(result["z"], ONES * 2)


def test_what_dlpack_cannot_share_is_told(program: ph.Program) -> None:
    with pytest.raises(InputUnreadable, match="input 'x': a Elsewhere cannot be read"):
        program(x=Elsewhere(ONES), y=INTS)


@pytest.mark.peers
def test_tensors_of_pytorch_are_read(program: ph.Program) -> None:
    import torch

    x = torch.arange(24, dtype=torch.float32).reshape(6, 4)
    result = program(x=x[::2], y=torch.arange(4, dtype=torch.int32))
    np.testing.assert_array_equal(result["z"], x[::2].numpy() * 2)
    assert isinstance(result["z"], np.ndarray)
    with pytest.raises(InputUnreadable, match="grad"):
        program(x=torch.ones(3, 4, requires_grad=True), y=INTS)
    with pytest.raises(PhoticError):
        program(x=torch.ones(3, 4, dtype=torch.bfloat16), y=INTS)


def test_inputs_are_never_written(program: ph.Program) -> None:
    x, y = ONES.copy(), INTS.copy()
    program(x=x, y=y)
    np.testing.assert_array_equal(x, ONES)
    np.testing.assert_array_equal(y, INTS)


def test_the_addresses_of_a_call_are_its_own(program: ph.Program) -> None:
    """A later call must not read an earlier call's inputs."""
    first = program(x=np.full((2, 4), 1, np.float32), y=INTS)
    second = program(x=np.full((2, 4), 5, np.float32), y=INTS)
    assert (first["z"] == 2).all()
    assert (second["z"] == 10).all()


# --- what compile accepts -------------------------------------------------------------------


def test_an_update_that_does_not_fit_its_state_is_told() -> None:
    state = ph.state("s", (4,))
    with pytest.raises(ShapeMismatch, match="update"):
        ph.compile({}, {state: state[:2]})
    with pytest.raises(DtypeMismatch, match="update"):
        ph.compile({}, {state: state.astype("int32")})
    with pytest.raises(BadArgument, match="2 next values"):
        ph.compile({}, {state: state + 1.0, ph.state("s", (4,)): state + 2.0})
    with pytest.raises(BadArgument, match="expected a tensor of"):
        ph.compile({}, {ph.input("x", (4,)): state})


def test_a_state_has_a_fixed_shape() -> None:
    with pytest.raises(BadArgument, match="expected integers"):
        ph.compile({"y": ph.state("s", (N,))})


@pytest.mark.parametrize("name", ["self", "given", "n", "an input", "größe", "for"])
def test_inputs_may_have_any_name(name: str) -> None:
    program = ph.compile({"y": ph.input(name, (N,)) * 2.0})
    assert program(**{name: np.ones(3, np.float32)})["y"].tolist() == [2, 2, 2]


def test_an_arena_larger_than_memory_is_told() -> None:
    x = ph.input("x", (ph.dim("big", 1, 2**60),))
    program = ph.compile({"y": ph.softmax(x)})
    with pytest.raises(TooLarge, match="the arena would take"):
        program(x=np.ones(3, np.float32))
