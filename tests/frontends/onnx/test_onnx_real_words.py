"""Real models of speech and text equal onnxruntime: with states, branches, quantised by ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from frontends.onnx import onnx_real as real
from frontends.onnx.onnx_peer import (
    DRIFTING,
    Feeds,
    cut_at_quantisation,
    distance,
    our_outputs,
    peer_outputs,
    require_equal,
    require_units,
    session_of,
)

pytestmark = pytest.mark.model

CONTEXT, STEP = 64, 512  # numbers before a step of speech, and in it
FIRST_STEP = 20  # where the sentence has begun


def _silero(file: str) -> bytes:
    return real.member(real.SILERO, f"silero_vad/data/{file}.onnx")


def stretch(count: int) -> Feeds:
    """What the detector of whole stretches is fed."""
    return {"input": _steps(count), "h": _zeros(1, 1, 128), "c": _zeros(1, 1, 128)}


def _steps(count: int) -> Any:
    """(count, 576): steps of speech, each with what stood before it."""
    lines = np.lib.stride_tricks.sliding_window_view(real.speech(), CONTEXT + STEP)
    return np.ascontiguousarray(lines[::STEP][FIRST_STEP : FIRST_STEP + count])


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


RATE = {"sr": np.array(real.WAV_RATE)}
DETECTORS: Mapping[str, Mapping[str, Any]] = {
    "silero_vad": RATE,
    "silero_vad_16k_op15": RATE,
    "silero_vad_op18_ifless": RATE,
    "silero_vad_half": {},
    "silero_vad_openvino_16k": {},
}


@pytest.mark.parametrize("file", DETECTORS)
def test_speech_is_followed_step_by_step_as_by_onnxruntime(file: str) -> None:
    """Each keeps its own state, so that differences could grow."""
    data = _silero(file)
    session = session_of(data)
    states = {"theirs": _zeros(2, 1, 128), "ours": _zeros(2, 1, 128)}
    heard = []
    for step in _steps(12):
        feeds = {"input": step[None], **DETECTORS[file]}
        theirs = peer_outputs(data, {**feeds, "state": states["theirs"]})
        ours = our_outputs(session, {**feeds, "state": states["ours"]})
        require_equal(theirs, ours)
        states = {"theirs": theirs["stateN"], "ours": ours["stateN"]}
        heard.append(float(ours["output"][0, 0]))
    assert max(heard) > 0.5


def test_speech_at_half_the_rate_takes_the_other_branch() -> None:
    data = _silero("silero_vad")
    sound = real.speech_at(8000)[2560 : 2560 + 288][None]
    feeds = {"input": sound, "state": _zeros(2, 1, 128), "sr": np.array(8000)}
    require_equal(peer_outputs(data, feeds), our_outputs(session_of(data), feeds))


def test_a_stretch_of_speech_in_one_call() -> None:
    data = _silero("silero_vad_16k_sequence")
    session = session_of(data, {"sequence_length": (1, 64)})
    for count in (7, 30):
        feeds = stretch(count)
        require_equal(peer_outputs(data, feeds), our_outputs(session, feeds))
    assert len(session._chains) == 1


def test_several_voices_in_one_call() -> None:
    data = _silero("silero_vad_16k_op15")
    session = session_of(data, {"batch": (1, 4), "sequence": CONTEXT + STEP})
    for count in (1, 3):
        feeds = {"input": _steps(count), "state": _zeros(2, count, 128), **RATE}
        require_equal(peer_outputs(data, feeds), our_outputs(session, feeds))


# --- texts, quantised -----------------------------------------------------------------------


def _tashkeel(file: str) -> Callable[[], bytes]:
    return lambda: real.member(real.TASHKEEL, f"text2tashkeel/models/{file}.onnx")


def _span(file: str) -> Callable[[], bytes]:
    return lambda: real.member(real.TITLES, f"traceforge_title_model/data/span/{file}.onnx")


def _arabic(vocabulary: str) -> Callable[[], Feeds]:
    return lambda: {"input": real.arabic_characters(vocabulary)}


def _read_by_encoder() -> Feeds:
    ids = real.english_pieces()
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


@cache
def _hidden() -> Any:
    return peer_outputs(_span("encoder")(), _read_by_encoder())["last_hidden_state"]


def _read_by_decoder() -> Feeds:
    hidden = _hidden()
    start = np.concatenate([[[0]], real.english_pieces()[:, :5]], 1)
    mask = np.ones(hidden.shape[:2], np.int64)
    return {"input_ids": start, "encoder_hidden_states": hidden, "encoder_attention_mask": mask}


TEXTS: Mapping[str, tuple[Callable[[], bytes], Callable[[], Feeds], Mapping[str, Any]]] = {
    "bilstm": (
        _tashkeel("bilstm.int8"),
        lambda: {"input_ids": real.arabic_letters()},
        {"batch": 1, "seq_len": (2, 64)},
    ),
    "rawi": (
        _tashkeel("rawi.int8"),
        _arabic("rawi.vocab.json"),
        {"batch_size": 1, "sequence": (2, 64)},
    ),
    "rawi_v2": (
        _tashkeel("rawi_v2.int8"),
        _arabic("rawi_v2.vocab.json"),
        {"batch": 1, "seq": (2, 64)},
    ),
    "rawi_v3": (
        _tashkeel("rawi_v3.int8"),
        _arabic("rawi_v2.vocab.json"),
        {"batch": 1, "seq": (2, 64)},
    ),
    "rawi_ensemble": (
        _tashkeel("rawi_ensemble.int8"),
        _arabic("rawi_v2.vocab.json"),
        {"batch": 1, "seq": (2, 64)},
    ),
    "t5-encoder": (
        _span("encoder"),
        _read_by_encoder,
        {"batch_size": 1, "encoder_sequence_length": (2, 48)},
    ),
    "t5-decoder": (
        _span("decoder"),
        _read_by_decoder,
        {"batch_size": 1, "decoder_sequence_length": (2, 16), "encoder_sequence_length": (2, 48)},
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_quantised_tensor_is_onnxruntimes_to_the_unit(name: str) -> None:
    model, make, _ = TEXTS[name]
    data, feeds, expected = cut_at_quantisation(model(), make())
    require_units(expected, our_outputs(session_of(data), feeds))


@pytest.mark.parametrize("name", TEXTS)
def test_a_quantised_model_of_text_is_near_onnxruntime_as_a_whole(name: str) -> None:
    model, make, dims = TEXTS[name]
    data, feeds = model(), make()
    theirs = peer_outputs(data, feeds)
    fixed, ranged = our_outputs(session_of(data), feeds), our_outputs(session_of(data, dims), feeds)
    for key, one in theirs.items():
        assert distance(one, fixed[key]) <= DRIFTING
        assert distance(one, ranged[key]) <= DRIFTING
        assert np.mean(one.argmax(-1) == fixed[key].argmax(-1)) > 0.9


# --- a voice --------------------------------------------------------------------------------

PHASES = "/decoder/decoder/generator/Concat_3_output_0"  # lengths, then angles of a spectrum
TOKENS = np.array([[0, 50, 83, 54, 156, 57, 135, 0]])


def voice() -> Feeds:
    """A word in sounds, spoken by a voice that is made up."""
    style = np.random.default_rng(0).standard_normal((1, 256)).astype(np.float32)
    return {"tokens": TOKENS, "style": style * np.float32(0.1), "speed": np.ones(1, np.float32)}


@pytest.fixture(scope="module")
def spoken() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What onnxruntime expects of each part of the voice, and what photic gives."""
    data, feeds, expected = cut_at_quantisation(real.kokoro(), voice())
    return expected, our_outputs(session_of(data), feeds)


def test_every_quantised_tensor_of_a_voice_is_onnxruntimes_to_the_unit(
    spoken: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> None:
    """But for angles of numbers that are 0 but for rounding: they are any."""
    expected, ours = spoken
    require_units(expected, ours, without=(PHASES,))


def test_the_spectrum_of_a_voice_is_onnxruntimes(
    spoken: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> None:
    """Lengths with their angles, as points of the plane; a unit of both is 1/255 of the range."""
    expected, ours = spoken
    points = []
    for held in (expected, ours):
        numbers = held[f"{PHASES}_dynamic_quantized:own"].astype(np.float64)
        zero = float(held[f"{PHASES}_zero_point:own"])
        length, angle = np.split((numbers - zero) * float(held[f"{PHASES}_scale:own"]), 2, axis=1)
        points.append(length * np.exp(1j * angle))
    unit = float(expected[f"{PHASES}_scale:own"])
    assert np.abs(points[0] - points[1]).max() <= 3 * unit
