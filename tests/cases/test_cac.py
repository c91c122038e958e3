"""CAC-02 to CAC-04 of the list of real bugs: caches that are stale, torn, raced for or unusable.

Each test builds a small library and runs it: the right result must come out of every damage.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from disks import disk, make_read_only

from photic.base.errors import PhoticWarning
from photic.storage import files
from photic.storage.errors import FileUnwritable, NoSpace
from photic.targets.c import facts as facts_module
from photic.targets.c import toolchain
from photic.targets.c.facts import Facts, facts
from photic.targets.c.pool import SOURCE as POOL_SOURCE
from photic.targets.c.toolchain import build_kernels, build_runtime, load_library
from photic.targets.errors import LoadRefused

ADD_THREE = "long f(long x) { return x + 3; }"
ADD_FOUR = "long f(long x) { return x + 4; }"
PROCESSES = 8
HANG_SECONDS = 50.0
ANOTHER_USER = 54321


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, about which this process knows nothing."""
    return use(tmp_path / "cache", monkeypatch)


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setattr(toolchain, "_sweep", toolchain._Sweep())
    monkeypatch.setenv("PHOTIC_CACHE", str(folder))
    return folder


def result(source: str) -> int:
    return int(load_library(build_kernels(source)).f(39))


@contextmanager
def one_warning() -> Iterator[None]:
    with pytest.warns(PhoticWarning, match="PHOTIC_CACHE") as caught:
        yield
    assert len(caught) == 1


def left_over(folder: Path) -> list[str]:
    return [one.name for one in folder.rglob("*") if one.name.startswith(".work-")]


# --- CAC-02: stale after an edit ------------------------------------------------------------


def test_an_edited_source_acts_at_once() -> None:
    assert [result(ADD_THREE), result(ADD_FOUR), result(ADD_THREE)] == [42, 43, 42]


def test_a_setting_that_alters_code_never_shares_a_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    native = build_kernels(ADD_THREE)
    monkeypatch.setenv("PHOTIC_CPU", "x86_64")
    assert build_kernels(ADD_THREE) != native


# --- CAC-03: torn, racing, tampered ---------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (truncate, zero, empty, remove, a_folder)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", ["library", "record"])
def test_a_damaged_entry_is_built_again(damage: Callable[[Path], None], which: str) -> None:
    path = build_kernels(ADD_THREE)
    damage(path if which == "library" else path.with_name("sha256"))
    assert build_kernels(ADD_THREE) == path
    assert load_library(path).f(39) == 42
    assert not left_over(path.parent.parent)


def test_a_damaged_kept_source_changes_nothing() -> None:
    path = build_kernels(ADD_THREE)
    path.with_name(toolchain.SOURCE).write_text("int broken(")
    assert load_library(build_kernels(ADD_THREE)).f(39) == 42


def test_an_entry_that_is_a_plain_file_is_replaced() -> None:
    path = build_kernels(ADD_THREE)
    path.parent.rename(path.parent.with_name("away"))
    path.parent.write_bytes(b"")
    assert load_library(build_kernels(ADD_THREE)).f(39) == 42


@pytest.mark.parametrize("with_record", [False, True])
def test_swapped_libraries_are_built_again(with_record: bool) -> None:
    three, four = build_kernels(ADD_THREE), build_kernels(ADD_FOUR)
    three.write_bytes(four.read_bytes())
    if with_record:
        three.with_name("sha256").write_bytes(four.with_name("sha256").read_bytes())
    with pytest.raises(LoadRefused):
        load_library(three)
    assert result(ADD_THREE) == 42


def test_a_whole_entry_under_anothers_name_is_built_again() -> None:
    three, four = build_kernels(ADD_THREE), build_kernels(ADD_FOUR)
    for one in three.parent.iterdir():
        one.unlink()
    for one in four.parent.iterdir():
        (three.parent / one.name.replace(four.stem, three.stem)).write_bytes(one.read_bytes())
    assert result(ADD_THREE) == 42


def test_damaged_facts_are_found_anew(cache: Path) -> None:
    first = facts_of_a_new_process()
    (record,) = (cache / "kernels").glob("facts-*.json")
    for damage in (truncate, zero, empty, remove):
        damage(record)
        assert facts_of_a_new_process() == first
        assert record.exists()


def facts_of_a_new_process() -> Facts:
    facts_module._recorded.cache_clear()
    return facts()


def build_in_child(barrier: object, results: object, cache: str) -> None:
    os.environ["PHOTIC_CACHE"] = cache
    warnings.simplefilter("error")
    barrier.wait()  # type: ignore[attr-defined]
    pool = load_library(build_runtime(POOL_SOURCE.read_text()))
    found = [result(ADD_THREE), result(ADD_FOUR), pool.photic_pool_create is not None]
    results.put((found, facts().vector_bits))  # type: ignore[attr-defined]


def test_eight_processes_on_an_empty_cache_are_all_right(cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    arguments = (barrier, results, str(cache))
    processes = [context.Process(target=build_in_child, args=arguments) for _ in range(PROCESSES)]
    for one in processes:
        one.start()
    found = [results.get(timeout=HANG_SECONDS) for _ in processes]
    for one in processes:
        one.join(HANG_SECONDS)
    assert [one.exitcode for one in processes] == [0] * PROCESSES
    assert found == [([42, 43, True], facts().vector_bits)] * PROCESSES
    assert not left_over(cache)


def test_threads_on_an_empty_cache_are_all_right() -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(result(ADD_THREE))) for _ in range(PROCESSES)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(HANG_SECONDS)
    assert found == [42] * PROCESSES


LONG_SOURCE = "\n".join(
    f"long g{i}(long x) {{ for (long k = 0; k < x; k++) x = x * {i} + k; return x; }}"
    for i in range(1000)
)


def test_a_killed_compile_harms_nobody(cache: Path) -> None:
    script = (
        "import sys; from photic.targets.c.toolchain import build_kernels\n"
        "build_kernels(sys.stdin.read())"
    )
    environment = {"PHOTIC_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        (sys.executable, "-c", script),
        stdin=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # so that the compiler it starts is ended with it
    )
    with child:
        assert child.stdin is not None
        child.stdin.write(LONG_SOURCE.encode())
        child.stdin.close()
        end = time.monotonic() + HANG_SECONDS
        while not list(cache.glob("kernels/.work-*/zig-local")) and time.monotonic() < end:
            time.sleep(0.001)
        os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert left_over(cache)
    assert load_library(build_kernels(LONG_SOURCE)).g7(0) == 0
    sweep_as_a_later_process(cache)
    assert result(ADD_THREE) == 42
    assert not left_over(cache)


def sweep_as_a_later_process(cache: Path) -> None:
    old = time.time() - 2 * toolchain.STALE_SECONDS
    for one in cache.glob("kernels/.work-*"):
        os.utime(one, (old, old))
    toolchain._sweep.done = False


def test_a_work_folder_in_use_is_not_swept(cache: Path) -> None:
    work = files.cache_folder("kernels") / ".work-of-another-process"
    work.mkdir()
    assert result(ADD_THREE) == 42
    assert work.is_dir()


@pytest.mark.parametrize("size", ["16k", "64k"])
def test_on_a_full_disk_the_result_is_still_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    with disk(tmp_path / "full", f"size={size},mode=700") as folder:
        use(folder, monkeypatch)
        with suppress(OSError):
            (folder / "filler").write_bytes(bytes(1 << 20))
        with one_warning():
            assert result(ADD_THREE) == 42
            assert result(ADD_FOUR) == 43
            assert facts_of_a_new_process()


@pytest.mark.parametrize("error", [NoSpace, FileUnwritable])
def test_a_write_that_fails_is_done_elsewhere(
    monkeypatch: pytest.MonkeyPatch, cache: Path, error: type[NoSpace | FileUnwritable]
) -> None:
    write = toolchain.write_atomic

    def refuse(path: Path, data: bytes) -> None:
        if cache in path.parents:
            raise error(path=path, what="a file", problem="for this test")
        write(path, data)

    monkeypatch.setattr(toolchain, "write_atomic", refuse)
    with one_warning():
        assert result(ADD_THREE) == 42
        assert result(ADD_FOUR) == 43


@pytest.mark.parametrize(("status", "said"), [(1, "unable to write: NoSpaceLeft"), (-9, "")])
def test_a_compiler_that_fails_in_the_cache_is_run_elsewhere(
    monkeypatch: pytest.MonkeyPatch, cache: Path, status: int, said: str
) -> None:
    run = toolchain._run

    def fail(arguments: tuple[str, ...], work: Path) -> subprocess.CompletedProcess[str]:
        if cache in work.parents:
            return subprocess.CompletedProcess(arguments, status, "", said)
        return run(arguments, work)

    monkeypatch.setattr(toolchain, "_run", fail)
    with one_warning():
        assert result(ADD_THREE) == 42


def test_the_folder_may_vanish_between_and_during_builds(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    assert result(ADD_THREE) == 42
    toolchain._remove_tree(cache)
    assert result(ADD_THREE) == 42
    compile_ = toolchain._compile
    times = iter([True])

    def vanish(*arguments: object) -> None:
        compile_(*arguments)  # type: ignore[arg-type]
        if next(times, False):
            toolchain._remove_tree(cache)

    monkeypatch.setattr(toolchain, "_compile", vanish)
    assert result(ADD_FOUR) == 43
    assert cache.is_dir()


# --- CAC-04: not writable, not executable ---------------------------------------------------


@pytest.mark.parametrize("name", ["a space", "quo'te\"s", "ünïcödé 光", "semi;colon", "$HOME `x`"])
def test_odd_names_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    use(tmp_path / name, monkeypatch)
    assert result(ADD_THREE) == 42
    assert load_library(build_runtime("long f(long x) { return x; }")).f(1) == 1


def test_a_name_that_is_no_text_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    try:
        os.mkdir(folder, mode=0o700)
    except OSError:
        pytest.skip("needs a file system with names of any bytes")
    use(Path(folder), monkeypatch)
    assert result(ADD_THREE) == 42


def test_a_file_in_the_folders_place(cache: Path) -> None:
    cache.write_bytes(b"")
    with one_warning():
        assert result(ADD_THREE) == 42
        assert result(ADD_THREE) == 42


def test_a_read_only_cache_serves_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path / "disk", "size=8m,mode=700") as folder:
        use(folder, monkeypatch)
        held = build_kernels(ADD_THREE)
        make_read_only(folder)
        use(folder, monkeypatch)
        assert build_kernels(ADD_THREE) == held  # nothing to write: nothing to warn of
        with one_warning():
            assert result(ADD_FOUR) == 43
            assert result(ADD_THREE) == 42


def test_a_cache_on_a_disk_that_forbids_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path / "disk", "size=8m,mode=700,noexec") as folder:
        use(folder, monkeypatch)
        with one_warning():
            assert result(ADD_THREE) == 42
            assert not list(folder.rglob("*.so"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_another_users_planted_library_is_not_run(cache: Path) -> None:
    planted = plant(cache)
    for one in (planted, planted.parent, planted.parent.parent):
        os.chown(one, ANOTHER_USER, ANOTHER_USER)
    with one_warning():
        assert result(ADD_THREE) == 42


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_library_planted_in_an_open_folder_is_not_run(cache: Path, depth: int) -> None:
    planted = plant(cache)
    (planted.parent, planted.parent.parent, cache)[depth].chmod(0o777)
    if depth == 0:  # not the cache folder itself: the entry is refused and built again
        assert load_library(build_kernels(ADD_THREE)).f(39) == 42
        return
    with one_warning():
        assert result(ADD_THREE) == 42


def plant(cache: Path) -> Path:
    """A library that would give 43, with a record that fits it."""
    four = build_kernels(ADD_FOUR).read_bytes()
    path = build_kernels(ADD_THREE)
    path.write_bytes(four)
    record = f"{path.parent.name} {files.file_sha256(path)}\n"
    path.with_name("sha256").write_text(record)
    assert build_kernels(ADD_THREE) == path  # taken for ours, as long as the folder is ours alone
    files._folders.checked.clear()
    return path


def test_without_home_the_result_is_computed() -> None:
    script = (
        "import os; os.environ.pop('HOME', None)\n"
        "from photic.targets.c.toolchain import build_kernels, load_library\n"
        f"print(load_library(build_kernels({ADD_THREE!r})).f(39))"
    )
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": "/nonexistent/photic"}
    command = (sys.executable, "-c", script)
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert run.stdout == "42\n"
