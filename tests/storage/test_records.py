"""Tuning records: kept, shared, exported; and what becomes of them when files and disks fail."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from disks import disk, make_read_only

from photic.forms.errors import BadText
from photic.storage import records as recording
from photic.storage.record import Record, record_key
from photic.storage.records import Records

A, B = record_key("a", "c", "zig"), record_key("b", "c", "zig")
GOOD = Record((("values", "0"), ("tile i", "8")), 1e-3, (1e-3, 2e-3), 12, "time", ("fold",))
BETTER = replace(GOOD, seconds=0.5e-3)
PROCESSES, EACH = 8, 20


def never(problem: str) -> None:
    raise AssertionError(f"warned: {problem}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tuning.sqlite"


def warned(path: Path | None) -> tuple[Records, list[str]]:
    problems: list[str] = []
    return Records(path, problems.append), problems


# --- what they do ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_file", [True, False])
def test_a_record_comes_back_as_it_was(path: Path, is_file: bool) -> None:
    records = Records(path if is_file else None, never)
    assert records.best(A) is None
    records.add(A, GOOD)
    assert records.best(A) == GOOD and records.best(B) is None
    assert Records(path, never).best(A) == (GOOD if is_file else None)


@pytest.mark.parametrize("is_file", [True, False])
def test_the_fastest_record_of_a_key_stays(path: Path, is_file: bool) -> None:
    records = Records(path if is_file else None, never)
    for one in (GOOD, BETTER, GOOD):
        records.add(A, one)
    assert records.best(A) == BETTER
    again = replace(BETTER, candidates=99)  # a later search that found nothing better
    records.add(A, again)
    assert records.best(A) == again


def test_looking_makes_no_file(path: Path) -> None:
    assert Records(path, never).best(A) is None
    assert not path.exists()


def test_keys_tell_regions_targets_and_compilers_apart() -> None:
    parts = [("a", "b", "c"), ("b", "a", "c"), ("ab", "", "c"), ("a", "bc", "")]
    assert len({record_key(*one) for one in parts}) == len(parts)
    assert record_key("a", "b", "c") == record_key("a", "b", "c")


def test_odd_characters_in_a_path_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "50% of #1?mode=ro" / "é.sqlite"
    path.parent.mkdir()
    Records(path, never).add(A, GOOD)
    assert Records(path, never).best(A) == GOOD and path.exists()


# --- export and import ----------------------------------------------------------------------


def exported(records: Records) -> str:
    file = io.StringIO()
    records.export(file)
    return file.getvalue()


def test_what_is_exported_can_be_imported(path: Path) -> None:
    records = Records(path, never)
    records.add(A, GOOD)
    records.add(B, BETTER)
    text = exported(records)
    other = Records(None, never)
    assert other.import_(io.StringIO(text)) == 2
    assert exported(other) == text and other.best(A) == GOOD


def test_an_import_does_not_replace_what_is_faster(path: Path) -> None:
    records, slow = Records(path, never), Records(None, never)
    records.add(A, BETTER)
    slow.add(A, GOOD)
    records.import_(exported(slow).splitlines())
    assert records.best(A) == BETTER


GOOD_LINE = {
    "version": 2,
    "key": A,
    "choices": [["values", "0"]],
    "seconds": 1e-3,
    "samples": [1e-3],
    "candidates": 1,
    "stopped": "time",
    "rules": ["fold"],
}
BAD_FIELDS: dict[str, list[object]] = {
    "version": [0, 1, None, "2"],
    "key": ["", A.upper(), A + "0", A[1:], 7, None, A + "\n"],
    "choices": ["x", [["a"]], [["a", 1]], [["a", "b", "c"]], [{"a": "b"}], None, {"a": "b"}],
    "seconds": [0.0, -1.0, float("nan"), float("inf"), "1", None, True, 10**400],
    "samples": [1.0, [0.0], ["1"], [float("nan")], None, [[1.0]]],
    "candidates": [-1, 1.5, "1", None, True],
    "stopped": [None, 1, []],
    "rules": [None, "fold", [1]],
}
BAD_LINES = [
    *(json.dumps({**GOOD_LINE, name: value}) for name, bad in BAD_FIELDS.items() for value in bad),
    *(json.dumps({k: v for k, v in GOOD_LINE.items() if k != name}) for name in GOOD_LINE),
    json.dumps({**GOOD_LINE, "more": 1}),
    "",
    "nonsense",
    "[]",
    "7",
    "[" * 100_000,
    "\0",
    json.dumps({**GOOD_LINE, "stopped": "x" * (1 << 20)}),
]


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:60])
def test_a_line_that_is_no_record_stops_an_import_that_then_adds_nothing(line: str) -> None:
    records = Records(None, never)
    with pytest.raises(BadText, match="line 2"):
        records.import_([json.dumps({**GOOD_LINE, "key": B}), line])
    assert records.best(B) is None


def test_the_good_line_is_good() -> None:
    assert Records(None, never).import_([json.dumps(GOOD_LINE)]) == 1


# --- several processes ----------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from photic.storage.record import Record, record_key
from photic.storage.records import Records
def warn(problem):
    sys.exit(problem)
records = Records(Path(sys.argv[1]), warn)
mine, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    record = Record((("values", mine),), 1.0 + number, (1.0,), number, "time")
    records.add(record_key(f"{mine} {number}", "c", "zig"), record)
    records.add(record_key("all", "c", "zig"), Record((), 1.0 / (1 + number), (1.0,), 1, mine))
    print(number, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = (sys.executable, "-c", WRITER, str(path), name, str(count))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_many_processes_write_one_file_and_nothing_is_lost(path: Path) -> None:
    writers = [writer(path, str(number), EACH) for number in range(PROCESSES)]
    for one in writers:
        _, complaint = one.communicate()
        assert one.returncode == 0, complaint
    records = Records(path, never)
    for name in range(PROCESSES):
        for number in range(EACH):
            found = records.best(record_key(f"{name} {number}", "c", "zig"))
            assert found is not None and found.choices == (("values", str(name)),)
    best = records.best(record_key("all", "c", "zig"))
    assert best is not None and best.seconds == 1 / EACH


def test_a_process_killed_while_it_writes_loses_nothing_that_was_written(path: Path) -> None:
    rng = random.Random(0)
    for attempt in range(6):
        name = f"killed {attempt}"
        with writer(path, name, 100_000) as one:
            assert one.stdout is not None
            one.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            one.send_signal(signal.SIGKILL)
            done = one.stdout.read().splitlines()
        last = int(done[-1]) if done else 0
        records = Records(path, never)
        assert all(records.best(record_key(f"{name} {k}", "c", "zig")) for k in range(last + 1))
        records.add(A, GOOD)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_forked_process_may_go_on(path: Path) -> None:
    records = Records(path, never)
    records.add(A, GOOD)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            records.add(B, GOOD)
            status = 0 if records.best(A) == GOOD else 1
        finally:  # whatever happened, the rest of the tests is not for this process
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert records.best(B) == GOOD


# --- damage ---------------------------------------------------------------------------------


def filled(path: Path) -> None:
    records = Records(path, never)
    for number in range(60):
        records.add(record_key(str(number), "c", "zig"), GOOD)


def garbage(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def truncated(path: Path) -> None:
    filled(path)
    os.truncate(path, path.stat().st_size // 2 - 100)


def scribbled(path: Path) -> None:
    filled(path)
    data = bytearray(path.read_bytes())
    data[4096 : len(data) - 100] = random.Random(0).randbytes(len(data) - 4196)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [garbage, truncated, scribbled], ids=lambda one: one.__name__)
def test_a_damaged_file_is_moved_aside_and_made_anew(
    path: Path, damage: Callable[[Path], None]
) -> None:
    damage(path)
    spoilt = path.read_bytes()
    records, problems = warned(path)
    assert records.best(A) is None
    records.add(A, GOOD)
    records.add(B, GOOD)
    assert records.best(A) == records.best(B) == GOOD
    assert Records(path, never).best(A) == GOOD
    assert len(problems) == 1 and str(path) in problems[0]
    (aside,) = path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == spoilt


def test_a_file_made_anew_by_another_process_is_not_moved(path: Path) -> None:
    garbage(path)
    old = recording._number(path)
    path.unlink()
    (path.parent / "keeps the number taken").write_bytes(b"")
    Records(path, never).add(A, GOOD)
    assert recording._moved_aside(path, old)
    assert Records(path, never).best(A) == GOOD


TOLD = WRITER.replace("sys.exit(problem)", "pass")


def test_a_file_that_is_damaged_while_processes_write_stops_nobody(path: Path) -> None:
    command = (sys.executable, "-c", TOLD, str(path))
    writers = [
        subprocess.Popen((*command, str(number), str(EACH)), stdout=subprocess.DEVNULL)
        for number in range(PROCESSES // 2)
    ]
    while any(one.poll() is None for one in writers):
        path.with_name("new").write_bytes(b"no database" * 1000)
        path.with_name("new").replace(path)
        time.sleep(0.05)
    assert [one.returncode for one in writers] == [0] * len(writers)
    records, _ = warned(path)
    records.add(A, GOOD)
    assert Records(path, never).best(A) == GOOD
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_an_empty_file_is_a_new_one(path: Path) -> None:
    path.touch()
    records = Records(path, never)
    assert records.best(A) is None
    records.add(A, GOOD)
    assert Records(path, never).best(A) == GOOD


def test_a_row_that_makes_no_sense_is_no_record(path: Path) -> None:
    records = Records(path, never)
    records.add(A, GOOD)
    records.add(B, GOOD)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE records SET line = 'nonsense' WHERE key = ?", (A,))
        connection.execute("INSERT INTO records VALUES ('0', 1, NULL)")
        connection.execute("INSERT INTO records VALUES ('1', 1, x'00')")
    connection.close()
    assert records.best(A) is None and records.best(B) == GOOD
    assert exported(records).count("\n") == 1


def test_a_file_of_another_version_is_left_alone(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = path.read_bytes()
    records, problems = warned(path)
    records.add(A, GOOD)
    assert records.best(A) == GOOD and len(problems) == 1
    assert path.read_bytes() == before


# --- disks ----------------------------------------------------------------------------------


def test_a_read_only_disk_is_read_and_memory_takes_the_rest(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=1m") as folder:
        path = folder / "tuning.sqlite"
        Records(path, never).add(A, GOOD)
        make_read_only(folder)
        records, problems = warned(path)
        assert records.best(A) == GOOD and not problems
        records.add(B, GOOD)
        records.add(A, BETTER)
        assert records.best(B) == GOOD and records.best(A) == BETTER
        assert len(problems) == 1
        assert Records(path, never).best(A) == GOOD


def test_a_full_disk_loses_nothing_and_memory_takes_the_rest(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=64k") as folder:
        records, problems = warned(folder / "tuning.sqlite")
        keys = [record_key(str(number), "c", "zig") for number in range(300)]
        for key in keys:
            records.add(key, GOOD)
        assert len(problems) == 1
        assert all(records.best(key) == GOOD for key in keys)
        assert Records(folder / "tuning.sqlite", never).best(keys[0]) == GOOD


def test_a_missing_folder_means_memory(tmp_path: Path) -> None:
    records, problems = warned(tmp_path / "missing" / "tuning.sqlite")
    assert records.best(A) is None and not problems
    records.add(A, GOOD)
    assert records.best(A) == GOOD and len(problems) == 1


def test_a_folder_in_place_of_the_file_means_memory(path: Path) -> None:
    path.mkdir()
    records, problems = warned(path)
    records.add(A, GOOD)
    assert records.best(A) == GOOD and len(problems) == 1


def test_a_file_locked_for_too_long_means_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "WAIT_SECONDS", 0.1)
    Records(path, never).add(A, GOOD)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    records, problems = warned(path)
    records.add(B, GOOD)
    assert records.best(B) == GOOD and len(problems) == 1
    other.close()
    assert records.best(A) == GOOD
