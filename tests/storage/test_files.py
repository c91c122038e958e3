"""Cache folders and safe files: what is written whole, what is refused, what takes its place."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import disk, make_read_only
from hypothesis import given
from hypothesis import strategies as st

from photic.base.errors import PhoticWarning
from photic.storage import files
from photic.storage.errors import CacheUnusable, FileUnwritable, NoSpace

KERNELS = files.KINDS["kernels"]
ANOTHER_USER = 54321
HANG_SECONDS = 20.0

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to give a folder away"
)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known about any folder, and the cache is this test's own."""
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk(tmp_path / "small", "size=1m,mode=700") as folder:
        yield folder


@pytest.fixture
def noexec_disk(tmp_path: Path) -> Iterator[Path]:
    with disk(tmp_path / "noexec", "size=1m,mode=700,noexec") as folder:
        yield folder


@pytest.fixture
def read_only_disk(tmp_path: Path) -> Iterator[Path]:
    with disk(tmp_path / "read-only", "size=1m,mode=700") as folder:
        (folder / "kernels").mkdir(mode=0o700)
        make_read_only(folder)
        yield folder


def parts(folder: Path) -> list[Path]:
    return list(folder.glob("*.part")) + list(folder.glob(".*.part"))


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python process of its own, with only ``environment`` and what it takes to start."""
    base = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.defpath}
    command = (sys.executable, "-c", script)
    return subprocess.run(
        command, env=base | environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )


# --- write_atomic ---------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"abc", (b"a", b"", b"bc")])
def test_a_file_is_written_and_replaced(tmp_path: Path, data: bytes | tuple[bytes, ...]) -> None:
    path = tmp_path / "a file"
    path.write_bytes(b"old and longer")
    files.write_atomic(path, data)
    assert path.read_bytes() == b"".join([data] if isinstance(data, bytes) else data)
    assert not parts(tmp_path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def chunks() -> Iterator[bytes]:
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_atomic(path, chunks())
    assert path.read_bytes() == b"old"
    assert not parts(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("call", ["fsync", "open", "replace"])
def test_no_space_is_an_error_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, call, full)
    with pytest.raises(NoSpace, match="P305"):
        files.write_atomic(tmp_path / "file", b"data")
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_no_space_and_leaves_nothing(small_disk: Path) -> None:
    path = small_disk / "file"
    files.write_atomic(path, b"small")
    with pytest.raises(NoSpace):
        files.write_atomic(path, b"x" * (4 << 20))
    assert path.read_bytes() == b"small"
    assert [one.name for one in small_disk.iterdir()] == ["file"]


@pytest.mark.parametrize("place", ["missing/file", "plain/file", "folder"])
def test_a_place_that_cannot_be_written_is_an_error_with_its_path(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "plain").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileUnwritable, match="P308") as caught:
        files.write_atomic(tmp_path / place, b"data")
    assert caught.value.fields["path"] == tmp_path / place
    assert not parts(tmp_path)


def test_others_can_never_write_a_file_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        files.write_atomic(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert not files.trust_problem(tmp_path / "file")


# --- read_checked ---------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_checked_bytes_come_back(payload: bytes) -> None:
    path = files.cache_folder("programs") / "blob"
    files.write_checked(path, payload)
    assert files.read_checked(path) == payload


def test_every_truncation_is_found_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    files.write_checked(path, b"payload")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert files.read_checked(path) == files.Missing("corrupt")
        assert not path.exists()


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    files.write_checked(path, b"payload")
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert files.read_checked(path) == files.Missing("corrupt")


def test_zeros_are_corrupt_and_nothing_is_absent_and_a_folder_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "blob"
    path.write_bytes(bytes(200))
    assert files.read_checked(path) == files.Missing("corrupt")
    assert files.read_checked(path) == files.Missing("absent")
    assert files.read_checked(tmp_path) == files.Missing("unreadable")


def test_the_sha256_of_a_known_text(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.file_sha256(tmp_path / "abc") == known


# --- locks ----------------------------------------------------------------------------------


def test_a_lock_keeps_threads_apart(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def enter() -> None:
        with files.locked(tmp_path / "lock", HANG_SECONDS) as held:
            assert held
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.002)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == [1] * 5


def test_a_lock_that_is_held_too_long_is_passed_by(tmp_path: Path) -> None:
    with files.locked(tmp_path / "lock", 1.0), files.locked(tmp_path / "lock", 0.01) as held:
        assert not held


def test_a_lock_in_a_vanished_folder_is_passed_by(tmp_path: Path) -> None:
    with files.locked(tmp_path / "gone" / "lock", HANG_SECONDS) as held:
        assert not held


def test_a_killed_holder_frees_its_lock(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from photic.storage.files import locked\n"
        "with locked(Path(sys.argv[1]), 1.0): print('held', flush=True); time.sleep(60)"
    )
    path = tmp_path / "lock"
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    holder = subprocess.Popen(
        (sys.executable, "-c", script, str(path)), stdout=subprocess.PIPE, env=environment
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
    with files.locked(path, HANG_SECONDS) as held:
        assert held


# --- cache_folder ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["plain", "a space", "quo'te\"s", "ünïcödé 光", "-rf", "a\nb", "$x"]
)
def test_the_configured_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / name / "deep"))
    folder = files.cache_folder("kernels")
    assert folder == tmp_path / name / "deep" / "kernels"
    assert folder.is_dir()


def test_new_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = files.cache_folder("kernels")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, folder.parent)] == [0o700] * 2


def test_a_relative_folder_and_a_home_sign_are_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PHOTIC_CACHE", "here")
    assert files.cache_folder("models") == tmp_path / "here" / "models"
    monkeypatch.setenv("PHOTIC_CACHE", "~/there")
    assert files.cache_folder("models") == tmp_path / "home" / "there" / "models"


def test_a_folder_that_vanished_is_made_again() -> None:
    folder = files.cache_folder("programs")
    folder.rmdir()
    assert files.cache_folder("programs") == folder
    assert folder.is_dir()


def test_without_a_home_a_temporary_folder_serves_with_one_warning() -> None:
    script = (
        "import platformdirs, sys, warnings\n"
        "def none(*_, **__): raise RuntimeError('no home')\n"
        "platformdirs.user_cache_path = none\n"
        "from photic.storage.files import cache_folder\n"
        "folders = [cache_folder(kind) for kind in ('kernels', 'models', 'kernels')]\n"
        "assert all(one.is_dir() for one in folders)\n"
        "print(folders[0].parent)"
    )
    result = run(script)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("PhoticWarning") == 1
    assert "no home folder is known" in result.stderr
    assert "PHOTIC_CACHE" in result.stderr
    assert not Path(result.stdout.strip()).exists()  # removed at the end


def test_the_temporary_folder_is_private() -> None:
    folder = files.temporary_folder("kernels")
    assert [stat.S_IMODE(one.stat().st_mode) for one in (folder, folder.parent)] == [0o700] * 2


def test_a_forked_child_leaves_its_parents_temporary_folder() -> None:
    script = (
        "import os, sys; from photic.storage.files import temporary_folder\n"
        "folder = temporary_folder('models')\n"
        "child = os.fork()\n"
        "if not child: sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(folder.is_dir())"
    )
    assert run(script).stdout == "True\n"


def fallen_back(kind: str, problem: str) -> bool:
    with pytest.warns(PhoticWarning, match=problem) as caught:
        folder = files.cache_folder(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert files.cache_folder(kind) == folder  # warned once, not twice
    assert len(caught) == 1
    assert "PHOTIC_CACHE" in str(caught[0].message)
    return folder.is_dir() and folder in files.reading_folders(kind)


def test_a_file_in_the_folders_place_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    assert fallen_back("models", "not a directory|file exists")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
@pytest.mark.parametrize("which", ["cache", "cache/kernels"])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int, which: str) -> None:
    files.cache_folder("kernels")
    files._folders.checked.clear()
    (tmp_path / which).chmod(mode)
    assert fallen_back("kernels", "others can write")
    assert tmp_path / "cache" / "kernels" not in files.reading_folders("kernels")


def test_a_folder_below_one_that_all_can_write_is_refused_unless_sticky(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "open" / "mine"))
    assert files.cache_folder("kernels") == tmp_path / "open" / "mine" / "kernels"
    files._folders.checked.clear()
    (tmp_path / "open").chmod(0o777)
    assert fallen_back("kernels", "others can write")


def test_models_may_lie_in_a_shared_folder(tmp_path: Path) -> None:
    folder = files.cache_folder("models")
    folder.chmod(0o777)
    files._folders.checked.clear()
    assert files.cache_folder("models") == folder


@needs_root
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    folder = files.cache_folder("kernels")
    files._folders.checked.clear()
    os.chown(folder, ANOTHER_USER, ANOTHER_USER)
    assert fallen_back("kernels", "belongs to another user")


def test_a_folder_without_leave_to_run_is_passed_by_for_kernels_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forbidden = tmp_path / "cache"
    monkeypatch.setattr(
        files, "_forbids_running", lambda folder: forbidden in (folder, *folder.parents)
    )
    assert files.cache_folder("models") == forbidden / "models"
    assert fallen_back("kernels", "noexec")


def test_noexec_is_seen_on_a_real_file_system(noexec_disk: Path, tmp_path: Path) -> None:
    assert files._forbids_running(noexec_disk)
    assert not files._forbids_running(tmp_path)


def test_a_read_only_file_system_is_read_but_not_written(
    read_only_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_CACHE", str(read_only_disk))
    assert files.reading_folders("kernels") == (read_only_disk / "kernels",)
    assert fallen_back("kernels", "cannot be written")
    assert len(files.reading_folders("kernels")) == 2


def test_a_kind_folder_that_cannot_be_made_on_a_read_only_file_system_is_passed_by(
    read_only_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_CACHE", str(read_only_disk))
    assert fallen_back("models", "read-only")


@needs_root
def test_a_folder_that_we_may_not_enter_is_passed_by() -> None:
    script = (
        "import os, platformdirs, tempfile; from photic.storage.files import *\n"
        "os.setresuid(54321, 54321, 54321)\n"
        "assert reading_folders('kernels') == ()\n"
        "print(cache_folder('kernels').is_dir())"
    )
    folder = files.cache_folder("kernels")
    result = run(script, PHOTIC_CACHE=str(folder / "deeper"))
    assert result.stdout == "True\n", result.stderr
    assert "permission denied" in result.stderr


def test_with_no_temporary_folder_either_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_bytes(b"")
    monkeypatch.setattr(files, "_temporary_parents", lambda: iter([tmp_path / "none"]))
    with pytest.raises(CacheUnusable, match="PHOTIC_CACHE"):
        files.cache_folder("kernels")


def test_a_temporary_folder_without_room_is_passed_by(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_temporary_parents", lambda: iter([small_disk, tmp_path]))
    assert files.temporary_folder("kernels").parent.parent == tmp_path


def test_a_planted_file_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(b"")
    path.chmod(0o666)
    assert files.trust_problem(path) == "others can write it"
    assert files.trust_problem(tmp_path / "none") == "no such file or directory"


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, plain = tmp_path / "pipe", tmp_path / "plain"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_out(pipe, b"told")
        assert os.read(reader, 9) == b"told"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    files.write_out(plain, b"kept")
    assert plain.read_bytes() == b"kept"
