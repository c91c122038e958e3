"""The public names: the stub that type checkers read says what importing gives."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import photic as ph


def test_the_stub_names_every_public_name_and_its_module() -> None:
    tree = ast.parse(Path(ph.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {alias.asname: node.module for node in imports for alias in node.names} == ph._HOME


def test_every_public_name_is_there() -> None:
    for name in ph._HOME:
        value = getattr(ph, name)
        assert callable(value) or isinstance(value, ModuleType), name
