"""Random values over a few small axes, and numbers for what they load.

Buffers are named by their axes and a number, so that ``Draw.arrays`` can fill them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from photic.forms.eval import Array
from photic.ir import index as form
from photic.ir.dim import Var, var
from photic.ir.dtype import FLOAT32, DType
from photic.ir.index import Buffer, Expr

AXES = {name: Var(name, extent) for name, extent in (("i", 2), ("j", 3), ("k", 2), ("n", 2))}
I, J, K, N = AXES.values()


@dataclass(slots=True)
class Draw:
    """A source of random values over axes."""

    rng: np.random.Generator
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def leaf(self, *axes: Var, dtype: DType = FLOAT32) -> Expr:
        """A load that depends on the axes and on no other."""
        name = "".join(axis.name for axis in axes) + f"_{len(self.buffers)}"
        buffer = Buffer(name, tuple(axis.extent for axis in axes), dtype)
        self.buffers[name] = buffer
        return form.load(buffer, [var(axis.name, axis.extent) for axis in axes])

    def value(self, *axes: Var) -> Expr:
        """A load, or a few operations on loads; it depends on the axes and on no other."""
        one, other = self.leaf(*axes), self.leaf(*(axis for axis in axes if self.coin()))
        kind = self.rng.integers(6)
        if kind == 0:
            return form.unary("exp2", one)
        if kind == 1:
            return form.binary("maximum", one, other)
        if kind == 2:
            return form.select(form.binary("less_than", one, other), one, self.number(0.5))
        if kind == 3:
            return form.binary("add", one, form.unary("sin", other))
        return one

    def coin(self) -> bool:
        return bool(self.rng.integers(2))

    def number(self, value: float) -> Expr:
        return form.number(float(np.float32(value)), FLOAT32)

    def positive(self) -> Expr:
        return self.number(self.rng.uniform(0.1, 2.0))

    def mul(self, *factors: Expr) -> Expr:
        """A product; operands in any order, associated in any way."""
        factors = tuple(factors[k] for k in self.rng.permutation(len(factors)))
        while len(factors) > 1:
            place = self.rng.integers(len(factors) - 1)
            pair = form.binary("mul", factors[place], factors[place + 1])
            factors = (*factors[:place], pair, *factors[place + 2 :])
        return factors[0]

    def add(self, one: Expr, other: Expr) -> Expr:
        return form.binary("add", one, other) if self.coin() else form.binary("add", other, one)

    def minus(self, one: Expr, other: Expr, factor: float = -1.0) -> Expr:
        return self.add(one, self.mul(other, self.number(factor)))

    def arrays(self) -> dict[str, Array]:
        """Numbers for every buffer; some are the same, so that maxima tie."""
        found = {}
        for name, buffer in self.buffers.items():
            numbers = np.round(
                self.rng.standard_normal(buffer.shape) * 2, int(self.rng.integers(3))
            )
            found[name] = numbers.astype(buffer.dtype.numpy)
        return found


def total(axis: Var, value: Expr) -> Expr:
    return form.reduce("sum", axis, value)


def most(axis: Var, value: Expr) -> Expr:
    return form.reduce("max", axis, value)


Make = Callable[[Draw], Expr]
