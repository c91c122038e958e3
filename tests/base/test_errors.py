"""The codes of errors: one for each class, whichever layer it lies in."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import photic
from photic.base.errors import BadArgument, PhoticError


def error_classes() -> list[type[PhoticError]]:
    """Every class of an error: base, layers and the folders in them."""
    root = Path(photic.__file__).parent
    files = [one.relative_to(root.parent) for one in sorted(root.rglob("errors.py"))]
    modules = [importlib.import_module(".".join(one.with_suffix("").parts)) for one in files]
    values = [value for module in modules for value in vars(module).values()]
    kinds = [one for one in values if isinstance(one, type) and issubclass(one, PhoticError)]
    return list(dict.fromkeys(kinds))


def test_no_two_errors_share_a_code() -> None:
    counts = Counter(one.code for one in error_classes())
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_layer_that_has_errors_is_found() -> None:
    layers = {one.__module__.split(".")[1] for one in error_classes()}
    assert layers >= {"base", "forms", "storage", "targets", "tensor", "frontends", "language"}
    names = {one.__name__ for one in error_classes()}
    assert names >= {"OnnxUnsupported", "OpenclLacks", "CudaMissing", "HipMissing", "MetalLacks"}


def test_an_error_says_its_code_and_what_was_given() -> None:
    error = BadArgument(op="pad", argument="before", given=-1, expected="0 or more")
    assert str(error) == "[P104] pad: before is -1, expected 0 or more"
    assert error.fields["given"] == -1
