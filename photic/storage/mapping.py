"""A file of data as read-only memory, without reading it.

It refuses what is not a regular file before opening it, because opening a pipe would wait for a
writer. It cannot help when the file is shortened while it is mapped.
"""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from photic.storage.errors import FileUnreadable


def map_file(path: str | os.PathLike[str]) -> mmap.mmap:
    """The whole file, mapped read-only; raises FileUnreadable (missing, empty, not a file)."""
    path = Path(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileUnreadable(path=path, problem="not a regular file")
        if status.st_size == 0:
            raise FileUnreadable(path=path, problem="the file is empty")
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise FileUnreadable(path=path, problem=(error.strerror or str(error)).lower()) from None
    except ValueError as error:  # a NUL in the path, or a file emptied just now
        raise FileUnreadable(path=path, problem=str(error)) from None
