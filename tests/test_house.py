"""The house rules that a machine can check, as one table; standard library only.

Each record of ``CHECKS`` finds offenders in a source tree and names them as ``file:line: what``.
For each, house_samples.txt holds planted offenders that it must find and near misses that it must
let pass, so that a check cannot go blind unnoticed. Whether a name is apt, a docstring true or a
test worth having, nothing here can tell.
"""

from __future__ import annotations

import ast
import gc
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

TOP = Path(__file__).resolve().parent.parent

FOLDERS = ("photic", "tests", "bench")
CORE = ("base", "ir", "loops", "search", "codegen", "compiler")
CORE_LINES = 5000
FILE_LINES = 400
FUNCTION_LINES = 60
LINE_WIDTH = 100
DOCSTRING_WORDS = 3
REASON_WORDS = 3

# Layers from left to right; layers of one group do not know each other.
ORDER = (
    ("base",),
    ("ir",),
    ("forms",),
    ("loops",),
    ("search", "codegen"),
    ("storage",),
    ("targets",),
    ("compiler",),
    ("tuning",),
    ("tensor",),
    ("nn",),
    ("frontends",),
    ("language",),
    ("serve",),
    ("cli",),
)
LAYERS = frozenset(layer for group in ORDER for layer in group) | {"autograd"}

# Names of framework operators: no part of the compiler may know one. Long ones are looked for
# anywhere in a name, short ones ("conv" is in "convert") only as a whole word of it.
OPERATORS = ("attention", "softmax", "layernorm", "rmsnorm", "gemm", "matmul", "gelu")
OPERATOR_WORDS = frozenset({"conv", "convs", "convolution", "convolutions", "flash", "rope"})
OPERATOR_FREE = ("search", "loops", "codegen")
PROSE_FIELDS = frozenset({"why", "source"})


def allowed_imports() -> dict[str, frozenset[str]]:
    """For each layer, the layers that it may import (itself included)."""
    left: frozenset[str] = frozenset()
    table = {"autograd": frozenset({"base", "ir", "autograd"})}
    for group in ORDER:
        for layer in group:
            table[layer] = left | {layer}
        left = left.union(group)
    table["nn"] |= {"autograd"}
    return table


ALLOWED = allowed_imports()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One Python file: its path below the top (with slashes), text, syntax tree and tokens.

    ``nodes`` are all nodes of the tree: each file is read, parsed and walked once for all checks.
    """

    path: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    tokens: tuple[tokenize.TokenInfo, ...]

    @property
    def layer(self) -> str:
        """The folder below ``photic/`` that the file lies in; "" for all other files."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "photic" and len(parts) > 2 else ""

    @property
    def is_package(self) -> bool:
        return self.path.startswith("photic/")


def read(top: Path) -> list[Source]:
    """Every Python file of the package, its tests and bench scripts, sorted."""
    files = sorted(file for folder in FOLDERS for file in top.glob(f"{folder}/**/*.py"))
    return [_source(top, file) for file in files]


def _source(top: Path, file: Path) -> Source:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    tokens = tuple(tokenize.generate_tokens(io.StringIO(text).readline))
    return Source(file.relative_to(top).as_posix(), text, tree, tuple(ast.walk(tree)), tokens)


@cache
def this_tree() -> list[Source]:
    """The sources that the checks are for."""
    gc.disable()  # a million objects that stay: looking for garbage would take twice as long
    try:
        return read(TOP)
    finally:
        gc.freeze()
        gc.enable()


def at(source: Source, line: int, what: str) -> str:
    return f"{source.path}:{line}: {what}"


Find = Callable[[list[Source]], Iterable[str]]


def each(find: Callable[[Source], Iterable[str]]) -> Find:
    """A check of one file, as a check of the tree."""
    return lambda sources: [found for source in sources for found in find(source)]


# --- counting lines -------------------------------------------------------------------------

_NOT_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)


def docstrings(source: Source) -> Iterator[ast.Constant]:
    """Every string that stands alone as a statement."""
    for node in source.nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str()) as constant):
                yield constant


@cache
def code_lines(source: Source) -> frozenset[int]:
    """The numbers of lines with code: no blanks, comments or docstrings."""
    prose = {
        (doc.lineno, line)
        for doc in docstrings(source)
        for line in range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)
    }
    starts = {start for start, _ in prose}
    inside = {line for _, line in prose}
    text = source.text.splitlines()
    found: set[int] = set()
    for token in source.tokens:
        first, last = token.start[0], token.end[0]
        is_prose = token.type == tokenize.STRING and (first in starts or first in inside)
        if token.type not in _NOT_CODE and not is_prose:
            found.update(line for line in range(first, last + 1) if text[line - 1].strip())
    return frozenset(found)


def core_size(sources: list[Source]) -> Iterator[str]:
    sizes = {s.path: len(code_lines(s)) for s in sources if s.layer in CORE}
    total = sum(sizes.values())
    if total >= CORE_LINES:
        yield f"photic/: the core has {total} code lines, its limit is {CORE_LINES}; by size:"
        by_size = sorted(sizes, key=lambda path: -sizes[path])
        yield from (f"{path}:1: {sizes[path]} code lines" for path in by_size)


def file_size(source: Source) -> Iterator[str]:
    count = len(code_lines(source))
    if count > FILE_LINES:
        yield at(source, 1, f"{count} code lines, the limit is {FILE_LINES}")


def function_size(source: Source) -> Iterator[str]:
    lines = code_lines(source)
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            count = sum(line in lines for line in inside)
            if count > FUNCTION_LINES:
                yield at(source, node.lineno, f"{node.name}: {count} code lines > {FUNCTION_LINES}")


def width(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if len(line) > LINE_WIDTH:
            yield at(source, number, f"{len(line)} characters, the limit is {LINE_WIDTH}")


def module_docstring(source: Source) -> Iterator[str]:
    text = ast.get_docstring(source.tree) or ""
    if len(re.findall(r"\w+", text)) < DOCSTRING_WORDS:
        yield at(source, 1, "no module docstring that says what this file is")


# --- imports --------------------------------------------------------------------------------


def import_direction(source: Source) -> Iterator[str]:
    """Imports of a layer that is not to the left, wherever in the file they stand."""
    if not source.layer:
        return  # photic/__init__.py hands out every layer's names; tests may look anywhere
    if source.layer not in LAYERS:
        yield at(source, 1, f"{source.layer} is no known layer")
        return
    for line, module in imported(source):
        if not allowed(source.layer, module):
            yield at(source, line, f"{source.layer} may not import {module}")


def allowed(layer: str, module: str) -> bool:
    parts = module.split(".")
    if parts[0] != "photic" or parts[1:] == ["__version__"]:
        return True
    if len(parts) == 1:
        return layer in {"serve", "cli"}  # the package itself names everything
    return parts[1] in ALLOWED[layer]


def imported(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, ``from a import b`` as ``a.b``."""
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(names=names):
                base = _absolute(source, node)
                yield from ((node.lineno, f"{base}.{name.name}") for name in names)
            case ast.Call(args=[ast.Constant(value=str(module)), *_]) if _is_importer(node.func):
                # Looking autograd up by name, on use, is how ``tensor`` lives without it.
                if not (source.layer == "tensor" and module.startswith("photic.autograd")):
                    yield node.lineno, module


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    package = source.path.split("/")[:-1]
    kept = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*kept, *([node.module] if node.module else [])])


def _is_importer(function: ast.expr) -> bool:
    match function:
        case ast.Name(id="import_module" | "__import__"):
            return True
        case ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"):
            return True
    return False


# --- calls and names ------------------------------------------------------------------------


def no_print(source: Source) -> Iterator[str]:
    if not source.is_package or source.layer == "cli":
        return
    for node in source.nodes:
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield at(source, node.lineno, "print outside photic/cli")
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr"):
                yield at(source, node.lineno, f"sys.{node.attr} outside photic/cli")


def no_environment(source: Source) -> Iterator[str]:
    if not source.is_package or source.path == "photic/base/settings.py":
        return
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr in names:
                yield at(source, node.lineno, f"os.{attr} outside photic/base/settings.py")
            case ast.ImportFrom(module="os", names=found):
                for name in found:
                    if name.name in names:
                        yield at(source, node.lineno, f"os.{name.name} outside settings.py")


_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")


def no_unfinished(source: Source) -> Iterator[str]:
    """Marks of unfinished work in comments and docstrings."""
    comments = [(t.start[0], t.string) for t in source.tokens if t.type == tokenize.COMMENT]
    prose = [(doc.lineno, str(doc.value)) for doc in docstrings(source)]
    for line, text in [*comments, *prose]:
        if found := _UNFINISHED.search(text):
            yield at(source, line, found.group())


def no_catch_all(source: Source) -> Iterator[str]:
    for node in source.nodes:
        match node:
            case ast.ExceptHandler(type=None):
                yield at(source, node.lineno, "bare except")
            case ast.ExceptHandler(type=ast.expr() as kind) if _catches_all(kind):
                yield at(source, node.lineno, f"except {ast.unparse(kind)}")
            case ast.Call(args=kinds) if _last_name(node.func).endswith("suppress"):
                if any(_catches_all(kind) for kind in kinds):
                    yield at(source, node.lineno, ast.unparse(node))


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _catches_all(kind: ast.expr) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(ast.unparse(one) in {"Exception", "BaseException"} for one in kinds)


_SKIPS = frozenset({"skip", "skipif", "xfail"})


def skips_have_reasons(source: Source) -> Iterator[str]:
    """Skips and xfails that do not name what is missing."""
    if not source.path.startswith("tests/"):
        return
    called = {id(node.func): node for node in source.nodes if isinstance(node, ast.Call)}
    for node in source.nodes:
        match node:
            case ast.Attribute(attr=attr) if attr in _SKIPS and "pytest" in ast.unparse(node):
                if not _has_reason(called.get(id(node)), attr):
                    yield at(source, node.lineno, f"{attr} without a reason naming what is missing")


def _has_reason(call: ast.Call | None, attr: str) -> bool:
    if call is None:
        return False
    given = [word.value for word in call.keywords if word.arg in {"reason", "msg"}]
    positional = [] if attr == "skipif" else call.args
    for reason in [*given, *positional]:
        match reason:
            case ast.Constant(value=str(text)):
                return len(text.split()) >= REASON_WORDS
            case ast.Constant():
                continue
            case _:
                return True  # made at run time; a reader judges it
    return False


def no_any(source: Source) -> Iterator[str]:
    if source.layer not in CORE:
        return
    for node in source.nodes:
        match node:
            case ast.ImportFrom(module="typing", names=names):
                if any(name.name == "Any" for name in names):
                    yield at(source, node.lineno, "typing.Any in the core")
            case ast.Attribute(value=ast.Name(id="typing"), attr="Any"):
                yield at(source, node.lineno, "typing.Any in the core")


# --- names of operators ---------------------------------------------------------------------


def no_operator_names(source: Source) -> Iterator[str]:
    """Identifiers and strings that name a framework's operator where only rules may be."""
    if source.layer not in OPERATOR_FREE:
        return
    names = [(t.start[0], t.string) for t in source.tokens if t.type == tokenize.NAME]
    for line, text in [(1, Path(source.path).stem), *names, *plain_strings(source)]:
        if operator := operator_in(text):
            yield at(source, line, f"{operator} in {text!r}")


def plain_strings(source: Source) -> Iterator[tuple[int, str]]:
    """Strings that are neither docstrings nor the prose of a rule's ``why`` or ``source``."""
    prose = {id(doc) for doc in docstrings(source)}
    for node in source.nodes:
        if isinstance(node, ast.keyword) and node.arg in PROSE_FIELDS:
            prose.update(id(inner) for inner in ast.walk(node.value))
    for node in source.nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield node.lineno, text


def operator_in(text: str) -> str:
    """The operator that ``text`` names, or ""; ``layer_norm`` and ``LayerNorm`` are one."""
    squeezed = text.replace("_", "").replace("-", "").lower()
    for operator in OPERATORS:
        if operator in squeezed:
            return operator
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)
    return next((word for word in words if word.lower() in OPERATOR_WORDS), "")


# --- the table ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """One house rule and how its offenders are found."""

    name: str
    find: Find


CHECKS = (
    Check("imports point left", each(import_direction)),
    Check("the core is small", core_size),
    Check("files are short", each(file_size)),
    Check("functions are short", each(function_size)),
    Check("lines are narrow", each(width)),
    Check("modules say what they are", each(module_docstring)),
    Check("only the cli prints", each(no_print)),
    Check("only settings read the environment", each(no_environment)),
    Check("nothing is left to do", each(no_unfinished)),
    Check("nothing catches everything", each(no_catch_all)),
    Check("skips name what is missing", each(skips_have_reasons)),
    Check("the core is typed without Any", each(no_any)),
    Check("the compiler knows no operator by name", each(no_operator_names)),
)

# --- planted offenders ----------------------------------------------------------------------

Files = list[tuple[str, str]]
BAD, GOOD = "bad", "good"


def samples(check: str, kind: str) -> Files:
    """The (path, text) of the files under one check's heading in house_samples.txt."""
    text = (Path(__file__).parent / "house_samples.txt").read_text(encoding="utf-8")
    section = text.split(f"\n=== {check}\n")[1].split("\n=== ")[0]
    parts = re.split(r"^--- (bad|good): (.+)\n", section, flags=re.MULTILINE)[1:]
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [(path, expand(body)) for part, path, body in found if part == kind]


def expand(body: str) -> str:
    """``( *)<N lines>`` as N indented lines of code, ``<N letters>`` as N letters."""
    lines = re.sub(
        r"^( *)<(\d+) lines>$",
        lambda found: "\n".join([f"{found[1]}x = 1"] * int(found[2])),
        body,
        flags=re.MULTILINE,
    )
    return re.sub(r"<(\d+) letters>", lambda found: "ä" * int(found[1]), lines)


def plant(top: Path, files: Files) -> list[Source]:
    for name, text in files:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read(top)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])


def test_the_house_rule_holds(check: Check) -> None:
    offenders = list(check.find(this_tree()))
    assert not offenders, f"{check.name}:\n  " + "\n  ".join(offenders)


def test_the_check_finds_every_planted_offender(check: Check, tmp_path: Path) -> None:
    planted = samples(check.name, BAD)
    found = "\n".join(check.find(plant(tmp_path, planted)))
    missed = [path for path, _ in planted if f"{path}:" not in found]
    assert planted and not missed, f"{missed} not among: {found}"


def test_the_check_lets_near_misses_pass(check: Check, tmp_path: Path) -> None:
    passing = samples(check.name, GOOD)
    assert passing and list(check.find(plant(tmp_path, passing))) == []


def test_offenders_are_named_with_file_and_line(tmp_path: Path) -> None:
    planted = [("photic/ir/a.py", "x = 1\n\nprint(x)\n")]
    assert list(each(no_print)(plant(tmp_path, planted))) == [
        "photic/ir/a.py:3: print outside photic/cli"
    ]


def test_the_tree_that_is_checked_is_this_one() -> None:
    paths = {source.path for source in this_tree()}
    assert {"photic/base/errors.py", "tests/test_house.py"} <= paths
