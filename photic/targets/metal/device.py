"""The metal target as a device: a text in a file, Metal's library of it, and its launches.

Metal compiles when a program is loaded, and keeps what it compiled in a cache of its own.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from photic.targets.binaries import machine_of
from photic.targets.devices import Driven
from photic.targets.kernel_files import SHOWN_CHARACTERS, built, parts_of
from photic.targets.launches import parted, plan_of
from photic.targets.metal.dialect import DIALECT, MOST_BUFFERS, spelled
from photic.targets.metal.errors import MetalFailed, MetalLacks, MetalMissing, MetalRefused
from photic.targets.metal.facts import L2_BYTES, UNITS, Opened, names, opened
from photic.targets.metal.queue import Queue
from photic.targets.session import Loaded


def build(device: Opened, source: str) -> Path:
    """The file of a text. Raises MetalLacks, NoSpace."""
    text = parted(source)[0]
    if "f64x" in text:
        raise MetalLacks(given="float64")
    if f"[[buffer({MOST_BUFFERS})]]" in text:
        raise MetalLacks(given=f"kernels of more than {MOST_BUFFERS - 3} buffers")
    suffixes = ("metal", "metal")
    return built(source, ["metal"], lambda text: spelled(text).encode(), suffixes, MetalRefused)


def load(device: Opened, path: Path) -> Loaded:
    """What was built, on the device. Raises MetalRefused, LoadRefused."""
    plan, code = parts_of(path)
    with device.using():
        options = device.metal.MTLCompileOptions.new()
        options.setFastMathEnabled_(False)
        library, error = device.device.newLibraryWithSource_options_error_(
            code.decode(), options, None
        )
    if library is None:
        raise MetalRefused(path=path, output=str(error)[:SHOWN_CHARACTERS])
    return Loaded(partial(Queue, device, library), device.using, plan_of(plan))


DRIVEN = Driven(
    name="metal",
    dialect=DIALECT,
    names=names,
    open=opened,
    missing=MetalMissing,
    machine=lambda device: machine_of(UNITS, L2_BYTES),
    key=lambda device: f"metal {device.facts.device}",
    build=build,
    load=load,
    refusals=(MetalRefused, MetalFailed, MetalLacks),
)
TARGET, Worker = DRIVEN.target(), DRIVEN.worker
