"""What a model's parameters are in the graph that is being built.

Inside ``building(...)`` every parameter and buffer has one handle, a state of the program, and
buffers may be given new values; outside it they are constants, which is what inference wants. The
context belongs to the thread (or task) that entered it. Nothing here knows modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from photic.ir.dtype import FLOAT32, DType
from photic.nn.errors import NotTraining
from photic.tensor.random import fold_in
from photic.tensor.tensor import Tensor


@dataclass(slots=True)
class Building:
    """A graph being built: what each held value is now, and where random numbers come from.

    ``current`` goes by the identity of the ``Parameter`` or ``Buffer``. ``key`` is a key of
    ``ph.random`` that differs at every step; without one nothing may be drawn. ``compute`` is the
    dtype in which products are computed where mixed precision is asked for.
    """

    current: dict[int, Tensor]
    key: Tensor | None = None
    compute: DType | None = None
    draws: int = 0
    depth: int = 0


_now: ContextVar[Building | None] = ContextVar("photic_building", default=None)


def building_now() -> Building | None:
    """The graph that is being built over states, if one is."""
    return _now.get()


@contextmanager
def building(
    current: Mapping[int, Tensor], key: Tensor | None = None, compute: DType | None = None
) -> Iterator[Building]:
    """Values have these handles while the block runs."""
    made = Building(dict(current), key, compute)
    token = _now.set(made)
    try:
        yield made
    finally:
        _now.reset(token)


def draw_key(what: str) -> Tensor:
    """A key for one draw: another for every call of this, and at every step. NotTraining."""
    now = _now.get()
    if now is None or now.key is None:
        raise NotTraining(what=what)
    now.draws += 1
    return fold_in(now.key, now.draws)


def computed(x: Tensor) -> Tensor:
    """The value in the dtype of products: lower than float32 in mixed precision, else as it is."""
    now = _now.get()
    if now is None or now.compute is None or x.dtype != FLOAT32:
        return x
    return x.astype(now.compute)
