"""Imported before all else here: says so, once, where the package ``onnx`` is missing."""

from __future__ import annotations

import importlib.util

from photic.frontends.onnx.errors import OnnxMissing

PACKAGE = "onnx"

if importlib.util.find_spec(PACKAGE) is None:
    raise OnnxMissing(package=PACKAGE)
