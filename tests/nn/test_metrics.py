"""The files of a training's figures: what they hold, also after a training that goes on."""

from __future__ import annotations

import csv
import importlib
import json
import math
import struct
from pathlib import Path

import pytest

from photic import nn
from photic.nn.trainer_errors import PackageMissing


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_csv_file_has_a_column_a_name_and_numbers_to_the_bit(tmp_path: Path) -> None:
    log = nn.CsvLog(tmp_path / "deep" / "log.csv")
    log.begin(0, 0)
    log.write(1, {"loss": 0.1 + 0.2, "epoch": 1})
    log.write(2, {"loss": math.nan})
    log.write(2, {"val, loss": -math.inf})
    rows = table(tmp_path / "deep" / "log.csv")
    assert [row["step"] for row in rows] == ["1", "2", "2"]
    assert rows[0] == {"step": "1", "loss": repr(0.1 + 0.2), "epoch": "1", "val, loss": ""}
    assert math.isnan(float(rows[1]["loss"])) and float(rows[2]["val, loss"]) == -math.inf


def test_json_lines_are_json_also_of_nan(tmp_path: Path) -> None:
    log = nn.JsonLog(tmp_path / "log.jsonl")
    log.begin(0, 0)
    log.write(1, {"loss": 0.1, "norm": math.inf, "other": math.nan})
    line = (tmp_path / "log.jsonl").read_text()

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(line, parse_constant=refused)
    assert found == {"step": 1, "loss": 0.1, "norm": "inf", "other": "nan"}


@pytest.mark.parametrize("kind", [nn.CsvLog, nn.JsonLog])
def test_rows_after_the_checkpoint_and_a_line_that_was_cut_are_dropped(tmp_path, kind) -> None:
    log = kind(tmp_path / "log")
    log.begin(0, 0)
    for step in range(1, 6):
        log.write(step, {"loss": step / 4})
    whole = (tmp_path / "log").read_text()
    with (tmp_path / "log").open("a") as file:
        file.write("6,0.")
    again = kind(tmp_path / "log")
    again.begin(3, 3)
    for step in range(4, 6):
        again.write(step, {"loss": step / 4})
    assert (tmp_path / "log").read_text() == whole


@pytest.mark.parametrize("kind", [nn.CsvLog, nn.JsonLog])
def test_a_training_that_begins_anew_begins_the_file_anew(tmp_path: Path, kind) -> None:
    for name in ("old", "new"):
        log = kind(tmp_path / "log")
        log.begin(0, 0)
        log.write(1, {name: 1.0})
    assert "old" not in (tmp_path / "log").read_text()


# --- TensorBoard ----------------------------------------------------------------------------


def records(folder: Path) -> list[bytes]:
    """The records of all event files, by the format of TFRecord: length, crc, data, crc."""
    found = []
    for path in sorted(folder.iterdir()):
        blob, place = path.read_bytes(), 0
        while place < len(blob):
            (length,) = struct.unpack_from("<Q", blob, place)
            found.append(blob[place + 12 : place + 12 + length])
            place += 12 + length + 4
        assert place == len(blob)
    return found


def test_event_files_hold_every_figure(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    log = nn.TensorBoardLog(tmp_path)
    log.begin(0, 0)
    log.write(1, {"loss": 0.5})
    log.write(2, {"loss": 0.25, "val_loss": 1.0})
    log.close()
    found = [one for one in records(tmp_path) if b"loss" in one]
    assert sum(b"val_loss" in one for one in found) == 1
    for value, one in zip((0.5, 0.25, 1.0), found, strict=True):
        assert struct.pack("<f", value) in one
    log.begin(1, 1)
    log.write(2, {"loss": 0.125})
    log.close()
    assert any(struct.pack("<f", 0.125) in one for one in records(tmp_path))


def test_without_the_package_tensorboard_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(PackageMissing, match=r"pip install 'photic\[tensorboard\]'"):
        nn.TensorBoardLog(tmp_path)
