"""How two data types promote, as PyTorch's do.

The kind decides (bool < integer < float) and the larger size within a kind; int32 + float32 is
float32; float16 + bfloat16 is float32; uint8 with a signed integer is the next signed size that
holds both.
"""

from __future__ import annotations

from photic.ir.dtype import FLOAT32, INT16, UINT8, DType

_RANK = {"bool": 0, "int": 1, "float": 2}


def promote(left: DType, right: DType) -> DType:
    """The dtype of an operation on both."""
    if left == right:
        return left
    if _RANK[left.kind] != _RANK[right.kind]:
        return left if _RANK[left.kind] > _RANK[right.kind] else right
    if left.kind == "float" and left.bytes == right.bytes:
        return FLOAT32
    if left.kind == "int" and left.signed != right.signed:
        signed = left if left.signed else right
        return signed if signed.bytes > UINT8.bytes else INT16
    return left if left.bytes > right.bytes else right
