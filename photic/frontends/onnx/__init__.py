"""ONNX models: ``load`` to one graph, ``compile`` to a program that is kept between runs.

``Session`` runs them as onnxruntime does.

What reads graphs is imported when a graph is read: a program that is kept needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from photic.frontends.onnx import installed as installed
from photic.frontends.onnx.kept import Compiled, compile
from photic.frontends.onnx.ports import Port
from photic.frontends.onnx.session import Session

if TYPE_CHECKING:
    from photic.frontends.onnx.model import Model, load

__all__ = ["Compiled", "Model", "Port", "Session", "compile", "load"]


def __getattr__(name: str) -> object:
    if name not in ("Model", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from photic.frontends.onnx import model

    return getattr(model, name)
