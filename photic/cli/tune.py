"""``photic tune``: search for a model's kernels now; move what was found to another machine.

A search leaves tuning records; later compilations of the same kernels start from them, and
``photic run`` takes the program that the search ended with.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.base.trace import listening
from photic.cli.ending import endings
from photic.cli.errors import FileLine
from photic.cli.opening import opened
from photic.cli.options import (
    Cache,
    Context,
    ModelOrMove,
    Precision,
    RecordsFile,
    Search,
    SearchSeed,
    TargetName,
    use_target,
)
from photic.cli.show import showing
from photic.cli.table import counted, duration, table
from photic.cli.watch import HEADS, Watch
from photic.language.caches import AUTOMATIC, DEFAULT_PRECISION

if TYPE_CHECKING:
    from photic.tensor.program import Report

STREAM = "-"
SECONDS = 60.0  # as long as a first search of a small model needs to settle


def tune(
    what: ModelOrMove,
    file: RecordsFile = None,
    search: Search = SECONDS,
    seed: SearchSeed = 0,
    context: Context = None,
    cache: Cache = AUTOMATIC,
    precision: Precision = DEFAULT_PRECISION,
    target: TargetName = "",
) -> None:
    """Search for faster kernels of a model, or move records.

    What is found is kept, and photic run uses it from its next start on. Several searches add up.
    export writes all tuning records as lines of JSON; import adds such lines to those known here
    (./export means a file of that name).

    \b
    Examples:
      photic tune smollm2-135m
      photic tune ./model.gguf --search 600
      photic tune export records.jsonl
      photic tune import records.jsonl
    """
    moves = {"export": export, "import": import_}
    with endings(), showing():
        if what in moves:
            if file is None:
                raise typer.BadParameter(f"photic tune {what} needs a file", param_hint="FILE")
            moves[what](file)
        elif file is not None:
            raise typer.BadParameter("only export and import take one", param_hint="FILE")
        else:
            use_target(target)
            search_model(what, search, seed, context, cache, precision)


def search_model(
    model: str, seconds: float, seed: int, context: int | None, cache: str, precision: str
) -> None:
    """Search for the kernels of a model, and say on stdout what it came to."""
    if seconds <= 0:
        raise typer.BadParameter("a search needs more than 0 seconds", param_hint="--search")
    watch = Watch(seconds, 0.0)
    with listening(lambda event: watch.hear(event, time.monotonic())):
        session = opened(model, context, seconds, 0, cache, precision, seed)
    for program in session.programs.values():
        print("\n".join(summary(model, program.report, watch)))


def summary(name: str, report: Report, watch: Watch) -> Iterator[str]:
    """How much was tried and why it stopped, then the regions that had a turn."""
    yield f"{name}: {searched(report)}"
    if not watch.regions:
        yield "no region had a turn: a longer search finds more"
        return
    yield ""
    yield table(HEADS, watch.rows())


def searched(report: Report) -> str:
    """``412 candidates in 60.3 s (out of time)``."""
    candidates = counted(report.candidates, "candidate")
    return f"{candidates} in {duration(report.seconds)} ({report.stopped})"


# --- moving records -------------------------------------------------------------------------


def export(file: str) -> None:
    """Write every record as a line of JSON."""
    from photic.storage.errors import FileUnreadable
    from photic.storage.files import reading_folders, write_out
    from photic.storage.records import RECORDS_FILE, Records

    paths = [folder / RECORDS_FILE for folder in reading_folders("records")]
    path = next((one for one in paths if one.exists()), None)
    problems: list[str] = []
    text = io.StringIO()
    count = Records(path, problems.append).export(text)
    if problems:
        raise FileUnreadable(path=path, problem=problems[0])
    if file == STREAM:
        sys.stdout.write(text.getvalue())
    else:
        write_out(Path(file), text.getvalue().encode())
        print(f"{file}: {counted(count, 'record')} written")


def import_(file: str) -> None:
    """Add the records of a file; all of them or, where a line is none, nothing."""
    from photic.forms.errors import BadText
    from photic.storage.errors import FileUnwritable
    from photic.storage.files import cache_folder
    from photic.storage.records import RECORDS_FILE, Records

    lines = lines_of(file)
    path = cache_folder("records") / RECORDS_FILE
    problems: list[str] = []
    try:
        count = Records(path, problems.append).import_(lines)
    except BadText as error:
        fields = {name: error.fields[name] for name in ("line", "problem")}
        raise FileLine(path=file, **fields) from None
    if problems:
        raise FileUnwritable(path=path, what="records", problem=problems[0])
    print(f"{file}: {counted(count, 'record')} read")


def lines_of(file: str) -> list[str]:
    """The lines of a file or of stdin. Raises FileUnreadable or FileLine."""
    from photic.storage.errors import FileUnreadable

    try:
        content = sys.stdin.buffer.read() if file == STREAM else Path(file).read_bytes()
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise FileUnreadable(path=file, problem=problem) from None
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            found.append(line.decode())
        except UnicodeDecodeError:
            raise FileLine(path=file, line=number, problem="it is no UTF-8 text") from None
    return found
