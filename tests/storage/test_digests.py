"""Digests are remembered as long as nothing says that a file may have changed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from photic.storage import digests
from photic.storage.digests import LEAST_BYTES, kept_sha256, remembered, state_of
from photic.storage.files import cache_folder

CONTENT = bytes(range(256)) * (LEAST_BYTES // 256)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The files that were read, with a cache of their own; every file counts as settled."""
    found: list[Path] = []
    read = digests.file_sha256
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(digests, "SETTLED_NS", -(10**18))
    monkeypatch.setattr(digests, "file_sha256", lambda path: found.append(path) or read(path))
    return found


def test_an_unchanged_file_is_read_once(tmp_path: Path, reads: list[Path]) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    assert [kept_sha256(path) for _ in range(3)] == [digest(CONTENT)] * 3
    assert reads == [path]


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, reads: list[Path]) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    kept_sha256(path)
    before = path.stat()
    time.sleep(0.05)  # longer than the kernel's clock of files
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert kept_sha256(path) == digest(CONTENT[::-1])


def test_another_file_under_the_same_name_is_seen(tmp_path: Path, reads: list[Path]) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(CONTENT)
    other.write_bytes(CONTENT[::-1])
    kept_sha256(path)
    os.replace(other, path)
    assert kept_sha256(path) == digest(CONTENT[::-1])


def test_a_file_that_just_changed_is_always_read(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "SETTLED_NS", 10**12)
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    assert state_of(path.stat()) == ""
    kept_sha256(path)
    kept_sha256(path)
    assert len(reads) == 2


def test_small_files_are_read(tmp_path: Path, reads: list[Path]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert kept_sha256(path) == kept_sha256(path) == digest(b"abc")
    assert len(reads) == 2


def test_a_damaged_note_is_made_again(reads: list[Path]) -> None:
    assert remembered("subject", "state", lambda: "first") == "first"
    assert remembered("subject", "state", lambda: "second") == "first"
    (note,) = cache_folder("digests").iterdir()
    for damage in (b"", b"\xff\xfe", b"another state\nfirst"):
        note.write_bytes(damage)
        assert remembered("subject", "state", lambda: "again") == "again"


def test_only_the_newest_notes_stay(reads: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "MOST_KEPT", 3)
    for number in range(6):
        remembered(str(number), "state", lambda: "value")
    assert len(list(cache_folder("digests").iterdir())) == 3


def test_without_a_folder_every_file_is_read(
    tmp_path: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "cache_folder", lambda kind: tmp_path / "missing" / kind)
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    assert kept_sha256(path) == kept_sha256(path) == digest(CONTENT)
    assert len(reads) == 2
