"""Cache folders of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from photic.storage import files


def use_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """From now on the cache is this folder, about which this process knows nothing."""
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(folder))
    return folder
