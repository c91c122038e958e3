"""A voice as a whole, where a runtime's rounding is heard: what can be held, and why not more.

The voice's source is a sum of sines; the network reads the angles of its spectrum. Where a number
of the spectrum is 0 but for rounding, its angle is any, and from there on all is quantised by
ranges. The imaginary parts of the last bin are such: exactly 0. onnxruntime's are off by 3e-7,
mostly with the sign that turns the angle pi into -pi, and its voice is half as loud as with a
spectrum that is computed in float64, or by PyTorch. So photic is held to onnxruntime with such one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx import onnx_real as real
from frontends.onnx.onnx_peer import DRIFTING, distance, our_outputs, peer_outputs, session_of
from frontends.onnx.test_onnx_real_words import PHASES, voice
from onnx import numpy_helper

pytestmark = pytest.mark.model

SOURCE = "/decoder/decoder/generator/Reshape_3_output_0"  # what the spectrum is of
UNIT_HEARD = 0.2  # of the voice, by one unit in the last place of its source
NEAR = 0.15  # a style that moves by 1e-6 moves onnxruntime's voice by up to 0.1


def _given(model: bytes, *names: str, outputs: tuple[str, ...] = ()) -> bytes:
    """The model with these values fed instead of computed, and with further outputs."""
    made = onnx.ModelProto.FromString(model)
    for node in made.graph.node:
        node.output[:] = [f"{one}:unread" if one in names else one for one in node.output]
    for name in names:
        made.graph.input.append(onnx.helper.make_tensor_value_info(name, 1, None))
    made.graph.output.extend(onnx.ValueInfoProto(name=one) for one in outputs)
    return made.SerializeToString()


@cache
def _theirs() -> Mapping[str, Any]:
    """onnxruntime's voice and its source."""
    return peer_outputs(_given(real.kokoro(), outputs=(SOURCE,)), voice(), is_plain=True)


def _spoken_with(**values: Any) -> Any:
    """onnxruntime's voice, given its source or the lengths and angles of the spectrum."""
    given = {{"source": SOURCE, "phases": PHASES}[name]: one for name, one in values.items()}
    data = _given(real.kokoro(), *given)
    return peer_outputs(data, {**voice(), **given}, is_plain=True)["audio"]


def _spectrum(source: Any) -> Any:
    """Lengths and angles (1, 2 * bins, frames), computed in float64."""
    graph = onnx.ModelProto.FromString(real.kokoro()).graph
    (transform,) = (one for one in graph.node if one.op_type == "STFT")
    held = {one.name: one for one in graph.initializer if one.name in transform.input}
    step, window, size = (numpy_helper.to_array(held[name]) for name in transform.input[1:])
    lines = np.lib.stride_tricks.sliding_window_view(source.reshape(-1), int(size))[:: int(step)]
    numbers = np.fft.rfft(lines * window.astype(np.float64))
    return np.concatenate([np.abs(numbers), np.angle(numbers)], 1).T[None].astype(np.float32)


def test_one_unit_of_the_source_is_heard_in_onnxruntimes_voice() -> None:
    """Why no runtime can be held to another's numbers from here on."""
    source = _theirs()[SOURCE]
    ways = np.random.default_rng(0).choice([-np.inf, np.inf], source.shape).astype(np.float32)
    moved = _spoken_with(source=np.nextafter(source, ways))
    assert distance(_theirs()["audio"], moved) > UNIT_HEARD


def test_onnxruntimes_own_spectrum_is_heard_in_its_voice() -> None:
    """Its STFT against the same spectrum in float64: seen once, more than half of the voice."""
    exact = _spoken_with(phases=_spectrum(_theirs()[SOURCE]))
    assert distance(exact, _theirs()["audio"]) > UNIT_HEARD


def test_a_voice_is_onnxruntimes_with_the_exact_spectrum() -> None:
    data = _given(real.kokoro(), outputs=(SOURCE,))
    ours = our_outputs(session_of(data), voice())
    assert distance(_theirs()[SOURCE], ours[SOURCE]) <= DRIFTING
    expected = _spoken_with(phases=_spectrum(ours[SOURCE]))
    assert distance(expected, ours["audio"]) <= NEAR
