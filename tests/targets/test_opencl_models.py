"""Real models on the opencl target give what they give on c: a language model, words, pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from frontends.onnx.test_onnx_real import CASES, Case
from model.sessions import SMOLLM2, answer, opened

from photic.frontends import onnx

pytestmark = pytest.mark.model
pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")

MODELS = ("minilm", "blazeface-front")  # a transformer, a convolutional net
ROUNDED = 1e-5  # of the largest number: float32 through some tens of layers, in another order


@pytest.mark.parametrize(
    "one", [one for one in CASES if one.name in MODELS], ids=lambda one: one.name
)
def test_an_onnx_model_gives_what_c_gives(one: Case, tmp_path: Path) -> None:
    path, feeds = tmp_path / "model.onnx", one.feeds()
    path.write_bytes(one.data())
    model = onnx.load(path, one.dims)
    given = {port.key: feeds[port.name] for port in model.inputs}
    got, want = (model.compile(target=name, search=0)(**given) for name in ("opencl", "c"))
    for name, array in want.items():
        room = ROUNDED * np.abs(array).max()
        np.testing.assert_allclose(got[name], array, rtol=0, atol=room)


def test_a_language_model_answers_as_on_c(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("opencl", "c"):
        monkeypatch.setenv("PHOTIC_TARGET", name)
        session = opened(SMOLLM2, 256, precision="exact")
        assert session.program.artifact.target == name
        found.append(answer(session, "What is the capital of France?"))
    assert found[0] == found[1] != ""
