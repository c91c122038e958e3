"""Small file systems for tests of full, read-only and no-programs disks; needs leave to mount."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(folder: Path, options: str) -> Iterator[Path]:
    """A tmpfs at ``folder`` inside ``with``; skips the test where none can be mounted."""
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", options, "tmpfs", folder):
        pytest.skip("needs leave to mount a tmpfs (root)")
    try:
        yield folder
    finally:
        # lazily: a library loaded from there stays open until the process ends
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


def make_read_only(folder: Path) -> None:
    """From now on the disk at ``folder`` refuses every write."""
    assert _mount("-o", "remount,ro", folder)


def _mount(*arguments: str | Path) -> bool:
    try:
        result = subprocess.run(("mount", *map(str, arguments)), capture_output=True)
    except FileNotFoundError:
        return False
    return result.returncode == 0
