"""A target's self-test: small programs, one for each thing that a target must get right.

Each is compiled for the target, called with sizes that change, and compared with the evaluator: to
the bit, or within a share of the largest number where sums and elementary functions round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

import photic as ph
from photic.base.errors import PhoticError
from photic.forms.eval import evaluate
from photic.storage.artifact import Array
from photic.targets.registry import Target
from photic.tensor.compiling import graph_of

N = "n"
SIZES = (37, 1, 200)
COLUMNS = 24
ROUNDED = 1e-5  # of the largest number: a sum of some hundred terms in float32
FUNCTION = 1e-6  # of the largest number: a few units in the last place
LARGE = 40.0  # of the numbers that functions are given

Outputs = dict[str, ph.Tensor]
Updates = dict[ph.Tensor, ph.Tensor]


@dataclass(frozen=True, slots=True)
class Check:
    """A program over ``x`` [n, COLUMNS] of a dtype, and the room of its results."""

    name: str
    make: Callable[[ph.Tensor], tuple[Outputs, Updates]]
    dtype: str = "float32"
    room: float = 0.0


def _arithmetic(x: ph.Tensor) -> tuple[Outputs, Updates]:
    products = x * ph.flip(x, -1) - 1
    return {"a": products, "b": 1 / x, "c": ph.sqrt(x * x), "d": x * 1e-40}, {}


def _functions(x: ph.Tensor) -> tuple[Outputs, Updates]:
    return {"a": ph.exp2(x / LARGE), "b": ph.log2(x * x), "c": ph.sin(x)}, {}


def _products(x: ph.Tensor) -> tuple[Outputs, Updates]:
    weights = np.random.default_rng(1).standard_normal((COLUMNS, COLUMNS)).astype(np.float32)
    return {"a": x @ ph.constant(weights), "b": ph.softmax(x, -1), "c": ph.sum(x, 0)}, {}


def _integers(x: ph.Tensor) -> tuple[Outputs, Updates]:
    return {"a": x * x * x, "b": x % 7, "c": x // -3, "d": x.astype("int8")}, {}


def _halves(x: ph.Tensor) -> tuple[Outputs, Updates]:
    return {kind: x.astype(kind) for kind in ("float16", "bfloat16", "int8", "uint8", "bool")}, {}


def _orders(x: ph.Tensor) -> tuple[Outputs, Updates]:
    place = ph.argmax(x, -1)
    found = ph.take_along_axis(x, ph.reshape(place, (*place.shape, 1)), -1)
    return {"a": found, "b": ph.sort(x, -1), "c": ph.flip(x, 0)}, {}


def _loops(x: ph.Tensor) -> tuple[Outputs, Updates]:
    start = ph.zeros((COLUMNS,))
    last, every = ph.scan(lambda c, row: ((c[0] * 0.5 + row[0],),) * 2, [start], [x])
    return {"a": last[0], "b": every[0]}, {}


def _states(x: ph.Tensor) -> tuple[Outputs, Updates]:
    total = ph.state("total", (COLUMNS,))
    return {"a": total * 2}, {total: total + ph.max(x, 0)}


CHECKS = (
    Check("one rounding for each operation", _arithmetic),
    Check("exp2, log2 and sin", _functions, room=FUNCTION),
    Check("in float64", _functions, "float64", FUNCTION),
    Check("products and sums", _products, room=ROUNDED),
    Check("integers", _integers, "int64"),
    Check("half types, bytes, bools", _halves),
    Check("orders and lookups", _orders),
    Check("loops", _loops, room=FUNCTION),
    Check("states", _states),
)


def faults_of(target: Target) -> Iterator[tuple[str, str]]:
    """Each check's name, and what is wrong; nothing, if all is right."""
    for check in CHECKS:
        try:
            yield check.name, _fault(check, target.name)
        except PhoticError as error:
            yield check.name, str(error)


def _fault(check: Check, target: str) -> str:
    """What is wrong with a program's results: the first of it."""
    outputs, updates = check.make(ph.input("x", (ph.dim(N, 1, max(SIZES)), COLUMNS), check.dtype))
    program, graph = ph.compile(outputs, updates, target=target), graph_of(outputs, updates)
    states: Mapping[str, Array] = {name: array.copy() for name, array in program.states.items()}
    for size in SIZES:
        x = _numbers(size, check.dtype)
        wanted, states = evaluate(graph, {"x": x}, states, {N: size}, widen=False)
        got = program(x=x)
        for name, want in [*wanted.items(), *states.items()]:
            found = got[name] if name in got else program.states[name]
            if not _agree(found, want, check.room):
                return f"result {name} of {size} rows differs from the evaluator's"
    return ""


def _numbers(rows: int, dtype: str) -> Array:
    draw = np.random.default_rng(rows).standard_normal((rows, COLUMNS)) * LARGE
    found: Array = draw.astype(dtype)
    return found


def _agree(got: Array, want: Array, room: float) -> bool:
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind in "iub":
        return bool(np.array_equal(got, want))
    one, other = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(other[np.isfinite(other)])
    limit = room * float(finite.max(initial=0.0))
    return bool(np.allclose(one, other, rtol=0, atol=limit, equal_nan=True))
