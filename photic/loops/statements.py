"""Tile statements: the values of a region that a plan computes one by one, in dependency order.

A ``Statement`` fills its target over its axes. It reads region inputs anywhere, and targets of
earlier statements at plain variables: axes are shared by the whole region, so a target with axes
(h, i) is read as ``target[h, i]``. A *fold* lets statements that depend on an extremum over an axis
run in one loop over it: they read the running value, and accumulators are rescaled when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from photic.ir.dim import Dim, Var
from photic.ir.index import Buffer, Expr, Store, reduction


@dataclass(frozen=True, slots=True)
class Weight:
    """``w(r', r)``: by what an accumulator is multiplied when the running value goes from r' to r.

    ``value`` reads ``old`` and ``new`` (buffers without axes that stand for r' and r at the point).
    w = 1 where r' = r, also where both are the identity; see the law *rescale*.
    """

    value: Expr
    old: Buffer
    new: Buffer


@dataclass(frozen=True, slots=True)
class Statement:
    """``target[index] = value`` for all points of ``axes``.

    ``running`` names the target of an extremum if the value is relative to its running value
    (empty if it needs the final one, or none). ``weight`` is set for accumulators of a fold; their
    value is a reduction over the fold's axis. Where one of ``gaps`` is not positive, what is
    reduced is the identity of the reduction (other values taken to be finite).
    """

    target: Buffer
    axes: tuple[Var, ...]
    index: tuple[Dim, ...]
    value: Expr
    running: str = ""
    weight: Weight | None = None
    gaps: tuple[Dim, ...] = ()

    @property
    def reduced(self) -> tuple[Var, ...]:
        """The axes of the reductions that the value is (those below other operations are not)."""
        return reduction(self.value)[0]

    @property
    def every_axis(self) -> tuple[Var, ...]:
        """The axes of all loops that the statement needs."""
        return (*self.axes, *self.reduced)

    @property
    def store(self) -> Store:
        """The statement as a store, whatever loops it stands in."""
        return Store(self.target, self.axes, self.index, self.value)


@dataclass(frozen=True, slots=True)
class Region:
    """Statements in dependency order; targets named in ``outputs`` outlive the region."""

    statements: tuple[Statement, ...]
    outputs: frozenset[str]
