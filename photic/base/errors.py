"""The errors that a user can cause: one class, one code, one message template, one hint.

Here are those of building a graph; each outer layer that raises others has an ``errors.py`` too.

Each class says what was given, what was expected and where. Raise with keyword fields that the
template names: ``raise ShapeMismatch(op="add", left=(2, 3), right=(4,))``. The fields stay on the
exception for programs to read. Nothing here formats a traceback; the cli prints ``str(error)``.
"""

from __future__ import annotations

from functools import partial
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
        return partial(type(self), **self.fields), ()


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


class BadArgument(PhoticError):
    code = "P104"
    template = "{op}: {argument} is {given}, expected {expected}"


class NoTruthValue(PhoticError):
    code = "P109"
    template = "a symbolic {kind} has no {what} before the program runs"
    hint = "use ph.where(...) to choose between values; compile and call to see numbers"
