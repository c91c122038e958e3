"""Programs in folders: they come back the same, replace only their like, and stand races."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import photic as ph
from photic.storage.errors import FileUnreadable, FileUnwritable
from photic.tensor.errors import ProgramFile
from photic.tensor.store import CONSTANTS, FORMAT, MAKING, MANIFEST, PARTS, SOURCE, _digest

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def made(factor: float) -> ph.Program:
    """x @ w with a constant, a symbolic size and a state."""
    n = ph.dim("n", 1, 8)
    x = ph.input("x", (n, 3))
    total = ph.state("total", (3,))
    w = ph.constant(np.full((3, 2), factor, np.float32))
    return ph.compile({"y": x @ w}, {total: total + ph.sum(x, axis=0)})


def answer(program: ph.Program) -> np.ndarray:
    return program(x=X)["y"]


def test_a_loaded_program_gives_the_same_bits(tmp_path: Path) -> None:
    program = made(1.5)
    program.save(tmp_path / "kept")
    loaded = ph.load(tmp_path / "kept")
    for _ in range(2):
        assert np.array_equal(answer(loaded), answer(program))
        assert np.array_equal(loaded.states["total"], program.states["total"])
    assert [one.name for one in loaded.report.kernels] == [
        one.name for one in program.report.kernels
    ]
    assert loaded.peak_bytes == program.peak_bytes


def test_a_program_replaces_an_older_one(tmp_path: Path) -> None:
    made(1.0).save(tmp_path / "kept")
    made(2.0).save(tmp_path / "kept")
    assert np.array_equal(answer(ph.load(tmp_path / "kept")), X @ np.full((3, 2), 2, np.float32))
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


def test_a_folder_of_other_files_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    with pytest.raises(FileUnwritable, match="something else is there"):
        made(1.0).save(folder)
    assert (folder / "thesis.tex").read_text() == "years"
    assert [one.name for one in tmp_path.iterdir()] == ["work"]


def test_a_file_in_the_folders_place_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(FileUnwritable):
        made(1.0).save(tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "mine"


def test_a_parent_that_cannot_be_made_is_a_users_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileUnwritable):
        made(1.0).save(tmp_path / "file" / "kept")


def test_saving_at_once_leaves_a_whole_program(tmp_path: Path) -> None:
    programs = [made(float(number)) for number in range(4)]
    errors: list[Exception] = []

    def save(program: ph.Program) -> None:
        try:
            for _ in range(5):
                program.save(tmp_path / "kept")
        except FileUnwritable as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(one,)) for one in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert answer(ph.load(tmp_path / "kept"))[1, 0] in [12.0 * number for number in range(4)]
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


# --- damage ---------------------------------------------------------------------------------


def test_no_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no saved program is here"):
        ph.load(tmp_path / "absent")
    with pytest.raises(FileUnreadable, match="no saved program is here"):
        ph.load(tmp_path)


def _older(folder: Path, format: object) -> None:
    """Make a program's folder one that an older or a newer version wrote."""
    file = folder / MANIFEST
    manifest = json.loads(file.read_bytes()) | {"format": format}
    del manifest["files"][MAKING]
    (folder / MAKING).unlink()
    file.write_text(json.dumps(manifest | {"sha256": _digest(manifest)}))


def test_a_program_of_the_older_format_loads_without_its_making(tmp_path: Path) -> None:
    program = made(1.5)
    program.save(tmp_path / "kept")
    _older(tmp_path / "kept", 2)
    loaded = ph.load(tmp_path / "kept")
    assert loaded.artifact.making is None and loaded.report.stopped == "no search"
    assert np.array_equal(answer(loaded), answer(program))
    loaded.save(tmp_path / "kept")  # as a program of this version, of the making nothing is known
    assert np.array_equal(answer(ph.load(tmp_path / "kept")), answer(program))


@pytest.mark.parametrize("format", [1, FORMAT + 1, "3", True, None, [2]])
def test_another_format_is_refused_by_its_number(tmp_path: Path, format: object) -> None:
    made(1.0).save(tmp_path / "kept")
    _older(tmp_path / "kept", format)
    with pytest.raises(ProgramFile) as error:
        ph.load(tmp_path / "kept")
    assert f"format {format}; this version reads 2 and {FORMAT}" in str(error.value)
    assert set(PARTS) == {2, FORMAT}


def test_the_making_is_kept_with_a_program(tmp_path: Path) -> None:
    program = made(1.5)
    program.save(tmp_path / "kept")
    found = ph.load(tmp_path / "kept").artifact.making
    assert found is not None and found == program.artifact.making
    assert {"x", "total"} <= {one.label for one in found.nodes}
    assert [name for name, _ in found.outputs] == ["y", "next total"]
    assert set(found.steps) >= {one.name for one in program.report.kernels}


@pytest.mark.parametrize("name", [CONSTANTS, SOURCE, MANIFEST, MAKING])
@pytest.mark.parametrize("damage", ["one bit", "cut", "empty", "missing"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, damage: str) -> None:
    made(1.0).save(tmp_path / "kept")
    file = tmp_path / "kept" / name
    content = bytearray(file.read_bytes())
    if damage == "missing":
        file.unlink()
    else:
        content[len(content) // 2] ^= 1
        kept = {"one bit": content, "cut": content[: len(content) // 2], "empty": b""}[damage]
        file.write_bytes(kept)
    with pytest.raises((ProgramFile, FileUnreadable)):
        ph.load(tmp_path / "kept")


def test_a_source_exchanged_with_its_sum_is_refused_by_the_manifests_own_sum(
    tmp_path: Path,
) -> None:
    made(1.0).save(tmp_path / "kept")
    manifest = json.loads((tmp_path / "kept" / MANIFEST).read_text())
    manifest["files"][SOURCE] = "0" * 64
    (tmp_path / "kept" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ProgramFile, match="the manifest was changed"):
        ph.load(tmp_path / "kept")
