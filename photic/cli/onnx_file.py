"""What commands do with ONNX files: sizes from ``--dim``, and the program of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.cli.options import Dims as Dims

if TYPE_CHECKING:
    from photic.frontends.onnx.sizes import Given
    from photic.tensor.program import Program

ONNX_SUFFIX = ".onnx"
SIZE = re.compile(r"(\d+)(?:\.\.(\d+)(?::(\d+))?)?")


def sizes_of(given: Sequence[str]) -> dict[str, Given]:
    """``batch=1..16`` and the like by name. Raises typer.BadParameter."""
    found: dict[str, Given] = {}
    for text in given:
        name, sign, size = text.rpartition("=")
        numbers = SIZE.fullmatch(size)
        if not (name and sign and numbers):
            problem = f"{text!r} is not like batch=4, batch=1..16 or height=32..960:32"
            raise typer.BadParameter(problem, param_hint="--dim")
        low, high, step = (None if one is None else int(one) for one in numbers.groups())
        assert low is not None
        if high is None:
            found[name] = low
        else:
            found[name] = (low, high) if step is None else (low, high, step)
    return found


def onnx_program(
    path: Path, dims: Sequence[str], search: float, seed: int, without: Sequence[str]
) -> Program:
    """The program of an ONNX model. Raises what reading and compiling raise."""
    from photic.frontends.onnx import load

    model = load(path, sizes_of(dims))
    return model.compile(search=search, seed=seed, without=without)
