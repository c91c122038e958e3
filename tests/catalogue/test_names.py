"""The names that entries serve are real ones, none is missing, and no name is left unserved.

A row of the catalogue without a name of ONNX or ATen has none there: the tests look for an operator
of the function's own name. Every operator of ONNX's standard domain, and every core operator of
ATen, is served by an entry or stands here with the reason.
"""

from __future__ import annotations

import onnx
import pytest
from catalogue.running import entries
from catalogue.table import rows

from photic.frontends.onnx.registry import NAMES

ROWS = rows(entries())
STANDARD = {one.name for one in onnx.defs.get_all_schemas_with_history() if one.domain == ""}
IMPORTED = {name for _, name in NAMES}

# Operators of ONNX that no public function serves, by the reason.
OTHER_ONNX = {
    "a method of a tensor: astype": "Cast CastLike BitCast",
    "Python's own conditions and lists": """
        If Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty
        SequenceErase SequenceInsert SequenceLength SequenceMap
    """,
    "texts and files, which no tensor holds": """
        ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer
    """,
    "composed by the importer of quantised models": """
        DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul
        QuantizeLinear
    """,
    "composed by the importer of two or three functions": """
        CausalConvWithState CenterCropPad DeformConv Hardmax LinearAttention MaxRoiPool
        Mean MeanVarianceNormalization MelWeightMatrix NonMaxSuppression ReduceLogSum
        ReduceSumSquare ReverseSequence RoiAlign Sum SwiGLU
    """,
}
# Core operators of ATen that no public function serves, by the reason.
OTHER_ATEN = {
    "what `grad` makes": """
        _adaptive_avg_pool2d_backward avg_pool2d_backward convolution_backward
        embedding_dense_backward max_pool2d_with_indices_backward native_group_norm_backward
        native_layer_norm_backward
    """,
    "of memory, strides and storages, which graphs have not": """
        alias as_strided clone copy empty_strided fill resize_ sym_is_contiguous sym_storage_offset
        sym_stride
    """,
    "a method or a number of a tensor: astype, size": "_local_scalar_dense _to_copy sym_numel",
    "the inner half of `adaptive_avg_pool`": "_adaptive_avg_pool2d _adaptive_avg_pool3d",
}
# Operators of other things that happen to have the name of a function.
HOMONYMS = {
    "divmod": "of numbers",
    "identity": "of a tensor, and not a matrix",
    "indices": "of sparse tensors",
    "insert": "of lists",
    "modf": "of numbers",
    "partition": "of texts",
    "resize": "of storages",
}


def of_reasons(table: dict[str, str]) -> set[str]:
    return {name for names in table.values() for name in names.split()}


def test_names_of_onnx_are_operators_of_it_or_of_a_domain_that_is_imported() -> None:
    strangers = [(one.function, set(one.onnx) - STANDARD - IMPORTED) for one in ROWS]
    assert not [one for one in strangers if one[1]]


def test_a_function_without_a_name_of_onnx_has_no_operator_of_its_own_name() -> None:
    by_word = {name.lower(): name for name in STANDARD}
    words = {one.function: one.function.replace("_", "") for one in ROWS if not one.onnx}
    found = {name for name, word in words.items() if word in by_word}
    assert found - HOMONYMS.keys() == set()


def test_every_standard_operator_of_onnx_is_served_or_has_a_reason() -> None:
    served = {name for one in ROWS for name in one.onnx}
    reasons = of_reasons(OTHER_ONNX)
    assert sorted(STANDARD - served - reasons) == []
    assert sorted(reasons & served) == []


@pytest.mark.peers
def test_names_of_aten_are_operators_or_functions_of_torch() -> None:
    import torch

    homes = (torch.ops.aten, torch.ops.higher_order, torch, torch.nn.functional)
    strangers = [
        (one.function, name)
        for one in ROWS
        for name in one.aten
        if not any(hasattr(home, name.split(".")[0]) for home in homes)
    ]
    assert not strangers


@pytest.mark.peers
def test_a_function_without_a_name_of_aten_has_no_operator_of_its_own_name() -> None:
    import torch

    nameless = {one.function for one in ROWS if not one.aten}
    found = {name for name in nameless if hasattr(torch.ops.aten, name)}
    assert found - HOMONYMS.keys() == set()


@pytest.mark.peers
def test_every_core_operator_of_aten_is_served_or_has_a_reason() -> None:
    served = {name.split(".")[0] for one in ROWS for name in one.aten}
    core, reasons = core_of_aten(), of_reasons(OTHER_ATEN)
    assert sorted(core - served - reasons) == []
    assert sorted(reasons & served) == []


def core_of_aten() -> set[str]:
    """Names of which some overload is in the core set of operators that ``torch.export`` keeps."""
    import torch

    every = {name[6:] for name in torch._C._dispatch_get_all_op_names() if name[:6] == "aten::"}
    found = set()
    for name, _, overload in (one.partition(".") for one in every):
        packet = getattr(torch.ops.aten, name, None)
        if torch.Tag.core in getattr(packet, overload or "default").tags:
            found.add(name)
    return found
