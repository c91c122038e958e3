"""What commands do with ONNX files: sizes from ``--dim``, values from ``--set``, programs, runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.cli.options import Dims as Dims
from photic.cli.progress import progress
from photic.cli.run_program import arrays_of, hand_out, output_places, read_array, require_file

if TYPE_CHECKING:
    from photic.frontends.onnx.kinds import Kind
    from photic.frontends.onnx.records import Port
    from photic.frontends.onnx.sizes import Given
    from photic.storage.artifact import Array
    from photic.tensor.program import Program

ONNX_SUFFIX, ARRAY_SUFFIX = ".onnx", ".npy"
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


def values_of(ports: Sequence[Port], given: Sequence[str]) -> dict[str, Array]:
    """``sr=16000``, ``axes=[0,1]`` or ``table=table.npy`` by name, in the types of the inputs.

    Raises typer.BadParameter, and what reading an array raises.
    """
    kinds = {one.name: one.kind for one in ports if one.kind is not None}
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in kinds:
            problem = f"{text!r} is not like {next(iter(kinds), 'name')}=value"
            problem += f"; inputs: {', '.join(kinds)}"
            raise typer.BadParameter(problem, param_hint="--set")
        found[name] = _value(value, kinds[name], text)
    return found


def _value(value: str, kind: Kind, text: str) -> Array:
    """A number, numbers in brackets, or the array in a file. Raises typer.BadParameter."""
    import numpy as np

    if value.endswith(ARRAY_SUFFIX):
        return read_array(Path(value))
    try:
        numbers = np.asarray(json.loads(value))
        array = numbers.astype(kind.numpy)
        is_held = array.dtype.kind not in "biu" or bool((array == numbers).all())
    except (ValueError, TypeError, OverflowError, RecursionError):
        is_held = False
    if not is_held:
        problem = f"{text!r}: {value!r} is no number or list of numbers of {kind.name}"
        raise typer.BadParameter(problem, param_hint="--set")
    return array


def onnx_program(
    path: Path,
    dims: Sequence[str],
    values: Sequence[str],
    search: float,
    seed: int,
    without: Sequence[str],
    precision: str,
) -> Program:
    """The program of an ONNX model. Raises what reading and compiling raise."""
    from photic.frontends.onnx.model import as_model
    from photic.frontends.onnx.reader import read_model

    records = read_model(path)
    model = as_model(records, sizes_of(dims), values_of(records.graph.inputs, values))
    return model.compile(search=search, seed=seed, without=without, precision=precision)


def run_onnx(
    path: Path, inputs: Sequence[str], outputs: Sequence[str], search: float, precision: str
) -> None:
    """Run an ONNX model once, on arrays by the file's names; its programs are kept.

    Raises FileUnreadable, also where the package ``onnx`` is missing, ArrayFile, and what reading,
    compiling and calling raise.
    """
    require_file(path)
    from photic.frontends.onnx.session import Session

    with progress() as report:
        session = Session(path, search=search, precision=precision, progress=report)
        places = output_places(outputs, session.outputs)
        found = session.run(None, arrays_of(inputs))
    hand_out(dict(zip(session.outputs, found)), places)
