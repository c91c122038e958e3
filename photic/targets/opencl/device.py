"""The opencl target as a device: a text in a file, the driver's program of it, and its launches.

The driver compiles when a program is loaded, and keeps what it compiled in a cache of its own.
Threads call at once, each with a session; what a call needs on the device is kept for the next.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import warnings
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from photic.storage.files import cache_folder, write_atomic
from photic.targets.errors import LoadRefused
from photic.targets.opencl.dialect import DIALECT, spelled
from photic.targets.opencl.entry import PLAN
from photic.targets.opencl.errors import OpenclLacks, OpenclRefused
from photic.targets.opencl.facts import (
    Facts,
    Opened,
    driver_errors,
    facts,
    facts_key,
    machine,
    opened,
)
from photic.targets.opencl.session import Plan, Session, plan_of
from photic.targets.registry import Target, Threads

SHOWN_CHARACTERS = 4000


def build(source: str) -> Path:
    """The file that a program's text is kept in. Raises NoSpace, FileUnwritable."""
    name = hashlib.sha256(source.encode()).hexdigest()
    path = cache_folder("kernels") / f"{name}.cl"
    if not path.exists():
        write_atomic(path, source.encode())
    return path


@dataclass(frozen=True, slots=True)
class Alone:
    """A device schedules its own threads: scratch and arena are the sessions'."""

    threads: int = 0
    pointer: int = 0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program that the driver has compiled, and the sessions that no call uses now."""

    opened: Opened
    program: Any
    plan: Plan
    constants: dict[int, Any] = field(default_factory=dict)
    free: deque[Session] = field(default_factory=deque)
    threads: Alone = field(default_factory=Alone)

    def pool(self) -> Alone:
        """What a launch would run on now."""
        return self.threads

    def launch(self, buffers: int, sizes: int, arena: int, scratch: int, pool: Threads) -> None:
        """Run once, from the addresses of the tables; the device has arena and scratch itself."""
        table = (ctypes.c_void_p * max(1, len(self.plan.slots))).from_address(buffers)
        numbers = (ctypes.c_int64 * max(1, len(self.plan.sizes))).from_address(sizes)
        with driver_errors(opened()):
            try:
                session = self.free.pop()
            except IndexError:
                session = Session(self.opened, self.program, self.plan, self.constants)
            session.run([one or 0 for one in table], list(numbers))
        self.free.append(session)


def load(path: Path) -> Loaded:
    """The driver compiles. Raises OpenclMissing, OpenclLacks, OpenclRefused, LoadRefused."""
    source = path.read_text(encoding="utf-8")
    if hashlib.sha256(source.encode()).hexdigest() != path.stem:
        raise LoadRefused(path=path, problem="the file is not the one that was written")
    try:
        return loaded(source)
    except opened().cl.Error as error:
        raise OpenclRefused(path=path, output=str(error)[:SHOWN_CHARACTERS]) from None


def loaded(source: str) -> Loaded:
    """A text compiled; raises what pyopencl raises, and OpenclMissing, OpenclLacks."""
    known = opened()
    text, _, plan = source.rpartition(PLAN)
    if not known.facts.doubles and "f64x" in text:
        raise OpenclLacks(device=known.facts.device, given="float64 with subnormals")
    return Loaded(known, compiled(known, text), plan_of(json.loads(plan)))


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
