"""Weights of a few bits, several in a byte, in blocks with a scale each: products and lookups."""

from __future__ import annotations

from photic.frontends.onnx.call import Call, Op
from photic.frontends.onnx.ops_gates import MICROSOFT
from photic.ir.dim import Dim
from photic.ir.dtype import FLOAT32, INT64, UINT8
from photic.tensor import indexing, linear, shapes
from photic.tensor.tensor import Tensor

BYTE_BITS = 8
WIDTHS = (2, 4, 8)


def _apart(packed: Tensor, bits: int) -> Tensor:
    """Bytes (..., k) as their parts (..., k*8/bits) in float32, the lowest bits first."""
    parts = []
    for first in range(0, BYTE_BITS, bits):
        end = first + bits
        kept = packed if end == BYTE_BITS else packed % (1 << end)
        below = packed % (1 << first) if first else None
        part = kept.astype(FLOAT32)
        part = part if below is None else (part - below.astype(FLOAT32)) * (1.0 / (1 << first))
        parts.append(part)
    laid = shapes.stack(parts, -1)
    return shapes.reshape(laid, (*packed.shape[:-1], -1))


def _width(call: Call) -> int:
    bits = call.integer("bits", 4)
    if bits not in WIDTHS:
        raise call.attribute_error("bits", bits, ", ".join(map(str, WIDTHS)))
    return bits


def _zeros(call: Call, number: int, bits: int, rows: Dim, blocks: int) -> Tensor | float:
    """The zero point of each block: the middle where none is given, packed in bytes or apart."""
    given = call.optional(number)
    if given is None:
        return float(1 << (bits - 1))
    laid = shapes.reshape(given, (rows, -1))
    if given.dtype == UINT8:
        laid = _apart(laid, bits)[:, :blocks]
    return laid.astype(FLOAT32)[:, :, None]


def _packed_product(call: Call) -> Tensor:
    """MatMulNBits: x times a weight (rows, blocks, bytes), turned over."""
    x, packed, bits = call.tensor(0), call.tensor(1), _width(call)
    if call.integer("weight_prepacked", 0):
        raise call.attribute_error("weight_prepacked", 1, "0")
    rows, depth, size = call.integer("N"), call.integer("K"), call.integer("block_size")
    blocks = -(-depth // size)
    codes = _apart(shapes.reshape(packed, (rows, blocks, -1)), bits)
    scales = shapes.reshape(call.tensor(2), (rows, blocks)).astype(FLOAT32)[:, :, None]
    zeros = _zeros(call, 3, bits, rows, blocks)
    if call.has(4):
        weight = _by_groups(call, codes, scales, zeros)
    else:
        weight = shapes.reshape((codes - zeros) * scales, (rows, blocks * size))[:, :depth]
    result = linear.matmul(x.astype(FLOAT32), shapes.transpose(weight)).astype(x.dtype)
    return result if not call.has(5) else result + call.tensor(5)


def _by_groups(call: Call, codes: Tensor, scales: Tensor, zeros: Tensor | float) -> Tensor:
    """Each column with the scale and the zero point of the group that the call says it is in."""
    rows, depth = codes.shape[0], call.integer("K")
    group = call.tensor(4).astype(INT64)[:depth]
    flat = shapes.reshape(codes, (rows, -1))[:, :depth]
    at = zeros if isinstance(zeros, float) else indexing.take(zeros[:, :, 0], group, 1)
    return (flat - at) * indexing.take(scales[:, :, 0], group, 1)


def _packed_lookup(call: Call) -> Tensor:
    """GatherBlockQuantized: rows of a table of blocks along its last axis, unpacked."""
    value, scales, rank = call.value(0), call.tensor(2), len(call.value(0).shape)
    axes = (call.integer("gather_axis", 0) % rank, call.integer("quantize_axis", 1) % rank)
    if axes != (0, rank - 1):
        raise call.wrong(f"axes {axes} of lookup and blocks; supported: the first and the last")
    is_packed = value.kind.name == "uint8" and _width(call) < BYTE_BITS
    bits, size = _width(call), call.integer("block_size", 128)
    index = call.tensor(1)
    codes = _rows_of(value.tensor, index, bits if is_packed else 0)
    scale = shapes.expand_dims(_rows_of(scales, index, 0), -1)
    blocks = shapes.reshape(codes, (*codes.shape[:-1], -1, size))
    if call.has(3):
        zero: Tensor | float = shapes.expand_dims(
            _rows_of(call.tensor(3), index, bits if is_packed else 0)[..., : scale.shape[-2]], -1
        )
    else:
        zero = float(1 << (bits - 1)) if value.kind.name == "uint8" else 0.0
    result = (blocks - zero) * scale
    return shapes.reshape(result, codes.shape).astype(scales.dtype)


def _rows_of(table: Tensor, index: Tensor, bits: int) -> Tensor:
    """Rows looked up, in float32, their bytes taken apart unless ``bits`` is 0."""
    rows = indexing.take(table, index, 0)
    return _apart(rows, bits) if bits else rows.astype(FLOAT32)


PACKED: tuple[Op, ...] = (
    Op("MatMulNBits", _packed_product, domain=MICROSOFT),
    Op("GatherBlockQuantized", _packed_lookup, domain=MICROSOFT),
)
