"""``photic explain``: what a compiled program consists of, and how it came to be.

Kernels with their share of the time and of what the machine can do, their arithmetic and bytes, and
the rules that made them; what the search tried; the nest and the source of single ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from photic.base.errors import BadArgument, PhoticError
from photic.cli.ending import endings
from photic.cli.opening import opened
from photic.cli.options import (
    Explained,
    Html,
    KernelPart,
    Precision,
    ShowSource,
    TargetName,
    require_target,
    use_target,
)
from photic.cli.show import showing
from photic.cli.table import counted, duration, quantity, table
from photic.language.caches import AUTOMATIC, DEFAULT_PRECISION

if TYPE_CHECKING:
    from photic.cli.roofs import Roofs
    from photic.storage.artifact import KernelReport
    from photic.tensor.program import Program

MODEL_SUFFIX, PROGRAM_SUFFIX = ".gguf", ".photic"
MODEL_CONFIG = "config.json"  # of a folder that holds a model's weights
GIGA, MEGA = 1e9, 1e6
AS_WRITTEN = "as written"  # the kind of kernels that no rule led to
MOST_NEAR = 5  # names in the message about one that is unknown


def explain(
    what: Explained,
    source: ShowSource = False,
    kernel: KernelPart = None,
    html: Html = None,
    precision: Precision = DEFAULT_PRECISION,
    target: TargetName = "",
) -> None:
    """Show the kernels of a compiled program, and what was tried.

    For each kernel, those first that take most of the time: how many calls a run of the program
    makes, their share of the time, the time, arithmetic and bytes of one call, its share of the
    ceiling (what the limit allows at most, measured here), that limit, and the rules that led to
    it. Arithmetic and bytes are of the largest sizes, measured times the means over several,
    predicted ones of those in the middle. Shares are of measured times where every kernel has
    one, else of predicted ones. A saved program has the precision that it was made with.

    \b
    Examples:
      photic explain smollm2-135m
      photic explain model.photic --kernel k3
      photic explain model.photic --source
      photic explain model.photic --html model.html
    """
    with endings(), showing():
        use_target(target)
        programs = programs_of(what, precision)
        for program in programs.values() if target else ():
            require_target(Path(what), program.artifact.target, target)
        if html is not None:
            write_page(programs, kernel or "", html)
            return
        for name, program in programs.items():
            kernels = chosen(program, kernel or "")
            print("\n".join(explanation(name, program, kernels)))
            if kernel is not None:
                print("\n".join(nests(kernels)))
            if source or kernel is not None:
                print("\n".join(sources(kernels)))


def programs_of(what: str, precision: str) -> Mapping[str, Program]:
    """The programs of a model or of a file, by name."""
    is_model = what.endswith(MODEL_SUFFIX) or (Path(what) / MODEL_CONFIG).is_file()
    is_file = Path(what).exists() and not is_model
    if is_file or what.endswith(PROGRAM_SUFFIX):
        from photic.tensor.store import load_program

        return {what: load_program(Path(what))}
    return opened(what, None, 0.0, 0, AUTOMATIC, precision).programs


def write_page(programs: Mapping[str, Program], part: str, file: Path) -> None:
    """Write the page of some programs, of kernels with ``part`` in their names.

    Raises NoSpace or FileUnwritable.
    """
    from photic.cli.page import Shown, page
    from photic.storage.files import write_errors, write_out

    shown = []
    for name, program in programs.items():
        kernels, every = chosen(program, part), program.report.kernels
        kind = "measured" if is_measured(every) else "predicted"
        roofs = roofs_here(program)
        rows = [row(one, every, roofs, kinds_of(program)) for one in kernels]
        shares = [share(one, every) for one in kernels]
        words = roofs_text(roofs)
        shown.append(Shown(name, program, kernels, shares, HEADS, rows, kind, roofs, words))
    with write_errors(file):
        write_out(file, page(shown).encode())
    print(f"{file}: {counted(len(shown), 'program')}")


def chosen(program: Program, part: str) -> Sequence[KernelReport]:
    """The kernels with ``part`` in their names, those first that take most of the time.

    Raises BadArgument if there are none.
    """
    every = program.report.kernels
    kernels = sorted(every, key=lambda one: -share(one, every))
    found = [kernel for kernel in kernels if part in kernel.name]
    if not found and part:
        names = [kernel.name for kernel in kernels]
        near = difflib.get_close_matches(part, names, MOST_NEAR, 0) or ["a program with kernels"]
        raise BadArgument(
            op="explain", argument="--kernel", given=repr(part), expected=" or ".join(near)
        )
    return found


def explanation(name: str, program: Program, kernels: Sequence[KernelReport]) -> Iterator[str]:
    """A summary of the program, a table of some of its kernels, and what was tried for them."""
    from photic.cli.rejected import search_lines

    every = program.report.kernels
    kind = "measured" if is_measured(every) else "predicted"
    roofs, kinds = roofs_here(program), kinds_of(program)
    yield f"{name}: {counted(len(every), 'kernel')}"
    yield f"  constants: {quantity(program.constant_bytes, 'B')}"
    yield f"  arena and scratch: {quantity(program.peak_bytes, 'B')}"
    yield f"  shares are of {kind} times"
    yield f"  {roofs_text(roofs)}"
    yield ""
    if kernels:
        yield table(HEADS, [row(kernel, every, roofs, kinds) for kernel in kernels])
        yield ""
    yield from search_lines(program.artifact.making, frozenset(one.name for one in kernels))
    yield ""


def is_measured(kernels: Sequence[KernelReport]) -> bool:
    """Whether every kernel has a measured time."""
    return all(kernel.seconds is not None for kernel in kernels)


def roofs_here(program: Program) -> Roofs:
    """The roofs of this machine; those of the cost model where they cannot be measured.

    Measured are the processor's, in C.
    """
    from photic.cli.ceilings import measured_roofs
    from photic.cli.roofs import roofs_of
    from photic.targets.registry import DEFAULT_TARGET, target_named

    with suppress(PhoticError, MemoryError):
        if program.artifact.target == DEFAULT_TARGET:
            return measured_roofs()
    return roofs_of(target_named(program.artifact.target).machine())


def roofs_text(roofs: Roofs) -> str:
    """What can be done at most, in a line."""
    levels = ", ".join(f"{quantity(one.rate, 'B/s')} from {one.name}" for one in roofs.levels)
    source = "measured now" if roofs.is_measured else "by the cost model, not measured"
    return f"ceilings, {source}: {quantity(roofs.flops, 'flop/s')} in float32, {levels}"


HEADS = (
    "kernel",
    "calls",
    "share",
    "measured",
    "predicted",
    "GFLOP",
    "MB",
    "ceiling",
    "limit",
    "rules",
)


def row(
    kernel: KernelReport, every: Sequence[KernelReport], roofs: Roofs, kinds: Mapping[str, str]
) -> tuple[str, ...]:
    """``HEADS`` of a kernel."""
    from photic.cli.roofs import limit, reached

    part = reached(kernel, roofs)
    return (
        kernel.name,
        str(kernel.calls),
        f"{share(kernel, every):.1%}",
        "-" if kernel.seconds is None else duration(kernel.seconds),
        "-" if kernel.predicted_seconds is None else duration(kernel.predicted_seconds),
        f"{kernel.flops / GIGA:.3g}",
        f"{kernel.bytes / MEGA:.3g}",
        "-" if part is None else f"{part:.0%}",
        limit(kernel, roofs),
        chain(kernel, kinds),
    )


def kinds_of(program: Program) -> Mapping[str, str]:
    """Which choice of values led to each kernel that a search was about."""
    making = program.artifact.making
    return {} if making is None else {name: kind for name, _, kind in making.regions}


def chain(kernel: KernelReport, kinds: Mapping[str, str]) -> str:
    """The rules that led from the values as written to a kernel."""
    if kernel.rules:
        return " > ".join(kernel.rules)
    kind = kinds.get(kernel.name, AS_WRITTEN)
    return kind if kind == AS_WRITTEN else f"{kind}, rules not looked for in time"


def share(kernel: KernelReport, every: Sequence[KernelReport]) -> float:
    """The part of a run of the program that a kernel's calls take, 0 to 1."""
    measured = is_measured(every)

    def seconds(one: KernelReport) -> float:
        return one.calls * ((one.seconds if measured else one.predicted_seconds) or 0.0)

    total = sum(map(seconds, every))
    return seconds(kernel) / total if total > 0 else 0.0


def nests(kernels: Sequence[KernelReport]) -> Iterator[str]:
    for kernel in kernels:
        yield f"// {kernel.name}: the nest"
        yield kernel.nest


def sources(kernels: Sequence[KernelReport]) -> Iterator[str]:
    for kernel in kernels:
        yield f"// {kernel.name}: the source"
        yield kernel.source
