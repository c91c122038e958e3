"""NVRTC compiles the texts of the cuda target for sm_80 and sm_90, where there is no device."""

import functools

import numpy as np
import opencl_functions as on_device
import pytest
from targets.cuda_cases import MACHINES, text_of, winner_texts

import photic as ph
from bench.workloads import matmul, naive_attention
from photic import nn
from photic.codegen.dialect import Dialect
from photic.ir.graph import Graph
from photic.targets.cuda import compiler
from photic.targets.cuda.compiler import Resources, resources
from photic.targets.cuda.dialect import DIALECT
from photic.targets.cuda.errors import CudaMissing
from photic.tensor.compiling import graph_of

MOST_REGISTERS = 255  # of a work-item
KERNEL = """
extern "C" __global__ void run(int which, const char *a, const char *b, const char *c, char *out) {{
  const long long i = threadIdx.x * {lanes};
  switch (which) {{
{cases}
  }}
}}
"""


@pytest.fixture(autouse=True, scope="module")
def nvrtc() -> None:
    try:
        compiler.version()
    except CudaMissing as error:
        pytest.skip(f"NVRTC is not installed: pip install '.[cuda]' ({error})")


def require_no_spills(found: list[Resources]) -> None:
    assert found
    assert [one for one in found if one.spilled_bytes or one.registers > MOST_REGISTERS] == []


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_winner_of_a_matmul_compiles_without_spills(architecture: str) -> None:
    for text in winner_texts({"y": matmul()}, architecture):
        require_no_spills(resources(text, architecture))


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_winner_of_attention_is_a_kernel_without_spills(architecture: str) -> None:
    (text,) = winner_texts({"y": naive_attention(4, 256, 64)}, architecture)
    found = resources(text, architecture)
    assert len(found) == 1
    require_no_spills(found)


@pytest.mark.parametrize("architecture", [*MACHINES, "sm_75"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("size", [96, 2048])
def test_products_of_groups_compile_without_spills(
    dtype: str, size: int, architecture: str
) -> None:
    x, y = (ph.input(name, (size, size), dtype) for name in "xy")
    text = text_of(graph_of({"z": ph.relu(x @ y)}, {}), "sm_80")
    assert "__shared__" in text and ("multiply_" in text.split("INLINE void k0")[1]) == (
        dtype != "float32"
    )
    require_no_spills(resources(text, architecture))


@pytest.mark.parametrize("architecture", [*MACHINES, "sm_75"])
def test_products_of_unlike_short_numbers_compile_without_spills(architecture: str) -> None:
    x, y = ph.input("x", (256, 256), "int8"), ph.input("y", (256, 256), "bfloat16")
    z = x.astype("float32") @ y.astype("float32")
    text = text_of(graph_of({"z": z}, {}), "sm_80")
    assert "multiply_f32(" in text.split("INLINE void k0")[1]
    require_no_spills(resources(text, architecture))


def test_a_kernel_that_spills_is_compiled_again_with_other_bounds() -> None:
    x, w, bias = ph.input("x", (21, 384)), ph.input("w", (384, 1536)), ph.input("b", (1536,))
    text = text_of(graph_of({"z": ph.gelu(x @ w + bias)}, {}), "sm_90")
    assert "__launch_bounds__(64, 1)" in text
    require_no_spills(resources(text, "sm_90"))


def images() -> Graph:
    """A small convolutional net and its normed features."""
    rng = np.random.default_rng(0)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, rng=rng), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    )
    y = net(ph.input("x", (2, 3, 12, 12)))
    return graph_of({"y": y, "n": ph.layer_norm(y), "h": y.astype("float16")}, {})


def test_a_convolutional_net_compiles() -> None:
    require_no_spills(resources(text_of(images(), "sm_80"), "sm_80"))


def functions(lanes: int, dtypes: tuple[str, ...], dialect: Dialect = DIALECT) -> str:
    """One kernel that calls every function for numbers of these dtypes."""
    needs, cases = set[tuple[str, str, int]](), []
    for number, one in enumerate(on_device.functions()):
        if one.dtype in dtypes:
            needs |= {(one.operation, one.dtype, lanes), ("store", one.result, lanes)}
            needs |= {("load", short, lanes) for short in one.operands}
            cases.append(on_device.case(number, one, lanes))
    for dtype in dtypes:
        memory = ("load_part", "load_masked", "store_part", "gather", "load_even", "reverse")
        needs |= {(operation, dtype, lanes) for operation in memory if lanes > 1}
    body = KERNEL.format(lanes=lanes, cases="\n".join(cases))
    return f"{dialect.head}\n{dialect.prelude(frozenset(needs))}\n{body}"


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_every_function_compiles(lanes: int) -> None:
    dtypes = ("f64", "f16", "bf16", "i64", "u8", "bool") if lanes < 4 else ("f32", "i32", "i8")
    assert len(resources(functions(lanes, dtypes), "sm_80")) == 1


def test_what_nvrtc_refuses_is_said_in_its_words() -> None:
    with pytest.raises(compiler.Refused, match="identifier"):
        compiler.machine_code("no CUDA at all", "sm_80")


@functools.cache
def smollm2() -> Graph:
    """The step of the language model, from its GGUF file."""
    from photic.language.config import read_config
    from photic.language.decoder import build
    from photic.language.opening import open_model
    from photic.language.pull import pull

    file = open_model(pull("smollm2-135m", lambda *_: None))
    model = build(file, read_config(file), 2048, 128)
    return graph_of({"logits": model.logits}, model.updates)


@pytest.mark.model
@pytest.mark.parametrize("architecture", MACHINES)
def test_every_kernel_of_smollm2_compiles_without_spills(architecture: str) -> None:
    found = resources(text_of(smollm2(), architecture), architecture)
    assert len(found) > 10
    require_no_spills(found)
