"""Conversations to token ids, by the chat template that came with the model.

Promises: the ids are those of transformers' ``apply_chat_template`` for the same template and
tokenizer, except that nothing a user writes ever becomes a control token; no start token is added
to what the template writes. The template is never trusted (photic.language.template).

Does not choose a template, shorten a conversation, or read images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from photic.base.errors import BadArgument
from photic.language import marked
from photic.language.errors import TemplateRejected
from photic.language.meter import meter_for
from photic.language.template import run_template
from photic.language.tokenizer import Tokenizer

Message = Mapping[str, object]
"""``role`` and ``content``, and whatever else the template knows; JSON values only."""

MAXIMUM_DEPTH = 32  # of lists and maps in a message


def encode_chat(
    tokenizer: Tokenizer,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool,
    tools: Sequence[Message] | None = None,
) -> list[int]:
    """The ids of a conversation; with ``add_generation_prompt`` an answer comes next.

    Raises TemplateRejected when the model has no template, or it misbehaves or refuses the
    messages; BadArgument when a message holds something that is no JSON value.
    """
    if tokenizer.chat_template is None:
        raise TemplateRejected(problem="the model has none")
    text = render(
        tokenizer.chat_template,
        messages,
        add_generation_prompt=add_generation_prompt,
        special_texts=tokenizer.special_texts,
        tools=tools,
    )
    return tokenizer.encode_marked(text, marked.marks(text))


def render(
    template: str,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool,
    special_texts: Mapping[str, str],
    tools: Sequence[Message] | None = None,
    now: datetime | None = None,
) -> str:
    """The text of a conversation; ``marked.marks`` tells the users' characters in it.

    ``special_texts``: bos_token and the like, as the template names them. ``now``: what the
    template is told of the time, by default the present. Errors as ``encode_chat``.
    """
    given = [_users(message, f"messages[{place}]") for place, message in enumerate(messages)]
    offered = None if tools is None else _users(tools, "tools")
    variables: dict[str, object] = {
        **special_texts,
        "messages": given,
        "tools": offered,
        "documents": None,
        "add_generation_prompt": add_generation_prompt,
    }
    meter = meter_for([*given, offered])
    return run_template(template, variables, meter, now or datetime.now())


def _users(value: object, where: str, depth: int = 0) -> object:
    """A copy of a JSON value in which every text is marked as a user's."""
    if isinstance(value, str):
        return marked.users(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping | list | tuple) and depth < MAXIMUM_DEPTH:
        if not isinstance(value, Mapping):
            return [_users(one, f"{where}[{i}]", depth + 1) for i, one in enumerate(value)]
        return {
            _users(key, where, depth + 1): _users(one, f"{where}.{key}", depth + 1)
            for key, one in value.items()
        }
    given = f"a {type(value).__name__}" if depth < MAXIMUM_DEPTH else "nested too deeply"
    raise BadArgument(op="chat", argument=where, given=given, expected="a JSON value")
