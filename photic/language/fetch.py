"""One file from an address into a partial file that a later run can go on with.

Promises: what is already there is not fetched again where the server can resume; a broken
connection is tried again, a few times without progress; an interrupted or failed run keeps the
partial file; never more than the expected size is written.

Does not check contents: the caller compares a sha256.
"""

from __future__ import annotations

import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from photic.language.errors import DownloadFailed
from photic.storage.files import remove_quietly, write_errors

Report = Callable[[str, int, int], None]
"""``report("pull", done_bytes, total_bytes)``."""

CHUNK_BYTES = 1 << 18
TIMEOUTS = httpx.Timeout(30.0, connect=8.0)
# Waits after failures in a row that brought no byte. One more failure ends the attempt.
PAUSES_SECONDS = (0.5, 2.0)
OK, PARTIAL, RANGE_REFUSED = 200, 206, 416
# Answers that another try may change, and answers that only the user's own tools can satisfy.
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
NOT_FOR_US = frozenset({401, 403, 407})


@dataclass(frozen=True, slots=True)
class Network:
    """How the user's machine reaches the outside; "" and () where nothing is set."""

    proxy: str = ""
    certificates: tuple[str, ...] = ()


class AccessRefused(Exception):
    """The server wants a login, certificate or proxy that only the user's own tools know."""


class _BrokenOff(Exception):
    """The transfer ended early; another try may bring more."""


def download(url: str, part: Path, size_bytes: int, network: Network, report: Report) -> None:
    """Bring ``part`` to ``size_bytes`` from ``url`` (http, https or file).

    Raises DownloadFailed when that cannot be done now, AccessRefused when the server does not
    let us, NoSpace or FileUnwritable when ``part`` cannot be written.
    """
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme == "file":
        _copy(url, part, size_bytes, report)
    elif scheme in ("http", "https"):
        with _client(network) as client:
            _persist(client, url, part, size_bytes, report)
    else:
        raise DownloadFailed(what=url, problem="the address is neither http, https nor file")


def _client(network: Network) -> httpx.Client:
    try:
        return httpx.Client(
            verify=_trusted(network),
            proxy=network.proxy or None,
            follow_redirects=True,
            timeout=TIMEOUTS,
        )
    except (ImportError, ValueError) as error:  # a proxy of a kind that httpx does not speak
        raise AccessRefused(str(error)) from error


def _trusted(network: Network) -> ssl.SSLContext:
    """What the system, httpx's own list and the user's bundles trust."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    for bundle in network.certificates:
        place = Path(bundle)
        try:
            if place.is_dir():
                context.load_verify_locations(capath=place)
            else:
                context.load_verify_locations(cafile=place)
        except OSError as error:
            raise DownloadFailed(what=f"certificates from {bundle}", problem=error) from error
    return context


def _persist(client: httpx.Client, url: str, part: Path, size_bytes: int, report: Report) -> None:
    failures = 0
    while True:
        before = _size(part)
        try:
            return _go_on(client, url, part, size_bytes, report)
        except (httpx.RequestError, httpx.InvalidURL, _BrokenOff) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise AccessRefused(str(error)) from error
            failures = 1 if _size(part) > before else failures + 1
            if failures > len(PAUSES_SECONDS):
                raise DownloadFailed(what=_host(url), problem=_said(error)) from error
        time.sleep(PAUSES_SECONDS[failures - 1])


def _go_on(client: httpx.Client, url: str, part: Path, size_bytes: int, report: Report) -> None:
    done = _size(part)
    if done == size_bytes:
        return
    if done > size_bytes:
        remove_quietly(part)
        done = 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response, part)
        if response.status_code != PARTIAL or not _goes_on_at(response, done):
            remove_quietly(part)
        _append(part, response.iter_bytes(), size_bytes, report, url)
    if _size(part) < size_bytes:
        raise _BrokenOff(f"the connection ended after {_size(part)} of {size_bytes} bytes")


def _check_status(response: httpx.Response, part: Path) -> None:
    status = response.status_code
    said = f"the server answers {status} {response.reason_phrase}".rstrip()
    if status == RANGE_REFUSED:
        remove_quietly(part)
    if status in BUSY or status == RANGE_REFUSED:
        raise _BrokenOff(said)
    if status in NOT_FOR_US:
        raise AccessRefused(said)
    if status not in (OK, PARTIAL):
        raise DownloadFailed(what=_host(str(response.url)), problem=said)


def _goes_on_at(response: httpx.Response, start: int) -> bool:
    given = response.headers.get("Content-Range", "")
    return bool(given.startswith(f"bytes {start}-"))


def _append(part: Path, chunks: Iterable[bytes], size_bytes: int, report: Report, url: str) -> None:
    """Write ``chunks`` behind what ``part`` holds, each as it comes."""
    done = _size(part)
    with write_errors(part):
        file = part.open("ab", buffering=0)  # closing it writes nothing, and can't fail
    with file:
        report("pull", done, size_bytes)
        for chunk in chunks:
            done += len(chunk)
            if done > size_bytes:
                remove_quietly(part)
                problem = f"the server sends more than the {size_bytes} bytes it should"
                raise DownloadFailed(what=_host(url), problem=problem)
            rest = memoryview(chunk)
            with write_errors(part):
                while rest:
                    rest = rest[file.write(rest) :]
            report("pull", done, size_bytes)


def _copy(url: str, part: Path, size_bytes: int, report: Report) -> None:
    source = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
    remove_quietly(part)
    try:
        with source.open("rb") as file:
            _append(part, _chunks(file.read), size_bytes, report, url)
    except FileNotFoundError as error:
        raise DownloadFailed(what=source, problem="there is no such file") from error
    if _size(part) != size_bytes:
        problem = f"the file has {_size(part)} bytes instead of {size_bytes}"
        raise DownloadFailed(what=source, problem=problem)


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(CHUNK_BYTES):
        yield chunk


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _host(url: str) -> str:
    """The address without a login or query that a message must not show."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
