"""Operators that ONNX defines as functions of others: their bodies, for what the table lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx

from photic.frontends.onnx.reader import read_function
from photic.frontends.onnx.records import Attribute, Function
from photic.frontends.onnx.schemas import schema_of
from photic.frontends.onnx.value import Value

if TYPE_CHECKING:
    from photic.frontends.onnx.call import Call


def standard_body(call: Call) -> Function | None:
    """The body that ONNX gives an operator, for the types and attributes of this call."""
    schema: Any = schema_of(call.node.domain, call.node.op, call.version)
    if schema is None:
        return None
    if schema.has_function:
        version = _newest(schema.function_opset_versions, call.version)
        text = schema.get_function_with_opset_version(version)
        return replace(_read(text), defaults=_defaults(schema))
    if schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, call.version)
        types = [_type(one).SerializeToString() for one in call.inputs]
        node = _proto(call).SerializeToString()
        text = schema.get_context_dependent_function_with_opset_version(version, node, types)
        return _read(text)
    return None


def _newest(versions: list[int], limit: int) -> int:
    """The newest version not above the limit, else the oldest."""
    return max([one for one in versions if one <= limit], default=min(versions))


def _read(text: bytes) -> Function:
    proto = onnx.FunctionProto()
    proto.ParseFromString(text)
    return read_function(proto)


def _type(value: Value | None) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    shape = [one if isinstance(one, int) else str(one) for one in value.shape]
    return onnx.helper.make_tensor_type_proto(value.kind.code, shape)


def _proto(call: Call) -> onnx.NodeProto:
    """The node as it stands in the file, attributes of a function's caller in place."""
    proto = onnx.NodeProto()
    assert isinstance(call.node.source, onnx.NodeProto)
    proto.CopyFrom(call.node.source)
    kept = [one for one in proto.attribute if not one.ref_attr_name]
    missing = {one.name: one.ref_attr_name for one in proto.attribute if one.ref_attr_name}
    del proto.attribute[:]
    proto.attribute.extend(kept)
    for name in missing:
        value = call.attributes.get(name)
        if isinstance(value, int | float | str | tuple):
            proto.attribute.append(onnx.helper.make_attribute(name, value))
    return proto


def _defaults(schema: onnx.defs.OpSchema) -> dict[str, Attribute]:
    """The attributes that the schema has where a node says nothing."""
    found: dict[str, Attribute] = {}
    for name, one in schema.attributes.items():
        value = (
            onnx.helper.get_attribute_value(one.default_value) if one.default_value.type else None
        )
        if isinstance(value, bytes):
            found[name] = value.decode()
        elif isinstance(value, int | float):
            found[name] = value
        elif value is not None:
            found[name] = tuple(value)
    return found
