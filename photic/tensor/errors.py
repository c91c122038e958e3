"""What only tensors and saved programs refuse; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class AxisOutOfRange(PhoticError):
    code = "P103"
    template = "{op}: axis {axis} is outside a tensor of rank {rank}"


class UnknownSize(PhoticError):
    code = "P105"
    template = "{op}: the size {given} must be known when the graph is built"
    hint = "sizes made by ph.dim are symbolic; this place needs a plain integer"


class NotATensor(PhoticError):
    code = "P108"
    template = "{op}: got {given}, expected a tensor, a number or an array"


class SizeOfMask(PhoticError):
    code = "P112"
    template = "{op}: how many elements a mask of shape {shape} picks is known only at the call"
    hint = (
        "ph.where(mask, x, 0) or ph.masked_fill keep the shape; "
        "ph.masked_select(x, mask, size=most) and ph.nonzero(mask, size=most) have a stated size"
    )


class ProgramFile(PhoticError):
    code = "P304"
    template = "{path}: {problem}"
    hint = "compile and save it again with this version of photic"
