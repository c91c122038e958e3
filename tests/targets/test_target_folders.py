"""A target's folder is small: what several targets need stands beside the folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_house import code_lines, this_tree

from photic.targets import registry

MOST_LINES = 600  # of code: without blanks, comments and docstrings


@pytest.mark.parametrize("name", [one for one in registry.MODULES if one != "c"])
def test_the_folder_of_a_target_has_less_than_600_lines(name: str) -> None:
    folder = Path(registry.__file__).parent / name
    headers = [one for file in folder.glob("*.h") for one in file.read_text().splitlines()]
    count = sum(bool(one.strip()) and not one.strip().startswith("//") for one in headers)
    own = [one for one in this_tree() if one.path.startswith(f"photic/targets/{name}/")]
    assert 0 < count + sum(len(code_lines(one)) for one in own) < MOST_LINES
