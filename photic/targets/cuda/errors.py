"""What CUDA's driver, device or compiler cannot do; classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class CudaMissing(PhoticError):
    code = "P330"
    template = "CUDA is not usable: {problem}"
    hint = "it takes an NVIDIA device with its driver, and pip install 'photic[cuda]' for NVRTC"


class CudaRefused(PhoticError):
    code = "P331"
    template = "NVRTC refused a kernel of ours ({path}):\n{output}"
    hint = "this is a fault in photic; please report it with the file named above"


class CudaFailed(PhoticError):
    code = "P332"
    template = "the CUDA driver failed in {call}: {problem}"
