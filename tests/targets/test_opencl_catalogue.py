"""A part of the catalogue on the opencl target, by the catalogue's own judges.

All of it: ``PHOTIC_TARGET=opencl pytest tests/catalogue/test_catalogue_compiled*.py``.
"""

import pytest
from catalogue.running import Job, compiled, floats_and_others, require_none, symbolic_jobs

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")

JOBS = 8  # of one program: drivers compile each kernel for some 70 ms


def spread(jobs: list[Job]) -> list[Job]:
    """A few jobs, evenly from all that need no peer."""
    own = [job for job in jobs if not job.entry.is_peer]
    return own[:: -(-len(own) // JOBS)]


@pytest.fixture(autouse=True)
def on_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTIC_TARGET", "opencl")


def test_functions_of_float32_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[0]), symbolic=False))


def test_functions_of_other_dtypes_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[1]), symbolic=False))


def test_functions_of_symbolic_sizes_are_right() -> None:
    require_none(compiled(spread(symbolic_jobs()), symbolic=True))
