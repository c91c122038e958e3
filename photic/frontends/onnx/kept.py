"""Programs of ONNX files, kept between runs: a second start neither reads the graph nor compiles.

Promises, beside those of ``photic.tensor.kept``: a kept program is used only for a file of the same
bytes, with the same bytes beside it, the same sizes, constants and options, and the same versions
of the packages that the import depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from photic.base.settings import setting
from photic.forms.graph_text import parse_dim
from photic.frontends.onnx.files import OnnxFile, opened
from photic.frontends.onnx.kinds import KIND, Array
from photic.frontends.onnx.ports import Port
from photic.frontends.onnx.sizes import Sizes
from photic.ir.dim import Symbol, symbols
from photic.tensor.kept import Making, Progress, Shelf, kept, remade
from photic.tensor.program import Program

SHELF = Shelf("onnx.", programs=16, most_bytes=4 << 30)
"""Each holds its constants; a session has a program for each shape that it is fed."""
PACKAGES = ("onnx", "numpy")  # an import asks the first for functions, and folds with the second


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A program of a model; its inputs and outputs go by their ``key``."""

    program: Program
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


def compile(
    path: str | Path | OnnxFile,
    dims: Sizes | None = None,
    constants: Mapping[str, Array] | None = None,
    *,
    target: str = "",
    search: float | None = None,
    seed: int = 0,
    without: Sequence[str] = (),
    precision: str = "exact",
    progress: Progress = silent,
) -> Compiled:
    """As ``load(path, dims, constants).compile(...)``, but what was compiled is kept.

    The next start with the same file and options reads the program, not the model. With ``search``
    it is made anew, and kept. Raises what ``load`` and ``photic.compile`` raise.
    """
    file = path if isinstance(path, OnnxFile) else opened(path)

    def make() -> tuple[Program, str]:
        from photic.frontends.onnx.model import as_model

        model = as_model(file.model(), dims, constants)
        program = model.compile(
            target=target, search=search, seed=seed, without=without, precision=precision
        )
        return program, ports_text(model.inputs, model.outputs)

    asked = asked_text(sizes_text(dims), _constants(constants), sorted(without), precision)
    seconds = setting("search") if search is None else search
    program, text = kept_or_made(file, asked, target, make, seconds == 0, progress)
    return Compiled(program, *ports_of(text))


def kept_or_made(
    file: OnnxFile,
    asked: str,
    target: str,
    make: Callable[[], tuple[Program, str]],
    take_kept: bool,
    progress: Progress = silent,
) -> tuple[Program, str]:
    """What is kept of this file for what is asked, or ``make()``, kept where the file allows."""
    if not file.digest:
        return make()
    variant = (asked, *(f"{one} {version(one)}" for one in PACKAGES))
    making = Making((file.digest,), target, make, variant, SHELF, file.is_same)
    return kept(making, progress) if take_kept else remade(making, progress)


# --- what is asked, as text -----------------------------------------------------------------


def asked_text(*parts: object) -> str:
    """One text for all of them."""
    return json.dumps(parts)


def sizes_text(dims: Sizes | None) -> str:
    """Sizes by name, the same text for the same ones."""
    return json.dumps(sorted((name, one) for name, one in (dims or {}).items()), default=int)


def _constants(given: Mapping[str, Array] | None) -> list[str]:
    arrays = {name: np.ascontiguousarray(one) for name, one in sorted((given or {}).items())}
    return [f"{name} {one.shape} {_digest(one)}" for name, one in arrays.items()]


def _digest(array: Array) -> str:
    return hashlib.sha256(f"{array.dtype} ".encode() + array.tobytes()).hexdigest()


# --- inputs and outputs as text -------------------------------------------------------------


def ports_text(*groups: Sequence[Port]) -> str:
    """Groups of ports, to be kept with a program."""
    sizes = {
        one
        for group in groups
        for port in group
        for extent in port.shape
        for one in symbols(extent)
    }
    return json.dumps(
        {
            "sizes": sorted((one.name, one.low, one.high) for one in sizes),
            "groups": [[_row(port) for port in group] for group in groups],
        }
    )


def _row(port: Port) -> list[object]:
    return [port.name, port.key, port.kind.name, [str(extent) for extent in port.shape]]


def ports_of(text: str) -> list[tuple[Port, ...]]:
    """The way back."""
    table = json.loads(text)
    sizes = {name: Symbol(name, low, high) for name, low, high in table["sizes"]}
    return [tuple(_port(row, sizes) for row in group) for group in table["groups"]]


def _port(row: Sequence[Any], sizes: Mapping[str, Symbol]) -> Port:
    name, key, kind, shape = row
    return Port(name, key, KIND[kind], tuple(parse_dim(one, sizes, {}) for one in shape))
