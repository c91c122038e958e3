"""``photic chat``: a conversation with a language model, at a terminal or through a pipe.

A line is a message, or a command where it begins with a slash. Only answers go to stdout; prompts
are drawn on a terminal only, notes and errors go to stderr. An error ends a turn, not the chat.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from photic.base.errors import PhoticError
from photic.cli.answer import statistics, write_answer
from photic.cli.chat_commands import is_command, message_of, note, run_command
from photic.cli.chat_lines import Lines, lines
from photic.cli.ending import Ending, endings
from photic.cli.opening import opened
from photic.cli.options import (
    ANSWER_TOKENS,
    Cache,
    Context,
    MaxTokens,
    MinP,
    Model,
    Penalty,
    Precision,
    Search,
    Seed,
    ShowStats,
    Speculative,
    Stops,
    System,
    TargetName,
    Temperature,
    Threads,
    TopK,
    TopP,
    checked_text,
    use_target,
    use_threads,
)
from photic.cli.show import showing
from photic.language.caches import AUTOMATIC, DEFAULT_PRECISION

if TYPE_CHECKING:
    from photic.language.sampling import SamplingOptions
    from photic.language.turns import Conversation


@dataclass(slots=True)
class _Chat:
    """A conversation, how its answers are to be, and how many turns ended in an error."""

    conversation: Conversation
    max_tokens: int
    sampling: SamplingOptions
    stops: tuple[str, ...]
    stats: bool
    failures: int = 0


def chat(
    model: Model,
    system: System = None,
    max_tokens: MaxTokens = ANSWER_TOKENS,
    temperature: Temperature = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0,
    seed: Seed = 0,
    stop: Stops = None,
    context: Context = None,
    cache: Cache = AUTOMATIC,
    precision: Precision = DEFAULT_PRECISION,
    threads: Threads = None,
    target: TargetName = "",
    stats: ShowStats = False,
    search: Search = 0.0,
    speculative: Speculative = 0,
) -> None:
    """Talk with a language model.

    It remembers what was said. Ctrl-C stops an answer and keeps the conversation; /help lists the
    commands, among them /system, /reset, /save and /load. In a pipe every line is a message, and
    only answers go to stdout.

    \b
    Examples:
      photic chat smollm2-135m
      photic chat smollm2-135m --system "Answer in one sentence." --temperature 0.7 --seed 3
      printf 'What is a monad?\\nShorter, please.\\n' | photic chat smollm2-135m --stats
    """
    with endings(), showing():
        source = lines()
        use_threads(threads)
        use_target(target)
        if system is not None:
            checked_text("chat", system)
        from photic.language.sampling import SamplingOptions

        sampling = SamplingOptions(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            seed=seed,
        )
        session = opened(model, context, search, speculative, cache, precision)
        from photic.language.turns import Conversation

        conversation = Conversation(session)
        conversation.system = system
        talk = _Chat(conversation, max_tokens, sampling, tuple(stop or ()), stats)
        if source.drawn:
            note(f"{model}: /help lists the commands, Ctrl-C stops an answer, Ctrl-D ends")
        _talk(talk, source)
        if talk.failures and not source.drawn:
            raise typer.Exit(Ending.FAILED)


def _talk(talk: _Chat, source: Lines) -> None:
    """Turn after turn, until the lines end or one of them is /exit."""
    while True:
        try:
            line = source.read()
            if is_command(line):
                run_command(talk.conversation, line)
            elif line.strip():
                _answer(talk, message_of(line))
        except EOFError:
            return
        except PhoticError as error:
            talk.failures += 1
            print(f"error: {error}", file=sys.stderr)


def _answer(talk: _Chat, text: str) -> None:
    pieces = talk.conversation.ask(
        text, max_tokens=talk.max_tokens, sampling=talk.sampling, stops=talk.stops
    )
    session = talk.conversation.session
    try:
        with closing(pieces):
            write_answer(pieces)
    except KeyboardInterrupt:
        note("stopped")
    else:
        if session.stats.finish_reason == "length":
            _note_length(talk)
    if talk.stats:
        print(statistics(session.stats), file=sys.stderr)


def _note_length(talk: _Chat) -> None:
    """Why an answer ends in the middle."""
    session = talk.conversation.session
    tokens = session.stats.prompt_tokens + session.stats.generated_tokens
    if tokens >= session.context:
        note(f"the context of {session.context} tokens is full: /reset begins anew")
    else:
        note(f"cut after {session.stats.generated_tokens} tokens: --max-tokens allows more")
