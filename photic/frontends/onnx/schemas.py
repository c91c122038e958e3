"""What ONNX's own schemas say of an operator: which outputs have the type of which input."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx

from photic.frontends.onnx.kinds import Kind

if TYPE_CHECKING:
    from photic.frontends.onnx.call import Call


@cache
def schema_of(domain: str, op: str, version: int) -> onnx.defs.OpSchema | None:
    """The schema of an operator in this version of its set; None if ONNX has none."""
    try:
        return onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None


@cache
def _type_sources(domain: str, op: str, version: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The type names of the inputs and of the outputs."""
    schema = schema_of(domain, op, version)
    if schema is None:
        return (), ()
    return tuple(x.type_str for x in schema.inputs), tuple(x.type_str for x in schema.outputs)


def result_kinds(call: Call, count: int) -> list[Kind | None]:
    """For each result the kind of the input whose type it has, if there is one."""
    inputs, outputs = _type_sources(call.node.domain, call.node.op, call.version)
    kinds = {name: one.kind for name, one in zip(inputs, call.inputs) if one is not None}
    named = [outputs[min(k, len(outputs) - 1)] if outputs else "" for k in range(count)]
    return [kinds.get(name) for name in named]
