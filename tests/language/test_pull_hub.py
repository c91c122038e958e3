"""Models of the hub: what is asked of ``huggingface_hub``, and what each of its failures says."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest

from photic.language.errors import DownloadFailed, HubMissing, ModelUnknown
from photic.language.pull import pull

pytestmark = pytest.mark.peers  # transformers brings huggingface_hub


def silent(stage: str, done: int, total: int) -> None:
    """No report."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, dict[str, object]]]:
    """What the hub was asked; it gives a folder with a config and a GGUF file."""
    import huggingface_hub

    calls: list[tuple[str, dict[str, object]]] = []
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "a.gguf").write_text("")

    def snapshot_download(name: str, **options: object) -> str:
        calls.append((name, options))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return calls


def test_a_name_is_a_folder_without_pickles_or_code(
    asked: list[tuple[str, dict[str, object]]], tmp_path: Path
) -> None:
    assert pull("hf:owner/name", silent) == tmp_path
    name, options = asked[0]
    patterns = options["allow_patterns"]
    assert (name, options["revision"]) == ("owner/name", None)
    assert isinstance(patterns, list)
    assert "*.safetensors" in patterns
    assert not any(one.endswith((".bin", ".py", ".pt")) or one == "*" for one in patterns)


def test_a_revision_and_a_file_are_asked_for(
    asked: list[tuple[str, dict[str, object]]], tmp_path: Path
) -> None:
    assert pull("hf:owner/na.me@v1.0/a.gguf", silent) == tmp_path / "a.gguf"
    name, options = asked[0]
    assert (name, options["revision"]) == ("owner/na.me", "v1.0")
    assert options["allow_patterns"] == ["a.gguf"]


def test_a_missing_file_is_named(asked: list[tuple[str, dict[str, object]]]) -> None:
    with pytest.raises(DownloadFailed, match=r"the model has no file b\.gguf"):
        pull("hf:owner/name/b.gguf", silent)


def test_offline_nothing_is_asked_of_the_network(
    asked: list[tuple[str, dict[str, object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_OFFLINE", "1")
    pull("hf:owner/name", silent)
    assert asked[0][1]["local_files_only"] is True


@pytest.mark.parametrize("name", ["hf:", "hf:name", "hf:a/b/c", "hf:a/../b", "hf:a b/c", "hf:a/b@"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(ModelUnknown, match="known: hf:owner/name"):
        pull(name, silent)


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubMissing, match=r"(?s)huggingface_hub.*pip install 'photic\[hub\]'"):
        pull("hf:owner/name", silent)


FAILURES = {
    "GatedRepoError": "a licence to be accepted",
    "RepositoryNotFoundError": "has no such model, or it is private",
    "RevisionNotFoundError": "no such revision",
    "HfHubHTTPError": "502 of the server",
    "LocalEntryNotFoundError": r"the Hugging Face hub cannot be reached, .* \(502 of the server\)",
    "OfflineModeIsEnabled": "cannot be reached",
    "HFValidationError": "502 of the server",
}


@pytest.mark.parametrize(("name", "message"), FAILURES.items(), ids=FAILURES)
def test_each_failure_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    kind = getattr(errors, name)
    response = httpx.Response(502, request=httpx.Request("GET", "https://hub"))
    is_http = issubclass(kind, errors.HfHubHTTPError)
    text = "502 of the server\nmore"
    failure = kind(text, response=response) if is_http else kind(text)

    def snapshot_download(name: str, **options: object) -> str:
        raise failure

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(DownloadFailed, match=message):
        pull("hf:owner/name", silent)
