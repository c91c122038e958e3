"""One open session of the real model for all tests of this folder."""

from __future__ import annotations

import pytest

from photic.language.session import Session, open_session


@pytest.fixture(scope="session")
def session() -> Session:
    """SmolLM2 at its own context, fetched and compiled where that was not done before."""
    return open_session("smollm2-135m", context=None, progress=lambda stage, done, total: None)
