"""What the docs tell people to type: commands with their options, and the search from Python."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from photic.cli.main import app

TOP = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/search.md", "docs/debug.md", "docs/onnx.md")


def commands(page: str) -> list[str]:
    """Lines of blocks, and pieces of code in sentences, that call photic with a subcommand."""
    text = (TOP / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^(?:PHOTIC_\S+ |.*\| )?(photic [a-z].*)$", text, flags=re.MULTILINE)
    inline = re.findall(r"`(photic [a-z]+ [^`]*)`", text)
    return [*fenced, *inline]


def subcommands() -> dict[str, TyperCommand]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return {name: one for name, one in group.commands.items() if isinstance(one, TyperCommand)}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_has_the_options_that_it_is_given(page: str) -> None:
    known = subcommands()
    lines = [one for one in commands(page) if one.split()[1] in known]
    assert lines
    for line in lines:
        _, name, *given = shlex.split(line, comments=True)
        names = {one for option in known[name].params for one in option.opts}
        used = {one for one in given if re.fullmatch(r"--?[a-z]+(-[a-z]+)*", one)}
        assert used <= names, f"{page}: {line}: {used - names}"


def test_every_subcommand_is_in_the_readme() -> None:
    named = {one.split()[1] for one in commands("README.md")}
    assert set(subcommands()) <= named


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (TOP / "docs/search.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    exec(snippet, {})
    assert re.fullmatch(r"\d+ (out of time|exhausted)\n", capsys.readouterr().out)
