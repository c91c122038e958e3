"""``photic bench-llm``: how fast a language model reads and writes here, as llama-bench measures.

``pp512`` is a prompt of 512 random tokens, ``tg128`` the likeliest 128 tokens after a short text,
one after another, whatever they say; both from an empty context, without the making of text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photic import __version__
from photic.base.errors import BadArgument
from photic.base.settings import int_setting
from photic.cli.ending import endings
from photic.cli.opening import opened
from photic.cli.options import (
    Cache,
    Context,
    Model,
    Precision,
    Search,
    Speculative,
    TargetName,
    Threads,
    checked_text,
    use_target,
    use_threads,
)
from photic.cli.show import showing
from photic.cli.table import quantity, table
from photic.language.caches import AUTOMATIC, DEFAULT_PRECISION

if TYPE_CHECKING:
    from photic.cli.bench_llm_runs import Contestant, Figures, Task
    from photic.language.session import Session

PEERS = ("llama.cpp",)
PROMPT_TOKENS, GENERATED_TOKENS, ROUNDS = 512, 128, 5  # llama-bench's
TEXT = "Once upon a time there was a"
HEADS = ("program", "version", "test", "threads", "tok/s", "spread", "peak memory")

PromptTokens = Annotated[int, typer.Option("--prompt", "-p", min=0, help="Tokens of the prompt.")]
Generated = Annotated[int, typer.Option("--generate", "-n", min=0, help="Tokens to generate.")]
Rounds = Annotated[int, typer.Option("--runs", "-r", min=1, help="Runs that count, of each test.")]
Versus = Annotated[str | None, typer.Option("--vs", help="Measure in turns with: llama.cpp.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, with the seconds of every run.")]
Text = Annotated[str, typer.Option(help="What generation goes on from; it matters to drafts only.")]


def bench_llm(
    model: Model,
    prompt: PromptTokens = PROMPT_TOKENS,
    generate: Generated = GENERATED_TOKENS,
    runs: Rounds = ROUNDS,
    vs: Versus = None,
    text: Text = TEXT,
    context: Context = None,
    cache: Cache = AUTOMATIC,
    precision: Precision = DEFAULT_PRECISION,
    threads: Threads = None,
    target: TargetName = "",
    search: Search = 0.0,
    speculative: Speculative = 0,
    as_json: Json = False,
) -> None:
    """Measure a language model: tokens a second, and memory.

    A prompt of random tokens, and generation from an empty context, several times each. The spread
    is the standard deviation of the runs, the peak memory that of the whole process.

    \b
    Examples:
      photic bench-llm smollm2-135m
      photic bench-llm smollm2-135m -p 512 -n 128 -r 10 --vs llama.cpp --json
      photic bench-llm ./model.gguf --threads 2 --speculative 6 --text "1, 2, 3, 4, 5, 6,"
    """
    with endings(), showing():
        if not prompt and not generate:
            raise typer.BadParameter("0 tokens of both leave nothing to measure")
        if vs is not None and vs not in PEERS:
            raise typer.BadParameter(f"{vs!r}; known: {', '.join(PEERS)}", param_hint="--vs")
        checked_text("bench-llm", text)
        use_threads(threads)
        use_target(target)
        counts = tuple(dict.fromkeys((0, speculative)))
        sessions = [_opened(model, context, search, one, cache, precision) for one in counts]
        task = _task(sessions[0], prompt, generate, text)
        with ExitStack() as stack:
            contestants = [_own(one) for one in sessions]
            if vs is not None:
                contestants.append(_peer(stack, vs, sessions[0], task))
            found = _raced(contestants, task, runs)
        print(_json(found, sessions[0].path) if as_json else _table(found))


def _own(session: Session) -> Contestant:
    from photic.cli.bench_llm_runs import own

    name = f"photic, {session.drafts} drafts" if session.drafts else "photic"
    return own(name, session, __version__)


def _raced(contestants: Sequence[Contestant], task: Task, runs: int) -> list[Figures]:
    from photic.cli.bench_llm_runs import race

    return race(contestants, task, runs)


def _opened(
    model: str,
    context: int | None,
    search: float,
    speculative: int,
    cache: str,
    precision: str,
) -> Session:
    stages: set[str] = set()
    session = opened(model, context, search, speculative, cache, precision, told=stages.add)
    if "compile" in stages:
        print("note: the peak memory is that of compiling; run it again", file=sys.stderr)
    return session


def _task(session: Session, prompt: int, generate: int, text: str) -> Task:
    """Raises BadArgument where the context is too small, or the text is empty."""
    import numpy as np

    from photic.cli.bench_llm_runs import Task

    beginning = session.tokens(text, system=None, raw=True)
    needed = max(prompt, len(beginning) + generate + 1)
    if needed > session.context:
        fields = {"given": f"{session.context} tokens", "expected": f"{needed} or more"}
        raise BadArgument(op="bench-llm", argument="the context", **fields)
    # 0: every run of every contestant reads the same
    ids = np.random.default_rng(0).integers(0, session.config.vocabulary, prompt)
    return Task(tuple(ids.tolist()), tuple(beginning), generate)


def _peer(stack: ExitStack, name: str, session: Session, task: Task) -> Contestant:
    from photic.cli.bench_llm_peer import Peer
    from photic.cli.bench_llm_runs import other

    room = max(len(task.prompt), len(task.beginning) + task.generated + 1)
    return other(name, stack.enter_context(closing(Peer(session.path, room, _threads()))))


def _threads() -> int:
    from photic.targets.c.facts import usable_cores

    return int_setting("threads") or usable_cores()


def _table(found: Sequence[Figures]) -> str:
    rows = [
        (
            one.name,
            one.version,
            one.test,
            str(_threads()),
            f"{one.mean:.1f}",
            f"± {one.spread:.1f}",
            quantity(one.peak_bytes, "B"),
        )
        for one in found
    ]
    return table(HEADS, rows)


def _json(found: Sequence[Figures], path: Path) -> str:
    results = [
        {
            "program": one.name,
            "version": one.version,
            "test": one.test,
            "tokens": one.tokens,
            "tokens_per_second": one.mean,
            "spread": one.spread,
            "seconds": one.seconds,
            "peak_bytes": one.peak_bytes,
        }
        for one in found
    ]
    model = {"file": path.name, "bytes": path.stat().st_size}
    return json.dumps({"model": model, "threads": _threads(), "results": results}, indent=1)
