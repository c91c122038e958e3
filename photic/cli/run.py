"""``photic run``: one answer of a language model, streamed to stdout.

Only the answer goes to stdout, so that it can be piped; progress, statistics and errors go to
stderr. Fetching, compiling and sampling are ``photic.language``'s.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from photic.base.errors import BadArgument
from photic.base.settings import override_setting
from photic.cli.ending import endings
from photic.cli.options import Context, Search
from photic.cli.progress import progress
from photic.cli.show import showing
from photic.cli.table import quantity

if TYPE_CHECKING:
    from photic.language.session import Session, Stats

FROM_STDIN = "-"
ANSWER_TOKENS = 512  # long enough for a page; the context may end an answer sooner

Model = Annotated[str, typer.Argument(help="A model's name, or the path of a .gguf file.")]
Prompt = Annotated[
    str | None, typer.Argument(help='The prompt; "-", or leaving it out in a pipe, reads stdin.')
]
MaxTokens = Annotated[int, typer.Option(min=1, help="Stop after so many tokens.")]
Temperature = Annotated[float, typer.Option(min=0, help="0 always takes the likeliest token.")]
TopK = Annotated[int, typer.Option(min=0, help="Sample among the k likeliest tokens; 0 = all.")]
TopP = Annotated[float, typer.Option(min=0, max=1, help="Sample among the likeliest tokens.")]
MinP = Annotated[float, typer.Option(min=0, max=1, help="Drop tokens below this times the best.")]
Penalty = Annotated[float, typer.Option(min=0, help="Above 1: avoid tokens already used.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
Stops = Annotated[list[str] | None, typer.Option("--stop", help="End at this text; repeatable.")]
System = Annotated[str | None, typer.Option(help="The system message, in place of the model's.")]
Raw = Annotated[bool, typer.Option("--raw", help="Continue the prompt, without a chat template.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to compute with.")]
ShowStats = Annotated[bool, typer.Option("--stats", help="Print speed and memory to stderr.")]


def run_model(
    model: Model,
    prompt: Prompt = None,
    max_tokens: MaxTokens = ANSWER_TOKENS,
    temperature: Temperature = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: Penalty = 1.0,
    seed: Seed = 0,
    stop: Stops = None,
    system: System = None,
    raw: Raw = False,
    context: Context = None,
    threads: Threads = None,
    stats: ShowStats = False,
    search: Search = 0.0,
) -> None:
    """Answer a prompt with a language model.

    The model is fetched and compiled on first use, and kept for the next time. Only the answer
    goes to stdout. Unless --search asks for it, nothing is searched: the kernels are those that
    photic tune, or an earlier search, found to be fast on this machine.

    \b
    Examples:
      photic run smollm2-135m "Why is the sky blue?"
      photic run smollm2-135m --temperature 0.8 --seed 7 --stats "Tell a story."
      git diff | photic run smollm2-135m --system "Summarise this change." -
      photic run ./model.gguf --raw --max-tokens 20 "The capital of France is"
    """
    with endings(), showing():
        text = read_prompt(prompt)
        if threads is not None:
            override_setting("threads", str(threads))
        from photic.language.sampling import SamplingOptions

        options = SamplingOptions(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            seed=seed,
        )
        session = _open(model, context, search)
        pieces = session.generate(
            text,
            system=system,
            raw=raw,
            max_tokens=max_tokens,
            sampling=options,
            stops=tuple(stop or ()),
        )
        write_answer(pieces)
        if stats:
            print(statistics(session.stats), file=sys.stderr)


def _open(model: str, context: int | None, search: float) -> Session:
    from photic.language.session import open_session

    with progress() as report:
        return open_session(model, context=context, progress=report, search=search)


def read_prompt(given: str | None) -> str:
    """The prompt as given, or stdin's text without its last newline."""
    if given is None and sys.stdin.isatty():
        raise typer.BadParameter("give a prompt, or pipe one in", param_hint="PROMPT")
    if given is not None and given != FROM_STDIN:
        return _checked(given)
    text = sys.stdin.buffer.read().decode("utf-8", errors="surrogateescape")
    text = _checked(text).removesuffix("\n").removesuffix("\r")
    if not text:
        raise typer.BadParameter("stdin holds no prompt", param_hint="PROMPT")
    return text


def _checked(text: str) -> str:
    """Bytes that are no UTF-8 reach Python as lone surrogates, by argument or by stdin."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadArgument(
            op="run", argument="the prompt", given="other bytes", expected="UTF-8 text"
        )
    return text


def write_answer(pieces: Iterator[str]) -> None:
    """Write each piece as it comes; the answer ends with a newline, also when interrupted."""
    ends_line = False
    try:
        for piece in pieces:
            sys.stdout.write(piece)
            sys.stdout.flush()
            ends_line = piece.endswith("\n") if piece else ends_line
    finally:
        if not ends_line:
            sys.stdout.write("\n")


def statistics(stats: Stats) -> str:
    """Speed of both phases, why the answer ended, and the peak of memory."""
    return "\n".join(
        (
            f"prompt: {_speed(stats.prompt_tokens, stats.prompt_seconds)}",
            f"generation: {_speed(stats.generated_tokens, stats.generation_seconds)}",
            f"ended by: {stats.finish_reason}",
            f"peak memory: {quantity(stats.peak_bytes, 'B')}",
        )
    )


def _speed(tokens: int, seconds: float) -> str:
    rate = f"{tokens / seconds:.1f} tok/s" if seconds > 0 else "too fast to time"
    return f"{tokens} tokens in {seconds:.2f} s, {rate}"
