"""Programs in files: every field counts, every size and dtype comes back, nothing is left over."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from disks import disk

import photic as ph
from photic.storage.errors import FileUnwritable, NoSpace
from photic.tensor import store
from photic.tensor.errors import ProgramFile
from photic.tensor.store import MANIFEST, _digest

Way = tuple[str | int, ...]


def rich() -> ph.Program:
    """A program with all that a file must hold: sizes, a loop, states, constants of odd dtypes."""
    n = ph.dim("n", 0, 40)
    x, state = ph.input("x", (n, 6)), ph.state("s", (6,), "int64")
    halves = np.arange(24).reshape(6, 4).astype(ml_dtypes.bfloat16)
    y = ph.matmul(x, ph.constant(halves).astype("float32"))
    y = y + ph.constant(np.array([1, 2, 3, 4], np.int8)).astype("float32")
    (last,), (each,) = ph.scan(lambda c, s: ((c[0] + s[0],), (c[0],)), [ph.zeros((4,))], [y])
    flags = ph.constant(np.array([True, False, True]))
    outputs = {"y": y, "last": last, "each": each, "flags": ph.logical_not(flags)}
    return ph.compile(outputs, {state: state + 1})


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    rich().save(tmp_path / "kept")
    return tmp_path / "kept"


def test_everything_comes_back(kept: Path) -> None:
    program, loaded = rich(), ph.load(kept)
    for size in (0, 1, 5, 33):
        x = np.random.default_rng(size).standard_normal((size, 6)).astype(np.float32)
        for name, want in program(x=x).items():
            np.testing.assert_array_equal(loaded(x=x)[name], want)
            loaded.states["s"][...] -= 1  # four outputs, four calls
        loaded.states["s"][...] += 1
        np.testing.assert_array_equal(loaded.states["s"], program.states["s"])
    assert loaded.artifact.sizes == program.artifact.sizes
    assert loaded.artifact.inputs == program.artifact.inputs
    assert loaded.constant_bytes == program.constant_bytes
    assert loaded.report == program.report


def leaves(value: object, path: Way = ()) -> Iterator[tuple[Way, object]]:
    """Every number and text of a manifest with the way to it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    else:
        yield path, value


def changed(manifest: object, path: Way, value: object) -> object:
    """A copy with another value at the end of a way."""
    copy = json.loads(json.dumps(manifest))
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return copy


def test_no_field_can_be_changed_unnoticed(kept: Path) -> None:
    manifest = json.loads((kept / MANIFEST).read_text())
    for path, value in leaves(manifest):
        other = value + 1 if isinstance(value, int) else f"{value}x"
        (kept / MANIFEST).write_text(json.dumps(changed(manifest, path, other)))
        with pytest.raises(ProgramFile):
            store.load_artifact(kept)
    for key in manifest:
        without = {name: part for name, part in manifest.items() if name != key}
        (kept / MANIFEST).write_text(json.dumps(without))
        with pytest.raises(ProgramFile):
            store.load_artifact(kept)


@pytest.mark.parametrize("wrong", [None, 1.5, [], {}, True, "9" * 5000, 7])
def test_a_field_of_the_wrong_kind_is_refused_even_with_a_right_sum(
    kept: Path, wrong: object
) -> None:
    manifest = json.loads((kept / MANIFEST).read_text())
    for path, value in leaves(manifest):
        if type(value) is type(wrong) or path[0] in ("sha256", "machine"):
            continue
        is_time = {"seconds", "timed"}.intersection(path) and isinstance(wrong, float)
        if is_time or ("seconds" in path and wrong is None):
            continue  # a time, or that of a kernel that nobody timed
        forged = changed(manifest, path, wrong)
        assert isinstance(forged, dict)
        forged["sha256"] = _digest(forged)
        (kept / MANIFEST).write_text(json.dumps(forged))
        with pytest.raises(ProgramFile):
            store.load_artifact(kept)


def test_a_negative_count_is_refused_even_with_a_right_sum(kept: Path) -> None:
    manifest = json.loads((kept / MANIFEST).read_text())
    for path, value in leaves(manifest):
        may_be_absent = path[0] in ("inputs", "states") and path[-1] == 3  # read by no kernel
        if isinstance(value, int) and not may_be_absent:
            forged = changed(manifest, path, -1)
            assert isinstance(forged, dict)
            forged["sha256"] = _digest(forged)
            (kept / MANIFEST).write_text(json.dumps(forged))
            with pytest.raises(ProgramFile):
                store.load_artifact(kept)


def test_a_newer_format_is_refused(kept: Path) -> None:
    manifest = json.loads((kept / MANIFEST).read_text()) | {"format": store.FORMAT + 1}
    manifest["sha256"] = _digest(manifest)
    (kept / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ProgramFile, match="this version reads"):
        ph.load(kept)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, "\0\1\2", '{"format": 1}'])
def test_what_is_no_manifest_is_refused(kept: Path, text: str) -> None:
    (kept / MANIFEST).write_text(text)
    with pytest.raises(ProgramFile):
        ph.load(kept)


def test_a_place_that_may_not_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store.tempfile, "mkdtemp", refuse)
    with pytest.raises(FileUnwritable):
        rich().save(tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []


def test_on_a_full_disk_nothing_is_left_behind(tmp_path: Path) -> None:
    with disk(tmp_path / "small", "size=64k") as small:
        (small / "filler").write_bytes(bytes(56 << 10))
        with pytest.raises(NoSpace):
            rich().save(small / "kept")
        assert [one.name for one in small.iterdir()] == ["filler"]


def test_a_kept_program_starts_without_compiler_or_search(kept: Path) -> None:
    ph.load(kept)  # now its kernels are in the cache
    code = f"""
import sys, numpy as np
import photic as ph
program = ph.load({str(kept)!r})
program(x=np.ones((3, 6), np.float32))
heavy = {{"ziglang", "egglog", "torch"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
