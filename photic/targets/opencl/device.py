"""The opencl target as a device: a text in a file, the driver's program of it, and its launches.

The driver compiles when a program is loaded, and keeps what it compiled in a cache of its own.
Threads call at once, each with a session; what a call needs on the device is kept for the next.
"""

from __future__ import annotations

import hashlib
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from photic.storage.files import cache_folder, write_atomic
from photic.targets.errors import LoadRefused
from photic.targets.launches import parted, plan_of
from photic.targets.opencl.dialect import DIALECT, spelled
from photic.targets.opencl.errors import OpenclFailed, OpenclLacks, OpenclRefused
from photic.targets.opencl.facts import (
    Facts,
    Opened,
    device_errors,
    driver_errors,
    facts,
    facts_key,
    machine,
    opened,
)
from photic.targets.opencl.queue import Queue
from photic.targets.registry import Target
from photic.targets.session import Loaded


def build(source: str) -> Path:
    """The file that a program's text is kept in. Raises NoSpace, FileUnwritable."""
    name = hashlib.sha256(source.encode()).hexdigest()
    path = cache_folder("kernels") / f"{name}.cl"
    if not path.exists():
        write_atomic(path, source.encode())
    return path


def load(path: Path) -> Loaded:
    """The driver compiles. Raises OpenclMissing, OpenclLacks, OpenclRefused, LoadRefused."""
    source = path.read_text(encoding="utf-8")
    if hashlib.sha256(source.encode()).hexdigest() != path.stem:
        raise LoadRefused(path=path, problem="the file is not the one that was written")
    try:
        return loaded(source)
    except OpenclFailed as error:
        raise OpenclRefused(path=path, output=error.fields["problem"]) from None


def loaded(source: str) -> Loaded:
    """A text compiled. Raises OpenclMissing, OpenclLacks, and OpenclFailed if it is refused."""
    known, (text, plan) = opened(), parted(source)
    if not known.facts.doubles and "f64x" in text:
        raise OpenclLacks(device=known.facts.device, given="float64 with subnormals")
    with driver_errors(known):
        queue = partial(Queue, known, compiled(known, text))
    return Loaded(queue, device_errors, plan_of(plan))


def compiled(known: Opened, text: str) -> Any:
    """The driver's program of a text; raises what pyopencl raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a compiler says beside errors
        made = known.cl.Program(known.context, spelled(text))
        return made.build(_options(known.facts), cache_dir=False)


def _options(known: Facts) -> list[str]:
    """What the compiler is told: nothing that changes results, and what the device can do."""
    exact = ["-cl-fp32-correctly-rounded-divide-sqrt", "-DEXACT_ROOTS=1"]
    return ["-cl-std=CL1.2", "-w", *(exact if known.exact_roots else [])] + (
        ["-DHAS_FMA=1"] if known.fused else []
    )


WORKER = "photic.targets.opencl.worker"
TARGET = Target("opencl", DIALECT, machine, facts_key, build, load, WORKER, facts)
