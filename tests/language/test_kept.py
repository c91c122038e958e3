"""Compiled models kept in the cache: for whom, and against damage, races and interruptions."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from caches import use_cache
from disks import disk
from language.tiny_llama import write_talking

import photic as ph
from photic.base.errors import PhoticWarning
from photic.base.trace import listening
from photic.storage import files
from photic.storage.record import Record
from photic.storage.records import RECORDS_FILE, Records
from photic.tensor import kept
from photic.tensor.kept import Making, Shelf, kept_program, own_code, remade_program

HANG_SECONDS = 120.0
FILLING_BYTES = 4096


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, about which this process knows nothing."""
    return use_cache(tmp_path / "cache", monkeypatch)


class Maker:
    """Makes a program that multiplies by 3; counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> ph.Program:
        self.times += 1
        x = ph.input("x", (4,))
        return ph.compile({"y": x * ph.constant(np.full(4, 3, np.float32))})


def answer(make: Maker, model: str = "m") -> list[float]:
    program = kept_program((model,), "c", make, silent)
    return [float(one) for one in program(x=np.ones(4, np.float32))["y"]]


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


def programs(cache: Path) -> list[Path]:
    """Kept programs; whatever else lies there but locks and notes is a fault."""
    found = [one for one in (cache / "programs").iterdir() if not one.name.startswith(".lock-")]
    notes = {one for one in found if one.suffix == kept.NOTE_SUFFIX}
    found = [one for one in found if one not in notes]
    assert notes <= {one.with_name(one.name + kept.NOTE_SUFFIX) for one in found}
    assert not [one for one in found if one.name.startswith(".")]
    return sorted(found, key=lambda one: one.stat().st_mtime_ns)


# --- for whom -------------------------------------------------------------------------------


def test_a_program_is_made_once() -> None:
    make = Maker()
    assert answer(make) == answer(make) == [3.0] * 4
    assert make.times == 1


def test_another_model_another_code_and_another_machine_get_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = Maker()
    answer(make)
    answer(make, "other")
    assert make.times == 2
    monkeypatch.setattr(kept, "own_code", lambda: "edited")
    answer(make)
    assert make.times == 3
    monkeypatch.setattr("photic.targets.c.facts.processor_text", lambda: "another processor")
    answer(make)
    assert make.times == 4


def test_of_one_model_the_two_newest_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    answer(make, "other")
    for number in range(4):
        monkeypatch.setattr(kept, "own_code", lambda number=number: f"edit {number}")
        answer(make)
        time.sleep(0.02)  # the clocks of file systems are coarse
    assert len(programs(cache)) == 3
    answer(make)
    monkeypatch.setattr(kept, "own_code", lambda: "edit 2")
    answer(make)
    assert make.times == 5


def test_progress_counts_up_while_it_compiles_and_is_silent_afterwards() -> None:
    seen: list[tuple[str, int, int]] = []
    make = Maker()
    for _ in range(2):
        kept_program(("m",), "c", make, lambda *one: seen.append(one))
    assert {stage for stage, _, _ in seen} == {"compile"}
    (_, done, total) = seen[-1]
    assert done == total > 5
    counts = [done for _, done, _ in seen]
    assert counts == sorted(counts) and counts[0] == 0
    assert make.times == 1


# --- records --------------------------------------------------------------------------------


def add_record(key: str, seconds: float) -> None:
    path = files.cache_folder("records") / RECORDS_FILE
    Records(path, print).add(key, Record((("stay", "yes"),), seconds, (seconds,), 1, "test"))


def keys_asked(make: Maker) -> list[str]:
    keys: list[str] = []
    with listening(lambda event: keys.append(str(event.data.get("key")))):
        make()
    return [one for one in keys if len(one) == 64]


def test_a_better_record_of_a_kernel_makes_the_program_again_once() -> None:
    (key,) = keys_asked(Maker())
    make = Maker()
    for times, seconds in ((1, 1.0), (2, 0.5), (3, 0.75)):
        assert answer(make) == answer(make) == [3.0] * 4
        assert make.times == times
        add_record(key, seconds)
    answer(make)
    assert make.times == 3  # the last record was no better


def test_a_record_of_another_program_changes_nothing() -> None:
    make = Maker()
    answer(make)
    add_record("ab" * 32, 1.0)
    answer(make)
    assert make.times == 1


def test_a_program_that_was_remade_is_the_one_that_is_kept() -> None:
    make, search = Maker(), Maker()
    answer(make)
    remade_program(("m",), "c", search, silent)
    remade_program(("m",), "c", search, silent)
    answer(make)
    assert (make.times, search.times) == (1, 2)


def test_records_that_appear_while_it_is_made_are_those_that_it_is_kept_for() -> None:
    """A ``make`` that searches leaves records; the next start must not search again."""
    (key,) = keys_asked(Maker())
    times = 0

    def make() -> ph.Program:
        nonlocal times
        times += 1
        program = Maker()()
        add_record(key, 1.0 / times)
        return program

    for _ in range(3):
        kept_program(("m",), "c", make, silent)
    assert times == 1


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"0\nno key", b"0" * 100])
def test_a_damaged_note_only_costs_a_compilation(cache: Path, text: bytes) -> None:
    make = Maker()
    answer(make)
    (folder,) = programs(cache)
    folder.with_name(folder.name + kept.NOTE_SUFFIX).write_bytes(text)
    assert answer(make) == answer(make) == [3.0] * 4
    assert make.times == 2


# --- texts, variants, shelves ---------------------------------------------------------------


def made(make: Maker, model: str = "m", **given: Any) -> str:
    """The text of a program that is kept with the model's name."""
    making = Making((model,), "c", lambda: (make(), f"of {model}\n"), **given)
    program, text = kept.kept(making, silent)
    assert program(x=np.ones(4, np.float32))["y"].tolist() == [3.0] * 4
    return text


def test_a_text_is_kept_with_its_program() -> None:
    make = Maker()
    assert made(make) == made(make) == "of m\n"
    assert make.times == 1


def test_a_variant_of_a_model_has_a_program_of_its_own() -> None:
    make = Maker()
    for _ in range(2):
        for variant in ((), ("a",), ("b",)):
            made(make, variant=variant, shelf=Shelf("s.", 3))
    assert make.times == 3


def test_a_shelf_keeps_so_many_programs_of_a_model_and_so_many_bytes_of_all(cache: Path) -> None:
    make = Maker()
    answer(make)
    for shelf, count in ((Shelf("s.", 2), 5), (Shelf("s.", 2, most_bytes=0), 2)):
        for number in range(6):
            made(make, f"model {number // 3}", variant=(str(number),), shelf=shelf)
            time.sleep(0.02)  # the clocks of file systems are coarse
        assert len(programs(cache)) == count


def test_a_model_that_changed_while_it_was_compiled_is_not_kept(cache: Path) -> None:
    make = Maker()
    assert made(make, is_same=lambda: False) == "of m\n"
    assert programs(cache) == []


# --- damage ---------------------------------------------------------------------------------


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 4
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("name", ["manifest.json", "kernels.c", "constants.safetensors"])
def test_a_damaged_program_is_made_again_and_kept(
    cache: Path, name: str, damage: Callable[[Path], None]
) -> None:
    make = Maker()
    answer(make)
    damage(programs(cache)[0] / name)
    assert answer(make) == answer(make) == [3.0] * 4
    assert make.times == 2


def test_a_file_in_the_programs_place_only_costs_the_keeping(cache: Path) -> None:
    make = Maker()
    answer(make)
    (folder,) = programs(cache)
    shutil.rmtree(folder)
    folder.write_text("not a program")
    with pytest.warns(PhoticWarning, match="not kept"):
        assert answer(make) == [3.0] * 4


def test_on_a_full_disk_the_model_answers_and_a_warning_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path / "small", "size=64m,mode=700") as folder:
        use_cache(folder, monkeypatch)
        make = Maker()
        answer(make, "room for this one")
        filler = folder / "filler"
        with filler.open("wb") as file, pytest.raises(OSError):
            while True:
                os.write(file.fileno(), bytes(FILLING_BYTES))
        with pytest.warns(PhoticWarning, match=r"no space left.*not kept"):
            assert answer(make) == [3.0] * 4
        filler.unlink()
        assert answer(make) == answer(make) == [3.0] * 4
        assert make.times == 3
        assert len(programs(folder)) == 2


# --- the fingerprint of the code ------------------------------------------------------------


def test_an_edit_of_any_source_changes_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "photic"
    (package / "targets").mkdir(parents=True)
    (package / "targets" / "pool.c").write_text("a")
    (package / "a.py").write_text("a")
    monkeypatch.setattr(kept, "PACKAGE", package)
    first = own_code()
    os.utime(package / "a.py", (1, 1))
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.pyc").write_text("x")
    assert own_code() == first
    (package / "targets" / "pool.c").write_text("b")
    second = own_code()
    (package / "a.py").rename(package / "b.py")
    assert len({first, second, own_code()}) == 3


def test_an_installation_in_a_zip_file_has_a_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "photic.zip"
    monkeypatch.setattr(kept, "PACKAGE", archive / "photic")
    found = set()
    for text in ("a", "longer"):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("photic/a.py", text)
        found.add(own_code())
    assert len(found) == 2


# --- several processes, interruptions, killed ones ------------------------------------------


COMMAND = "import sys; sys.argv[0] = 'photic'; from photic.cli.main import run; run()"


def start(model: Path) -> subprocess.Popen[str]:
    """``photic run`` of a model in a process of its own."""
    arguments = ["run", str(model), "hello", "--raw", "--max-tokens", "8"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    write_talking(path)
    return path


def finished(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, errors
    return out


def test_processes_on_an_empty_cache_give_one_answer(cache: Path, model: Path) -> None:
    answers = [finished(one) for one in [start(model) for _ in range(3)]]
    assert len(set(answers)) == 1
    assert len(programs(cache)) == 1
    assert finished(start(model)) == answers[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("delay", [0.0, 0.3, 0.8])
def test_a_compile_that_is_interrupted_leaves_nothing_broken(
    cache: Path, model: Path, number: signal.Signals, delay: float
) -> None:
    process = start(model)
    assert process.stderr is not None
    assert process.stderr.readline() == "Compiling ...\n"
    time.sleep(delay)
    process.send_signal(number)
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert process.returncode in (0, 130)
        assert len(programs(cache)) <= 1
    assert finished(start(model)) == finished(start(model))
