"""CAC-02 to CAC-04 of tuning records: a search with records that are damaged, old, shared or stuck.

Every compilation here must give a program that is right, whatever became of the records.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cases.candidates import winner
from disks import disk, make_read_only

import photic as ph
from photic.base.errors import PhoticWarning
from photic.base.trace import Event, listening
from photic.compiler.compile import prepared
from photic.storage import files
from photic.storage.record import Record
from photic.storage.records import Records
from photic.targets.c import toolchain
from photic.targets.registry import target_named
from photic.tensor.compiling import graph_of
from photic.tuning.partition import partition
from photic.tuning.tune import RECORDS_FILE, Options, tune

ROWS, COLUMNS = 19, 33
SECONDS = 1.0  # of a search
PROCESSES = 3
SEED = 1
ROUNDING = 1e-6  # of numbers of at most 1


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, about which this process knows nothing."""
    return use(tmp_path / "cache", monkeypatch)


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setattr(toolchain, "_sweep", toolchain._Sweep())
    monkeypatch.setenv("PHOTIC_CACHE", str(folder))
    return folder


def outputs() -> dict[str, ph.Tensor]:
    return {"y": ph.softmax(ph.input("x", (ROWS, COLUMNS)), axis=1)}


def sources(search: float = 0.0, without: tuple[str, ...] = ()) -> list[str]:
    """The kernels of a program that was found to be right."""
    program = ph.compile(outputs(), search=search, without=without)
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    power = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(program(x=x)["y"], power / power.sum(1, keepdims=True), 0, ROUNDING)
    return [one.source for one in program.report.kernels]


class Asked(Records):
    """No records, but the keys that were asked for."""

    def __init__(self) -> None:
        super().__init__(None, pytest.fail)
        self.keys: list[str] = []

    def best(self, key: str) -> Record | None:
        self.keys.append(key)
        return None


def remember(change: Callable[[dict[str, str]], dict[str, str]] = dict) -> Path:
    """Write a record of random choices for the only region of the program; where they are."""
    target, asked = target_named("c"), Asked()
    program = prepared(graph_of(outputs(), {}), target).program
    (group,) = partition(program)[1]
    tune(program, target, Options(0.0, 0, (), asked))
    (key,) = asked.keys
    choices = change(dict(winner(group.work, target.machine(), SEED).choices))
    path = files.cache_folder("records") / RECORDS_FILE
    record = Record(tuple(choices.items()), 1e-9, (1e-9,), 1, "best so far")
    Records(path, pytest.fail).add(key, record)
    return path


# --- CAC-02: what a record decides ----------------------------------------------------------


def test_cac_02_the_same_records_give_the_same_program() -> None:
    plain = sources()
    remember()
    found = sources()
    assert found == sources() != plain


@pytest.mark.parametrize("label", ["values 99", "", "-1", "x" * 1000])
def test_cac_02_choices_that_exist_no_longer_are_not_taken(label: str) -> None:
    remember(lambda choices: dict.fromkeys(choices, label))
    assert sources() == sources()


def test_cac_02_what_was_found_with_all_rules_is_not_used_without_some() -> None:
    without = ("folds", "placement")
    plain = sources(without=without)
    remember()
    assert sources(without=without) == sources(without=without[::-1]) == plain


# --- CAC-03: torn, racing, killed -----------------------------------------------------------


def garbage(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = random.Random(0).randbytes(len(data) - 4096)
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def nonsense(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        line = json.dumps({"version": 1, "key": "0" * 64})
        connection.execute("UPDATE records SET line = ?", (line,))
    connection.close()


DAMAGES = (garbage, truncate, scribble, a_folder, nonsense)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_cac_03_damaged_records_are_as_none_and_told_of(damage: Callable[[Path], None]) -> None:
    plain = sources()
    path = remember()
    damage(path)
    told: list[Event] = []
    with listening(lambda event: told.append(event) if event.name == "records" else None):
        assert sources() == plain
    assert len(told) == (damage is not nonsense)  # a line of another version is only skipped


def test_cac_03_a_search_with_damaged_records_goes_on() -> None:
    garbage(remember())
    sources(SECONDS)
    sources()


SEARCH = """
import sys
from cases.test_cac_records import sources
print("started", flush=True)
sources(float(sys.argv[1]))
"""


def searching(cache: Path, seconds: float) -> subprocess.Popen[str]:
    tests = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": tests, "PHOTIC_CACHE": str(cache)}
    command = (sys.executable, "-c", SEARCH, str(seconds))
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def test_cac_03_processes_that_search_on_an_empty_cache_are_all_right(cache: Path) -> None:
    started = [searching(cache, SECONDS) for _ in range(PROCESSES)]
    for one in started:
        _, complaint = one.communicate()
        assert one.returncode == 0, complaint
    sources()


def test_cac_03_a_killed_search_harms_nobody(cache: Path) -> None:
    rng = random.Random(0)
    for _ in range(2):
        with searching(cache, 100 * SECONDS) as one:
            assert one.stdout is not None and one.stdout.readline()
            time.sleep(rng.uniform(0.5, 2.0))
            one.send_signal(signal.SIGKILL)
        sources()
    sources(SECONDS)


# --- CAC-04: where nothing can be written ---------------------------------------------------


def test_cac_04_records_on_a_read_only_disk_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path / "disk", "size=16m") as folder:
        use(folder / "cache", monkeypatch)
        plain = sources()
        path = remember()
        found = sources()
        assert found != plain
        make_read_only(folder)
        use(folder / "cache", monkeypatch)
        held = path.read_bytes()
        assert sources() == found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PhoticWarning)  # new kernels go elsewhere
            sources(SECONDS)
        assert path.read_bytes() == held
