"""The opencl target as a device: a text in a file, the driver's program of it, and its launches.

The driver compiles when a program is loaded, and keeps what it compiled in a cache of its own.
Threads call at once, each with a session; what a call needs on the device is kept for the next.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

from photic.targets.devices import Driven
from photic.targets.kernel_files import built, parts_of
from photic.targets.launches import plan_of
from photic.targets.opencl.dialect import DIALECT, spelled
from photic.targets.opencl.errors import OpenclFailed, OpenclLacks, OpenclMissing, OpenclRefused
from photic.targets.opencl.facts import Facts, Opened, facts_key, machine, names, opened
from photic.targets.opencl.queue import Queue
from photic.targets.session import Loaded


def build(device: Opened, source: str) -> Path:
    """The file that a program's text is kept in. Raises NoSpace, FileUnwritable."""
    return built(
        source, ["opencl"], lambda text: spelled(text).encode(), ("cl", "cl"), OpenclRefused
    )


def load(device: Opened, path: Path) -> Loaded:
    """The driver compiles. Raises OpenclLacks, OpenclRefused, LoadRefused."""
    plan, code = parts_of(path)
    text = code.decode()
    if not device.facts.doubles and "f64x" in text:
        raise OpenclLacks(device=device.facts.device, given="float64 with subnormals")
    try:
        with device.using():
            queue = partial(Queue, device, compiled(device, text))
    except OpenclFailed as error:
        raise OpenclRefused(path=path, output=error.fields["problem"]) from None
    return Loaded(queue, device.using, plan_of(plan))


def compiled(device: Opened, text: str) -> Any:
    """The driver's program of a spelled text; raises what pyopencl raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a compiler says beside errors
        made = device.cl.Program(device.context, text)
        return made.build(_options(device.facts), cache_dir=False)


def _options(known: Facts) -> list[str]:
    """What the compiler is told: nothing that changes results, and what the device can do."""
    exact = ["-cl-fp32-correctly-rounded-divide-sqrt", "-DEXACT_ROOTS=1"]
    return ["-cl-std=CL1.2", "-w", *(exact if known.exact_roots else [])] + (
        ["-DHAS_FMA=1"] if known.fused else []
    )


DRIVEN = Driven(
    name="opencl",
    dialect=DIALECT,
    names=names,
    open=opened,
    missing=OpenclMissing,
    machine=machine,
    key=facts_key,
    build=build,
    load=load,
    refusals=(OpenclLacks, OpenclRefused, OpenclFailed),
)
TARGET, Worker = DRIVEN.target(), DRIVEN.worker
