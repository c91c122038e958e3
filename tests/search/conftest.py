"""Tests of the e-graph need egglog, which the package itself does not."""

from __future__ import annotations

import importlib.util

import pytest

WITHOUT = ("test_check", "test_measure", "test_record")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("egglog") is None:
        missing = pytest.mark.skip(reason="needs egglog: pip install '.[dev]'")
        for item in items:
            folder = item.path.parent.name
            if folder in ("search", "rules") and item.path.stem not in WITHOUT:
                item.add_marker(missing)
