"""The twelve primitives, one record each; everything else in photic is composed of them.

A record says what a checker, an evaluator and a renderer must agree on: arity, dtype rule, laws
and special values. The meaning itself is the line of NumPy in ``forms/eval.py``. Sources (input,
state, constant, iota) compute nothing; neither do regions (scan, item).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from photic.base.errors import DtypeMismatch
from photic.ir.dtype import BOOL, DType

Arity = Literal["unary", "binary", "reduce", "copy"]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One primitive. ``result(dtypes)`` is its dtype rule and raises DtypeMismatch."""

    name: str
    kind: Arity
    result: Callable[[str, tuple[DType, ...]], DType]
    law: str
    special: str


def _float(op: str, dtypes: tuple[DType, ...]) -> DType:
    if dtypes[0].kind != "float":
        raise DtypeMismatch(op=op, given=dtypes[0], expected="a float dtype")
    return dtypes[0]


def _same(op: str, dtypes: tuple[DType, ...]) -> DType:
    if len(set(dtypes)) != 1:
        raise DtypeMismatch(op=op, given=", ".join(map(str, dtypes)), expected="one dtype")
    return dtypes[0]


def _number(op: str, dtypes: tuple[DType, ...]) -> DType:
    if dtypes[0].kind == "bool":
        raise DtypeMismatch(op=op, given=dtypes[0], expected="a number dtype")
    return _same(op, dtypes)


def _mask_or_same(op: str, dtypes: tuple[DType, ...]) -> DType:
    return dtypes[1] if dtypes[0] == BOOL else _same(op, dtypes)


def _truth(op: str, dtypes: tuple[DType, ...]) -> DType:
    _same(op, dtypes)
    return BOOL


# fmt: off
PRIMITIVES: tuple[OpRecord, ...] = (
    OpRecord("exp2", "unary", _float, "exp2(a + b) = exp2(a)*exp2(b) in the reals",
             "exp2(-inf) = 0, exp2(inf) = inf; subnormal results are kept"),
    OpRecord("log2", "unary", _float, "log2(a*b) = log2(a) + log2(b) for a, b > 0",
             "log2(0) = -inf, log2(x < 0) = nan"),
    OpRecord("sin", "unary", _float, "sin(-x) = -sin(x)",
             "sin(inf) = nan, sin(-0) = -0"),
    OpRecord("sqrt", "unary", _float, "sqrt(x)*sqrt(x) = x in the reals",
             "sqrt(x < 0) = nan, sqrt(-0) = -0"),
    OpRecord("recip", "unary", _float, "correctly rounded 1/x",
             "recip(0) = inf, recip(-0) = -inf, recip(inf) = 0"),
    OpRecord("add", "binary", _same, "commutes; -0.0 is its identity; integers wrap; or on bool",
             "inf + -inf = nan"),
    OpRecord("mul", "binary", _mask_or_same,
             "commutes; a bool on the left is a mask: true*x = x, false*x = -0.0 (0) for every x",
             "0*inf = nan between floats; integers wrap; on bool it is and"),
    OpRecord("mod", "binary", _number, "x - mod(x, y) is a multiple of y; the sign is y's",
             "integer mod by 0 is 0; float mod by 0 is nan; mod(inf, y) = nan"),
    OpRecord("less_than", "binary", _truth, "not (a < b and b < a)",
             "false if either is nan; -0 < 0 is false; false < true on bool"),
    OpRecord("sum", "reduce", _same, "starts from -0.0; halves add in float32; integers wrap",
             "the sum of nothing is 0; integers keep their own dtype"),
    OpRecord("max", "reduce", _same, "commutes, associates, is idempotent",
             "nan if any is nan; of nothing -inf, the lowest integer, False"),
    OpRecord("contiguous", "copy", lambda op, dtypes: dtypes[0],
             "the identity; with a dtype, the only cast; to float: nearest even, keeps subnormals",
             "float to integer truncates, saturates, nan gives 0"),
)
# fmt: on

PRIMITIVE: dict[str, OpRecord] = {record.name: record for record in PRIMITIVES}
SOURCES: tuple[str, ...] = ("input", "state", "constant", "iota")
REGIONS = ("scan", "item")  # a loop, and one of its results
COSTLY = frozenset({"exp2", "log2", "sin", "sqrt", "recip"})  # in cycles
