"""Files of kernels for devices that a program on the host drives, in the cache.

A file holds the digest of what follows, the plan of the launches in a line, and the code: of a
machine, or a text where the driver compiles. It is named by all that made it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from photic.base.errors import PhoticError
from photic.storage.files import cache_folder, write_atomic
from photic.targets.errors import LoadRefused
from photic.targets.launches import parted

SHOWN_CHARACTERS = 4000


class Refused(Exception):
    """A compiler refused a text of ours; the argument is what it said."""


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
