"""Gradients of tensors: ``grad``, ``vjp`` and their kin, as users call them.

A handle is anything with an ``operand``, a node seen through a view; results are made by calling
the handle's own type with an operand. So nothing here imports the tensors that it works for. Where
several handles are taken, one alone, a list, another sequence or a mapping of them is meant, and
what is returned for them is one, a list, a tuple or a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeGuard, TypeVar, cast

from photic.autograd import build
from photic.autograd.checkpoint import remember
from photic.autograd.errors import NotAScalar, NotAVariable, NotDifferentiable
from photic.autograd.grad import gradients
from photic.autograd.loops import Pairs
from photic.autograd.rewrite import merged, substituted
from photic.autograd.transpose import moves_only
from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.ir import graph
from photic.ir.graph import Named, Node, Operand


class Handle(Protocol):
    """A tensor, as far as gradients must know it."""

    def __init__(self, operand: Operand) -> None: ...

    @property
    def operand(self) -> Operand:
        """The value."""


H = TypeVar("H", bound=Handle)
P = ParamSpec("P")
R = TypeVar("R")


# --- the functions --------------------------------------------------------------------------


def grad(loss: Handle, wrt: R) -> R:
    """The gradient of a scalar with respect to each of some tensors, in their shapes and dtypes.

    ``wrt`` are inputs, states or values on the way, floats; views that only move elements will do.
    What the loss does not depend on gets zeros. Functions of gradients have gradients too. See
    "Gradients" in docs/numbers.md for kinks, ties and edges. Raises NotAScalar, NotDifferentiable,
    NotAVariable, BadArgument.
    """
    return _as(wrt, _pulled("grad", [_seeded("grad", loss)], wrt))


def value_and_grad(loss: H, wrt: R) -> tuple[H, R]:
    """The loss and its gradient, to be computed together.

    As ``(loss, grad(loss, wrt))``; but where there is a scan, its loop runs once for both.
    """
    found = _pulled("value_and_grad", [_seeded("value_and_grad", loss)], wrt)
    value, *others = merged((loss.operand, *found))
    return type(loss)(value), _as(wrt, others)


def vjp(outputs: object, wrt: R, cotangents: object) -> R:
    """The gradient of ``sum(output * cotangent)`` over all outputs, cotangents held constant.

    Each cotangent has the shape and dtype of its output. Raises ShapeMismatch, DtypeMismatch and
    what ``grad`` raises.
    """
    values = _operands("vjp", "outputs", outputs)
    pairs = _paired("vjp", values, _operands("vjp", "cotangents", cotangents))
    return _as(wrt, _pulled("vjp", pairs, wrt))


def jvp(outputs: R, wrt: object, tangents: object) -> R:
    """How the outputs change to first order when each of ``wrt`` moves along its tangent.

    Taken as a vjp of the vjp, which is linear in its cotangents: about twice the work of one.
    """
    values, variables = _operands("jvp", "outputs", outputs), _operands("jvp", "wrt", wrt)
    moves = _operands("jvp", "tangents", tangents)
    _paired("jvp", variables, moves)
    _require_float("jvp", "outputs", values)
    slots = [graph.input_node(f"@along{k}", x.shape, x.dtype) for k, x in enumerate(values)]
    weighted = [(x, graph.operand(slot)) for x, slot in zip(values, slots, strict=True)]
    back = _gradients("jvp", weighted, variables)
    found = gradients(list(zip(back, moves, strict=True)), slots)
    results = [found.get(slot) or build.nothing(slot.dtype, slot.shape) for slot in slots]
    blanks = {slot: _filled(build.nothing(slot.dtype, slot.shape)) for slot in slots}
    return _as(outputs, substituted(results, blanks))


def stop_gradient(x: H) -> H:
    """The same value, through which no gradient passes.

    It is a copy of a copy in the graph, which the compiler drops.
    """
    (value,) = _operands("stop_gradient", "value", x)
    return type(x)(graph.operand(_filled(graph.operand(_filled(value)))))


def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose inner values a gradient computes again instead of keeping them.

    Its tensor arguments and results are kept, and what does not depend on the arguments. The
    result is the same; a search may still find it better to keep a value. Equal values are one in
    a graph: what is also computed outside of the function is computed again too.
    """

    @wraps(function)
    def again(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        given = [one.operand.node for one in (*args, *kwargs.values()) if _is_handle(one)]
        remember([one.operand.node for one in _handles("checkpoint", "result", result)], given)
        return result

    return again


# --- variables ------------------------------------------------------------------------------


def _pulled(op: str, pairs: Pairs, wrt: object) -> list[Operand]:
    return _gradients(op, pairs, _operands(op, "wrt", wrt))


def _gradients(op: str, pairs: Pairs, variables: Sequence[Operand]) -> list[Operand]:
    """The gradient of each variable, seen as it is; zeros where there is none."""
    _require_float(op, "wrt", variables)
    for number, one in enumerate(variables):
        _require_variable(op, number, one)
    found = gradients(pairs, {one.node for one in variables})
    return [
        build.through(found[one.node], one.view)
        if one.node in found
        else build.number(0.0, one.dtype, one.shape)
        for one in variables
    ]


def _require_variable(op: str, number: int, one: Operand) -> None:
    """NotAVariable for a view that shows an element twice, or something else than elements."""
    problem = ""
    if one.view.bounds:
        problem = "has places which show no element"
    elif not moves_only(one.view, one.node.shape):
        problem = "shows elements more than once"
    if problem:
        raise NotAVariable(op=op, argument=_named("wrt", number, one), problem=problem)


def _require_float(op: str, argument: str, values: Sequence[Operand]) -> None:
    for number, one in enumerate(values):
        if one.dtype.kind != "float":
            raise NotDifferentiable(
                op=op, argument=_named(argument, number, one), given=str(one.dtype)
            )


def _named(argument: str, number: int, one: Operand) -> str:
    attribute = one.node.attribute
    name = f" ({attribute.name})" if isinstance(attribute, Named) else ""
    return f"{argument} {number}{name}"


# --- outputs --------------------------------------------------------------------------------


def _seeded(op: str, loss: Handle) -> tuple[Operand, Operand]:
    """The loss with weight 1."""
    (value,) = _operands(op, "loss", loss)
    _require_float(op, "loss", [value])
    if value.shape != ():
        raise NotAScalar(op=op, given=value.shape)
    return value, build.number(1.0, value.dtype, ())


def _paired(op: str, values: Sequence[Operand], weights: Sequence[Operand]) -> Pairs:
    """Each value with its weight of the same shape and dtype."""
    if len(values) != len(weights):
        expected = f"{len(values)}, one for each"
        raise BadArgument(op=op, argument="weights", given=len(weights), expected=expected)
    _require_float(op, "value", values)
    for value, weight in zip(values, weights):
        if value.shape != weight.shape:
            raise ShapeMismatch(op=op, left=value.shape, right=weight.shape)
        if value.dtype != weight.dtype:
            raise DtypeMismatch(op=op, given=weight.dtype, expected=str(value.dtype))
    return list(zip(values, weights))


def _filled(x: Operand) -> Node:
    """A copy of a value as it is seen."""
    return graph.cast(x, x.dtype)


# --- handles --------------------------------------------------------------------------------


def _is_handle(value: object) -> TypeGuard[Handle]:
    return isinstance(getattr(value, "operand", None), Operand)


def _handles(op: str, argument: str, given: object) -> list[Handle]:
    """The handles in what was given; BadArgument for anything else."""
    if isinstance(given, Mapping):
        found = list(given.values())
    else:
        found = list(given) if isinstance(given, Sequence) else [given]
    for one in found:
        if not _is_handle(one):
            expected = "a tensor, or a sequence or mapping of tensors"
            raise BadArgument(op=op, argument=argument, given=repr(one), expected=expected)
    return found


def _operands(op: str, argument: str, given: object) -> list[Operand]:
    return [one.operand for one in _handles(op, argument, given)]


def _as(form: R, values: Sequence[Operand]) -> R:
    """Values as handles of the types, and in the form, of others."""
    given: Any = form
    if isinstance(form, Mapping):
        pairs = zip(given.items(), values, strict=True)
        return cast(R, {key: type(one)(value) for (key, one), value in pairs})
    if isinstance(form, Sequence):
        found = [type(one)(value) for one, value in zip(given, values, strict=True)]
        return cast(R, found if isinstance(form, list) else tuple(found))
    return cast(R, type(given)(values[0]))
