"""A model's file or folder, opened: what it says, its tokenizer, and a digest of its contents.

A folder is one of Hugging Face's; anything else is read as GGUF. Nothing is compiled here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from photic.frontends.gguf.reader import open_gguf
from photic.frontends.model_file import ModelFile
from photic.language.tokenizer import Tokenizer, build_tokenizer
from photic.storage.digests import kept_sha256

READ_SUFFIXES = (".json", ".safetensors")


def open_model(path: Path) -> ModelFile:
    """The model at a path. Raises what ``open_gguf`` and ``open_folder`` raise."""
    if not path.is_dir():
        return open_gguf(path)
    from photic.frontends.huggingface.folder import open_folder  # GGUF files do without

    return open_folder(path)


def tokenizer_of_model(file: ModelFile) -> Tokenizer:
    """The tokenizer beside the weights, or in one file with them."""
    if not file.path.is_dir():
        return build_tokenizer(file.metadata, file.path)
    from photic.language.tokenizer_folder import folder_tokenizer

    rows, *_ = file.shapes.get("token_embd.weight") or (0,)
    return folder_tokenizer(file.path, rows)


def fingerprint(path: Path) -> str:
    """A digest of the contents: of a file its sha256, of a folder that of all that is read."""
    if not path.is_dir():
        return kept_sha256(path)
    digest = hashlib.sha256()
    for one in sorted(path.iterdir()):
        if one.suffix in READ_SUFFIXES and one.is_file():
            digest.update(f"{one.name} {kept_sha256(one)}\n".encode())
    return digest.hexdigest()
