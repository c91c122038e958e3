"""Random sizes and indices, each beside the plain integer arithmetic that it must equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from photic.ir.dim import Dim, add, floordiv, mod, mul, symbol, var

N = symbol("n", 1, 7)
M = symbol("m", 0, 5)
I = var("i0", 4)
J = var("i1", N)
K = var("i2", mul(N, 3))
ATOMS: dict[str, Dim] = {"n": N, "m": M, "i0": I, "i1": J, "i2": K}


@dataclass(frozen=True, slots=True)
class Pair:
    """The same expression twice: as a size, and as plain arithmetic."""

    dim: Dim
    plain: Callable[[Mapping[str, int]], int]
    text: str

    def __repr__(self) -> str:
        return self.text


def leaf(name: str) -> Pair:
    return Pair(ATOMS[name], lambda env: env[name], name)


def number(value: int) -> Pair:
    return Pair(value, lambda env: value, str(value))


OPERATIONS: dict[str, tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]]] = {
    "+": (add, lambda a, b: a + b),
    "-": (lambda a, b: add(a, mul(b, -1)), lambda a, b: a - b),
    "*": (mul, lambda a, b: a * b),
    "//": (floordiv, lambda a, b: a // b),
    "%": (mod, lambda a, b: a % b),
}


def joined(sign: str, left: Pair, right: Pair) -> Pair:
    build, plain = OPERATIONS[sign]
    return Pair(
        build(left.dim, right.dim),
        lambda env: plain(left.plain(env), right.plain(env)),
        f"({left} {sign} {right})",
    )


LEAVES = st.one_of(st.sampled_from(sorted(ATOMS)).map(leaf), st.integers(-6, 12).map(number))
DIVISORS = st.one_of(
    st.integers(1, 6).map(number),
    st.sampled_from([leaf("n"), leaf("m"), joined("*", leaf("n"), number(2))]),
    st.just(joined("+", leaf("n"), leaf("m"))),
)


def deeper(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    plain = st.builds(joined, st.sampled_from(["+", "-", "*"]), inner, inner)
    return st.one_of(plain, st.builds(joined, st.sampled_from(["//", "%"]), inner, DIVISORS))


PAIRS = st.recursive(LEAVES, deeper, max_leaves=7)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, int]:
    n = draw(st.integers(1, 7))
    return {
        "n": n,
        "m": draw(st.integers(0, 5)),
        "i0": draw(st.integers(0, 3)),
        "i1": draw(st.integers(0, n - 1)),
        "i2": draw(st.integers(0, 3 * n - 1)),
    }


ORIGIN = {"n": 1, "m": 0, "i0": 1, "i1": 0, "i2": 0}


def truth(pair: Pair, env: Mapping[str, int]) -> int:
    """The plain value; examples that divide by an empty extent mean nothing."""
    try:
        return pair.plain(env)
    except ZeroDivisionError:
        assume(False)
        raise
