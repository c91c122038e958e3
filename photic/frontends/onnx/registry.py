"""The table of operators: every entry of the ``ops_*.py`` files, found by name and version."""

from __future__ import annotations

from photic.frontends.onnx.call import Op
from photic.frontends.onnx.ops_attention import ATTENTION
from photic.frontends.onnx.ops_control import CONTROL
from photic.frontends.onnx.ops_elementwise import ELEMENTWISE
from photic.frontends.onnx.ops_fused import FUSED
from photic.frontends.onnx.ops_gates import GATES
from photic.frontends.onnx.ops_images import IMAGES
from photic.frontends.onnx.ops_indexing import INDEXING
from photic.frontends.onnx.ops_linear import LINEAR
from photic.frontends.onnx.ops_networks import NETWORKS
from photic.frontends.onnx.ops_packed import PACKED
from photic.frontends.onnx.ops_qlinear import QLINEAR
from photic.frontends.onnx.ops_quantised import QUANTISED
from photic.frontends.onnx.ops_recurrent import RECURRENT
from photic.frontends.onnx.ops_reductions import REDUCTIONS
from photic.frontends.onnx.ops_regions import REGIONS
from photic.frontends.onnx.ops_shapes import SHAPES
from photic.frontends.onnx.ops_types import TYPES
from photic.frontends.onnx.ops_windows import WINDOWS

OPS: tuple[Op, ...] = (
    *ELEMENTWISE,
    *GATES,
    *TYPES,
    *REDUCTIONS,
    *LINEAR,
    *SHAPES,
    *INDEXING,
    *WINDOWS,
    *IMAGES,
    *REGIONS,
    *NETWORKS,
    *RECURRENT,
    *ATTENTION,
    *FUSED,
    *QUANTISED,
    *QLINEAR,
    *PACKED,
    *CONTROL,
)

NAMES: dict[tuple[str, str], int] = {}
_ENTRIES: dict[tuple[str, str], list[Op]] = {}
for _op in sorted(OPS, key=lambda one: one.since):
    _ENTRIES.setdefault((_op.domain, _op.name), []).append(_op)
    NAMES.setdefault((_op.domain, _op.name), _op.since)


def entry_of(domain: str, op: str, version: int) -> Op | None:
    """The newest entry that is not newer than the version, if there is one."""
    entries = _ENTRIES.get((domain, op), [])
    return next((one for one in reversed(entries) if one.since <= version), None)
