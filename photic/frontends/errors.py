"""What is wrong with a model's file; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class GgufCorrupt(PhoticError):
    code = "P401"
    template = "{path}: {field} is {given}, expected {expected}"
    hint = "the file is damaged or not GGUF; download it again"


class GgufUnsupported(PhoticError):
    code = "P402"
    template = "{path}: {what} is {given}; supported: {expected}"


class FolderBroken(PhoticError):
    code = "P421"
    template = "{path}: {field} is {given}, expected {expected}"
    hint = "the folder is damaged or incomplete; download it again"


class FolderUnsupported(PhoticError):
    code = "P422"
    template = "{path}: {what} is {given}; supported: {expected}"
