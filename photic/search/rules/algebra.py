"""Algebra of products, sums and maxima.

A product is flattened only as the body of a sum, where it is a term of its own (``flat``):
elsewhere ``p * 2**k * 2**k`` may be written so that nothing overflows, and stays. Additions are
never flattened. Rules that only reorder sums do not exist: order is a choice of loops.
"""

from __future__ import annotations

from photic.search.rules.record import Rule, all_independent, some_independent

ALGEBRA: tuple[Rule, ...] = (
    Rule(
        name="product in a sum",
        left='(Reduce "sum" j (Prod "" d s))',
        right='(Reduce "sum" j (Prod "flat" d s))',
        when="",
        why="a name for the body of the sum under which it may be flattened",
        kind="exact",
        first=True,
    ),
    Rule(
        name="flatten a product in a sum",
        left='(Prod "flat" d s)',
        right='(Prod "flat" d (multiset-sum q t))',
        when="(part s x q) (= x (Prod f d t))",
        why="multiplication associates in the reals",
        kind="real",
        first=True,
        drops=True,
    ),
    Rule(
        name="product of one in a sum",
        left='(Reduce "sum" j (Prod "flat" d s))',
        right='(Reduce "sum" j x)',
        when="(part s x q) (= 0 (multiset-length q))",
        why="what other rules leave",
        kind="exact",
        first=True,
    ),
    Rule(
        name="factors out of a sum",
        left='(Reduce "sum" j (Prod "flat" d s))',
        right='(Prod "" d (multiset-insert out'
        ' (Reduce "sum" j (Prod "flat" d (multiset-subtract s out)))))',
        when=some_independent("j", "s"),
        why="the sum of c*x is c times the sum of x: all that do not depend on the axis at once",
        kind="real",
    ),
    Rule(
        name="distribute over an addend that loses the axis",
        left='(Reduce "sum" j (Prod "flat" d s))',
        right='(Pair "add" d (multiset-of (Reduce "sum" j (Prod "flat" d (multiset-insert q a)))'
        ' (Reduce "sum" j (Prod "flat" d (multiset-insert q b)))))',
        when='(part s x q) (= x (Pair "add" d m)) (two m a b) (indep j b)',
        why="(a + b)*y: b leaves the second sum (scales and least values of quantised blocks)",
        kind="real",
    ),
    Rule(
        name="sum of two addends",
        left='(Reduce "sum" j (Pair "add" d m))',
        right='(Pair "add" d (multiset-of (Reduce "sum" j a) (Reduce "sum" j b)))',
        when="(two m a b) (floating d)",
        why="addition associates and commutes in the reals",
        kind="real",
    ),
    Rule(
        name="swap two sums where a factor leaves the inner one",
        left='(Reduce "sum" i (Reduce "sum" j (Prod "flat" d s)))',
        right='(Reduce "sum" j (Prod "flat" d (multiset-insert out'
        ' (Reduce "sum" i (Prod "flat" d (multiset-subtract s out))))))',
        when=some_independent("i", "s"),
        why="addition commutes in the reals; neither extent depends on the other axis",
        kind="real",
    ),
    Rule(
        name="move into a factor that is a sum where part of it leaves the outer one",
        left='(Reduce "sum" j (Prod "flat" d s))',
        right='(Reduce "sum" k (Prod "flat" d (multiset-insert out'
        ' (Reduce "sum" j (Prod "flat" d (multiset-sum q (multiset-subtract t out)))))))',
        when=f'(part s x q) (= x (Reduce "sum" k (Prod "flat" d t))) {all_independent("k", "q")} '
        + some_independent("j", "t"),
        why="A(BC) = (AB)C: chained sums in another order",
        kind="real",
    ),
    Rule(
        name="positive factor out of a maximum",
        left='(Reduce "max" j (Prod f d s))',
        right='(Prod "" d (multiset-of c (Reduce "max" j x)))',
        when="(two s c x) (= v (number c)) (< 0.0 v) (< v inf)",
        why="multiplying by c, rounding included, is monotone; only the sign of a 0 may differ",
        kind="exact",
    ),
    Rule(
        name="addend out of a maximum",
        left='(Reduce "max" j (Pair "add" d m))',
        right='(Pair "add" d (multiset-of (Reduce "max" j a) b))',
        when="(two m a b) (indep j b) (floating d)",
        why="adding b, rounding included, is monotone; integers wrap; inf + -inf is the exception",
        kind="real",
    ),
)
