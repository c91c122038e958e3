"""The catalogue's entries for arithmetic, rounding, the larger and the smaller, and powers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from catalogue.entry import ALL, FLOATS, INTS, NUMBERS, Array, Entry, Speed, floated
from catalogue.inputs import given, joined, million, one_array, two_arrays, within

import photic as ph

STEPS = "none: its slope is 0 almost everywhere"
WHOLE = "none: integers"
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan)


def single(x: Array) -> Array:
    """The value as functions of floats see it: integers and bools become float32."""
    return x.astype(np.float32).astype(np.float64) if x.dtype.kind in "iub" else x


def torches(name: str) -> Callable[..., object]:
    """The torch function of a name."""
    return lambda torch, *tensors: getattr(torch, name)(*tensors)


def speed(name: str, count: int = 1, low: float = -4.0, high: float = 4.0) -> Speed:
    return Speed(torches(name), million(*[(1000, 1000)] * count, low=low, high=high))


# --- sums, products, quotients --------------------------------------------------------------

SUMS = (
    Entry(
        "add",
        ph.add,
        np.add,
        two_arrays,
        ALL,
        onnx=("Add",),
        aten=("add",),
        speed=speed("add", 2),
    ),
    Entry(
        "subtract",
        ph.subtract,
        np.subtract,
        two_arrays,
        NUMBERS,
        onnx=("Sub",),
        aten=("sub", "rsub"),
        speed=speed("sub", 2),
    ),
    Entry(
        "multiply",
        ph.multiply,
        np.multiply,
        two_arrays,
        ALL,
        onnx=("Mul",),
        aten=("mul",),
        speed=speed("mul", 2),
    ),
    Entry(
        "add.mixed",
        lambda x: (x + 3, 3 - x, x * -2, x + 0.5, 1.5 - x, ph.constant(2.0) * x),
        lambda x: (
            x + _like(x, 3),
            _like(x, 3) - x,
            x * _like(x, -2),
            single(x) + 0.5,
            1.5 - single(x),
            single(x) * 2.0,
        ),
        one_array,
        ("float64", "float32", "int64", "int32", "int16", "int8"),
        result_dtype=lambda dtype: (
            *(dtype,) * 3,
            *(floated(dtype),) * 3,
        ),
        onnx=("Add", "Sub", "Mul"),
        aten=("add", "rsub", "mul"),
        sizes=("n",),
    ),
    Entry(
        "negative",
        ph.negative,
        np.negative,
        one_array,
        NUMBERS,
        ulps=0,
        onnx=("Neg",),
        aten=("neg",),
        sizes=("n",),
        speed=speed("neg"),
    ),
    Entry(
        "divide",
        ph.divide,
        lambda x, y: single(x) / single(y),
        within(-1e6, 1e6, 2, also=SPECIAL),
        ALL,
        ulps=2,
        result_dtype=floated,
        onnx=("Div",),
        aten=("div", "true_divide"),
        speed=speed("div", 2, 0.5, 4.0),
    ),
    Entry(
        "reciprocal",
        ph.reciprocal,
        lambda x: 1 / single(x),
        one_array,
        ALL,
        result_dtype=floated,
        onnx=("Reciprocal",),
        aten=("reciprocal",),
        sizes=("n",),
        speed=speed("reciprocal", 1, 0.5, 4.0),
    ),
    Entry(
        "mod",
        ph.mod,
        np.mod,
        two_arrays,
        NUMBERS,
        gradient="almost everywhere",
        onnx=("Mod",),
        aten=("remainder",),
        speed=speed("remainder", 2, 0.5, 4.0),
    ),
    Entry(
        "floor_divide",
        ph.floor_divide,
        np.floor_divide,
        two_arrays,
        INTS,
        gradient=WHOLE,
        onnx=("Div",),
        aten=("floor_divide",),
    ),
    Entry(
        "floor_divide.floats",
        ph.floor_divide,
        np.floor_divide,
        within(-1000, 1000, 2, also=SPECIAL),
        FLOATS,
        gradient=STEPS,
        aten=("floor_divide", "div"),
        speed=speed("floor_divide", 2, 0.5, 4.0),
    ),
    Entry(
        "floor_divide.by-number",
        lambda x: (x // 8, x // 7, x % 8, x % 7),
        lambda x: (x // _like(x, 8), x // _like(x, 7), x % _like(x, 8), x % _like(x, 7)),
        one_array,
        INTS,
        gradient=WHOLE,
        onnx=("Div", "Mod"),
        aten=("floor_divide", "remainder"),
        sizes=("n",),
    ),
    Entry(
        "divmod",
        ph.divmod,
        np.divmod,
        within(-1000, 1000, 2, also=SPECIAL),
        NUMBERS,
        gradient="almost everywhere",
    ),
)


def _like(x: Array, value: int) -> np.generic:
    """A number in the dtype of an array, so that NumPy wraps as in it."""
    return x.dtype.type(value)


# --- rounding, signs ------------------------------------------------------------------------


def _trunc(x: Array) -> Array:
    return np.trunc(x).astype(x.dtype)


def _whole(name: str, oracle: Callable[[Array], Array], onnx: tuple[str, ...]) -> Entry:
    """A function to whole numbers: to the bit, integers stay."""
    return Entry(
        name,
        getattr(ph, name),
        lambda x: oracle(x) if x.dtype.kind == "f" else x,
        one_array,
        ALL,
        ulps=0,
        gradient=STEPS,
        onnx=onnx,
        aten=(name,),
        sizes=("n",),
        speed=speed(name),
    )


def _to_tens(x: Array) -> tuple[Array, ...]:
    """In Python's integers; what passes the dtype wraps."""
    values = x.ravel().tolist()
    tens = [np.array([round(one, -k) % 2**64 for one in values], np.uint64) for k in (1, 2)]
    made = [one.astype(np.int64).astype(x.dtype).reshape(x.shape) for one in tens]
    return *made, x, np.zeros_like(x)


ROUNDED = (
    _whole("floor", np.floor, ("Floor",)),
    _whole("ceil", np.ceil, ("Ceil",)),
    _whole("trunc", _trunc, ()),
    _whole("round", np.round, ("Round",)),
    Entry(
        "round.decimals",
        lambda x: (ph.round(x, 2), ph.round(x, -1)),
        lambda x: (np.round(x, 2), np.round(x, -1)),
        within(-100, 100, also=SPECIAL),
        ("float64", "float32"),
        atol=0.01,
        why="numbers halfway in decimals are not halfway in binary: either neighbour is right",
        gradient=STEPS,
        aten=("round",),
    ),
    Entry(
        "round.large",
        lambda x: (ph.round(x, 3), ph.round(x, -40)),
        lambda x: (np.array(x), np.where(np.isfinite(x), x * 0, x)),
        given(([1e37, -3e38, 2.0**30, 0.5, -0.0, np.inf, -np.inf, np.nan],)),
        ("float32", "bfloat16"),
        ulps=1.5,
        gradient=STEPS,
        aten=("round",),
    ),
    Entry(
        "round.tens",
        lambda x: (ph.round(x, -1), ph.round(x, -2), ph.round(x, 1), ph.round(x, -19)),
        _to_tens,
        joined(given(([5, 15, 25, -5, -15, -25, 50, 99, 0],)), one_array),
        INTS,
        gradient=STEPS,
        aten=("round",),
    ),
    Entry(
        "abs",
        ph.abs,
        np.abs,
        one_array,
        ALL,
        ulps=0,
        gradient="almost everywhere",
        onnx=("Abs",),
        aten=("abs",),
        sizes=("n",),
        speed=speed("abs"),
    ),
    Entry(
        "sign",
        ph.sign,
        lambda x: np.sign(x) if x.dtype.kind != "b" else x,
        one_array,
        ALL,
        ulps=0,
        gradient=STEPS,
        onnx=("Sign",),
        aten=("sign", "sgn"),
        sizes=("n",),
        speed=speed("sign"),
    ),
    Entry(
        "square",
        ph.square,
        np.square,
        one_array,
        NUMBERS,
        aten=("square",),
        sizes=("n",),
        speed=speed("square"),
    ),
    Entry(
        "sqrt",
        ph.sqrt,
        lambda x: np.sqrt(single(x)),
        one_array,
        ALL,
        result_dtype=floated,
        onnx=("Sqrt",),
        aten=("sqrt",),
        sizes=("n",),
        speed=speed("sqrt", 1, 0.0, 4.0),
    ),
)


# --- the larger, the smaller ----------------------------------------------------------------

EXTREMES = (
    Entry(
        "maximum",
        ph.maximum,
        np.maximum,
        two_arrays,
        ALL,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Max",),
        aten=("maximum", "max"),
        speed=speed("maximum", 2),
    ),
    Entry(
        "minimum",
        ph.minimum,
        np.minimum,
        two_arrays,
        ALL,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Min",),
        aten=("minimum", "min"),
        speed=speed("minimum", 2),
    ),
    Entry(
        "clip",
        lambda x: (ph.clip(x, 1, 3), ph.clip(x, min=2), ph.clip(x, max=2)),
        lambda x: (np.clip(x, 1, 3), np.maximum(x, _like(x, 2)), np.minimum(x, _like(x, 2))),
        one_array,
        NUMBERS,
        ulps=0,
        zero_signs=False,
        gradient="almost everywhere",
        onnx=("Clip",),
        aten=("clamp", "clamp_min", "clamp_max", "clip"),
        sizes=("n",),
        speed=Speed(
            lambda torch, x: torch.clamp(x, -1.0, 1.0), million(), lambda x: ph.clip(x, -1.0, 1.0)
        ),
    ),
)


# --- powers ---------------------------------------------------------------------------------


def _powers(x: Array) -> tuple[Array, ...]:
    return (x**2, x**3, x**0, 1 / x, 1 / x**2, np.where(x == -np.inf, np.nan, np.sqrt(x)), 2.0**x)


POWERS = (
    Entry(
        "power",
        ph.power,
        np.power,
        two_arrays,
        ("float32", "float16", "bfloat16"),
        ulps=1,
        onnx=("Pow",),
        aten=("pow", "float_power"),
        speed=speed("pow", 2, 0.5, 4.0),
    ),
    Entry(
        "power.double",
        ph.power,
        np.power,
        within(-50, 50, 2, also=SPECIAL),
        ("float64",),
        rtol=1e-13 * 2**29,
        why="through log2 and exp2 in float64: an exponent of 300 magnifies a rounding so",
        onnx=("Pow",),
        aten=("pow",),
    ),
    Entry(
        "power.fixed",
        lambda x: (x**2, x**3, x**0, x**-1, x**-2, x**0.5, 2.0**x),
        _powers,
        one_array,
        FLOATS,
        ulps=2,
        onnx=("Pow",),
        aten=("pow",),
        sizes=("n",),
        speed=Speed(lambda torch, x: x**3, million(), lambda x: x**3),
    ),
    Entry(
        "power.integers",
        ph.power,
        np.power,
        within(0, 100, 2),
        INTS,
        gradient=WHOLE,
        onnx=("Pow",),
        aten=("pow",),
    ),
)

ENTRIES = (*SUMS, *ROUNDED, *EXTREMES, *POWERS)
