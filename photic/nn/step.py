"""A train step as one program: forward, backward and optimiser, its parameters states of it.

``train_step`` builds and compiles it; the ``TrainStep`` that it gives is called with a batch.
Parameters, moments, buffers and the count of steps live in the program and are written in place;
the model keeps its first values until ``write_model``. ``eval_step`` is the same without a
backward pass. Neither loops over epochs nor writes files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral

import numpy as np

from photic.autograd.handles import grad
from photic.autograd.rewrite import merged
from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT64, INT64, DType, dtype_of
from photic.nn.building import Building, building
from photic.nn.clipping import clip_grad_norm, clip_grad_value
from photic.nn.errors import StateMismatch
from photic.nn.module import Module
from photic.nn.optimisers import AVERAGE, Now, Optimiser
from photic.nn.parameter import Held
from photic.nn.schedules import rate_at
from photic.tensor import random
from photic.tensor.compiling import compile
from photic.tensor.creation import counted, input, state, zeros
from photic.tensor.loops import scan
from photic.tensor.program import Program
from photic.tensor.reductions import mean
from photic.tensor.tensor import Array, DTypeLike, Tensor

Specification = tuple[Dim | Sequence[Dim], DTypeLike]
Inputs = Mapping[str, Specification]
Loss = Tensor | tuple[Tensor, Mapping[str, Tensor]]
OptimiserOf = Optimiser | Callable[[str], Optimiser]

COUNT = ":step"  # the state that counts steps; no path of a module has a colon
RESERVED = ("loss", "lr", "grad_norm")


@dataclass(frozen=True, slots=True)
class Trainable:
    """A model's values as states: every parameter that is trained, every buffer, by path."""

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    held: Mapping[str, Held]
    count: Tensor

    def current(self, buffers: Mapping[str, Tensor]) -> dict[int, Tensor]:
        """What ``building`` is told, with these handles for the buffers."""
        handles = {**self.parameters, **buffers}
        return {id(self.held[name]): one for name, one in handles.items()}


def _states(model: Module) -> Trainable:
    parameters = {name: one for name, one in model.named_parameters() if one.requires_grad}
    buffers = dict(model.named_buffers())
    held: dict[str, Held] = {**parameters, **buffers}
    handles = {name: state(name, one.shape, one.dtype) for name, one in held.items()}
    return Trainable(
        {name: handles[name] for name in parameters},
        {name: handles[name] for name in buffers},
        held,
        state(COUNT, (), INT64),
    )


@contextmanager
def trainable(
    model: Module, *, seed: int = 0, compute: DTypeLike | None = None
) -> Iterator[tuple[Trainable, Building]]:
    """A model's values are states while the block runs, for graphs that train in other ways.

    Gives the states, and the building whose ``current`` says what buffers have become. The first
    values must be written into the program's states by the caller.
    """
    states = _states(model)
    key = random.fold_in(random.key(seed), states.count)
    with building(states.current(states.buffers), key, _compute(compute)) as now:
        yield states, now


def _compute(dtype: DTypeLike | None) -> DType | None:
    return None if dtype is None else dtype_of(dtype)


# --- a compiled step ------------------------------------------------------------------------


@dataclass(slots=True)
class Step:
    """A program over a model's values; call it with its inputs by name."""

    model: Module
    program: Program
    held: Mapping[str, Held]

    def __call__(self, **arrays: object) -> dict[str, float | Array]:
        """One run: numbers (of rank 0) as Python floats, other results as arrays."""
        found = self.program(**arrays)
        return {name: float(one) if not one.ndim else one for name, one in found.items()}

    @property
    def states(self) -> Mapping[str, Array]:
        """Live arrays: parameters, buffers, moments (``path:moment``) and the count (``:step``)."""
        return self.program.states

    @property
    def memory_bytes(self) -> int:
        """Arena, scratch, constants and states; batches and results aside."""
        states = sum(one.nbytes for one in self.states.values())
        return self.program.peak_bytes + self.program.constant_bytes + states

    def state_dict(self) -> dict[str, Array]:
        """A copy of every state: what going on to the same numbers needs."""
        return {name: one.copy() for name, one in self.states.items()}

    def load_state_dict(self, given: Mapping[str, Array], strict: bool = True) -> None:
        """Take states by name. StateMismatch for other shapes, and if strict for missing names."""
        for name, one in self.states.items():
            if name in given:
                _require_shape(name, one, given[name])
            elif strict:
                raise StateMismatch(what="state", name=name, given="missing", expected="an array")
        for name, one in self.states.items():
            if name in given:
                one[...] = given[name]

    def parameters(self) -> dict[str, Array]:
        """A copy of the trained values and buffers as they are now, by the model's names."""
        return {name: self.states[name].copy() for name in self.held if name in self.states}

    def write_model(self) -> None:
        """The model's parameters and buffers become what they are here."""
        for name, array in self.parameters().items():
            self.held[name].value = array

    def read_model(self) -> None:
        """Parameters and buffers become the model's; moments and the count stay."""
        for name, one in self.held.items():
            if name in self.states:
                self.states[name][...] = one.value


def _require_shape(name: str, own: Array, given: Array) -> None:
    if np.shape(given) != own.shape:
        raise StateMismatch(what="state", name=name, given=np.shape(given), expected=own.shape)


class TrainStep(Step):
    """A step of training: ``step(x=..., y=...)`` gives ``{"loss": ..., "lr": ..., metrics}``."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many steps have been done."""
        return int(self.states[COUNT])

    def step(self, **arrays: object) -> dict[str, float | Array]:
        """One step; the same as calling it."""
        return self(**arrays)

    def averages(self) -> dict[str, Array]:
        """As ``parameters``, with the running means of those that an ``Averaged`` trains.

        ``model.load_state_dict(step.averages(), strict=False)`` takes them.
        """
        means = {name: self.states.get(f"{name}:{AVERAGE}") for name in self.held}
        return self.parameters() | {
            name: one.copy() for name, one in means.items() if one is not None
        }


class EvalStep(Step):
    """A model's results without training, by values that ``load_state_dict`` brings up to date."""

    __slots__ = ()


# --- building it ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Found:
    """What a batch came to: results, gradients and the buffers' next values, by name."""

    results: dict[str, Tensor]
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrainGraph:
    """A step of training as a graph: its results by name, the next value of each state."""

    results: Mapping[str, Tensor]
    updates: Mapping[Tensor, Tensor]
    states: Trainable


def train_graph(
    model: Module,
    loss_fn: Callable[..., Loss],
    optimiser: OptimiserOf,
    inputs: Inputs,
    *,
    clip_norm: float | None = None,
    clip_value: float | None = None,
    accumulate: int = 1,
    compute: DTypeLike | None = None,
    seed: int = 0,
) -> TrainGraph:
    """What ``train_step`` compiles; its arguments are explained there. BadArgument."""
    _check_accumulate(accumulate)
    if isinstance(loss_fn, Module):
        expected = "a function of the model and the data that gives the loss"
        name = type(loss_fn).__name__
        raise BadArgument(op="train_step", argument="loss_fn", given=name, expected=expected)
    _check_names("train_step", loss_fn, inputs)
    states = _states(model)
    if not states.parameters:
        expected = "one with a parameter that is trained"
        raise BadArgument(op="train_step", argument="model", given=repr(model), expected=expected)
    key = random.fold_in(random.key(seed), states.count)
    dtype = _compute(compute)

    def batch(given: Mapping[str, Tensor], buffers: Mapping[str, Tensor], key: Tensor) -> _Found:
        with building(states.current(buffers), key, dtype) as now:
            results = _results(loss_fn(model, **given))
            after = {name: now.current[id(states.held[name])] for name in buffers}
        return _merged(states.parameters, results, after)

    if accumulate == 1:
        given = {name: input(name, shape, one) for name, (shape, one) in inputs.items()}
        found = batch(given, states.buffers, key)
    else:
        found = _accumulated(batch, states, inputs, accumulate, key)
    updates = _updates(states, optimiser, found, clip_norm, clip_value)
    return TrainGraph(found.results, updates, states)


def train_step(
    model: Module,
    loss_fn: Callable[..., Loss],
    optimiser: OptimiserOf,
    inputs: Inputs,
    *,
    clip_norm: float | None = None,
    clip_value: float | None = None,
    accumulate: int = 1,
    compute: DTypeLike | None = None,
    seed: int = 0,
    search: float | None = None,
    target: str = "",
) -> TrainStep:
    """Compile one step of training.

    ``loss_fn(model, **inputs)`` gives the loss, of rank 0, or ``(loss, {name: metric})``; inputs
    are tensors as ``{name: (shape, dtype)}`` says. ``optimiser`` may be a function from a
    parameter's path to an optimiser. ``accumulate=k``: each input has a leading axis of k, and a
    step averages loss and gradients over its k parts, one after another. ``compute="bfloat16"``:
    products of layers are computed in it, parameters and moments stay as they are. Gradients are
    clipped by value first. ``search`` and ``target`` are those of ``ph.compile``. BadArgument.
    """
    graph = train_graph(
        model,
        loss_fn,
        optimiser,
        inputs,
        clip_norm=clip_norm,
        clip_value=clip_value,
        accumulate=accumulate,
        compute=compute,
        seed=seed,
    )
    program = compile(graph.results, graph.updates, search=search, target=target)
    made = TrainStep(model, program, graph.states.held)
    made.read_model()
    return made


def _check_accumulate(count: int) -> None:
    if not isinstance(count, Integral) or count < 1:
        expected = "a whole number, 1 or more"
        raise BadArgument(op="train_step", argument="accumulate", given=count, expected=expected)


def _check_names(op: str, function: Callable[..., object], inputs: Inputs) -> None:
    """BadArgument unless a function of the model takes inputs of just these names."""
    try:
        wanted = signature(function)
    except ValueError:  # one in C may not say
        return
    try:
        wanted.bind(None, **inputs)
    except TypeError as error:
        given, names = ", ".join(inputs) or "nothing", ", ".join(wanted.parameters)
        expected = f"those of ({names}): {error}"
        raise BadArgument(op=op, argument="inputs", given=given, expected=expected) from None


def _results(given: Loss) -> dict[str, Tensor]:
    loss, metrics = given if isinstance(given, tuple) else (given, {})
    for name in metrics:
        if name in RESERVED:
            expected = f"none of {', '.join(RESERVED)}"
            raise BadArgument(op="train_step", argument="a metric", given=name, expected=expected)
    return {"loss": loss, **metrics}


def _merged(
    parameters: Mapping[str, Tensor], results: dict[str, Tensor], buffers: dict[str, Tensor]
) -> _Found:
    """The gradients too; loops over the same values run once for all that reads them."""
    gradients = grad(results["loss"], dict(parameters))
    everything = [*results.values(), *gradients.values(), *buffers.values()]
    values = iter([Tensor(one) for one in merged([one.operand for one in everything])])
    return _Found(*({name: next(values) for name in one} for one in (results, gradients, buffers)))


Batch = Callable[[Mapping[str, Tensor], Mapping[str, Tensor], Tensor], _Found]


def _accumulated(
    batch: Batch, states: Trainable, inputs: Inputs, count: int, key: Tensor
) -> _Found:
    """The parts of a batch one after another: gradients added up, buffers carried on."""
    given = [input(name, (count, *_sizes(shape)), one) for name, (shape, one) in inputs.items()]
    names: list[str] = []

    def body(
        carried: tuple[Tensor, ...], sliced: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        totals, buffers = carried[: len(states.parameters)], carried[len(states.parameters) :]
        number, *part = sliced
        found = batch(
            dict(zip(inputs, part, strict=True)),
            dict(zip(states.buffers, buffers, strict=True)),
            random.fold_in(key, number),
        )
        names[:] = found.results
        shares = [one * (1 / count) for one in found.gradients.values()]
        added = [total + one for total, one in zip(totals, shares, strict=True)]
        return (*added, *found.buffers.values()), tuple(found.results.values())

    start = [zeros(one.shape, one.dtype) for one in states.parameters.values()]
    last, rows = scan(body, (*start, *states.buffers.values()), (counted(0, count), *given))
    gradients, buffers = last[: len(start)], last[len(start) :]
    return _Found(
        {name: mean(one, 0) for name, one in zip(names, rows, strict=True)},
        dict(zip(states.parameters, gradients, strict=True)),
        dict(zip(states.buffers, buffers, strict=True)),
    )


def _sizes(shape: Dim | Sequence[Dim]) -> tuple[Dim, ...]:
    return tuple(shape) if isinstance(shape, Sequence) else (shape,)


def _updates(
    states: Trainable,
    optimiser: OptimiserOf,
    found: _Found,
    clip_norm: float | None,
    clip_value: float | None,
) -> dict[Tensor, Tensor]:
    """The next value of every state; the rate and the norm of gradients join the results."""
    gradients = found.gradients
    if clip_value is not None:
        gradients = clip_grad_value(gradients, clip_value)
    if clip_norm is not None:
        gradients, found.results["grad_norm"] = clip_grad_norm(gradients, clip_norm)
    updates: dict[Tensor, Tensor] = {states.count: states.count + 1}
    done = states.count.astype(FLOAT64)
    # the last layers first, as their gradients come: so the values that they are made of can go
    for name, value in reversed(states.parameters.items()):
        chosen = _chosen(optimiser, name)
        now = Now(done + 1.0, rate_at(chosen.lr, done))
        found.results.setdefault("lr", now.rate)
        moments = {one: state(f"{name}:{one}", value.shape, value.dtype) for one in chosen.moments}
        updates[value], after = chosen.step(value, gradients[name], moments, now)
        updates |= {moments[one]: after[one] for one in moments}
    for name, buffer in states.buffers.items():
        if found.buffers[name].operand != buffer.operand:
            updates[buffer] = found.buffers[name]
    return updates


def _chosen(optimiser: OptimiserOf, name: str) -> Optimiser:
    """The optimiser of one parameter."""
    found: object = optimiser
    if not isinstance(optimiser, Optimiser) and callable(optimiser):
        found = optimiser(name)
    if not isinstance(found, Optimiser):
        expected = "an optimiser such as nn.Adam(1e-3), or a function from names to optimisers"
        raise BadArgument(
            op="train_step", argument="optimiser", given=repr(found), expected=expected
        )
    return found


def eval_step(
    model: Module,
    function: Callable[..., Tensor | Mapping[str, Tensor]],
    inputs: Inputs,
    *,
    compute: DTypeLike | None = None,
    search: float | None = None,
    target: str = "",
) -> EvalStep:
    """Compile ``function(model, **inputs)``, one tensor or several by name, in the eval mode.

    The model's values are states, so that ``load_state_dict(step.states)`` of a ``TrainStep``
    brings them up to date without compiling again; one tensor is named ``output``. BadArgument.
    """
    _check_names("eval_step", function, inputs)
    states = _states(model)
    modes = [(one, one.training) for one in model.modules()]
    model.eval()
    given = {name: input(name, shape, one) for name, (shape, one) in inputs.items()}
    try:
        with building(states.current(states.buffers), None, _compute(compute)):
            found = function(model, **given)
    finally:
        for module, mode in modes:
            module.training = mode
    results = {"output": found} if isinstance(found, Tensor) else dict(found)
    made = EvalStep(model, compile(results, search=search, target=target), states.held)
    made.read_model()
    return made
