"""The Python of docs/onnx.md runs as it stands there, and its commands have their options."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from test_house import TOP

PAGE = TOP / "docs" / "onnx.md"


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    y, same = np.asarray(names["y"]), np.asarray(names["same"])
    assert y.shape == (3, 5)
    np.testing.assert_allclose(y, same, rtol=1e-6)  # two programs, whose sums may differ in order
    np.testing.assert_allclose(y.sum(-1), 1, rtol=1e-6)
