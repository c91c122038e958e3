"""What is wrong with a file that a command was given; it follows ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class FileLine(PhoticError):
    code = "P501"
    template = "{path}, line {line}: {problem}"


class FileKind(PhoticError):
    code = "P502"
    template = "{path} is {given}; photic compile reads {expected}"
    hint = "{help}"
