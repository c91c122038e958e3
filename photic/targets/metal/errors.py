"""What Metal, its language or a device cannot do; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class MetalMissing(PhoticError):
    code = "P350"
    template = "Metal is not usable: {problem}"
    hint = "it takes a Mac with a device of Apple's, and pip install 'photic[metal]' for pyobjc"


class MetalLacks(PhoticError):
    code = "P351"
    template = "Metal lacks {given}, which this program needs"
    hint = "target='c' has it"


class MetalRefused(PhoticError):
    code = "P352"
    template = "Metal's compiler refused a kernel of ours ({path}):\n{output}"
    hint = "this is a fault in photic; please report it with the file named above"


class MetalFailed(PhoticError):
    code = "P353"
    template = "the Metal device {device} failed: {problem}"
