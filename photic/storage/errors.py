"""What is wrong with a file, a folder or a disk; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class CacheUnusable(PhoticError):
    code = "P301"
    template = "no usable cache folder: {problem}"
    hint = "set PHOTIC_CACHE to a folder that only you can write and from which programs may run"


class NoSpace(PhoticError):
    code = "P305"
    template = "{path}: no space left while writing {what}"


class FileUnreadable(PhoticError):
    code = "P306"
    template = "{path}: {problem}"


class FileUnwritable(PhoticError):
    code = "P308"
    template = "{path}: cannot write {what}: {problem}"


class TensorFileCorrupt(PhoticError):
    code = "P309"
    template = "{path}: {field} is {given}, expected {expected}"
    hint = "the file is damaged or not in the safetensors format; fetch or write it again"
