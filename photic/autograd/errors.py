"""What gradients refuse; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class NotAScalar(PhoticError):
    code = "P115"
    template = "{op}: the loss has shape {given}, expected one number"
    hint = "take the sum or the mean, or give cotangents to ph.vjp(...)"


class NotDifferentiable(PhoticError):
    code = "P113"
    template = "{op}: {argument} is {given}, which has no gradient; expected a float tensor"
    hint = "cast to a float dtype with .astype(...) before the value is used"


class NotAVariable(PhoticError):
    code = "P114"
    template = "{op}: {argument} is a view that {problem}, so it has no gradient of its own"
    hint = "ask for the gradient of the tensor that the view was taken of"
