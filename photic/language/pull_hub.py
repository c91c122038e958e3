"""A model of Hugging Face's hub by ``hf:owner/name``: fetched by ``huggingface_hub``, kept by it.

``hf:owner/name`` is a folder with config, weights and tokenizer; ``hf:owner/name/file.gguf`` one
file of a repository; ``@revision`` behind the name says which state of it. Only files that are
read here are fetched: no pickles, no code. Logins, mirrors and the cache are the library's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from photic.base.settings import setting
from photic.language.errors import DownloadFailed, HubMissing, ModelUnknown

PREFIX = "hf:"
WANTED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
WANTED_TOO = ("chat_template.jinja", "*.safetensors", "*.safetensors.index.json")
NAME = re.compile(r"([\w.-]+/[\w.-]+?)(?:@([\w./-]+?))?(?:/([\w./ -]+\.gguf))?")
EXPECTED = "hf:owner/name, hf:owner/name@revision or hf:owner/name/file.gguf"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A repository, its revision or None, and one file of it or None for the model's folder."""

    repository: str
    revision: str | None
    file: str | None


def is_hub_name(name: object) -> bool:
    """Whether a name means a model of the hub."""
    return isinstance(name, str) and name.startswith(PREFIX)


def pull_hub(name: str, report: Callable[[str, int, int], None]) -> Path:
    """The folder or file of a hub's model, fetched if need be.

    Raises ModelUnknown (a name of another form), HubMissing, or DownloadFailed, which says whether
    the hub was not reached, does not know the model, or does not let everybody have it.
    """
    found = NAME.fullmatch(name.removeprefix(PREFIX))
    if found is None:
        raise ModelUnknown(name=name, expected=EXPECTED)
    wanted = _Wanted(found[1], found[2], found[3])
    try:
        import huggingface_hub  # noqa: F401
    except ImportError as error:
        raise HubMissing(what=name, problem=str(error)) from None
    report("pull", 0, 0)
    try:
        return _fetched(wanted)
    except (OSError, ValueError) as error:
        raise DownloadFailed(what=name, problem=_problem(error)) from error


def _fetched(wanted: _Wanted) -> Path:
    """The folder, or the file in it. Raises DownloadFailed if the hub's model lacks it."""
    from huggingface_hub import snapshot_download

    patterns = [*WANTED, *WANTED_TOO] if wanted.file is None else [wanted.file]
    # A single file by this way too: the other one waits half a minute for a hub out of reach.
    folder = snapshot_download(
        wanted.repository,
        revision=wanted.revision,
        allow_patterns=patterns,
        local_files_only=bool(setting("offline")),
    )
    found = Path(folder) / (wanted.file or WANTED[0])
    if not found.is_file():
        problem = f"the model has no file {wanted.file or WANTED[0]}"
        raise DownloadFailed(what=f"{PREFIX}{wanted.repository}", problem=problem)
    return Path(folder) if wanted.file is None else found


def _problem(error: Exception) -> str:
    """What went wrong, in a line that a user can act upon."""
    from huggingface_hub import errors

    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if isinstance(error, errors.GatedRepoError):
        return "its owner asks for a licence to be accepted and a login (hf auth login)"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "the hub has no such model, or it is private (hf auth login)"
    if isinstance(error, errors.RevisionNotFoundError):
        return "the model has no such revision"
    if setting("offline"):
        return "it is not in the hub's cache, and PHOTIC_OFFLINE forbids to use the network"
    if isinstance(error, errors.LocalEntryNotFoundError | ConnectionError):
        return f"the Hugging Face hub cannot be reached, and it is not in the cache ({first})"
    return first
