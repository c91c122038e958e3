"""One call of an operator while a graph is read: its inputs and attributes, typed and checked.

The functions that stand for operators (``ops_*.py``) take a ``Call`` and give tensors, arrays or
values. What an operator needs to know when the graph is built comes from ``array`` and ``sizes``:
of what depends on the program's inputs they raise ``Unread``, and the model runs in segments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from photic.base.errors import PhoticError
from photic.forms.eval import evaluate_operand
from photic.frontends.onnx.errors import OnnxAttribute, OnnxInput
from photic.frontends.onnx.kinds import Array
from photic.frontends.onnx.records import Constant, Graph, Node
from photic.frontends.onnx.value import Value, is_symbolic
from photic.ir.dim import Dim, Int, symbols
from photic.ir.graph import Node as Computed
from photic.ir.graph import Operand
from photic.tensor.tensor import Tensor

if TYPE_CHECKING:
    from photic.frontends.onnx.importer import Reading

MOST_ELEMENTS = 1 << 24  # of a value that is computed while a graph is read
INTEGERS = (int, np.integer)


class Unread(Exception):
    """A value that decides how the program goes on is known only when the part before has run.

    ``operand`` is what must be read; ``live`` what the rest of the program takes from that part.
    """

    def __init__(self, operand: Operand, where: str, live: tuple[Tensor, ...] = ()) -> None:
        super().__init__(f"{where} needs {operand.node}")
        self.operand, self.where, self.live = operand, where, live


@dataclass(slots=True)
class Facts:
    """What is known of values while a graph is read.

    ``read`` holds what earlier segments gave; ``fixed`` which nodes depend on constants alone.
    """

    read: Mapping[Operand, Array]
    fixed: dict[Computed, bool] = field(default_factory=dict)
    evaluated: dict[Computed, Array] = field(default_factory=dict)

    def is_fixed(self, operand: Operand) -> bool:
        """True if no input, state or symbolic size stands behind the value."""
        if _has_symbols(operand):
            return False
        stack = [operand.node]
        while stack:
            node = stack[-1]
            if node in self.fixed:
                stack.pop()
                continue
            unknown = [one.node for one in node.operands if one.node not in self.fixed]
            if unknown:
                stack += unknown
                continue
            self.fixed[stack.pop()] = _is_own(node) and all(
                self.fixed[one.node] for one in node.operands
            )
        return self.fixed[operand.node]


def _is_own(node: Computed) -> bool:
    is_source = node.op in ("input", "state")
    return not is_source and not any(map(_has_symbols, node.operands)) and not _open(node.shape)


def _has_symbols(operand: Operand) -> bool:
    view = operand.view
    limits = [dim for bound in view.bounds for dim in (bound.value, bound.extent)]
    return _open((*view.shape, *view.index, *limits))


def _open(dims: tuple[Dim, ...] | list[Dim]) -> bool:
    return any(map(symbols, dims))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operator's inputs and attributes. ``version`` is that of its operator set."""

    node: Node
    version: int
    inputs: tuple[Value | None, ...]
    attributes: Mapping[str, object]
    reading: Reading
    scope: Mapping[str, Value]

    # --- inputs ---

    def has(self, number: int) -> bool:
        """True if this input is there."""
        return number < len(self.inputs) and self.inputs[number] is not None

    def value(self, number: int) -> Value:
        """An input that must be there. OnnxInput."""
        found = self.inputs[number] if number < len(self.inputs) else None
        if found is None:
            raise self.wrong(f"input {number} is missing")
        return found

    def tensor(self, number: int) -> Tensor:
        """An input as a tensor. OnnxInput."""
        return self.value(number).tensor

    def optional(self, number: int) -> Tensor | None:
        """An input as a tensor, None where it is left out."""
        return self.tensor(number) if self.has(number) else None

    def tensors(self) -> list[Tensor]:
        """All inputs as tensors."""
        return [self.tensor(number) for number in range(len(self.inputs))]

    def known(self, number: int) -> Array:
        """An input's elements, some of them perhaps symbolic sizes. Unread, OnnxInput."""
        return self.known_value(self.value(number))

    def known_value(self, value: Value) -> Array:
        """As ``known``, of any value."""
        if isinstance(value.held, np.ndarray):
            return value.held
        facts, operand = self.reading.facts, value.held.operand
        if operand in facts.read:
            return facts.read[operand]
        if not facts.is_fixed(operand):
            raise Unread(operand, self.node.where)
        if np.prod([int(one) for one in value.shape], dtype=float) > MOST_ELEMENTS:
            raise self.wrong(f"a value of shape {value.shape} is too large to decide a shape")
        return evaluate_operand(operand, facts.evaluated)

    def array(self, number: int) -> Array:
        """An input's elements as numbers. Unread, OnnxInput for symbolic sizes."""
        found = self.known(number)
        if is_symbolic(found):
            raise self.wrong(f"input {number} has symbolic sizes, {found}; it must be numbers")
        return found

    def sizes(self, number: int) -> tuple[Dim, ...]:
        """An input's elements as sizes, negative ones too. Unread, OnnxInput."""
        flat = self.known(number).reshape(-1)
        return tuple(one if isinstance(one, Int) else int(one) for one in flat)

    def integers(self, number: int) -> tuple[int, ...]:
        """An input's elements as integers. Unread, OnnxInput."""
        return tuple(int(one) for one in self.array(number).reshape(-1))

    def scalar(self, number: int) -> float | int | bool:
        """An input of one element as a number. Unread, OnnxInput."""
        found = self.array(number)
        if found.size != 1:
            raise self.wrong(f"input {number} has {found.size} elements, expected 1")
        number_found = found.reshape(()).item()
        assert isinstance(number_found, float | int | bool)
        return number_found

    # --- attributes ---

    def _attribute(self, name: str, types: tuple[type, ...], expected: str) -> object:
        found = self.attributes[name]
        if not isinstance(found, types):
            raise self.attribute_error(name, found, expected)
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer. OnnxAttribute where it is missing without a default, or no integer."""
        if name not in self.attributes and default is not None:
            return default
        self._required(name, "an integer")
        found = self._attribute(name, (int,), "an integer")
        assert isinstance(found, int)
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        """An integer that is 0 or not."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: float | None = None) -> float:
        """A float."""
        if name not in self.attributes and default is not None:
            return default
        self._required(name, "a float")
        found = self._attribute(name, (float, int), "a float")
        assert isinstance(found, float | int)
        return float(found)

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        if name not in self.attributes and default is not None:
            return default
        self._required(name, "a text")
        found = self._attribute(name, (str,), "a text")
        assert isinstance(found, str)
        return found

    def choice(self, name: str, known: tuple[str, ...], default: str) -> str:
        """One of several texts. OnnxAttribute."""
        found = self.text(name, default)
        if found not in known:
            raise self.attribute_error(name, repr(found), ", ".join(known))
        return found

    def ints(self, name: str) -> tuple[int, ...] | None:
        """Integers, None where there are none."""
        if name not in self.attributes:
            return None
        found = self._attribute(name, (tuple,), "integers")
        if not isinstance(found, tuple) or not all(isinstance(one, INTEGERS) for one in found):
            raise self.attribute_error(name, found, "integers")
        return tuple(int(one) for one in found)

    def floats(self, name: str) -> tuple[float, ...] | None:
        """Floats, None where there are none."""
        if name not in self.attributes:
            return None
        found = self._attribute(name, (tuple,), "floats")
        assert isinstance(found, tuple)
        return tuple(float(one) for one in found)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Texts, None where there are none."""
        if name not in self.attributes:
            return None
        found = self._attribute(name, (tuple,), "texts")
        assert isinstance(found, tuple)
        return tuple(str(one) for one in found)

    def constant(self, name: str) -> Constant:
        """A tensor."""
        self._required(name, "a tensor")
        found = self._attribute(name, (Constant,), "a tensor")
        assert isinstance(found, Constant)
        return found

    def graph(self, name: str) -> Graph:
        """A graph."""
        self._required(name, "a graph")
        found = self._attribute(name, (Graph,), "a graph")
        assert isinstance(found, Graph)
        return found

    def _required(self, name: str, expected: str) -> None:
        if name not in self.attributes:
            raise self.attribute_error(name, "missing", expected)

    # --- errors ---

    def attribute_error(self, name: str, given: object, expected: str) -> PhoticError:
        """What to raise for an attribute that is not supported."""
        return OnnxAttribute(
            where=self.node.where,
            op=self.node.op,
            version=self.version,
            attribute=name,
            given=given,
            expected=expected,
        )

    def wrong(self, problem: str) -> PhoticError:
        """What to raise for inputs that are not supported, or contradict each other."""
        return OnnxInput(
            where=self.node.where, op=self.node.op, version=self.version, problem=problem
        )


class Run(Protocol):
    """What stands for an operator."""

    def __call__(self, call: Call, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Op:
    """An entry of the table: an operator from a version of its operator set on.

    ``wraps``: results of unsigned integers may leave their range and are brought back.
    """

    name: str
    run: Callable[[Call], object]
    since: int = 1
    domain: str = ""
    wraps: bool = False
