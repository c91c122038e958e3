"""Algebra of products, sums and maxima.

Products are flattened only as the body of a sum, on the level of the sum: elsewhere
``p * 2**k * 2**k`` may be written so that nothing overflows, and stays. Sums are never flattened.
"""

from __future__ import annotations

from photic.search.rules.facts import all_independent, independent
from photic.search.rules.record import Rule

ALGEBRA: tuple[Rule, ...] = (
    Rule(
        name="product of one",
        left="(Prod d s)",
        right="x",
        when="(= i (at s x)) (= 1 (multiset-length s))",
        why="what other rules leave of a product",
        kind="exact",
    ),
    Rule(
        name="flatten a product in a sum",
        left='(Reduce "sum" j (Prod d s))',
        right='(Reduce "sum" j (Prod d (multiset-sum q t)))',
        when="(part s x q) (= x (Prod d t))",
        why="multiplication associates in the reals; a partial product may be out of range",
        kind="real",
    ),
    Rule(
        name="factors out of a sum",
        left='(Reduce "sum" j (Prod d s))',
        right='(Prod d (multiset-insert out (Reduce "sum" j (Prod d (multiset-subtract s out)))))',
        when=f"(indep j x) (part s x q) (= out {independent('j', 's')})"
        " (> (multiset-length s) (multiset-length out))",
        why="sum of c*x is c times sum of x: all factors that do not depend on the axis at once",
        kind="real",
    ),
    Rule(
        name="distribute over an addend that loses the axis",
        left='(Reduce "sum" j (Prod d s))',
        right='(Pair "add" d (multiset-of (Reduce "sum" j (Prod d (multiset-insert q a)))'
        ' (Reduce "sum" j (Prod d (multiset-insert q b)))))',
        when='(part s x q) (= x (Pair "add" d m)) (two m a b) (indep j b)',
        why="(a + b)*y summed: b leaves the second sum (scales and minimums of quantised blocks)",
        kind="real",
    ),
    Rule(
        name="sum of a sum of two",
        left='(Reduce "sum" j (Pair "add" d m))',
        right='(Pair "add" d (multiset-of (Reduce "sum" j a) (Reduce "sum" j b)))',
        when="(two m a b)",
        why="addition associates and commutes in the reals",
        kind="real",
    ),
    Rule(
        name="swap two sums",
        left='(Reduce "sum" i (Reduce "sum" j a))',
        right='(Reduce "sum" j (Reduce "sum" i a))',
        when="",
        why="neither extent depends on the other axis",
        kind="real",
    ),
    Rule(
        name="factors into a sum that is a factor",
        left='(Reduce "sum" j (Prod d s))',
        right='(Reduce "sum" j (Reduce "sum" k (Prod d (multiset-insert q b))))',
        when=f'(part s x q) (= x (Reduce "sum" k b)) {all_independent("k", "q")}',
        why="chained sums in another order; only a factor that is a sum takes the others in",
        kind="real",
    ),
    Rule(
        name="positive factor out of a maximum",
        left='(Reduce "max" j (Prod d s))',
        right='(Prod d (multiset-of c (Reduce "max" j (Prod d q))))',
        when="(part s c q) (= v (number c)) (< 0.0 v) (< v inf)",
        why="rounding and a positive finite factor are monotone (only the sign of 0 may differ)",
        kind="exact",
    ),
    Rule(
        name="addend out of a maximum",
        left='(Reduce "max" j (Pair "add" d m))',
        right='(Pair "add" d (multiset-of (Reduce "max" j a) b))',
        when="(two m a b) (indep j b) (floating d)",
        why="rounding is monotone; integers wrap, and inf + -inf may come from one term only",
        kind="real",
    ),
)
