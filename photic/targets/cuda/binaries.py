"""Files of machine code for drivers as NVIDIA's: made of a text, loaded onto a device.

A file holds the digest of what follows, the plan of the launches in a line, and the code. It is
named by all that made it: text, options, compiler, architecture.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from photic.base.errors import PhoticError
from photic.storage.files import cache_folder, write_atomic
from photic.targets.cuda.driver import Driver, Queue
from photic.targets.cuda.errors import Refused
from photic.targets.errors import LoadRefused
from photic.targets.launches import parted, plan_of
from photic.targets.session import Loaded

SHOWN_CHARACTERS = 4000


def built(
    source: str,
    recipe: Sequence[str],
    code: Callable[[str], bytes],
    suffixes: tuple[str, str],
    refused: Callable[..., PhoticError],
) -> Path:
    """The file of a text's machine code, which ``code`` makes; ``recipe`` is what else decides.

    ``suffixes`` are those of machine code and of texts; a text that the compiler refuses is kept,
    and ``refused`` is raised with ``path`` and ``output``. Raises NoSpace and what ``code`` raises.
    """
    name = hashlib.sha256(json.dumps([source, *recipe]).encode()).hexdigest()
    path = cache_folder("kernels") / f"{name}.{suffixes[0]}"
    if path.exists():
        return path
    text, plan = parted(source)
    try:
        body = plan.encode() + b"\n" + code(text)
    except Refused as error:
        kept = path.with_suffix(f".{suffixes[1]}")
        write_atomic(kept, text.encode())
        raise refused(path=kept, output=str(error)[:SHOWN_CHARACTERS]) from None
    write_atomic(path, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    return path


def parts_of(path: Path) -> tuple[str, bytes]:
    """The plan and the code of a file. Raises LoadRefused."""
    digest, _, body = path.read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise LoadRefused(path=path, problem="the file is not the one that was written")
    plan, _, code = body.partition(b"\n")
    return plan.decode(), code


def loaded_from(
    path: Path,
    driver: Driver,
    context: int,
    group: int,
    using: Callable[[], AbstractContextManager[None]],
) -> Loaded:
    """What was built, on the device. Raises LoadRefused and the driver's errors."""
    plan, code = parts_of(path)
    with using():
        queue = partial(Queue, context, driver.module_of(context, code), group)
    return Loaded(queue, using, plan_of(plan))
