"""The ``photic`` command: its subcommands, ``--version``, and how it runs.

Importing this file is cheap: whatever computes is imported by the command that needs it.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from photic import __version__
from photic.cli.bench import bench
from photic.cli.bench_llm import bench_llm
from photic.cli.chat import chat
from photic.cli.compiling import compile_file
from photic.cli.ending import endings
from photic.cli.explain import explain
from photic.cli.rules import rules
from photic.cli.run import run_model
from photic.cli.streams import watch_streams
from photic.cli.targets import targets
from photic.cli.tune import tune

app = typer.Typer(
    name="photic",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_model)
app.command("chat")(chat)
app.command("bench")(bench)
app.command("bench-llm")(bench_llm)
app.command("compile")(compile_file)
app.command("tune")(tune)
app.command("explain")(explain)
app.command("rules")(rules)
app.command("targets")(targets)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"photic {__version__}")
        raise typer.Exit


@app.callback()
def photic(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """A deep-learning compiler: twelve primitives, generated C, no hand-written kernels.

    \b
    Examples:
      photic run smollm2-135m "Why is the sky blue?"
      photic chat smollm2-135m
      photic tune smollm2-135m
      photic explain smollm2-135m
    """


def run() -> None:
    """The command line, with its streams watched and every ending an exit code."""
    watch_streams()
    with endings():
        try:
            app()
        finally:
            sys.stdout.flush()


if __name__ == "__main__":
    run()
