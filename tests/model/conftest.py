"""Open sessions of the real model, and a peer with its weights, for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from model.peer import llama_of
from model.sessions import SMOLLM2, opened

from photic.language.pull import pull
from photic.language.session import Session

if TYPE_CHECKING:
    import transformers


@pytest.fixture(scope="session")
def exact() -> Session:
    """SmolLM2 in float32 at its own context, fetched and compiled where that is not done."""
    return opened(SMOLLM2, precision="exact")


@pytest.fixture(scope="session")
def usual() -> Session:
    """The same as ``photic run`` opens it."""
    return opened(SMOLLM2)


@pytest.fixture(scope="session")
def peer() -> transformers.LlamaForCausalLM:
    """transformers' model with the weights of the same file."""
    return llama_of(pull(SMOLLM2, lambda stage, done, total: None))
