"""``photic run`` of a saved program: arrays from files in, arrays to files out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.cli.errors import ArrayFile
from photic.cli.options import Inputs as Inputs
from photic.cli.options import require_target

if TYPE_CHECKING:
    from photic.storage.artifact import Array


def run_program(path: Path, inputs: Sequence[str], outputs: Sequence[str], target: str) -> None:
    """Run a saved program once; outputs without a file are described on stdout.

    Raises ArrayFile, and what loading and calling raise.
    """
    from photic.tensor.store import load_program

    program = load_program(path)
    require_target(path, program.artifact.target, target)
    places = output_places(outputs, [one.name for one in program.artifact.outputs])
    hand_out(program(**arrays_of(inputs)), places)


def require_file(path: Path) -> None:
    """Raises FileUnreadable where there is neither a file nor a folder."""
    from photic.storage.errors import FileUnreadable

    if not path.exists():
        raise FileUnreadable(path=path, problem="there is no such file")


def arrays_of(inputs: Sequence[str]) -> dict[str, Array]:
    """The arrays in files, by the names of inputs. Raises typer.BadParameter, ArrayFile."""
    return {name: read_array(file) for name, file in pairs(inputs, "--input").items()}


def output_places(given: Sequence[str], known: Sequence[str]) -> Mapping[str, Path]:
    """Files by the names of outputs. Raises typer.BadParameter for names that are not known."""
    places = pairs(given, "--output")
    for name in places:
        if name not in known:
            problem = f"the program has no output {name}; it has {', '.join(known)}"
            raise typer.BadParameter(problem, param_hint="--output")
    return places


def hand_out(results: Mapping[str, Array], places: Mapping[str, Path]) -> None:
    """Write outputs to their files, and describe all of them on stdout. Raises ArrayFile."""
    for name, array in results.items():
        if name in places:
            write_array(places[name], array)
        print(f"{name}: {array.dtype}[{', '.join(map(str, array.shape))}]")


def pairs(given: Sequence[str], option: str) -> Mapping[str, Path]:
    """``name=file`` by name. Raises typer.BadParameter."""
    found = {}
    for text in given:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise typer.BadParameter(f"{text!r} is not like x=x.npy", param_hint=option)
        found[name] = Path(file)
    return found


def read_array(path: Path) -> Array:
    """The array in an .npy file, never pickled objects. Raises FileUnreadable or ArrayFile."""
    import numpy as np

    from photic.storage.errors import FileUnreadable

    try:
        array: Array = np.load(path, allow_pickle=False)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise FileUnreadable(path=path, problem=problem) from None
    except (ValueError, EOFError) as error:
        raise ArrayFile(path=path, problem=npy_problem(error)) from None
    return array


def npy_problem(error: Exception) -> str:
    """What NumPy says, without its advice to unpickle what is no array."""
    text = str(error)
    if "Object arrays" in text:
        return "it holds Python objects"
    return "it is in another format" if "pickle" in text else text


def write_array(path: Path, array: Array) -> None:
    """Raises ArrayFile."""
    import numpy as np

    try:
        with path.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    except OSError as error:
        raise ArrayFile(path=path, problem=error.strerror or str(error)) from None
