"""What is wrong with a training's surroundings; the classes follow ``photic/base/errors.py``."""

from __future__ import annotations

from photic.base.errors import PhoticError, PhoticWarning


class PackageMissing(PhoticError):
    code = "P611"
    template = "{what} needs the package {package}, which is not installed"
    hint = "pip install 'photic[{extra}]'"


class CheckpointMismatch(PhoticError):
    code = "P612"
    template = "{path}: {what} is {given}, expected {expected}"
    hint = "resume with the model, optimiser and data that the checkpoint was written with"


class AdapterUnusable(PhoticError):
    code = "P613"
    template = "{path}: {what} is {given}, expected {expected}"
    hint = "only plain LoRA adapters of linear layers are read"


class CheckpointDamaged(PhoticWarning):
    """A checkpoint could not be read; an older one takes its place."""
