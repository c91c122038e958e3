"""A part of the catalogue on the opencl target, by the catalogue's own judges.

All of it: ``PHOTIC_TARGET=opencl pytest tests/catalogue/test_catalogue_compiled*.py``.
"""

import pytest
from catalogue.running import compiled, floats_and_others, require_none, symbolic_jobs
from targets.opencl_cases import spread

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")


@pytest.fixture(autouse=True)
def on_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTIC_TARGET", "opencl")


def test_functions_of_float32_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[0]), symbolic=False))


def test_functions_of_other_dtypes_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[1]), symbolic=False))


def test_functions_of_symbolic_sizes_are_right() -> None:
    require_none(compiled(spread(symbolic_jobs()), symbolic=True))
