"""A part of the catalogue on the cuda target, by the catalogue's own judges, without a device.

All of it, with ``tests`` on the path of Python:
``PHOTIC_TARGET=cuda pytest -p targets.cuda_stand_in tests/catalogue/test_catalogue_compiled*.py``.
"""

import pytest
from catalogue.running import compiled, floats_and_others, require_none, symbolic_jobs
from targets.cuda_stand_in import use
from targets.opencl_cases import spread

JOBS = 5  # of one program


@pytest.fixture(autouse=True)
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    monkeypatch.setenv("PHOTIC_TARGET", "cuda")


def test_functions_of_float32_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[0], JOBS), symbolic=False))


def test_functions_of_other_dtypes_are_right() -> None:
    require_none(compiled(spread(floats_and_others()[1], JOBS), symbolic=False))


def test_functions_of_symbolic_sizes_are_right() -> None:
    require_none(compiled(spread(symbolic_jobs(), JOBS), symbolic=True))
