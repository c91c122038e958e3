"""The codes of errors: one for each class, whichever layer it lies in."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import photic
from photic.base.errors import BadArgument, PhoticError


def error_classes() -> list[type[PhoticError]]:
    """Every class of an error, base and layers."""
    files = Path(photic.__file__).parent.glob("*/errors.py")
    modules = [importlib.import_module(f"photic.{file.parent.name}.errors") for file in files]
    values = [value for module in modules for value in vars(module).values()]
    kinds = [one for one in values if isinstance(one, type) and issubclass(one, PhoticError)]
    return list(dict.fromkeys(kinds))


def test_no_two_errors_share_a_code() -> None:
    counts = Counter(one.code for one in error_classes())
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_layer_that_has_errors_is_found() -> None:
    layers = {one.__module__.split(".")[1] for one in error_classes()}
    assert layers >= {"base", "forms", "storage", "targets", "tensor", "frontends", "language"}


def test_an_error_says_its_code_and_what_was_given() -> None:
    error = BadArgument(op="pad", argument="before", given=-1, expected="0 or more")
    assert str(error) == "[P104] pad: before is -1, expected 0 or more"
    assert error.fields["given"] == -1
