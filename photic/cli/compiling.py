"""``photic compile``: a model's file to a program in a folder, for ``ph.load``.

Reads graphs in photic's text form, with large constants from a safetensors file, GGUF models and
ONNX models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from photic.cli.ending import endings
from photic.cli.errors import FileKind, FileLine
from photic.cli.explain import MODEL_CONFIG, MODEL_SUFFIX
from photic.cli.onnx_file import ONNX_SUFFIX, onnx_program
from photic.cli.options import (
    Compiled,
    Constants,
    Context,
    Dims,
    OwnPrecision,
    ProgramFolder,
    Search,
    SearchSeed,
    TargetName,
    Values,
    Without,
    use_target,
)
from photic.cli.progress import progress
from photic.cli.run_program import require_file
from photic.cli.show import showing
from photic.cli.table import counted, quantity
from photic.cli.tune import searched
from photic.language.caches import DEFAULT_PRECISION, EXACT

if TYPE_CHECKING:
    from photic.storage.artifact import Array
    from photic.tensor.program import Program

READS = "graphs in photic's text form, .onnx and .gguf models, and folders with safetensors"
GGUF_MAGIC = b"GGUF"
CONSTANT_MISSING = "no constant"  # how the parser's message about one begins
REFUSED: tuple[tuple[str, str, Callable[[Path], bool]], ...] = (
    (
        "a folder without config.json",
        "photic explain shows what is in a saved program",
        lambda path: path.is_dir() and not is_model(path),
    ),
)
"""What is no file to compile: its kind, what to do, and how to tell."""


def compile_file(
    file: Compiled,
    output: ProgramFolder,
    search: Search = 0.0,
    seed: SearchSeed = 0,
    without: Without = "",
    constants: Constants = None,
    context: Context = None,
    dim: Dims = None,
    set: Values = None,
    precision: OwnPrecision = None,
    target: TargetName = "",
) -> None:
    """Compile a graph or a model to a program that photic.load reads.

    Without --search, the kernels are those that earlier searches found to be fast, and the cost
    model's choice elsewhere. Topics for --without are listed by photic rules; placement keeps
    one kernel for each stored value.

    \b
    Examples:
      photic compile graph.txt -o graph.photic
      photic compile graph.txt --constants weights.safetensors -o graph.photic --search 30
      photic compile model.onnx -o model.photic --dim batch=1..16 --dim height=32..960:32
      photic compile silero_vad.onnx -o vad.photic --dim input_1=576 --set sr=16000
      photic compile model.onnx -o model.photic --precision bf16
      photic compile graph.txt --target opencl -o graph.photic
      photic compile ./model.gguf -o model.photic --without folds,placement
    """
    topics = tuple(one.strip() for one in without.split(",") if one.strip())
    with endings(), showing(), progress() as report:
        path = Path(file)
        check_kind(path)
        use_target(target)
        check_options(path, constants=constants, context=context, dim=dim, set=set)
        if search > 0:
            report("search", 0, max(1, round(search)))
        if is_model(path):
            precision = precision or DEFAULT_PRECISION
            program = model_program(path, context, search, seed, topics, precision)
        elif path.suffix == ONNX_SUFFIX:
            options = search, seed, topics, precision or EXACT
            program = onnx_program(path, dim or [], set or [], *options)
        else:
            program = graph_program(path, constants, search, seed, topics, precision or EXACT)
        program.save(output)
    print(f"{output}: {described(program)}")


def check_kind(path: Path) -> None:
    """Raises FileUnreadable or FileKind for what cannot be read, with what to do instead."""
    for given, help, is_so in REFUSED:
        if is_so(path):
            raise FileKind(path=path, given=given, expected=READS, help=help)
    require_file(path)


def check_options(path: Path, **given: object) -> None:
    """Raises typer.BadParameter for an option that means nothing for this kind of file."""
    kind = "model" if is_model(path) else "ONNX model" if path.suffix == ONNX_SUFFIX else "graph"
    fitting = {"model": ["context"], "ONNX model": ["dim", "set"], "graph": ["constants"]}[kind]
    for name, value in given.items():
        if value and name not in fitting:
            what = f"{path} is a {kind}" if kind != "ONNX model" else f"{path} is an {kind}"
            raise typer.BadParameter(f"{what}, which takes none", param_hint=f"--{name}")


def is_model(path: Path) -> bool:
    if path.is_dir():
        return (path / MODEL_CONFIG).is_file()
    if path.suffix == MODEL_SUFFIX:
        return True
    with path.open("rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def model_program(
    path: Path,
    context: int | None,
    search: float,
    seed: int,
    without: Sequence[str],
    precision: str,
) -> Program:
    from photic.language.config import read_config
    from photic.language.opening import open_model
    from photic.language.session import compiled, room_of

    file = open_model(path)
    config = read_config(file)
    room = room_of(config, context)
    return compiled(file, config, room, search, seed, without, precision=precision)


def graph_program(
    path: Path,
    constants: Path | None,
    search: float,
    seed: int,
    without: Sequence[str],
    precision: str,
) -> Program:
    """The program of a graph's text. Raises FileLine, or what building and compiling raise."""
    from photic.forms.errors import BadText
    from photic.forms.graph_text import parse_graph
    from photic.ir.graph import operand
    from photic.tensor.compiling import compile
    from photic.tensor.tensor import Tensor

    arrays = read_constants(constants)
    try:
        graph = parse_graph(read_text(path), arrays)
    except BadText as error:
        problem = str(error.fields["problem"])
        if constants is None and problem.startswith(CONSTANT_MISSING):
            problem += "; name a safetensors file with --constants"
        raise FileLine(path=path, line=error.fields["line"], problem=problem) from None
    if not graph.outputs:
        help = "a graph ends with lines like: output('y', v3)"
        raise FileKind(path=path, given="a graph without outputs", expected=READS, help=help)
    outputs = {name: Tensor(one) for name, one in graph.outputs}
    updates = {Tensor(operand(state)): Tensor(one) for state, one in graph.updates}
    return compile(outputs, updates, search=search, seed=seed, without=without, precision=precision)


def read_text(path: Path) -> str:
    """A file's text. Raises FileUnreadable, or FileKind for what is no text."""
    from photic.storage.errors import FileUnreadable

    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise FileUnreadable(path=path, problem=(error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError:
        help = "PHOTIC_DUMP writes graphs as text"
        raise FileKind(path=path, given="no text", expected=READS, help=help) from None


def read_constants(path: Path | None) -> Mapping[str, Array]:
    from photic.frontends.safetensors import open_safetensors

    return {} if path is None else open_safetensors(path)


def described(program: Program) -> str:
    """``12 kernels, 3.4 MB of constants; 240 candidates in 30.1 s (out of time)``."""
    report = program.report
    kernels = counted(len(report.kernels), "kernel")
    text = f"{kernels}, {quantity(program.constant_bytes, 'B')} of constants"
    return f"{text}; {searched(report)}" if report.candidates else text
