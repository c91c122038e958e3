"""Running a chat template, which is somebody else's program, without trusting it.

jinja2's immutable sandbox, narrowed: only listed syntax, filters, tests, methods and functions
exist; every loop pass, call, operator and character is paid for from a meter; texts carry marks
of which characters are a user's. Promises: a template can neither reach anything but the values
it is given, nor change them, nor run for longer or take more memory than the meter allows;
whatever it does wrong is TemplateRejected.

Where it is used soundly the result is what transformers gives for the same template. Does not
know messages or tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from types import CodeType
from typing import cast

from jinja2 import Template, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, pass_context
from jinja2.visitor import NodeTransformer

from photic.language import marked
from photic.language.errors import TemplateRejected
from photic.language.meter import Meter
from photic.language.template_functions import (
    Allowed,
    Function,
    filters_for,
    functions_at,
    method_of,
    tests_for,
    text_of,
)

MAXIMUM_SOURCE = 1 << 16  # characters; the largest templates in use have about 20,000
MAXIMUM_EXPONENT = 64
KEPT_TEMPLATES = 8
# What a template can do wrong, as Python and jinja2 report it.
FAULTS = (
    *(TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError),
    *(RecursionError, MemoryError, SyntaxError, AssertionError),
)

Weights = Mapping[str, int]
"""Macro names to the nodes of their bodies: what one call costs."""


def run_template(source: str, variables: Mapping[str, object], meter: Meter, now: datetime) -> str:
    """The text that ``source`` makes of ``variables``, with marks (photic.language.marked).

    ``variables`` hold texts, numbers, lists and maps only. Raises TemplateRejected.
    """
    code, weights = _compiled(source)
    environment = _environment(meter, weights, now)
    try:
        template = Template.from_code(environment, code, environment.make_globals(None))
        context = template.new_context(dict(variables))
        return environment.concat(template.root_render_func(context))
    except FAULTS as error:
        raise TemplateRejected(problem=_said(error)) from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@lru_cache(maxsize=KEPT_TEMPLATES)
def _compiled(source: str) -> tuple[CodeType, Weights]:
    if len(source) > MAXIMUM_SOURCE:
        raise TemplateRejected(problem=f"it is longer than {MAXIMUM_SOURCE} characters")
    environment = _environment(Meter(0, 0), {}, datetime.min)
    try:
        tree = environment.parse(source)
        _check_syntax(tree)
        weights = _macro_weights(tree)
        tree = cast(nodes.Template, _Meters().visit(tree))
        tree.set_environment(environment)
        return environment.compile(tree), weights
    except FAULTS as error:
        raise TemplateRejected(problem=_said(error)) from error


# --- the sandbox ----------------------------------------------------------------------------


def _environment(meter: Meter, weights: Weights, now: datetime) -> _Sandbox:
    """The settings that transformers uses, around a meter."""
    environment = _Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,
        finalize=_shown,
        extensions=[_Generation, loopcontrols],
    )
    environment.meter = meter
    environment.weights = weights
    environment.filters.clear()
    environment.filters.update(filters_for(meter) | _own_filters(meter))
    environment.tests.clear()
    environment.tests.update(tests_for(meter))
    environment.globals.clear()
    environment.globals.update(functions_at(now))
    return environment


class _Sandbox(ImmutableSandboxedEnvironment):
    """Every operation on values goes through a method of this class, a filter or a test."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    meter: Meter
    weights: Weights

    def getattr(self, obj: object, attribute: str) -> object:
        if (method := method_of(self.meter, obj, attribute)) is not None:
            return method
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        if attribute.startswith("_"):
            raise SecurityError(f"{attribute!r} is not for templates")
        if isinstance(obj, LoopContext) and attribute in ("cycle", "changed"):
            return Allowed(getattr(obj, attribute))
        if isinstance(obj, Namespace | LoopContext | Undefined):
            return super().getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: object, argument: object) -> object:
        if isinstance(argument, tuple):
            self.meter.weigh(argument)  # a key is hashed through and through
        if isinstance(obj, str | list | tuple | dict | range):
            try:
                return cast(Mapping[object, object], obj)[argument]
            except (TypeError, LookupError):
                pass
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=obj, name=str(argument))

    def call(self, context: Context, obj: object, *values: object, **options: object) -> object:
        if isinstance(obj, Macro):
            self.meter.step(self.weights.get(obj.name, 1))
            return super().call(context, obj, *values, **options)
        if isinstance(obj, Undefined):
            return super().call(context, obj, *values, **options)
        if not isinstance(obj, Allowed):
            raise SecurityError(f"a {type(obj).__name__} may not be called")
        self.meter.step()
        for own in _OWN_OPTIONS:
            options.pop(own, None)
        self.meter.weigh([*values, *options.values()])
        result = obj.function(*values, **options)
        self.meter.made(result)
        return result

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        self.meter.step()
        result = self._operated(operator, left, right)
        self.meter.made(result)
        return result

    def _operated(self, operator: str, left: object, right: object) -> object:
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            self.meter.touch(len(left) + len(right))
            return marked.join("", (left, right))
        if operator == "+" and isinstance(left, list | tuple) and isinstance(right, list | tuple):
            self.meter.step(len(left) + len(right))
        elif operator == "*" and not (_is_number(left) and _is_number(right)):
            return self._repeated(left, right)
        elif operator == "**":
            _check_power(left, right)
        elif operator == "%" and isinstance(left, str):
            raise TemplateRejected(problem='it formats text by "%"')
        return self.binop_table[operator](left, right)

    def _repeated(self, left: object, right: object) -> object:
        whole, count = (right, left) if isinstance(left, int) else (left, right)
        if not isinstance(count, int) or not isinstance(whole, str | list | tuple):
            raise TypeError(f"{type(left).__name__} * {type(right).__name__}")
        self.meter.step(len(whole) * count)
        if isinstance(whole, str):
            self.meter.touch(len(whole) * count)
            return marked.repeat(whole, count)
        return whole * count

    def concat(self, parts: Iterable[str]) -> str:
        texts: list[str] = []
        for part in parts:
            self.meter.step()
            self.meter.touch(len(part))
            texts.append(part)
        return marked.join("", texts)


# What jinja2 adds to every call inside a loop or block, for functions that take a context.
_OWN_OPTIONS = ("_loop_vars", "_block_vars")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _check_power(base: object, exponent: object) -> None:
    if not (_is_number(base) and _is_number(exponent)):
        raise TypeError("a power of what are no numbers")
    if isinstance(exponent, int) and abs(exponent) > MAXIMUM_EXPONENT:
        raise TemplateRejected(problem=f"it takes powers above {MAXIMUM_EXPONENT}")


@pass_context
def _shown(context: Context, value: object) -> str:
    """What ``{{ value }}`` prints."""
    return text_of(cast(_Sandbox, context.environment).meter, value)


# --- syntax ---------------------------------------------------------------------------------


class _Generation(Extension):
    """``{% generation %}`` marks answers in training data; here it is a scope and nothing else."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


_SYNTAX = frozenset(
    {
        *("Template", "Output", "TemplateData", "For", "If", "Macro", "CallBlock", "FilterBlock"),
        *("With", "Assign", "AssignBlock", "Scope", "Break", "Continue", "Name", "NSRef", "Const"),
        *("Tuple", "List", "Dict", "Pair", "Keyword", "CondExpr", "Filter", "Test", "Call"),
        *("Getitem", "Getattr", "Slice", "Concat", "Compare", "Operand", "Add", "Sub", "Mul"),
        *("Div", "FloorDiv", "Mod", "Pow", "And", "Or", "Not", "Neg", "Pos"),
    }
)


def _check_syntax(tree: nodes.Template) -> None:
    for node in tree.find_all(nodes.Node):
        name = type(node).__name__
        if name not in _SYNTAX:
            raise TemplateRejected(problem=f"line {node.lineno} uses {name}")
        if isinstance(node, nodes.For) and node.recursive:
            raise TemplateRejected(problem=f"line {node.lineno} has a recursive loop")


def _size(node: nodes.Node) -> int:
    return 1 + sum(1 for _ in node.find_all(nodes.Node))


def _macro_weights(tree: nodes.Template) -> Weights:
    weights: dict[str, int] = {}
    for node in tree.find_all((nodes.Macro, nodes.CallBlock)):
        name = node.name if isinstance(node, nodes.Macro) else "caller"
        weights[name] = max(weights.get(name, 1), _size(node))
    return weights


# Filters that the sandbox itself puts into a template. A template may name them too: that is
# harmless, it only pays more.
_COUNTED, _JOINED, _WEIGHED, _MADE = "_counted", "_joined", "_weighed", "_made"


class _Meters(NodeTransformer):
    """Puts payments where the sandbox's methods are not asked.

    ``for x in y`` becomes ``for x in y|_counted(size of the body)``; ``a ~ b`` becomes
    ``[a, b]|_joined``; operands of comparisons and keys are weighed; slices are paid for.
    """

    def visit_For(self, node: nodes.For) -> nodes.For:
        weight = nodes.Const(_size(node))
        self.generic_visit(node)
        node.iter = _filter(cast(nodes.Expr, node.iter), _COUNTED, weight)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), _JOINED)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:
        self.generic_visit(node)
        node.expr = _filter(node.expr, _WEIGHED)
        for operand in node.ops:
            operand.expr = _filter(operand.expr, _WEIGHED)
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Pair:
        self.generic_visit(node)
        node.key = _filter(node.key, _WEIGHED)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:
        self.generic_visit(node)
        return _filter(node, _MADE) if isinstance(node.arg, nodes.Slice) else node


def _filter(value: nodes.Expr, name: str, *options: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(options), [], None, None, lineno=value.lineno)


def _own_filters(meter: Meter) -> dict[str, Function]:
    @pass_context
    def counted(context: Context, items: Iterable[object], steps: int) -> object:
        if isinstance(items, Undefined):
            return items
        return _Counted(meter, items, steps)

    @pass_context
    def joined(context: Context, values: Iterable[object]) -> str:
        texts = [text_of(meter, one) for one in values]
        meter.touch(sum(map(len, texts)))
        return marked.join("", texts)

    @pass_context
    def weighed(context: Context, value: object) -> object:
        meter.weigh(value)
        return value

    @pass_context
    def made(context: Context, value: object) -> object:
        meter.made(value)
        return value

    return {_COUNTED: counted, _JOINED: joined, _WEIGHED: weighed, _MADE: made}


class _Counted:
    """An iterable whose every item is paid for; its length is that of what is inside."""

    __slots__ = ("_items", "_meter", "_steps")

    def __init__(self, meter: Meter, items: Iterable[object], steps: int) -> None:
        self._meter, self._items, self._steps = meter, items, steps

    def __iter__(self) -> Iterator[object]:
        self._meter.step()
        return self._meter.counted(self._items, self._steps)

    def __len__(self) -> int:
        return len(self._items)  # type: ignore[arg-type]
