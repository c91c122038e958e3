"""What a machine or its compiler cannot do; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class TooLarge(PhoticError):
    code = "P208"
    template = "{what} would take {given} bytes; the limit is {expected}"


class CompilerMissing(PhoticError):
    code = "P302"
    template = "the C compiler is not usable: {problem}"
    hint = "pip install ziglang"


class CompileFailed(PhoticError):
    code = "P303"
    template = "the C compiler refused a kernel of ours ({path}):\n{output}"
    hint = "this is a fault in photic; please report it with the file named above"


class LoadRefused(PhoticError):
    code = "P307"
    template = "{path}: refused to load code from here: {problem}"
    hint = "set PHOTIC_CACHE to a folder that only you can write and from which programs may run"
