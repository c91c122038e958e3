"""The cuda target as a device: a text to a file of machine code, and its launches by the driver.

A file holds the digest of what follows, the plan of the launches in a line, and the code. It is
named by all that made it: text, options, compiler, architecture.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

from photic.storage.files import cache_folder, write_atomic
from photic.targets.cuda import driver
from photic.targets.cuda.compiler import OPTIONS, Refused, machine_code, version
from photic.targets.cuda.dialect import DIALECT, GROUP
from photic.targets.cuda.errors import CudaRefused
from photic.targets.cuda.facts import facts, facts_key, in_context, machine, opened
from photic.targets.errors import LoadRefused
from photic.targets.launches import parted, plan_of
from photic.targets.registry import Target
from photic.targets.session import Loaded

SHOWN_CHARACTERS = 4000


def build(source: str) -> Path:
    """The file of a text's machine code. Raises CudaMissing, CudaRefused, NoSpace."""
    recipe = [source, *OPTIONS, version(), facts().architecture]
    name = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()
    path = cache_folder("kernels") / f"{name}.cubin"
    if not path.exists():
        text, plan = parted(source)
        body = plan.encode() + b"\n" + _code(text, path)
        write_atomic(path, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    return path


def _code(text: str, path: Path) -> bytes:
    try:
        return machine_code(text, facts().architecture)
    except Refused as error:
        kept = path.with_suffix(".cu")
        write_atomic(kept, text.encode())
        raise CudaRefused(path=kept, output=str(error)[:SHOWN_CHARACTERS]) from None


def load(path: Path) -> Loaded:
    """What was built, on the device. Raises CudaMissing, CudaFailed, LoadRefused."""
    digest, _, body = path.read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise LoadRefused(path=path, problem="the file is not the one that was written")
    plan, _, code = body.partition(b"\n")
    with in_context():
        context = opened().context
        queue = partial(driver.Queue, context, driver.module_of(context, code), GROUP)
    return Loaded(queue, in_context, plan_of(plan.decode()))


def loaded(source: str) -> Loaded:
    """A text built and loaded; raises what ``build`` and ``load`` raise."""
    return load(build(source))


WORKER = "photic.targets.cuda.worker"
TARGET = Target("cuda", DIALECT, machine, facts_key, build, load, WORKER, facts)
