"""``photic run``: one answer of a language model, streamed to stdout.

Only the answer goes to stdout, so that it can be piped; progress, statistics and errors go to
stderr. Fetching, compiling and sampling are ``photic.language``'s.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from photic.cli.answer import statistics, write_answer
from photic.cli.ending import endings
from photic.cli.explain import PROGRAM_SUFFIX
from photic.cli.onnx_file import ONNX_SUFFIX, run_onnx
from photic.cli.opening import opened
from photic.cli.options import (
    ANSWER_TOKENS,
    Cache,
    Context,
    Inputs,
    MaxTokens,
    MinP,
    Model,
    Outputs,
    OwnPrecision,
    Penalty,
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
from photic.cli.run_program import run_program
from photic.cli.show import showing
from photic.language.caches import AUTOMATIC, DEFAULT_PRECISION, EXACT

FROM_STDIN = "-"

Prompt = Annotated[
    str | None, typer.Argument(help='The prompt; "-", or leaving it out in a pipe, reads stdin.')
]
Raw = Annotated[bool, typer.Option("--raw", help="Continue the prompt, without a chat template.")]


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
    cache: Cache = AUTOMATIC,
    precision: OwnPrecision = None,
    threads: Threads = None,
    target: TargetName = "",
    stats: ShowStats = False,
    search: Search = 0.0,
    speculative: Speculative = 0,
    input: Inputs = None,
    output: Outputs = None,
) -> None:
    """Answer a prompt, or run a saved program or an ONNX model.

    The model is fetched and compiled on first use, and kept for the next time. Only the answer
    goes to stdout. Unless --search asks for it, nothing is searched: the kernels are those that
    photic tune, or an earlier search, found to be fast on this machine.

    \b
    Examples:
      photic run smollm2-135m "Why is the sky blue?"
      photic run smollm2-135m --temperature 0.8 --seed 7 --stats "Tell a story."
      git diff | photic run smollm2-135m --system "Summarise this change." -
      photic run ./model.gguf --raw --max-tokens 20 "The capital of France is"
      photic run ./folder-with-safetensors "Why is the sky blue?"
      photic run smollm2-135m --target opencl "Why is the sky blue?"
      photic run ./model.photic --input x=x.npy --output y=y.npy
      photic run ./model.onnx --input x=x.npy --output y=y.npy --precision bf16
    """
    with endings(), showing():
        if model.endswith(ONNX_SUFFIX):
            use_threads(threads)
            use_target(target)
            run_onnx(Path(model), input or [], output or [], search, precision or EXACT)
            return
        if is_program(model, input):
            use_threads(threads)
            use_target(target)
            run_program(Path(model), input or [], output or [], target)
            return
        text = read_prompt(prompt)
        use_threads(threads)
        use_target(target)
        from photic.language.sampling import SamplingOptions

        options = SamplingOptions(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            repetition_penalty=repetition_penalty,
            seed=seed,
        )
        rounding = precision or DEFAULT_PRECISION
        session = opened(model, context, search, speculative, cache, rounding)
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


def is_program(model: str, inputs: Sequence[str] | None) -> bool:
    """True for a saved program: by its name's end, or because arrays are given."""
    return model.rstrip("/").endswith(PROGRAM_SUFFIX) or bool(inputs)


def read_prompt(given: str | None) -> str:
    """The prompt as given, or stdin's text without its last newline."""
    if given in (None, FROM_STDIN) and sys.stdin is None:
        raise typer.BadParameter("stdin is closed: give a prompt", param_hint="PROMPT")
    if given is None and sys.stdin.isatty():
        raise typer.BadParameter("give a prompt, or pipe one in", param_hint="PROMPT")
    if given is not None and given != FROM_STDIN:
        return checked_text("run", given)
    text = sys.stdin.buffer.read().decode("utf-8", errors="surrogateescape")
    text = checked_text("run", text).removesuffix("\n").removesuffix("\r")
    if not text:
        raise typer.BadParameter("stdin holds no prompt", param_hint="PROMPT")
    return text
