"""The catalogue's entries for comparisons, special values, logic, selection and bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from catalogue.entries_existing_arithmetic import WHOLE, speed, torches
from catalogue.entry import ALL, BOOL, INTS, Array, Case, Dtype, Entry, Speed, gives
from catalogue.inputs import LARGE, anything, million, one_array, special, strided, two_arrays

import photic as ph

YES_OR_NO = "none: bools"


def comparison(name: str, torch_name: str, onnx: tuple[str, ...]) -> Entry:
    return Entry(
        name,
        getattr(ph, name),
        getattr(np, name),
        two_arrays,
        ALL,
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        onnx=onnx,
        aten=(torch_name,),
        speed=speed(torch_name, 2),
    )


COMPARISONS = (
    comparison("less", "lt", ("Less",)),
    comparison("less_equal", "le", ("LessOrEqual",)),
    comparison("greater", "gt", ("Greater",)),
    comparison("greater_equal", "ge", ("GreaterOrEqual",)),
    comparison("equal", "eq", ("Equal",)),
    comparison("not_equal", "ne", ()),
    comparison("logical_and", "logical_and", ("And",)),
    comparison("logical_or", "logical_or", ("Or",)),
    comparison("logical_xor", "logical_xor", ("Xor",)),
    Entry(
        "less.numbers",
        lambda x: (x < 2, x <= 1, x > 2, x >= 1, x == 1, x != 1),
        lambda x: (x < 2, x <= 1, x > 2, x >= 1, x == 1, x != 1),
        one_array,
        ALL,
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        onnx=("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"),
        aten=("lt", "le", "gt", "ge", "eq", "ne"),
        sizes=("n",),
    ),
)


def question(name: str, onnx: tuple[str, ...]) -> Entry:
    return Entry(
        name,
        getattr(ph, name),
        getattr(np, name),
        one_array,
        ALL,
        result_dtype=gives("bool"),
        gradient=YES_OR_NO,
        onnx=onnx,
        aten=(name,),
        sizes=("n",),
        speed=speed(name),
    )


QUESTIONS = (
    question("isnan", ("IsNaN",)),
    question("isinf", ("IsInf",)),
    question("isfinite", ()),
    question("logical_not", ("Not",)),
)


# --- selection ------------------------------------------------------------------------------


def choices(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """A mask and two arrays: each special value, broadcast every way, views."""
    values = special(dtype)
    yield random.random(values.shape) < 0.5, values, values[::-1]
    for mask, left, right in (
        ((), (), ()),
        ((0,), (0,), ()),
        ((1,), (), (1,)),
        ((7, 1), (7,), (1, 1)),
        ((LARGE,), (LARGE,), (LARGE,)),
        ((), (3, 1), (2, 1, 5)),
    ):
        chosen = np.asarray(random.random(mask) < 0.5)
        yield chosen, anything(dtype, left, random), strided(anything(dtype, right, random))


CHOICE = Entry(
    "where",
    ph.where,
    np.where,
    choices,
    ALL,
    ulps=0,
    gradient="almost everywhere",
    onnx=("Where",),
    aten=("where", "masked_fill"),
    speed=Speed(
        lambda torch, x, y: torch.where(x < y, x, y),
        million((1000, 1000), (1000, 1000)),
        lambda x, y: ph.where(x < y, x, y),
    ),
)


# --- bits -----------------------------------------------------------------------------------


def bits(name: str, onnx: str) -> Entry:
    return Entry(
        name,
        getattr(ph, name),
        getattr(np, name),
        two_arrays,
        (*INTS, *BOOL),
        gradient=WHOLE,
        onnx=(onnx,),
        aten=(name,),
        speed=Speed(torches(name), whole_numbers(2)),
    )


def whole_numbers(count: int) -> Callable[[np.random.Generator], Case]:
    """int32 arrays of a million."""
    return lambda random: tuple(
        random.integers(-1000, 1000, (1000, 1000)).astype(np.int32) for _ in range(count)
    )


def _shifted_left(x: Array) -> tuple[Array, ...]:
    return tuple(np.left_shift(x, x.dtype.type(places)) for places in (0, 1, 3, 6))


def _shifted_right(x: Array) -> tuple[Array, ...]:
    return tuple(np.right_shift(x, x.dtype.type(places)) for places in (0, 1, 3, 7))


BITS = (
    bits("bitwise_and", "BitwiseAnd"),
    bits("bitwise_or", "BitwiseOr"),
    bits("bitwise_xor", "BitwiseXor"),
    Entry(
        "bitwise_not",
        ph.bitwise_not,
        np.bitwise_not,
        one_array,
        (*INTS, *BOOL),
        gradient=WHOLE,
        onnx=("BitwiseNot",),
        aten=("bitwise_not",),
        sizes=("n",),
        speed=Speed(torches("bitwise_not"), whole_numbers(1)),
    ),
    Entry(
        "bitwise_and.mask",
        lambda x: (x & 7, x & 1, x | 8, x ^ 3),
        lambda x: (x & x.dtype.type(7), x & x.dtype.type(1), x | x.dtype.type(8), _three(x)),
        one_array,
        INTS,
        gradient=WHOLE,
        onnx=("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
        aten=("bitwise_and", "bitwise_or", "bitwise_xor"),
        sizes=("n",),
    ),
    Entry(
        "left_shift",
        lambda x: tuple(ph.left_shift(x, places) for places in (0, 1, 3, 6)),
        _shifted_left,
        one_array,
        INTS,
        gradient=WHOLE,
        onnx=("BitShift",),
        aten=("bitwise_left_shift", "__lshift__"),
        sizes=("n",),
        speed=Speed(lambda torch, x: x << 3, whole_numbers(1), lambda x: ph.left_shift(x, 3)),
    ),
    Entry(
        "right_shift",
        lambda x: tuple(ph.right_shift(x, places) for places in (0, 1, 3, 7)),
        _shifted_right,
        one_array,
        INTS,
        gradient=WHOLE,
        onnx=("BitShift",),
        aten=("bitwise_right_shift", "__rshift__"),
        sizes=("n",),
        speed=Speed(lambda torch, x: x >> 3, whole_numbers(1), lambda x: ph.right_shift(x, 3)),
    ),
)


def _three(x: Array) -> Array:
    return x ^ x.dtype.type(3)


ENTRIES = (*COMPARISONS, *QUESTIONS, CHOICE, *BITS)
