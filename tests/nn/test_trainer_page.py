"""The Python of docs/training.md runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_house import TOP

PAGE = TOP / "docs" / "training.md"


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "run" / "net.safetensors").is_file()
    rows = (tmp_path / "run" / "figures.csv").read_text().splitlines()
    assert rows[0].startswith("step,epoch,loss,accuracy,lr") and len(rows) > 250
    assert names["outcome"].epochs == 2
