"""Every function that names axes: one counted from the end is the one counted from the front.

Both calls build the same nodes (a node built twice is one object), so that what the catalogue
shows of one, by the evaluator and compiled, holds for the other. An axis outside the rank raises a
typed error. Which functions name axes is read off their signatures: none may be missing here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import photic as ph
from photic.base.errors import PhoticError

NAMES = {"axis", "axes", "dim", "dim1", "dim2", "axis1", "axis2", "start_dim", "end_dim"}
NAMES |= {"destination"}
RANK = 3
SHAPE = (2, 3, 4)
X, Y = ph.input("x", SHAPE), ph.input("y", SHAPE)
SQUARE = ph.input("square", (3, 3, 3))
EVEN = ph.input("even", (4, 4, 4))
ONES = ph.input("ones", (1, 1, 1))
BYTES = ph.input("bytes", SHAPE, "uint8")
PLACES = ph.input("places", (2,), "int64")
PLACES_OF_ALL = ph.input("places_of_all", (2, 2, 2), "int64")
CUBE = ph.input("cube", (3, 3, 3), "int64")
PARTS = ph.input("parts", (2, 2, 2))
Call = Callable[[Any], Any]

# Calls with one axis of three, by what else the function is given.
ONE_AXIS: Mapping[str, Call] = {
    "append": lambda k: ph.append(SQUARE, SQUARE, k),
    "argpartition": lambda k: ph.argpartition(X, 1, k),
    "array_split": lambda k: ph.array_split(X, 2, k),
    "chunk": lambda k: ph.chunk(X, 2, k),
    "compress": lambda k: ph.compress(np.array([True, False]), X, k, 1),
    "concat": lambda k: ph.concat([SQUARE, SQUARE], k),
    "concatenate": lambda k: ph.concatenate([SQUARE, SQUARE], k),
    "cosine_similarity": lambda k: ph.cosine_similarity(X, Y, k),
    "cross": lambda k: ph.cross(SQUARE, SQUARE, k),
    "delete": lambda k: ph.delete(X, 1, k),
    "flatten.end_dim": lambda k: ph.flatten(X, 0, k),
    "flatten.start_dim": lambda k: ph.flatten(X, k, -1),
    "gather": lambda k: ph.gather(X, k, PLACES_OF_ALL),
    "glu": lambda k: ph.glu(EVEN, k),
    "index_add": lambda k: ph.index_add(EVEN, k, PLACES, of_parts(k)),
    "index_copy": lambda k: ph.index_copy(EVEN, k, PLACES, of_parts(k)),
    "index_fill": lambda k: ph.index_fill(X, k, PLACES, 1.0),
    "index_select": lambda k: ph.index_select(X, k, PLACES),
    "insert": lambda k: ph.insert(X, 1, 2.0, k),
    "kthvalue": lambda k: ph.kthvalue(X, 1, k),
    "lexsort": lambda k: ph.lexsort([SQUARE, SQUARE], k),
    "moveaxis.destination": lambda k: ph.moveaxis(X, 0, k),
    "moveaxis.source": lambda k: ph.moveaxis(X, k, 0),
    "nanpercentile": lambda k: ph.nanpercentile(X, 25.0, k),
    "nanquantile": lambda k: ph.nanquantile(X, 0.25, k),
    "narrow": lambda k: ph.narrow(X, k, 0, 2),
    "partition": lambda k: ph.partition(X, 1, k),
    "percentile": lambda k: ph.percentile(X, 25.0, k),
    "put_along_axis": lambda k: ph.put_along_axis(SQUARE, CUBE, SQUARE, k),
    "quantile": lambda k: ph.quantile(X, 0.25, k),
    "renorm": lambda k: ph.renorm(X, 2.0, k, 1.0),
    "repeat": lambda k: ph.repeat(X, 2, k),
    "repeat_interleave": lambda k: ph.repeat_interleave(X, 2, k),
    "resize.axes": lambda k: ph.resize(X, sizes=(5,), axes=(k,)),
    "roll": lambda k: ph.roll(X, 1, k),
    "scatter": lambda k: ph.scatter(X, k, PLACES_OF_ALL, PARTS),
    "scatter_add": lambda k: ph.scatter_add(X, k, PLACES_OF_ALL, PARTS),
    "scatter_reduce": lambda k: ph.scatter_reduce(X, k, PLACES_OF_ALL, PARTS, "amax"),
    "select_scatter": lambda k: ph.select_scatter(SQUARE, SQUARE[0], k, 1),
    "slice_scatter": lambda k: ph.slice_scatter(SQUARE, SQUARE, k),
    "sliding_window_view": lambda k: ph.sliding_window_view(X, 2, k),
    "split": lambda k: ph.split(EVEN, 2, k),
    "squeeze": lambda k: ph.squeeze(ONES, k),
    "take": lambda k: ph.take(X, PLACES, k),
    "take_along_axis": lambda k: ph.take_along_axis(SQUARE, CUBE, k),
    "tensordot.axes": lambda k: ph.tensordot(SQUARE, SQUARE, ([k], [k])),
    "topk": lambda k: ph.topk(X, 1, k),
    "unflatten": lambda k: ph.unflatten(EVEN, k, (2, 2)),
    "unpackbits": lambda k: ph.unpackbits(BYTES, k),
    "update": lambda k: ph.update(EVEN, of_parts(k), 1, k),
    "vecdot": lambda k: ph.vecdot(X, Y, k),
}
# Those that name two axes at least, or axes of the result.
SEVERAL: Mapping[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]], int]] = {
    "diag_embed": (lambda j, k: ph.diag_embed(X, 0, j, k), [(0, 1), (3, 0), (1, 3)], RANK + 1),
    "diagonal": (lambda j, k: ph.diagonal(X, 1, j, k), [(0, 1), (2, 0), (1, 2)], RANK),
    "diagonal_scatter": (
        lambda j, k: ph.diagonal_scatter(SQUARE, SQUARE[0], 0, j, k),
        [(0, 1), (2, 0)],
        RANK,
    ),
    "expand_dims": (lambda k: ph.expand_dims(X, k), [(0,), (1,), (3,)], RANK + 1),
    "permute": (lambda *axes: ph.permute(X, axes), [(0, 2, 1), (2, 0, 1)], RANK),
    "permute_dims": (lambda *axes: ph.permute_dims(X, axes), [(0, 2, 1), (2, 0, 1)], RANK),
    "rot90": (lambda j, k: ph.rot90(X, 1, (j, k)), [(0, 1), (2, 0)], RANK),
    "stack": (lambda k: ph.stack([X, Y], k), [(0,), (1,), (3,)], RANK + 1),
    "swapaxes": (lambda j, k: ph.swapaxes(X, j, k), [(0, 1), (2, 0)], RANK),
    "tensorsolve": (
        lambda k: ph.tensorsolve(ph.input("a", (2, 2, 2, 2)), ph.input("b", (2, 2)), (k,)),
        [(0,), (2,)],
        RANK + 1,
    ),
    "trace": (lambda j, k: ph.trace(X, 1, j, k), [(0, 1), (2, 0), (1, 2)], RANK),
    "transpose": (lambda *axes: ph.transpose(X, axes), [(0, 2, 1), (2, 0, 1)], RANK),
    "unsqueeze": (lambda k: ph.unsqueeze(X, k), [(0,), (1,), (3,)], RANK + 1),
}


def of_parts(axis: int) -> ph.Tensor:
    """Values of two places of the axis."""
    front = axis % RANK
    return ph.input("values", tuple(2 if place == front else 4 for place in range(RANK)))


def naming_axes() -> dict[str, Callable[..., Any]]:
    """Public functions with a parameter that names axes."""
    found = {name: getattr(ph, name) for name in sorted(ph._HOME)}
    return {
        name: one
        for name, one in found.items()
        if inspect.isfunction(one) and NAMES & inspect.signature(one).parameters.keys()
    }


def of_x_alone(name: str) -> Call:
    """``f(x, axis=k)``, whatever the parameter is called."""
    one = getattr(ph, name)
    (parameter,) = NAMES & inspect.signature(one).parameters.keys()
    many = parameter == "axes"
    return lambda k: one(X, **{parameter: (k,) if many else k})


LISTED = {name.partition(".")[0] for name in (*ONE_AXIS, *SEVERAL)}
CALLS: Mapping[str, Call] = {
    **ONE_AXIS,
    **{name: of_x_alone(name) for name in naming_axes() if name not in LISTED},
}


def nodes(made: Any) -> list[Any]:
    many = made if isinstance(made, tuple | list) else (made,)
    return [one.operand for one in many]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_an_axis_from_the_end_is_the_one_from_the_front(name: str) -> None:
    call, taken = CALLS[name], 0
    for axis in range(RANK):
        try:
            want = nodes(call(axis))
        except PhoticError as refused:  # of this size: the other way must refuse as well
            with pytest.raises(type(refused)):
                call(axis - RANK)
            continue
        assert nodes(call(axis - RANK)) == want
        taken += 1
    assert taken > 1
    for axis in (RANK, -RANK - 1):
        with pytest.raises(PhoticError):
            call(axis)


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_axes_from_the_end_are_those_from_the_front(name: str) -> None:
    call, several, rank = SEVERAL[name]
    for axes in several:
        want = nodes(call(*axes))
        for chosen in range(1, 2 ** len(axes)):
            turned = [axis - rank * (chosen >> place & 1) for place, axis in enumerate(axes)]
            assert nodes(call(*turned)) == want, turned
        for outside in (rank, -rank - 1):
            with pytest.raises(PhoticError):
                call(*axes[:-1], outside)


def test_every_call_is_of_a_function_that_names_axes() -> None:
    assert not LISTED - naming_axes().keys()
