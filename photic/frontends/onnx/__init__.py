"""ONNX models: ``load`` to one graph, ``Session`` to run them as onnxruntime does."""

from __future__ import annotations

from photic.frontends.onnx import installed as installed
from photic.frontends.onnx.model import Model, Port, load
from photic.frontends.onnx.session import Session

__all__ = ["Model", "Port", "Session", "load"]
