"""Which device of a target is meant, and that each is opened once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from targets.cuda_stand_in import number, use

import photic as ph
from photic.base.errors import BadArgument
from photic.targets.cuda.device import DRIVEN
from photic.targets.cuda.errors import CudaMissing
from photic.targets.registry import target_named


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two devices of one name."""
    found = use(monkeypatch)
    monkeypatch.setattr(number(found, "devices"), "value", 2)


def test_no_name_is_the_c_target_or_what_the_setting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTIC_TARGET", "")
    assert target_named("").name == "c"
    monkeypatch.setenv("PHOTIC_TARGET", "opencl")
    assert target_named("").name == "opencl"


def test_a_device_is_opened_once_and_only_where_it_is_asked_for(two: None) -> None:
    program = ph.compile({"y": ph.input("x", (3,)) + 1}, target="cuda:1", search=0)
    assert program(x=np.zeros(3, np.float32))["y"].tolist() == [1.0] * 3
    assert list(DRIVEN.used) == [1]
    assert DRIVEN.opened(1) is DRIVEN.opened(1)


def test_trials_of_a_search_run_on_the_device_that_was_chosen(two: None) -> None:
    assert [target_named(one).worker.partition(":")[2] for one in ("cuda", "cuda:1")] == ["0", "1"]


def test_a_saved_program_runs_on_the_device_of_the_setting(
    two: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ph.compile({"y": ph.input("x", (3,)) + 1}, target="cuda", search=0).save(tmp_path / "p.photic")
    monkeypatch.setenv("PHOTIC_TARGET", "cuda:1")
    ph.load(tmp_path / "p.photic")
    assert list(DRIVEN.used) == [0, 1]
    monkeypatch.setenv("PHOTIC_TARGET", "c:1")  # another target's
    assert ph.load(tmp_path / "p.photic").artifact.target == "cuda"


@pytest.mark.parametrize("device", ["2", "abacus", "processor"])
def test_a_device_that_is_none_or_several_is_an_error_that_lists_them(
    device: str, two: None
) -> None:
    with pytest.raises(BadArgument, match=r"P104.*cuda:0 \(.*cuda:1 \("):
        target_named(f"cuda:{device}")


def test_a_device_of_another_process_is_not_used(
    two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DRIVEN.used, 0, (os.getpid() + 1, None))
    with pytest.raises(CudaMissing, match="forked"):
        DRIVEN.opened()
