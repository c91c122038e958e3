"""The metal target as a device: a text in a file, Metal's library of it, and its launches.

Metal compiles when a program is loaded, and keeps what it compiled in a cache of its own.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from photic.targets.cuda.binaries import built, parts_of
from photic.targets.launches import parted, plan_of
from photic.targets.metal.dialect import DIALECT, MOST_BUFFERS, spelled
from photic.targets.metal.errors import MetalLacks, MetalRefused
from photic.targets.metal.facts import facts, facts_key, in_pool, machine, opened
from photic.targets.metal.queue import Queue
from photic.targets.registry import Target
from photic.targets.session import Loaded

SHOWN_CHARACTERS = 4000


def build(source: str) -> Path:
    """The file of a text. Raises MetalLacks, NoSpace."""
    text = parted(source)[0]
    if "f64x" in text:
        raise MetalLacks(given="float64")
    if f"[[buffer({MOST_BUFFERS})]]" in text:
        raise MetalLacks(given=f"kernels of more than {MOST_BUFFERS - 3} buffers")
    suffixes = ("metal", "metal")
    return built(source, ["metal"], lambda text: spelled(text).encode(), suffixes, MetalRefused)


def load(path: Path) -> Loaded:
    """What was built, on the device. Raises MetalMissing, MetalRefused, LoadRefused."""
    plan, code = parts_of(path)
    with in_pool():
        known = opened()
        options = known.metal.MTLCompileOptions.new()
        options.setFastMathEnabled_(False)
        library, error = known.device.newLibraryWithSource_options_error_(
            code.decode(), options, None
        )
    if library is None:
        raise MetalRefused(path=path, output=str(error)[:SHOWN_CHARACTERS])
    return Loaded(partial(Queue, known, library), in_pool, plan_of(plan))


def loaded(source: str) -> Loaded:
    """A text built and loaded; raises what ``build`` and ``load`` raise."""
    return load(build(source))


WORKER = "photic.targets.metal.worker"
TARGET = Target("metal", DIALECT, machine, facts_key, build, load, WORKER, facts)
