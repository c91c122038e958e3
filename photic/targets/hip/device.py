"""The hip target as a device: a text to a code object in a file, and its launches by the driver."""

from __future__ import annotations

from pathlib import Path

from photic.targets.cuda.binaries import built, loaded_from
from photic.targets.cuda.dialect import GROUP
from photic.targets.hip.compiler import OPTIONS, machine_code, version
from photic.targets.hip.dialect import DIALECT
from photic.targets.hip.errors import HipRefused
from photic.targets.hip.facts import HIP, facts, facts_key, in_context, machine, opened
from photic.targets.registry import Target
from photic.targets.session import Loaded


def build(source: str) -> Path:
    """The file of a text's code object. Raises HipMissing, HipRefused, NoSpace."""
    known = facts().architecture
    recipe = [*OPTIONS, version(), known]
    return built(
        source, recipe, lambda text: machine_code(text, known), ("hsaco", "hip"), HipRefused
    )


def load(path: Path) -> Loaded:
    """What was built, on the device. Raises HipMissing, HipFailed, LoadRefused."""
    return loaded_from(path, HIP, opened().context, GROUP, in_context)


def loaded(source: str) -> Loaded:
    """A text built and loaded; raises what ``build`` and ``load`` raise."""
    return load(build(source))


WORKER = "photic.targets.hip.worker"
TARGET = Target("hip", DIALECT, machine, facts_key, build, load, WORKER, facts)
