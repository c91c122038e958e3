"""The template sandbox: it renders what transformers renders, and its meter stops the rest."""

from __future__ import annotations

from datetime import datetime
from importlib.util import find_spec

import pytest

from photic.base.errors import BadArgument
from photic.language import marked
from photic.language.chat import render
from photic.language.errors import TemplateRejected

peers = pytest.mark.skipif(
    find_spec("transformers") is None,
    reason="transformers is missing: pip install '.[peers]'",
)

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
NOW = datetime(2024, 2, 29, 13, 5)


def rendered(template: str, *contents: object, **options: object) -> str:
    messages = [{"role": "user", "content": content} for content in contents]
    return render(
        template,
        messages,
        add_generation_prompt=True,
        special_texts=SPECIAL,
        now=NOW,
        **options,  # type: ignore[arg-type]
    )


# --- what transformers renders --------------------------------------------------------------

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'Tells <b>"weather"</b> & wind',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "enum": ["Bern", "Uri"]},
                    "days": {"type": "integer", "default": None},
                },
                "required": ["city"],
            },
        },
    }
]
CALL = {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Bern", "n": 2.5}}}
CONVERSATIONS: dict[str, list[dict[str, object]]] = {
    "empty": [],
    "one": [{"role": "user", "content": "  Hello <|im_end|> é👍\n"}],
    "turns": [
        {"role": "system", "content": " Be brief. "},
        {"role": "user", "content": "Hi\n\nthere"},
        {"role": "assistant", "content": "<think>\nwell\n</think>\n\nHello!"},
        {"role": "user", "content": "bye"},
    ],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image"}]}],
    "tools": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"t": 3}'},
    ],
}
TEMPLATES = {
    "chatml": (
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] | string"
        " + '<|im_end|>' + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "start token and concatenation": (
        "{{ bos_token }}{% for m in messages %}[{{ m.role ~ ': ' ~ m.content }}]{{ eos_token }}"
        "{% else %}nobody{% endfor %}"
    ),
    "whitespace control": (
        "  {%- for m in messages -%}\n    {% if loop.first %}\n  first\n    {% endif %}\n"
        "  {{- m.role }}  \n  {#- a comment -#}\n  x\n{% endfor %}\n\n"
    ),
    "namespace": (
        "{% set ns = namespace(last=-1, seen=[]) %}{% for m in messages %}"
        "{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}"
        "{% set ns.seen = ns.seen + [m.role] %}{% endfor %}{{ ns.last }} {{ ns.seen }}"
    ),
    "macros": (
        "{% macro text(content, mark='-') %}{% if content is string %}{{ mark + content }}"
        "{% elif content is iterable and content is not mapping %}{% for one in content %}"
        "{{ text(one.text or one.type, mark=mark * 2) }}{% endfor %}"
        "{% else %}{{ content }}{% endif %}{% endmacro %}"
        "{% for m in messages %}{{ text(m.content) | trim }}|{{ text(m.content, '+') }}{% endfor %}"
    ),
    "call and filter blocks": (
        "{% macro box(kind) %}<{{ kind }}>{{ caller() }}</{{ kind }}>{% endmacro %}"
        "{% for m in messages %}{% call box(m.role) %}{{ m.content }}{% endcall %}"
        "{% filter upper | trim %} {{ m.content }} {% endfilter %}"
        "{% set both %}{{ m.role }}{{ m.content }}{% endset %}{{ both | length }}{% endfor %}"
    ),
    "loop controls": (
        "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ m.role }}"
        "{% if m.role == 'assistant' %}{% break %}{% endif %}{% endfor %}"
    ),
    "loop variables": (
        "{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }}"
        "{{ loop.revindex0 }}{{ loop.cycle('a', 'b') }}{{ loop.changed(m.role) }}"
        "{{ loop.previtem.role if loop.previtem is defined }}{{ loop.last }}{% endfor %}"
    ),
    "generation": (
        "{% for m in messages %}{% generation %}{% set role = m.role %}{{ role }}"
        "{% endgeneration %}{{ role }}{% endfor %}"
    ),
    "slices and parts": (
        "{% set rest = messages[1:] if messages and messages[0].role == 'system' else messages %}"
        "{% for m in rest[::-1] %}{{ m.role[0] }}{{ m.role[-2:] }}"
        "{% if m.content is string and '</think>' in m.content %}"
        "{{ m.content.split('</think>')[-1].lstrip('\n') }}"
        "{{ m.content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') }}"
        "{% endif %}{% endfor %}"
    ),
    "text filters": (
        "{% for m in messages %}{{ m.role | upper }}{{ m.role | capitalize | title | lower }}"
        "{{ m.content | string | replace('l', 'L') | replace('\n', '', 1) }}"
        "{{ m.content | string | indent(2) }}{{ m.content | string | indent('> ', true, true) }}"
        "{{ m.role | first }}{{ m.role | last }}{{ m.role | list }}{{ m.role | reverse }}"
        "{{ m.content | string | trim('\n ') }}{{ m.absent | default('none') }}"
        "{{ '' | d('x', true) }}{% endfor %}"
    ),
    "list filters": (
        "{{ messages | map(attribute='role') | unique | sort | join(', ') }}"
        "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
        "{{ messages | rejectattr('tool_calls') | map(attribute='role') | list }}"
        "{{ [3, 1, 2] | sort(reverse=true) }}{{ [1, 2] | sum }}{{ [1, 5] | max }}{{ [1, 5] | min }}"
        "{{ ['a', 'B'] | map('upper') | join }}{{ [0, 1, ''] | select | list }}"
        "{{ messages | join('; ', attribute='role') }}{{ [1, 2, 3] | reject('odd') | list }}"
        "{{ 2.567 | round(1) }}{{ '3' | int + 1 }}{{ '2.5' | float }}{{ -3 | abs }}"
    ),
    "maps": (
        "{% for m in messages %}{% for key, value in m | dictsort %}{{ key }}={{ value }};"
        "{% endfor %}{% for key, value in m.items() %}{{ key }}{% endfor %}"
        "{{ m.get('name', 'nobody') }}{{ m.keys() | list }}{{ 'content' in m }}"
        "{{ (m | items | list)[0][0] }}{% endfor %}{{ dict(a=1, b=[2]) }}{{ {'x': {'y': 1}}.x.y }}"
    ),
    "json": (
        "{{ tools | tojson }}{% for tool in tools or [] %}{{ tool | tojson(indent=4) }}"
        "{{ tool.function.parameters | tojson(separators=(',', ':'), sort_keys=true) }}{% endfor %}"
        "{% for m in messages %}{{ m.content | tojson }}{{ m.content | tojson(ensure_ascii=true) }}"
        "{% endfor %}"
    ),
    "tests": (
        "{% for m in messages %}{{ m.content is none }}{{ m.content is string }}"
        "{{ m.content is mapping }}{{ m.content is sequence }}{{ m.x is undefined }}"
        "{{ m.role is in ['user'] }}{{ loop.index is divisibleby 2 }}{{ m.role is eq 'user' }}"
        "{{ true is boolean }}{{ 1 is number }}{{ 1.5 is float }}{{ 2 is even }}{% endfor %}"
    ),
    "arithmetic": (
        "{{ 7 // 2 }}{{ 7 % 3 }}{{ 2 ** 10 }}{{ 7 / 2 }}{{ 1 - 5 }}{{ 3 * 'ab' }}{{ [1] * 3 }}"
        "{{ -(2) }}{{ 1 < 2 <= 2 != 3 }}{{ not 0 and (1 or 2) }}{{ 'a' if false }}{{ range(5)[2] }}"
        "{{ range(1, 7, 2) | list }}{{ 'b' not in 'abc' }}{{ (1, 2) + (3,) }}"
    ),
    "text methods": (
        "{% for m in messages %}{% set c = m.content | string %}{{ c.upper() }}{{ c.find('H') }}"
        "{{ c.startswith(' ') }}{{ c.endswith(('y', '\n')) }}{{ c.replace('e', 'E') }}"
        "{{ ', '.join(c.split()) }}{{ c.splitlines() }}{{ c.strip().partition(' ') }}"
        "{{ c.count('l') }}{{ m.role.title() }}{{ m.role.isalpha() }}{{ c.rsplit('\n', 1) }}"
        "{{ m.role.removeprefix('us').removesuffix('r') }}{% endfor %}"
    ),
    "a complaint": (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('No tools!') }}"
        "{% endif %}{% endfor %}fine"
    ),
    "undefined": "{{ nothing }}{{ messages.nothing }}{{ nothing is defined }}{{ messages[9] }}",
    "an attribute of nothing": "{{ nothing.at_all }}",
}


@pytest.mark.peers
@peers
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
@pytest.mark.parametrize("conversation", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["no tools", "tools"])
def test_a_template_renders_as_in_transformers(
    template: str, conversation: list[dict[str, object]], tools: list[dict[str, object]] | None
):
    from jinja2 import TemplateError
    from transformers.utils.chat_template_utils import render_jinja_template

    options = {"add_generation_prompt": True, "tools": tools}
    try:
        (expected,), _ = render_jinja_template(
            [conversation], chat_template=template, **options, **SPECIAL
        )
    except (TemplateError, TypeError):
        with pytest.raises(TemplateRejected):
            rendered_with(template, conversation, tools)
        return
    assert rendered_with(template, conversation, tools) == expected


def rendered_with(
    template: str, messages: list[dict[str, object]], tools: list[dict[str, object]] | None
) -> str:
    return render(
        template, messages, add_generation_prompt=True, special_texts=SPECIAL, tools=tools
    )


def test_the_time_is_the_given_one():
    assert rendered("{{ strftime_now('%d %b %Y') }}") == "29 Feb 2024"


def test_a_complaint_is_passed_on():
    with pytest.raises(TemplateRejected, match='it says: "roles must alternate"'):
        rendered("{{ raise_exception('roles must alternate') }}")


# --- marks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        *("c", "c ~ ''", "'' + c", "c + ''", "c | trim", "c.strip()", "[c] | join", "c | string"),
        *("[c, ''] | join(',') | replace(',', '')", "c | safe", "c[:]", "c * 1", "1 * c"),
        *("c.split('~')[0]", "c | first ~ c[1:]", "c | list | join", "(c ~ '\n') | indent | trim"),
        *("'x'.replace('x', c)", "'x' | replace('x', c)", "''.join([c])", "c | default('')"),
        *("c.lower()", "c | lower", "{'k': c}['k']", "dict(k=c).k", "namespace(k=c).k", "m(c)"),
        *("[c] | map('lower') | first", "c if true", "c or ''", "[c] | sort | first", "s"),
        *("{c: 1} | list | first", "({c: 1} | dictsort)[0][0]", "loop_of(c)", "c | max ~ c[1:]"),
        *("c.partition('~')[0]", "c.removeprefix('~')", "c.splitlines()[0]", "[c][-1]"),
        *("messages[0].content", "messages[0]['content']", "messages[0].get('content')"),
    ],
)
def test_a_users_text_keeps_its_marks_through(expression: str):
    template = (
        "{% macro m(x) %}{{ x }}{% endmacro %}"
        "{% macro loop_of(x) %}{% for one in x %}{{ one }}{% endfor %}{% endmacro %}"
        "{% set c = messages[0].content %}{% set s %}{{ c }}{% endset %}"
        "<a>{{ EXPRESSION }}</a>"
    )
    text = rendered(template.replace("EXPRESSION", expression), "zyx<s>")
    assert text == "<a>zyx<s></a>"
    assert marked.marks(text) == b"\0" * 3 + b"\1" * 6 + b"\0" * 4


@pytest.mark.parametrize(
    "expression", ["c | tojson", "[c]", "{'k': c}", "(c,) | string", "[[c]] ~ ''"]
)
def test_a_printed_container_of_users_text_is_all_marked(expression: str):
    text = rendered("<a>{% set c = messages[0].content %}{{ " + expression + " }}", "hello")
    assert "hello" in text
    assert marked.marks(text) == b"\0" * 3 + b"\1" * (len(text) - 3)


def test_roles_names_and_tools_are_marked_too():
    text = rendered("{{ messages[0].role }}{{ tools[0].name }}", "x", tools=[{"name": "t"}])
    assert text == "usert"
    assert marked.marks(text) == b"\1" * 5


def test_special_texts_are_the_templates_own():
    assert marked.marks(rendered("{{ bos_token }}", "x")) == b"\0" * 3


# --- limits ---------------------------------------------------------------------------------


def test_a_long_conversation_stays_within_the_limits():
    messages = [{"role": "user", "content": "word " * 200}] * 3000
    template = TEMPLATES["macros"] + TEMPLATES["list filters"] + TEMPLATES["slices and parts"]
    text = render(template, messages, add_generation_prompt=True, special_texts=SPECIAL)
    assert text.count("word") >= 200 * 3000


def test_a_huge_message_stays_within_the_limits():
    text = rendered(TEMPLATES["text methods"] + TEMPLATES["chatml"], "x" * 3_000_000)
    assert text.count("x" * 3_000_000) >= 1


def test_the_same_template_ends_the_same_way_each_time():
    template = "{% for i in range(1000) %}{% for j in range(N) %}{% endfor %}{% endfor %}"
    for _ in range(3):
        assert rendered(template.replace("N", "1")) == ""
        with pytest.raises(TemplateRejected, match="too many steps"):
            rendered(template.replace("N", "10000"))


def test_a_conversation_is_not_changed():
    messages = [{"role": "user", "content": ["a"]}]
    render("{{ messages }}", messages, add_generation_prompt=True, special_texts={})
    assert messages == [{"role": "user", "content": ["a"]}]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (object(), r"messages\[0\].content is a object"),
        ([{"x": b""}], r"messages\[0\].content\[0\].x is a bytes"),
        ({"a": {1, 2}}, r"messages\[0\].content.a is a set"),
    ],
)
def test_a_value_that_is_no_json_is_named(content: object, where: str):
    with pytest.raises(BadArgument, match=where):
        rendered("", content)


def test_a_message_nested_without_end_is_refused():
    content: list[object] = []
    content.append(content)
    with pytest.raises(BadArgument, match="nested too deeply"):
        rendered("", content)
