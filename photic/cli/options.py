"""The options and arguments of all commands, and the checks that typer's own do not make.

One table: what two commands have is defined once, and what one has can be compared with the others.
``photic bench-llm`` keeps those that are its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from photic.base.errors import BadArgument, PhoticError
from photic.base.settings import override_setting
from photic.language.caches import AUTOMATIC, CACHES, PRECISIONS

ANSWER_TOKENS = 512  # long enough for a page; the context may end an answer sooner


def _finite(seconds: float | None) -> float | None:
    if seconds is not None and not 0 <= seconds < math.inf:
        raise typer.BadParameter(f"{seconds} is not a number of seconds, 0 or more")
    return seconds


def _one_of(*known: str) -> Callable[[str | None], str | None]:
    def checked(given: str | None) -> str | None:
        if given is not None and given not in known:
            raise typer.BadParameter(f"{given!r}; known: {', '.join(known)}")
        return given

    return checked


Search = Annotated[
    float,
    typer.Option(callback=_finite, metavar="SECONDS", help="Seconds to search; it may end sooner."),
]
SearchSeed = Annotated[
    int, typer.Option("--seed", min=0, help="The seed of the search's random choices.")
]
Context = Annotated[int | None, typer.Option(min=1, help="Tokens that prompt and answer may fill.")]
Cache = Annotated[
    str,
    typer.Option(
        callback=_one_of(AUTOMATIC, *CACHES),
        metavar="DTYPE",
        help=f"What keys and values are kept as: {', '.join(CACHES)}, or auto: bfloat16, and "
        "float32 with --precision exact.",
    ),
]
Precision = Annotated[
    str,
    typer.Option(
        callback=_one_of(*PRECISIONS),
        metavar="|".join(PRECISIONS),
        help="bf16 rounds factors in calls of 16 tokens and more; int8 and int16 multiply "
        "quantised weights in integers; exact is float32 throughout.",
    ),
]
OwnPrecision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        callback=_one_of(*PRECISIONS),
        metavar="|".join(PRECISIONS),
        help="bf16 rounds factors of products, of language models in calls of 16 tokens and more; "
        "int8 and int16 multiply quantised weights in integers; exact rounds nothing. Unless said, "
        "language models have bf16, others exact.",
    ),
]
Model = Annotated[
    str, typer.Argument(help="A model's name, hf:owner/name, a .gguf file, or a model's folder.")
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
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to compute with.")]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="NAME[:DEVICE]",
        help="What computes: a target of photic targets; a device by number or a part of its name.",
    ),
]
ShowStats = Annotated[bool, typer.Option("--stats", help="Print speed and memory to stderr.")]
Speculative = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Draft up to N tokens at once from the text so far; 0 = none."
    ),
]


# --- compiling and searching ----------------------------------------------------------------

Compiled = Annotated[
    str, typer.Argument(help="A graph as text, a .onnx or .gguf model, or a folder.")
]
ProgramFolder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the program goes.")
]
Without = Annotated[
    str, typer.Option(metavar="TOPICS", help="Topics of rules to leave out, with commas.")
]
Constants = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The graph's large constants: safetensors.")
]
Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dim", metavar="NAME=SIZE", help="A size of an ONNX model: 4, 1..16, or 32..960:32."
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An input of an ONNX model that is known now: 16000, [0,1], or a file.npy.",
    ),
]
ModelOrMove = Annotated[
    str,
    typer.Argument(
        metavar="model|export|import", help="A model's name or a .gguf file, or what to do."
    ),
]
RecordsFile = Annotated[
    str | None,
    typer.Argument(help='Where records go to or come from; "-" is a pipe.'),
]

# --- looking at programs and rules ----------------------------------------------------------

Explained = Annotated[
    str, typer.Argument(help="A model's name, file or folder, or a program saved by photic.")
]
ShowSource = Annotated[bool, typer.Option("--source", help="Print the source of each kernel too.")]
KernelPart = Annotated[
    str | None,
    typer.Option("--kernel", help="Only kernels with this in their names, with nest and source."),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write one page of HTML instead.")
]
RuleName = Annotated[
    list[str] | None, typer.Argument(help="The name of a rule, or of a topic.", metavar="[NAME]")
]
Short = Annotated[bool, typer.Option("--short", help="One line a rule: name, kind, why it holds.")]

# --- running saved programs -----------------------------------------------------------------

Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=FILE.npy", help="An input of a saved program."),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option("--output", metavar="NAME=FILE.npy", help="Where an output is written."),
]

# --- measuring ------------------------------------------------------------------------------

Measured = Annotated[Path, typer.Argument(help="A .onnx model, or a program of photic compile.")]
Peers = Annotated[
    str, typer.Option("--vs", metavar="NAMES", help="onnxruntime, openvino, or both with a comma.")
]
Rounds = Annotated[int, typer.Option("--runs", "-r", min=1, help="Rounds that count.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Write JSON, with the seconds of every round.")
]


def use_threads(threads: int | None) -> None:
    """Compute with so many threads from now on; None leaves PHOTIC_THREADS as it is."""
    if threads is not None:
        override_setting("threads", str(threads))


def use_target(target: str) -> None:
    """Compute on this target from now on; "" leaves PHOTIC_TARGET as it is.

    Raises TargetUnusable, with what is there and why the rest is not.
    """
    if not target:
        return
    from photic.cli.errors import TargetUnusable
    from photic.cli.targets import availability
    from photic.targets.registry import target_named

    try:
        target_named(target).facts()
    except PhoticError:
        raise TargetUnusable(given=target, known="\n".join(availability())) from None
    override_setting("target", target)


def require_target(path: Path, made_for: str, target: str) -> None:
    """A saved program runs on the target that it was compiled for, or typer.BadParameter."""
    if target and target.partition(":")[0] != made_for:
        problem = f"{path} was compiled for {made_for}; compile it for {target} to run it there"
        raise typer.BadParameter(problem, param_hint="--target")


def checked_text(op: str, text: str) -> str:
    """Bytes that are no UTF-8 reach Python as lone surrogates, by argument or by stdin."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadArgument(op=op, argument="the prompt", given="other bytes", expected="UTF-8 text")
    return text
