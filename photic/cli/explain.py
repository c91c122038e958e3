"""``photic explain``: what a compiled program consists of.

Kernels with their bytes and arithmetic, the rules that made them, and the sources on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photic.cli.ending import endings
from photic.cli.progress import progress
from photic.cli.show import showing
from photic.cli.table import quantity, table

if TYPE_CHECKING:
    from photic.compiler.artifact import KernelReport
    from photic.tensor.program import Program

MODEL_SUFFIX = ".gguf"

What = Annotated[
    str, typer.Argument(help="A model's name, a .gguf file, or a program saved by photic.")
]
Source = Annotated[bool, typer.Option("--source", help="Print the source of each kernel too.")]
Kernel = Annotated[
    str | None, typer.Option("--kernel", help="Only kernels whose names contain this text.")
]


def explain(what: What, source: Source = False, kernel: Kernel = None) -> None:
    """Show the kernels of a compiled program.

    For each kernel: how often a call of the program runs it, the bytes it moves and its arithmetic
    in one run at the largest sizes, the rules that made it, and its source on request.

    \b
    Examples:
      photic explain smollm2-135m
      photic explain model.photic --source --kernel k3
    """
    with endings(), showing():
        for name, program in programs_of(what).items():
            print("\n".join(explanation(name, program, kernel or "")))
            if source:
                print("\n".join(sources(chosen(program, kernel or ""))))


def programs_of(what: str) -> Mapping[str, Program]:
    """The programs of a model or of a file, by name."""
    if Path(what).exists() and not what.endswith(MODEL_SUFFIX):
        from photic.tensor.store import load_program

        return {what: load_program(Path(what))}
    from photic.language.session import open_session

    with progress() as report:
        return open_session(what, context=None, progress=report).programs


def chosen(program: Program, part: str) -> Sequence[KernelReport]:
    return [kernel for kernel in program.report.kernels if part in kernel.name]


def explanation(name: str, program: Program, part: str) -> Iterator[str]:
    """A summary line, then a table of the kernels whose names contain ``part``."""
    kernels = chosen(program, part)
    yield f"{name}: {len(program.report.kernels)} kernels"
    yield f"  constants: {quantity(program.constant_bytes, 'B')}"
    yield f"  arena and scratch: {quantity(program.peak_bytes, 'B')}"
    yield ""
    heads = ("kernel", "calls", "bytes", "flops", "time", "rules")
    yield table(heads, [row(kernel) for kernel in kernels])
    yield ""


def row(kernel: KernelReport) -> tuple[str, ...]:
    return (
        kernel.name,
        str(kernel.calls),
        quantity(kernel.bytes, "B"),
        quantity(kernel.flops, ""),
        f"{kernel.seconds * 1e6:.1f} us" if kernel.seconds else "-",
        ", ".join(kernel.rules) or "-",
    )


def sources(kernels: Sequence[KernelReport]) -> Iterator[str]:
    for kernel in kernels:
        yield f"// {kernel.name}"
        yield kernel.source
