"""What holds for every test: a cache of its own, repeatable randomness, named gaps.

Where processes share the tests, NumPy and torch keep to one thread each: threads that wait for
cores that another process has make both slower. Programs of photic use all cores, as ever.

Without PHOTIC_CACHE in the environment, tests share one temporary cache folder per run, so that
they neither read nor fill the user's. Tests with a real model (``-m model``) keep the user's cache,
because a model is fetched once, not once per run.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import tempfile

import numpy as np
import pytest
from hypothesis import settings
from longest import longest_first

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PEERS = ("torch", "transformers")
YOUNG_OBJECTS = 20_000  # that are made before garbage is looked for; 700 takes a tenth of the time

# The same examples in every run: a failure seen once can be seen again.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

_made_folder = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Workers of pytest-xdist inherit variables, and so the cache's folder, from their parent."""
    if config.getoption("numprocesses", None):
        for name in THREADS:
            os.environ.setdefault(name, "1")
    with_models = "not model" not in (config.option.markexpr or "")
    if "PHOTIC_CACHE" not in os.environ and not with_models:
        config.stash[_made_folder] = tempfile.mkdtemp(prefix="photic-tests-")
        os.environ["PHOTIC_CACHE"] = config.stash[_made_folder]


def pytest_unconfigure(config: pytest.Config) -> None:
    if _made_folder in config.stash:
        del os.environ["PHOTIC_CACHE"]
        shutil.rmtree(config.stash[_made_folder], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in PEERS if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"{', '.join(missing)} not installed: pip install '.[peers]'"
        for item in items:
            if item.get_closest_marker("peers"):
                item.add_marker(pytest.mark.skip(reason=reason))
    longest_first(items)


def pytest_collection_finish() -> None:
    """Thousands of tests with their cases stay to the end: they are never garbage."""
    _keep_what_is_left()
    gc.set_threshold(YOUNG_OBJECTS)


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_looked_through_twice() -> None:
    """What files of tests left behind stays to the end too: modules, tables, cached results.

    Looked through when the next file begins: until then pytest holds what the last test had.
    """
    _keep_what_is_left()


def _keep_what_is_left() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
