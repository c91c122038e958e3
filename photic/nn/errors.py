"""What modules and train steps refuse; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError


class StateMismatch(PhoticError):
    code = "P601"
    template = "{what}: {name!r} is {given}, expected {expected}"
    hint = "names and shapes must be those of state_dict(); strict=False lets names differ"


class NotTraining(PhoticError):
    code = "P602"
    template = "{what} in training mode, but no train step is being built"
    hint = "call model.eval() before compiling for inference, or build inside nn.trainable(model)"
