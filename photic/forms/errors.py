"""What is wrong with a form's text or structure, or with a call of a program.

The classes follow ``photic/base/errors.py``; evaluators and compiled programs raise the same ones.
"""

from __future__ import annotations

from photic.base.errors import PhoticError


class CannotReshape(PhoticError):
    code = "P106"
    template = "reshape: {given} elements of shape {old} do not fit shape {new}"


class NameTaken(PhoticError):
    code = "P107"
    template = "{kind} {name!r} is declared twice with different shapes, dtypes or ranges"


class BrokenGraph(PhoticError):
    code = "P110"
    template = "{form} check failed at {where}: {problem}"


class BadText(PhoticError):
    code = "P111"
    template = "line {line}: {problem}"


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


class InputUnreadable(PhoticError):
    code = "P209"
    template = "input {name!r}: a {given} cannot be read without copying it: {problem}"
    hint = "pass a NumPy array, or what DLPack can share from this machine's main memory"
