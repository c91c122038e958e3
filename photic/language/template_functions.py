"""The filters, tests, methods and functions that a chat template may use, as tables.

Promises: nothing here changes a value that it is given; each is charged for its work before the
work, or works in proportion to what was charged; users' characters keep their marks. What is not
in a table does not exist for a template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NoReturn, cast

from jinja2 import filters as peer_filters
from jinja2 import tests as peer_tests
from jinja2.filters import make_attrgetter
from jinja2.runtime import Context
from jinja2.utils import Namespace, pass_context

from photic.language import marked
from photic.language.errors import TemplateRejected
from photic.language.meter import Meter

# Text and JSON are moved in by at most this much; lists of lists are written this deep.
MAXIMUM_INDENT = 32
MAXIMUM_DEPTH = 100
MAXIMUM_RANGE = 100_000  # as in the sandbox of jinja2
MAXIMUM_DECIMALS = 15  # of a rounded double
MAXIMUM_MESSAGE = 500  # characters of a template's own complaint
# The most characters that JSON or a printed list may need for one: two escapes like \ud83d.
ESCAPED = 12
# An object for each character or part costs about so many steps' worth of memory.
STEPS_PER_PART = 4

Function = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a filter is at work."""

    meter: Meter
    context: Context


@dataclass(frozen=True, slots=True)
class Allowed:
    """A function that a template may call; it pays for its arguments."""

    function: Function


# --- values as text -------------------------------------------------------------------------


def text_of(meter: Meter, value: object) -> str:
    """``value`` as a template shows it. A container that holds users' text is all a user's."""
    if isinstance(value, str):
        return value
    meter.weigh(value)
    texts = _texts_in(value)
    meter.touch(ESCAPED * sum(map(len, texts)))
    return marked.coarse(str(value), *texts)


def _texts_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for pair in value.items() for one in pair for text in _texts_in(one)]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _texts_in(one)]
    return []


def _to_json(
    site: Site,
    value: object,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: Sequence[str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As transformers' ``tojson``: without escapes for HTML."""
    before = site.meter.steps
    site.meter.weigh(value)
    values = before - site.meter.steps
    around = _width(indent) * MAXIMUM_DEPTH + sum(map(len, separators or ()))
    texts = _texts_in(value)
    site.meter.touch(values * around + ESCAPED * sum(map(len, texts)))
    if _levels(value) > MAXIMUM_DEPTH:
        raise TemplateRejected(problem=f"it writes JSON of more than {MAXIMUM_DEPTH} levels")
    result = json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=cast("tuple[str, str] | None", separators and tuple(separators)),
        sort_keys=sort_keys,
    )
    return marked.coarse(result, *texts)


def _levels(value: object) -> int:
    """How deep lists and maps lie in each other; RecursionError where far too deep."""
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return 0
    return 1 + max(map(_levels, cast(Iterable[object], inside)), default=0)


def _width(indent: int | str | None) -> int:
    width = len(indent) if isinstance(indent, str) else int(indent or 0)
    if width > MAXIMUM_INDENT:
        raise TemplateRejected(problem=f"it indents by more than {MAXIMUM_INDENT}")
    return width


# --- filters of text ------------------------------------------------------------------------


def _on_text(change: Callable[..., object]) -> Function:
    """A filter that looks at the value's text."""

    def apply(site: Site, value: object, *options: object) -> object:
        text = text_of(site.meter, value)
        site.meter.touch(len(text))
        return change(text, *options)

    return apply


def _replace(site: Site, value: object, old: object, new: object, count: int | None = None) -> str:
    text, old, new = (text_of(site.meter, one) for one in (value, old, new))
    return _replaced(site.meter, text, old, new, -1 if count is None else count)


def _replaced(meter: Meter, text: str, old: str, new: str, count: int = -1) -> str:
    places = text.count(old)
    meter.step(places * STEPS_PER_PART)
    meter.touch(len(text) + places * len(new))
    return marked.replace(text, old, new, count)


def _join(
    site: Site, value: Iterable[object], d: object = "", attribute: str | int | None = None
) -> str:
    if attribute is not None:
        getter = make_attrgetter(site.context.environment, attribute)
        value = map(getter, value)
    parts = [text_of(site.meter, one) for one in site.meter.listed(value)]
    return _joined(site.meter, text_of(site.meter, d), parts)


def _joined(meter: Meter, separator: str, parts: Iterable[str]) -> str:
    texts = cast(list[str], meter.listed(parts))
    meter.touch(sum(map(len, texts)) + len(separator) * len(texts))
    return marked.join(separator, texts)


def _indent(
    site: Site, value: object, width: int | str = 4, first: bool = False, blank: bool = False
) -> str:
    """As jinja2's: all lines but the first, and no empty ones, unless asked."""
    _width(width)
    pad = width if isinstance(width, str) else " " * width
    text = text_of(site.meter, value)
    site.meter.step(text.count("\n") * STEPS_PER_PART)
    site.meter.touch((len(text) + 1) * (len(pad) + 1))
    lines = marked.splitlines(marked.join("", (text, "\n")))
    rest = [marked.join("", (pad, line)) if line or blank else line for line in lines[1:]]
    start = marked.join("", (pad, lines[0])) if first else lines[0]
    return marked.join("\n", [start, *rest])


# --- filters of other values ----------------------------------------------------------------


def _plain(name: str) -> Function:
    function: Function = peer_filters.FILTERS[name]
    return lambda site, *values, **options: function(*values, **options)


def _with_environment(name: str) -> Function:
    function: Function = peer_filters.FILTERS[name]
    return lambda site, *values, **options: function(site.context.environment, *values, **options)


def _with_context(name: str) -> Function:
    function: Function = peer_filters.FILTERS[name]
    return lambda site, *values, **options: function(site.context, *values, **options)


def _list(site: Site, value: Iterable[object]) -> list[object]:
    site.meter.step(STEPS_PER_PART * len(value) if isinstance(value, str) else 1)
    return site.meter.listed(value)


def _sum(
    site: Site, value: Iterable[object], attribute: str | int | None = None, start: object = 0
) -> object:
    if not isinstance(start, int | float):
        raise TemplateRejected(problem="it sums what are no numbers")
    environment = site.context.environment
    return peer_filters.sync_do_sum(environment, value, attribute, start)


def _round(site: Site, value: float, precision: int = 0, method: str = "common") -> object:
    if abs(precision) > MAXIMUM_DECIMALS:
        raise TemplateRejected(problem=f"it rounds to more than {MAXIMUM_DECIMALS} decimals")
    return peer_filters.do_round(value, precision, method)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter; ``deep``: it reads all that is inside its arguments, and is charged for that."""

    function: Function
    deep: bool = False


FILTERS: Mapping[str, Filter] = {
    "trim": Filter(_on_text(marked.strip)),
    "string": Filter(_on_text(lambda text: text)),
    "safe": Filter(_on_text(lambda text: text)),
    "upper": Filter(_on_text(marked.recased(str.upper))),
    "lower": Filter(_on_text(marked.recased(str.lower))),
    "capitalize": Filter(_on_text(marked.recased(str.capitalize))),
    "title": Filter(_on_text(marked.recased(peer_filters.do_title))),
    "replace": Filter(_replace),
    "join": Filter(_join),
    "indent": Filter(_indent),
    "tojson": Filter(_to_json),
    "list": Filter(_list),
    "sum": Filter(_sum, deep=True),
    "round": Filter(_round),
    **{name: Filter(_plain(name)) for name in ("length", "count", "default", "d", "items")},
    **{name: Filter(_plain(name)) for name in ("reverse", "int", "float", "abs")},
    **{name: Filter(_with_environment(name)) for name in ("first", "last")},
    **{name: Filter(_with_context(name)) for name in ("map", "select", "reject")},
    **{name: Filter(_with_context(name)) for name in ("selectattr", "rejectattr")},
    **{name: Filter(_with_environment(name), deep=True) for name in ("sort", "unique")},
    **{name: Filter(_with_environment(name), deep=True) for name in ("min", "max")},
    "dictsort": Filter(_plain("dictsort"), deep=True),
}

TESTS = (
    *("boolean", "defined", "divisibleby", "eq", "equalto", "==", "even", "false", "float", "ge"),
    *("greaterthan", "gt", "in", "integer", "iterable", "le", "lessthan", "lower", "lt"),
    *("mapping", "ne", "!=", "<", "<=", ">", ">=", "none", "number", "odd", "sameas", "sequence"),
    *("string", "true", "undefined", "upper"),
)


def filters_for(meter: Meter) -> dict[str, Function]:
    """All filters, paying from ``meter``."""
    return {name: _metered(meter, one) for name, one in FILTERS.items()}


def tests_for(meter: Meter) -> dict[str, Function]:
    """All tests, paying from ``meter``."""
    tests = {name: cast(Function, peer_tests.TESTS[name]) for name in TESTS}
    return {name: _metered(meter, _test(one)) for name, one in tests.items()}


def _test(function: Function) -> Filter:
    return Filter(lambda site, *values: function(*values), deep=True)


def _metered(meter: Meter, one: Filter) -> Function:
    # pass_context also keeps jinja2 from calling the filter while it compiles a template.
    @pass_context
    def apply(context: Context, *values: object, **options: object) -> object:
        meter.step()
        if one.deep:
            meter.weigh([*values, *options.values()])
        result = one.function(Site(meter, context), *values, **options)
        if isinstance(result, Iterator):
            result = meter.listed(result)
        meter.made(result)
        return result

    return apply


# --- methods --------------------------------------------------------------------------------


def _of_text(function: Function) -> Function:
    def apply(meter: Meter, text: str, *options: object) -> object:
        meter.touch(len(text))
        return function(text, *options)

    return apply


def _in_parts(function: Function, gaps: str) -> Function:
    """A method that cuts at a separator, or where the regular expression ``gaps`` matches."""
    found = re.compile(gaps)

    def apply(meter: Meter, text: str, *options: object) -> object:
        meter.touch(len(text))
        if options and isinstance(options[0], str):
            meter.step(text.count(options[0]) * STEPS_PER_PART)
        else:
            for _ in found.finditer(text):
                meter.step(STEPS_PER_PART)
        return function(text, *options)

    return apply


def _of_list(function: Function) -> Function:
    def apply(meter: Meter, items: Sequence[object], *options: object) -> object:
        meter.weigh(items)
        return function(items, *options)

    return apply


_MARKED = ("strip", "lstrip", "rstrip", "partition", "rpartition", "removeprefix", "removesuffix")
_SPACES = r"\s+"
_LINE_ENDS = "[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]"
_RECASED = ("upper", "lower", "title", "capitalize", "swapcase", "casefold")
_ASKING = (
    *("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "isdigit", "isalpha"),
    *("isalnum", "isspace", "isupper", "islower", "isnumeric", "isdecimal", "istitle"),
)
TEXT_METHODS: Mapping[str, Function] = {
    **{name: _of_text(getattr(marked, name)) for name in _MARKED},
    "split": _in_parts(marked.split, _SPACES),
    "rsplit": _in_parts(marked.rsplit, _SPACES),
    "splitlines": _in_parts(marked.splitlines, _LINE_ENDS),
    **{name: _of_text(marked.recased(getattr(str, name))) for name in _RECASED},
    **{name: _of_text(getattr(str, name)) for name in _ASKING},
    "replace": _replaced,
    "join": _joined,
}
MAP_METHODS: Mapping[str, Function] = {
    "items": lambda meter, found: list(found.items()),
    "keys": lambda meter, found: list(found),
    "values": lambda meter, found: list(found.values()),
    "get": lambda meter, found, key, default=None: found.get(key, default),
}
LIST_METHODS: Mapping[str, Function] = {
    "index": _of_list(lambda items, *rest: items.index(*rest)),
    "count": _of_list(lambda items, one: items.count(one)),
}
_METHODS: tuple[tuple[tuple[type, ...], Mapping[str, Function]], ...] = (
    ((str,), TEXT_METHODS),
    ((dict,), MAP_METHODS),
    ((list, tuple), LIST_METHODS),
)


def method_of(meter: Meter, value: object, name: str) -> Allowed | None:
    """The method ``name`` of ``value`` that a template may call, if there is one."""
    for kinds, methods in _METHODS:
        if isinstance(value, kinds) and name in methods:
            return Allowed(partial(methods[name], meter, value))
    return None


# --- functions ------------------------------------------------------------------------------


def _raise_exception(message: object = "") -> NoReturn:
    raise TemplateRejected(problem=f'it says: "{str(message)[:MAXIMUM_MESSAGE]}"')


def _range(*limits: int) -> range:
    found = range(*limits)
    if len(found) > MAXIMUM_RANGE:
        raise TemplateRejected(problem=f"it makes a range longer than {MAXIMUM_RANGE}")
    return found


def functions_at(now: datetime) -> dict[str, object]:
    """The global functions; ``now`` is what strftime_now tells."""
    return {
        "range": Allowed(_range),
        "dict": Allowed(dict),
        "namespace": Allowed(Namespace),
        "raise_exception": Allowed(_raise_exception),
        "strftime_now": Allowed(lambda form: now.strftime(str(form)[:MAXIMUM_MESSAGE])),
    }
