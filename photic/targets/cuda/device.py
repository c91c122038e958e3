"""The cuda target as a device: a text to a file of machine code, and its launches by the driver."""

from __future__ import annotations

from pathlib import Path

from photic.targets.cuda.binaries import built, loaded_from
from photic.targets.cuda.compiler import OPTIONS, machine_code, version
from photic.targets.cuda.dialect import DIALECT, GROUP
from photic.targets.cuda.driver import CUDA
from photic.targets.cuda.errors import CudaRefused
from photic.targets.cuda.facts import facts, facts_key, in_context, machine, opened
from photic.targets.registry import Target
from photic.targets.session import Loaded


def build(source: str) -> Path:
    """The file of a text's machine code. Raises CudaMissing, CudaRefused, NoSpace."""
    known = facts().architecture
    recipe = [*OPTIONS, version(), known]
    return built(
        source, recipe, lambda text: machine_code(text, known), ("cubin", "cu"), CudaRefused
    )


def load(path: Path) -> Loaded:
    """What was built, on the device. Raises CudaMissing, CudaFailed, LoadRefused."""
    return loaded_from(path, CUDA, opened().context, GROUP, in_context)


def loaded(source: str) -> Loaded:
    """A text built and loaded; raises what ``build`` and ``load`` raise."""
    return load(build(source))


WORKER = "photic.targets.cuda.worker"
TARGET = Target("cuda", DIALECT, machine, facts_key, build, load, WORKER, facts)
