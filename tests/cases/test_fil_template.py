"""FIL-06: a hostile chat template is stopped, soon and small, and the model works without it."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import pytest
from language.vocabulary import small_metadata

from photic.language import marked
from photic.language.chat import encode_chat, render
from photic.language.errors import TemplateRejected
from photic.language.tokenizer import build_tokenizer

# The slowest of these takes 1 s and 100 MB; a busy machine may take ten times as long.
SECONDS = 10.0
MEMORY_BYTES = 400_000_000

SECRET = "hunter2"
MESSAGES = [{"role": "user", "content": SECRET}, {"role": "assistant", "content": "yes"}]


def rendered(template: str) -> str:
    return render(
        template, MESSAGES, add_generation_prompt=True, special_texts={"bos_token": "<s>"}
    )


# --- reaching out ---------------------------------------------------------------------------

REACHING = {
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "class of a map": "{{ messages[0].__class__.__base__ }}",
    "class of a users' text": "{{ messages[0].content.__class__ }}",
    "class by item": "{{ ''['__class__'].x }}",
    "class by filter": "{{ ''|attr('__class__') }}",
    "class by map": "{{ ['']|map(attribute='__class__')|map(attribute='__mro__')|first|first }}",
    "class by parts": "{% set a = '__cla' ~ 'ss__' %}{{ ''[a].x }}",
    "globals of a function": "{{ raise_exception.__globals__.x }}",
    "function of a function": "{{ range.function.x }}",
    "globals of a macro": "{% macro f() %}{% endmacro %}{{ f.__globals__.x }}",
    "environment of a macro": "{% macro f() %}{% endmacro %}{{ f._environment.x }}",
    "method of a namespace": "{{ namespace().__init__.__globals__ }}",
    "stored dunder": "{% set ns = namespace() %}{% set ns.__class__ = 1 %}{{ ns.__class__.x }}",
    "insides of a loop": "{% for m in messages %}{{ loop._iterator.x }}{% endfor %}",
    "the template itself": "{{ self.__init__.x }}{{ self._TemplateReference__context.x }}",
    "a cycler": "{{ cycler.__init__.__globals__.os }}",
    "lipsum": "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "format": "{{ '{0.__class__}'.format(messages) }}",
    "format of a map": "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "percent": "{{ '%s' % messages }}",
    "undefined": "{{ nothing.__class__.x }}{{ nothing._fail_with_undefined_error.x }}",
    "import": "{% import 'os' as os %}",
    "from": "{% from 'os' import system %}",
    "include": "{% include '/etc/passwd' %}",
    "extends": "{% extends '/etc/passwd' %}",
    "block": "{% block a %}{% endblock %}",
    "autoescape": "{% autoescape true %}{{ '<' }}{% endautoescape %}",
    "do": "{% do messages.append(1) %}",
    "a number's methods": "{{ (1).to_bytes(10**10, 'big') }}{{ (1).__class__.x }}",
    "a text that is called": "{{ 'x'() }}",
    "a map that is called": "{{ messages[0]() }}",
    "a recursive loop": "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
}


@pytest.mark.parametrize("template", REACHING.values(), ids=REACHING.keys())
def test_reaching_for_python_is_rejected(template: str):
    with pytest.raises(TemplateRejected):
        rendered(template)


@pytest.mark.parametrize(
    "change",
    [
        *("messages.append(1)", "messages.clear()", "messages.extend([1])", "messages.pop()"),
        *("messages.insert(0, 1)", "messages.reverse()", "messages.sort()", "messages.remove(1)"),
        *("messages[0].update({'content': ''})", "messages[0].pop('content')"),
        *("messages[0].clear()", "messages[0].setdefault('x', 1)", "messages[0].popitem()"),
        *("tools.append(1)", "dict.fromkeys('a')", "messages[0].__setitem__('a', 1)"),
    ],
)
def test_writing_to_a_passed_object_is_rejected(change: str):
    with pytest.raises(TemplateRejected):
        rendered("{{ " + change + " }}")
    assert MESSAGES == [
        {"role": "user", "content": SECRET},
        {"role": "assistant", "content": "yes"},
    ]


@pytest.mark.parametrize("target", ["messages.x", "messages[0].content", "loop.index"])
def test_assigning_to_a_passed_object_is_rejected(target: str):
    with pytest.raises(TemplateRejected):
        rendered("{% for m in messages %}{% set " + target + " = 1 %}{% endfor %}")


# --- running away ---------------------------------------------------------------------------

LAUGHS = (
    "{% set ns = namespace(a=('x', 'y')) %}"
    "{% for i in range(60) %}{% set ns.a = (ns.a, ns.a) %}{% endfor %}"
)
DOUBLED = (
    "{% set ns = namespace(a=START) %}"
    "{% for i in range(60) %}{% set ns.a = ns.a OP ns.a %}{% endfor %}"
)
BIG = "{% set a = 'x' * 100000 %}{% set b = 'x' * 100000 %}{% for i in range(100000) %}"


def doubled(start: str, operator: str) -> str:
    return DOUBLED.replace("START", start).replace("OP", operator)


RUNAWAYS = {
    "a long range": "{% for i in range(10**9) %}{% endfor %}",
    "nested ranges": "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3,
    "a long range printed": "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}"
    "{% endfor %}{% endfor %}",
    "a long body": "{% for i in range(99999) %}" + "{% set x = 1 %}" * 3000 + "{% endfor %}",
    "a macro with a long body": "{% macro f() %}" + "{% set x = 1 %}" * 3000 + "{% endmacro %}"
    "{% for i in range(99999) %}{{ f() }}{% endfor %}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}"
    "{% endif %}{% endmacro %}{{ f(60) }}",
    "a macro without end": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "refunds": "{% for i in range(99999)|_counted(-10**12) %}{% for j in range(99999) %}"
    "{% endfor %}{% endfor %}",
    "10 GB by times": "{{ 'x' * 10**10 }}",
    "10 GB by times, cut": "{{ (10**10 * 'x')[:1] }}",
    "10 GB by tilde": doubled("'x'", "~"),
    "10 GB by plus": doubled("'x'", "+"),
    "10 GB by lists": doubled("[1]", "+"),
    "a list by times": "{{ ([0] * 10**10)|length }}",
    "10 GB by join": "{{ ('x' * 10**6).join(['a'] * 10**5)|length }}",
    "10 GB by the filter join": "{{ (['a'] * 10**5)|join('x' * 10**6)|length }}",
    "10 GB by replace": "{{ ('a' * 10**6)|replace('a', 'b' * 10**6)|length }}",
    "10 GB by replacing nothing": "{{ ('a' * 10**6).replace('', 'b' * 10**6)|length }}",
    "10 GB by indent": "{{ 'a\n\n'|indent(10**10, true, true) }}",
    "10 GB by JSON": "{{ [[1]]|tojson(indent=10**10) }}",
    "10 GB by separators": "{{ ([1] * 10**5)|tojson(separators=('x' * 10**6, ':')) }}",
    "10 GB by center": "{{ 'x'|center(10**10) }}{{ 'x'.center(10**10) }}",
    "10 GB by format": "{{ '%10000000000d' % 1 }}",
    "10 GB by a block": "{% set a = 'x' * 10**6 %}{% set b %}{% for i in range(99999) %}{{ a }}"
    "{% endfor %}{% endset %}",
    "10 GB by output": "{% set a = 'x' * 10**6 %}{% for i in range(99999) %}{{ a }}{% endfor %}",
    "10 GB by lipsum": "{{ lipsum(10**9) }}",
    "10 GB by batch": "{{ [1]|batch(10**10, 1)|list }}",
    "powers": "{{ 10**10**10 }}",
    "powers of floats": "{{ 2.0**(10**6) }}",
    "squares": doubled("2**60", "*"),
    "digits": "{{ ('9' * 4000)|int }}",
    "decimals": "{{ 1|round(10**10, 'floor') }}",
    "characters": "{{ ('a' * 10**6)|list|length }}",
    "words": "{{ ('a ' * 10**6).split()|length }}",
    "lines": "{{ ('a\n' * 10**6).splitlines()|length }}",
    "comparing": BIG + "{% if a == b %}{% endif %}{% endfor %}",
    "looking": BIG + "{% if 'y' in a %}{% endif %}{% endfor %}",
    "finding": BIG + "{{ a.find('y') }}{% endfor %}",
    "slicing": BIG + "{% set c = a[1:] %}{% endfor %}",
    "changing case": BIG + "{% set c = a|upper %}{% endfor %}",
    "asking for changes": BIG + "{{ loop.changed(a) }}{% endfor %}",
    "sums of lists": "{{ ([[1] * 1000] * 1000)|sum(start=[]) }}",
    "sorting many times": "{{ ([[3, 1] * 50000] * 99999)|map('sort')|list|length }}",
    **{
        f"laughs: {use}": LAUGHS + "{{ " + use + " }}"
        for use in (
            *("ns.a", "ns.a|tojson", "ns.a|string|length", "ns.a ~ ''", "ns.a|join", "ns.a|lower"),
            *(
                "ns.a == (ns.a, 1)",
                "'q' in [ns.a]",
                "ns.a < ns.a",
                "[ns.a, ns.a]|sort",
                "{ns.a: 1}",
            ),
            *("{}[ns.a]", "{}.get(ns.a)", "[ns.a]|unique|list", "ns.a is eq 1", "[1].index(ns.a)"),
            *("dict([[ns.a, 1]])", "messages|map(attribute=ns.a)|list", "[ns.a, ns.a]|max"),
        )
    },
    "a deep list": "{% set ns = namespace() %}{% for i in range(50000) %}{% set ns.a = [ns.a] %}"
    "{% endfor %}{{ ns.a|tojson }}",
}


@pytest.mark.parametrize("template", RUNAWAYS.values(), ids=RUNAWAYS.keys())
def test_a_runaway_is_stopped_soon_and_small(template: str):
    before, peak_before = time.monotonic(), peak_bytes()
    with pytest.raises(TemplateRejected):
        rendered(template)
    assert time.monotonic() - before < SECONDS
    assert peak_bytes() - peak_before < MEMORY_BYTES


def peak_bytes() -> int:
    """The most memory that this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# --- syntax ---------------------------------------------------------------------------------

TWISTED = {
    "parentheses": "{{ " + "(" * 30_000 + "1" + ")" * 30_000 + " }}",
    "maps": "{{ " + "{1:" * 15_000 + "1" + "}" * 15_000 + " }}",
    "nots": "{{ " + "not " * 15_000 + "1 }}",
    "attributes": "{{ a" + ".b" * 30_000 + " }}",
    "filters": "{{ ''" + "|trim" * 10_000 + " }}",
    "sums": "{{ 1" + "+1" * 30_000 + " }}",
    "calls": "{{ f" + "()" * 30_000 + " }}",
    "ifs": "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000,
    "loops": "{% for a in [] %}" * 1_500 + "{% endfor %}" * 1_500,
    "digits": "{{ " + "1" * 60_000 + " }}",
    "half a comment": "{#" * 30_000,
    "half a text": "{{ '" + "\\" * 60_000,
    "half a block": "{%-" * 20_000,
    "braces": "{" * 60_000,
    "length": "x" * 10_000_000,
}


@pytest.mark.parametrize("template", TWISTED.values(), ids=TWISTED.keys())
def test_twisted_syntax_is_rejected_soon(template: str):
    before = time.monotonic()
    with pytest.raises(TemplateRejected):
        rendered(template)
    assert time.monotonic() - before < SECONDS


# --- afterwards -----------------------------------------------------------------------------


def test_after_a_rejection_other_templates_still_work():
    for template in (RUNAWAYS["10 GB by times"], REACHING["class"], TWISTED["sums"]):
        with pytest.raises(TemplateRejected, match="use --raw"):
            rendered(template)
        assert rendered("{{ messages[0].content }}") == SECRET


def test_a_model_with_a_hostile_template_can_be_used_without_it():
    metadata = small_metadata() | {"tokenizer.chat_template": REACHING["class"]}
    tokenizer = build_tokenizer(metadata, Path("hostile.gguf"))
    with pytest.raises(TemplateRejected):
        encode_chat(tokenizer, MESSAGES, add_generation_prompt=True)
    assert tokenizer.decode(tokenizer.prompt("hello")) == "hello"


def test_a_template_cannot_take_off_a_users_mark_by_storing_the_text():
    text = rendered(
        "{% set ns = namespace(x=messages[0].content) %}{% set y = {'z': [ns.x]} %}{{ y.z[0] }}"
    )
    assert text == SECRET
    assert marked.marks(text) == b"\1" * len(SECRET)
