"""What an OpenCL driver or device cannot do; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class OpenclMissing(PhoticError):
    code = "P320"
    template = "OpenCL is not usable: {problem}"
    hint = "pip install 'photic[opencl]' brings pyopencl and PoCL, a driver for the processor"


class OpenclLacks(PhoticError):
    code = "P321"
    template = "the OpenCL device {device} lacks {given}, which this program needs"
    hint = "target='opencl:1' is another device, of those that photic targets lists; c has all"


class OpenclRefused(PhoticError):
    code = "P322"
    template = "the OpenCL compiler refused a kernel of ours ({path}):\n{output}"
    hint = "this is a fault in photic or in the driver; please report it with the file named above"


class OpenclFailed(PhoticError):
    code = "P323"
    template = "the OpenCL device {device} failed: {problem}"
