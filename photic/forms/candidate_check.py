"""Checking candidates: is what one computes right, on inputs that are made to find faults?

The judge is the meaning in float64. The limit of an error is four times the larger of two: how far
the meaning, evaluated in its own dtypes, is off; and how far the judge moves when inputs and
intermediates (the partial sums of a sum, too) move by half an ulp, in several draws. Both are the
largest among all results of about the same magnitude, since one alone may be exact by luck.
Integers must be equal wherever no draw moves them. Where the meaning in its own dtypes is not
finite though the judge is, nothing is asked. Other NaN and infinities must be equal; a candidate
that drops contributions of weight 0 need not repeat those that come from values without influence.
Large regions are judged at points drawn anew for each case: ends of each axis, and some between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from photic.forms.eval import Array, Run, convert
from photic.forms.index_eval import Bits, evaluate_store, operate
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, Var, data, substitute, var, variables
from photic.ir.dtype import BOOL, FLOAT32, INT64
from photic.ir.index import TRUE, Buffer, Expr, Store

Sizes: TypeAlias = Mapping[str, int]
Arrays: TypeAlias = Mapping[str, Array]
Floats: TypeAlias = npt.NDArray[np.float64]
Operate: TypeAlias = Callable[..., Array]
Call: TypeAlias = Callable[[Arrays, Sizes], Arrays | str]

FACTOR = 4.0  # orders of a sum differ by up to about two in their error
DRAWS, DRAWS_OF_FEW = 3, 16
FEW_RESULTS = 8  # with fewer, the largest of few draws may be small by luck
ALIKE = 2  # results within this many powers of two share a limit
MODERATE = 2.0**60  # intermediates of a case are not larger, nor their inverses
MOST_NUMBERS = 1 << 20  # in one evaluation; a larger region is sampled
SAMPLES = (64, 32, 16, 8, 4, 2)  # points of an axis: the most for which there is room
PLANTED = 0.3  # of the rows of an input hold something that is not finite
SMALL_INTEGERS = (-3, 9)
ODD_SIZES = (0, 1, 2, 7, 33, 101)
MOST_SIZE = 130  # of a symbolic size in a check, if its range allows
EXACT = frozenset({"select", "maximum", "max", "mod", "contiguous"})  # these do not round


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a candidate should compute: stores in order, of which ``outputs`` are wanted.

    ``constants`` are inputs of which the values are known. ``is_finite`` says that a rule of kind
    finite led to the candidate: contributions of weight 0 may have been dropped. ``is_real`` says
    that sums and products may be in another order: an infinity may meet another one on the way, so
    that where a result is not finite any that is not will do.
    """

    stores: tuple[Store, ...]
    outputs: tuple[Buffer, ...]
    constants: Arrays
    is_finite: bool
    is_real: bool = False


@dataclass(frozen=True, slots=True)
class Right:
    """The largest part that an error takes of its limit, 0 to 1."""

    part: float


@dataclass(frozen=True, slots=True)
class Wrong:
    """The case, the place (or what became of the run), and the values there."""

    case: str
    where: str
    got: float = np.nan
    expected: float = np.nan
    limit: float = np.nan


@dataclass(frozen=True, slots=True)
class Expected:
    """Right values of an output at some of its places, and their limits."""

    places: Bits
    exact: Array
    limit: Array


Known: TypeAlias = dict[tuple[object, ...], dict[str, Expected] | None]
"""What candidates for one work are held to, by case; None for a case that says nothing."""


def check(
    meaning: Meaning, sizes: Sizes, call: Call, seed: int, known: Known | None = None
) -> Right | Wrong:
    """Try the candidate behind ``call`` on every case at these sizes; the first fault is told.

    ``call`` gets an array for each buffer that is read before it is written, by name, and returns
    the outputs by name, or in words what became of the run. What is ``known`` of the same stores
    and constants is used, and added to.
    """
    known, part = {} if known is None else known, 0.0
    kind = (meaning.is_finite, meaning.is_real, tuple(sorted(sizes.items())), seed)
    for number, case in enumerate(_cases(meaning, sizes, np.random.default_rng(seed))):
        key = (*kind, case.name)
        if key not in known:
            known[key] = _expected(meaning, sizes, case, np.random.default_rng((seed, number)))
        expected = known[key]
        if expected is None:
            continue
        found = call(case.arrays, sizes)
        if isinstance(found, str):
            return Wrong(case.name, found)
        for name, one in expected.items():
            got = found[name][one.places]
            parts = _parts(got, one.exact, one.limit)
            worst = int(parts.argmax()) if parts.size else 0
            if parts.size and parts[worst] > 1:
                place = np.argwhere(one.places)[worst].tolist()
                values = (float(each[worst]) for each in (got, one.exact, one.limit))
                return Wrong(case.name, f"{name}{place}", *values)
            part = max(part, float(parts.max(initial=0)))
    return Right(part)


# --- what is tried --------------------------------------------------------------------------


def sizes_to_try(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """Sizes for checks: the ends of each range, 0 and 1, and some that no tile divides."""
    ranges = {
        one.name: range(one.low, min(one.high, max(one.low, MOST_SIZE)) + 1) for one in symbols
    }
    tried = {
        name: [value for value in dict.fromkeys((*ODD_SIZES, some[0], some[-1])) if value in some]
        for name, some in ranges.items()
    }
    most = max(map(len, tried.values()), default=1)
    return [
        {
            name: values[(number + shift) % len(values)]
            for shift, (name, values) in enumerate(tried.items())
        }
        for number in range(most)
    ]


@dataclass(frozen=True, slots=True)
class _Case:
    """Arrays for all inputs; ``planted`` says where one holds what is not finite.

    One that ``may_exceed`` says nothing if a value of the judge is very large or small.
    """

    name: str
    arrays: Arrays
    planted: Mapping[str, Bits]
    may_exceed: bool = False


def _expected(
    meaning: Meaning, sizes: Sizes, case: _Case, rng: np.random.Generator
) -> dict[str, Expected] | None:
    sample = _Sample.of(meaning, sizes, rng)
    if case.may_exceed and not sample.is_moderate(case.arrays):
        return None
    return sample.limits(case, meaning, rng)


def _cases(meaning: Meaning, sizes: Sizes, rng: np.random.Generator) -> Iterator[_Case]:
    buffers, run = _inputs(meaning.stores), Run(sizes, False)
    plain = {one.name: _plain(one, run, rng) for one in buffers} | dict(meaning.constants)
    free = {one.name for one in buffers if one.dtype.kind == "float"} - set(meaning.constants)
    yield _Case("plain", plain, {})
    for label, change in CHANGES:
        changed = plain | {name: change(plain[name]) for name in sorted(free)}
        yield _Case(label, changed, {}, True)
    for name in sorted(free):
        for label, value, places in PLANTS:
            mask, array = places(rng, plain[name].shape), plain[name]
            array = np.where(mask, array.dtype.type(value), array)
            yield _Case(f"{label} in {name}", plain | {name: array}, {name: mask})


def _inputs(stores: Sequence[Store]) -> list[Buffer]:
    """What is read before it is written."""
    found: dict[Buffer, None] = {}
    for number, store in enumerate(stores):
        written = {one.buffer for one in stores[:number]}
        found |= {one.buffer: None for one in form.loads(store.value) if one.buffer not in written}
    return list(found)


def _plain(buffer: Buffer, run: Run, rng: np.random.Generator) -> Array:
    """Normal floats, small integers (but all of 8 bits), random bools."""
    dtype, shape = buffer.dtype, run.shape(buffer.shape)
    if dtype.kind == "float":
        return convert(rng.normal(size=shape), dtype.numpy)
    low, high = (dtype.low, dtype.high) if dtype.bytes == 1 else SMALL_INTEGERS
    return convert(rng.integers(low, high, shape, endpoint=True), dtype.numpy)


def _cancelling(array: Array) -> Array:
    """The second half of each row takes the first away, but for the last bits."""
    wide = np.atleast_1d(_wide(array))
    half = wide.shape[-1] // 2
    wide[..., half : 2 * half] = -wide[..., :half] * (1 + 2 * _half_ulp(array.dtype))
    return convert(wide.reshape(array.shape), array.dtype)


def _ties(array: Array) -> Array:
    """Few values, zeros of both signs among them."""
    return convert(np.trunc(_wide(array)), array.dtype)


def _scaled(factor: float, array: Array) -> Array:
    return convert(_wide(array) * factor, array.dtype)


CHANGES: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("cancelling", _cancelling),
    ("ties", _ties),
    *((f"times 2**{power}", partial(_scaled, 2.0**power)) for power in (40, 12, -12, -40)),
)


def _rows(rng: np.random.Generator, shape: tuple[int, ...]) -> Bits:
    """Some whole rows along the last axis."""
    return np.broadcast_to(_some(rng, (*shape[:-1], 1)[: len(shape)], PLANTED), shape)


def _elements(rng: np.random.Generator, shape: tuple[int, ...]) -> Bits:
    """About one element each of some rows."""
    return _some(rng, shape, PLANTED / max((1, *shape[-1:])))


def _some(rng: np.random.Generator, shape: tuple[int, ...], part: float) -> Bits:
    """This part of all, and one at least."""
    found = np.asarray(rng.random(shape) < part)
    found.flat[rng.integers(0, max(1, found.size), min(1, found.size))] = True
    return found


PLANTS = (
    ("rows of -inf", -np.inf, _rows),
    ("-inf", -np.inf, _elements),
    ("inf", np.inf, _elements),
    ("nan", np.nan, _elements),
)


# --- where it is judged ---------------------------------------------------------------------


def _sampled(
    stores: Sequence[Store], run: Run, rng: np.random.Generator
) -> tuple[Sequence[Store], dict[str, Array]]:
    """The stores themselves; if that is too much, at some points of their axes.

    Points are named in further buffers: the first ones and the last of an axis (or one end of it,
    where there is room for two only) and some at random.
    """
    found, points = stores, dict[str, Array]()
    for most in SAMPLES:
        if _numbers(found, run) <= MOST_NUMBERS:
            break
        table: dict[Atom, Dim] = {}
        for axis in (one for one in _free_axes(stores) if run.number(one.extent)):
            last, near = run.number(axis.extent) - 1, np.arange(most // 4)
            ends = np.concatenate([near, last - near]) if most // 4 else rng.choice((0, last), 1)
            places = np.union1d(ends.clip(0, last), rng.integers(0, last + 1, most // 2))
            buffer = Buffer(f"points_{axis.name}", (len(places),), INT64)
            place = form.load(buffer, [var(f"{axis.name}_at", len(places))])
            table[axis], points[buffer.name] = data(place, 0, last), places
        found = [_at(store, table) for store in stores]
    return found, points


def _numbers(stores: Sequence[Store], run: Run) -> int:
    """How many numbers an evaluation holds."""
    values = (one for store in stores for one in form.walk(store.value))
    return sum(prod(run.number(axis.extent) for axis in one.free) for one in values)


def _free_axes(stores: Sequence[Store]) -> list[Var]:
    """Axes of which some points can be computed alone: each is read only where it is written."""
    bound = {axis for store in stores for axis in form.bound(store)}
    makers = {store.buffer: store.index for store in stores}
    for access in (one for store in stores for one in form.loads(store.value)):
        for read, written in zip(access.index, makers.get(access.buffer, access.index)):
            if read != written:
                bound |= variables(read) | variables(written)
    return [one for one in dict.fromkeys(a for s in stores for a in s.axes) if one not in bound]


def _at(store: Store, table: Mapping[Atom, Dim]) -> Store:
    """The store at some points of its axes."""
    axes = [variables(table[one]) if one in table else {one} for one in store.axes]
    index = tuple(substitute(one, table) for one in store.index)
    value = store.value.substitute(table)
    return Store(store.buffer, tuple(axis for some in axes for axis in some), index, value)


# --- the judge ------------------------------------------------------------------------------


def _exactly(one: Expr, *arguments: Array | int) -> Array:
    """As ``operate``, in float64 from the loads on."""
    found = operate(one, *arguments)
    is_wide = one.op == "load" and one.dtype.kind == "float"
    return _wide(found) if is_wide else found


def _moved(rng: np.random.Generator, one: Expr, *arguments: Array | int) -> Array:
    """As ``_exactly``, but all that is rounded moves by half an ulp up or down."""
    exact = _exactly(one, *arguments)
    if one.dtype.kind != "float" or one.op in EXACT:
        return exact
    if one.op == "sum":
        terms, axis = np.asarray(arguments[0], np.float64), int(arguments[1])
        errors = np.cumsum(terms, axis) * _signs(rng, terms.shape)
        inner = FLOAT32 if one.dtype.is_half else one.dtype  # that sums of halves are kept in
        exact = _wide(exact) + _half_ulp(inner.numpy) * errors.sum(axis)
    return _wide(exact) * (1 + _half_ulp(one.dtype.numpy) * _signs(rng, exact.shape))


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.integers(0, 2, shape, np.int8) * 2.0 - 1


def _half_ulp(dtype: np.dtype[np.generic]) -> float:
    """Relative to a number at the low end of its power of two."""
    return float(np.spacing(dtype.type(1))) / 2


@dataclass(frozen=True, slots=True)
class _Sample:
    """Stores at some of their points, and which places of the outputs those are."""

    stores: Sequence[Store]
    points: dict[str, Array]
    run: Run
    places: dict[str, Bits]

    @classmethod
    def of(cls, meaning: Meaning, sizes: Sizes, rng: np.random.Generator) -> _Sample:
        run = Run(sizes, False)
        stores, points = _sampled(meaning.stores, run, rng)
        places = {one.name: np.zeros(run.shape(one.shape), bool) for one in meaning.outputs}
        for store in (one for one in stores if one.buffer.name in places):
            marks = Buffer(store.buffer.name, store.buffer.shape, BOOL)
            marked = replace(store, buffer=marks, value=TRUE)
            evaluate_store(marked, points | places, sizes, widen=False)
        return cls(stores, points, run, places)

    def values(self, arrays: Arrays, widen: bool, how: Operate) -> dict[str, Array]:
        """The outputs at the sample's places."""
        run, buffers = Run(self.run.sizes, widen), self.points | dict(arrays)
        for buffer in {store.buffer for store in self.stores}:
            shape, dtype = run.shape(buffer.shape), run.dtype(buffer.dtype)
            given = arrays.get(buffer.name)
            buffers[buffer.name] = np.zeros(shape, dtype) if given is None else given.astype(dtype)
        for store in self.stores:
            evaluate_store(store, buffers, run.sizes, widen=widen, operate=how)
        return {name: buffers[name][places] for name, places in self.places.items()}

    def is_moderate(self, arrays: Arrays) -> bool:
        """Whether no value of the judge is very large or small; masks make infinite ones."""
        faults: list[bool] = []

        def watch(one: Expr, *arguments: Array | int) -> Array:
            found = _exactly(one, *arguments)
            size = np.abs(found[np.isfinite(found) & (found != 0)])
            is_float = one.dtype.kind == "float"
            faults.append(is_float and bool(np.any((size > MODERATE) | (size < 1 / MODERATE))))
            return found

        self.values(arrays, True, watch)
        return not any(faults)

    def limits(
        self, case: _Case, meaning: Meaning, rng: np.random.Generator
    ) -> dict[str, Expected]:
        """The right values of each output, and their limits."""
        exact = self.values(case.arrays, True, _exactly)
        own = self.values(case.arrays, False, operate)
        is_few = min(one.size for one in exact.values()) < FEW_RESULTS
        draws = range(DRAWS_OF_FEW if is_few else DRAWS)
        moved = [self.values(case.arrays, True, partial(_moved, rng)) for _ in draws]
        others = [
            _replanted(case, rng) for _ in range(2 if meaning.is_finite and case.planted else 0)
        ]
        without = [self.values(one, True, _exactly) for one in others]
        found = {}
        for name in exact:
            limit = _limit(exact[name], own[name], [one[name] for one in moved])
            if without:
                is_free = np.where(_equal(without[0][name], without[1][name]), np.inf, -np.inf)
                is_special = np.isnan(limit) & ~np.isfinite(exact[name])
                limit = np.where(is_special, is_free, limit)
            if meaning.is_real:
                is_special = np.isnan(limit) & ~np.isfinite(_wide(exact[name]))
                limit = np.where(is_special, -np.inf, limit)
            found[name] = Expected(self.places[name], exact[name], limit)
        return found


def _replanted(case: _Case, rng: np.random.Generator) -> Arrays:
    """Numbers where the case holds what is none."""
    numbers = {
        name: np.where(mask, rng.normal(size=mask.shape), case.arrays[name])
        for name, mask in case.planted.items()
    }
    return {name: convert(numbers.get(name, one), one.dtype) for name, one in case.arrays.items()}


@np.errstate(invalid="ignore")
def _limit(exact: Array, own: Array, moved: Sequence[Array]) -> Array:
    """How far off a result may be: inf = anything, nan = not at all (-inf: only not finite).

    From the judge, the meaning's own result, and draws of the judge when moved.
    """
    if exact.dtype.kind in "biu":
        is_stable = np.logical_and.reduce([one == exact for one in (own, *moved)])
        return np.where(is_stable, np.nan, np.inf)
    off = np.abs(np.stack([_wide(one) for one in (own, *moved)]) - _wide(exact))
    is_stable = np.isfinite(off).all(axis=0)
    limit = np.where(~np.isfinite(exact) & _equal(own, exact), np.nan, np.inf)
    largest = _among_alike(off.max(axis=0)[is_stable], _wide(exact)[is_stable])
    limit[is_stable] = np.maximum(FACTOR * largest, float(np.spacing(own.dtype.type(0))))
    return limit


def _wide(array: Array) -> Floats:
    return array.astype(np.float64)


def _among_alike(errors: Floats, values: Floats) -> Floats:
    """For each error the largest among those of values of about the same magnitude."""
    powers = np.where(values == 0, -(2**15), np.frexp(values)[1])
    kinds, kind = np.unique(powers, return_inverse=True)
    largest = np.zeros(len(kinds))
    np.maximum.at(largest, kind, errors)
    is_near = np.abs(kinds[:, None] - kinds) <= ALIKE
    return np.asarray(np.where(is_near, largest, 0.0).max(axis=1, initial=0)[kind])


@np.errstate(invalid="ignore")
def _parts(got: Array, exact: Array, limit: Array) -> Array:
    """What part of its limit each error takes; inf where it is over."""
    error = np.abs(_wide(got) - _wide(exact))
    part = np.where(error <= limit, error / limit, np.inf)
    is_fine = (limit == np.inf) | ((limit == -np.inf) & ~np.isfinite(_wide(got)))
    return np.where(_equal(got, exact) | is_fine, 0, part)


def _equal(one: Array, other: Array) -> Bits:
    return np.asarray((one == other) | ((one != one) & (other != other)))
