"""What HIP's driver, device or compiler cannot do; classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class HipMissing(PhoticError):
    code = "P340"
    template = "HIP is not usable: {problem}"
    hint = "it takes an AMD device with ROCm's driver (libamdhip64.so); target='c' needs none"


class HipRefused(PhoticError):
    code = "P341"
    template = "Clang refused a kernel of ours for HIP ({path}):\n{output}"
    hint = "this is a fault in photic; please report it with the file named above"


class HipFailed(PhoticError):
    code = "P342"
    template = "the HIP driver failed in {call}: {problem}"
