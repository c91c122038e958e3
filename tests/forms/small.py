"""Small constants for tests of the evaluator: building them, running nodes on them, comparing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from photic.forms.eval import evaluate_operand
from photic.ir.dtype import DTYPES, DType
from photic.ir.graph import Node, Operand, binary, constant_node, operand, unary

Array = npt.NDArray[np.generic]
inf, nan = np.inf, np.nan
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1.5, -2.0, 1e-40]
FLOATS = [one for one in DTYPES.values() if one.kind == "float"]


def value(items: object, dtype: DType) -> Operand:
    return operand(constant_node(np.array(items, dtype.numpy)))


def run(node: Node | Operand) -> Array:
    return evaluate_operand(node if isinstance(node, Operand) else operand(node), {})


def elements(items: object, dtype: DType, op: str, *others: Operand) -> list[float]:
    """The result of an elementwise op on constants, as Python numbers."""
    build = unary if not others else binary
    return run(build(op, value(items, dtype), *others)).astype(np.float64).tolist()


def same(got: object, expected: object) -> bool:
    """Equal to the bit, but for the bits of a nan."""
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b)
    )
