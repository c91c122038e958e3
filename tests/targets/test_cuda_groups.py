"""Products that a group of work-items computes together: what they mean, and where items wait.

The texts of the cuda target run on a processor (cuda_stand_in.py), work-items from the first to the
last and from the last to the first, each to its barrier.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from targets.cuda_cases import drawn_candidates, judged, text_of
from targets.cuda_stand_in import group_memory, machine_code, number, use

import photic as ph
from photic.forms.eval import Array
from photic.targets import driver, group_nests
from photic.targets.cuda import compiler
from photic.targets.cuda.device import DRIVEN
from photic.targets.group_products import GROUP
from photic.tensor.compiling import graph_of

BARRIER = "__syncthreads();"
TOGETHER = "group_sums"
INSTRUCTION = "multiply_"
EPSILON = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}  # half a unit, of results
SUMMING = 2.0**-18  # float32 sums of some thousand products
NUMPY = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}

compiled = partial(ph.compile, target="cuda", search=0)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """The driver."""
    found = use(monkeypatch)
    yield found
    number(found, "backwards").value = 0


def drawn(*shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(NUMPY[dtype])


def in_both_orders(stand_in: ctypes.CDLL, program: ph.Program, **given: Array) -> Array:
    """The only output, which must not depend on the order of work-items."""
    found = []
    for backwards in (0, 1):
        number(stand_in, "backwards").value = backwards
        (result,) = program(**given).values()
        found.append(result)
    np.testing.assert_array_equal(*found)
    return found[0].astype(np.float64)


def require_product(found: Array, a: Array, b: Array) -> None:
    epsilon = EPSILON[a.dtype.name]
    wide = [one.astype(np.float64) for one in (a, b)]
    expected, scale = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    assert (np.abs(found - expected) <= epsilon * np.abs(expected) + SUMMING * scale).all()


# --- what they mean -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize(
    ("rows", "terms", "columns"),
    [(32, 16, 32), (40, 256, 48), (77, 290, 131), (128, 31, 64), (333, 96, 129)],
)
def test_products_equal_those_in_float64(
    rows: int, terms: int, columns: int, dtype: str, stand_in: ctypes.CDLL
) -> None:
    a, b = drawn(rows, terms, dtype=dtype), drawn(terms, columns, dtype=dtype)
    program = compiled(ph.input("a", a.shape, dtype) @ ph.input("b", b.shape, dtype))
    assert TOGETHER in program.artifact.source
    assert (f"{INSTRUCTION}{'bf16' if dtype == 'bfloat16' else 'f16'}(" in kernels(program)) == (
        dtype != "float32"
    )
    require_product(in_both_orders(stand_in, program, a=a, b=b), a, b)


@pytest.mark.parametrize(
    ("left", "right"), [("bfloat16", "float16"), ("int8", "float16"), ("uint8", "int8")]
)
@pytest.mark.parametrize(("rows", "terms", "columns"), [(40, 256, 48), (77, 290, 131)])
def test_products_of_unlike_short_numbers_equal_those_in_float64(
    rows: int, terms: int, columns: int, left: str, right: str, stand_in: ctypes.CDLL
) -> None:
    a, b = short(rows, terms, dtype=left), short(terms, columns, dtype=right)
    wide = [
        ph.input(key, one.shape, one.dtype.name).astype("float32")
        for key, one in zip("ab", (a, b), strict=True)
    ]
    program = compiled(wide[0] @ wide[1])
    assert f"{INSTRUCTION}f32(" in kernels(program)
    found = in_both_orders(stand_in, program, a=a, b=b)
    require_product(found, a.astype(np.float32), b.astype(np.float32))


def short(*shape: int, dtype: str) -> Array:
    """Numbers of every size that a dtype has."""
    if dtype in NUMPY:
        return drawn(*shape, dtype=dtype)
    known = np.iinfo(dtype)
    draw = np.random.default_rng(sum(shape))
    return draw.integers(known.min, known.max, shape, dtype, endpoint=True)


def test_float32_is_not_rounded_for_an_instruction(stand_in: ctypes.CDLL) -> None:
    a, b = drawn(64, 96), short(96, 64, dtype="int8")
    whole = ph.input("a", a.shape) @ ph.input("b", b.shape, "int8").astype("float32")
    program = compiled(whole)
    assert TOGETHER in program.artifact.source and INSTRUCTION not in kernels(program)
    require_product(in_both_orders(stand_in, program, a=a, b=b), a, b.astype(np.float32))


def kernels(program: ph.Program) -> str:
    """The texts of the nests, without the prelude."""
    return "".join(one.source for one in program.report.kernels)


def test_every_size_of_a_symbolic_number_of_rows_is_right(stand_in: ctypes.CDLL) -> None:
    count, b = ph.dim("rows", 1, 200), drawn(70, 96)
    program = compiled(ph.input("a", (count, 70)) @ ph.constant(b))
    assert TOGETHER in program.artifact.source
    for rows in (1, 3, 4, 31, 32, 63, 64, 65, 130, 200):
        a = drawn(rows, 70)
        require_product(in_both_orders(stand_in, program, a=a), a, b)


@dataclass(frozen=True, slots=True)
class Made:
    """A program, and its inputs' shapes."""

    tensor: Callable[[Mapping[str, ph.Tensor]], ph.Tensor]
    shapes: dict[str, tuple[int, ...]]


def gated(x: Mapping[str, ph.Tensor]) -> ph.Tensor:
    """Two products in a tile, and what is made of both."""
    return ph.silu(x["a"] @ x["b"]) * (x["a"] @ x["c"])


MADE = {
    "a transposed right side": Made(
        lambda x: x["a"] @ ph.swapaxes(x["b"], 0, 1), {"a": (70, 50), "b": (90, 50)}
    ),
    "a transposed left side": Made(
        lambda x: ph.swapaxes(x["a"], 0, 1) @ x["b"], {"a": (50, 70), "b": (50, 90)}
    ),
    "batches, and what follows": Made(
        lambda x: ph.relu(x["a"] @ x["b"] + x["c"]),
        {"a": (3, 40, 20), "b": (3, 20, 70), "c": (70,)},
    ),
    "two products": Made(gated, {"a": (40, 200), "b": (200, 70), "c": (200, 70)}),
    "a convolution with a border": Made(
        lambda x: ph.conv2d(x["a"], x["b"], padding=1), {"a": (2, 5, 9, 40), "b": (33, 5, 3, 3)}
    ),
    "a product where an index allows it": Made(
        lambda x: ph.where(ph.arange(90) <= ph.arange(70)[:, None], x["a"] @ x["b"], -1.0),
        {"a": (70, 50), "b": (50, 90)},
    ),
    "operands that are computed": Made(
        lambda x: ph.exp(x["a"]) @ (x["b"] * x["c"]), {"a": (64, 33), "b": (33, 64), "c": (64,)}
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_they_equal_what_the_c_target_computes(name: str, stand_in: ctypes.CDLL) -> None:
    made = MADE[name]
    inputs = {key: ph.input(key, shape) for key, shape in made.shapes.items()}
    given = {key: drawn(*shape) for key, shape in made.shapes.items()}
    program = compiled(made.tensor(inputs))
    assert TOGETHER in program.artifact.source
    want = ph.compile(made.tensor(inputs), search=0, target="c")(**given)
    (expected,) = want.values()
    found = in_both_orders(stand_in, program, **given)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("most", [48 << 10, 6000], ids=["memory of groups", "too little of it"])
def test_fused_kernels_of_the_search_compute_what_was_written(
    most: int, stand_in: ctypes.CDLL
) -> None:
    x, w, v = ph.input("x", (70, 40)), ph.input("w", (40, 66)), ph.input("v", (66, 40))
    seen = set[str]()
    with group_memory(most):
        for work, candidate in drawn_candidates({"y": ph.softmax(x @ w, axis=1) @ v}, 12):
            ways = {
                how
                for turns in map(group_nests.turns_of, candidate.nests)
                for how, _ in (turns.tiles if turns else ())
            }
            if ways and len(candidate.nests) < 3:
                seen |= ways
                assert judged(work, candidate, DRIVEN.worker()) == ""
    assert seen == {"by one", "divided", "together"}


def test_a_group_has_a_tile_of_rows_for_each_item_where_there_are_enough() -> None:
    a, b = ph.input("a", (1 << 16, 24)), ph.input("b", (512, 24))
    text = text_of(graph_of({"y": worst({"a": a, "b": b})}, {}), "sm_80")
    (count,) = re.findall(r"= THREAD; a0_t_g < (\d+)ll; a0_t_g \+= 64", text)
    assert int(count) == GROUP and "__shared__ __align__(16) char own[" in text


# --- where they wait ------------------------------------------------------------------------


def worst(x: Mapping[str, ph.Tensor]) -> ph.Tensor:
    """Values of one side are computed once for many rows; no product."""
    return ph.max(x["a"][:, None, :] * ph.exp(x["b"])[None, :, :], axis=2)


WAITING = {
    "a product": Made(lambda x: x["a"] @ x["b"], {"a": (64, 40), "b": (40, 64)}),
    "two products": Made(gated, {"a": (32, 20), "b": (20, 32), "c": (20, 32)}),
    "values for many rows": Made(worst, {"a": (96, 24), "b": (40, 24)}),
}


def texts(made: Made) -> tuple[dict[str, Array], dict[str, ph.Tensor]]:
    """What a program is given, and of what it is made."""
    given = {key: drawn(*shape) for key, shape in made.shapes.items()}
    inputs = {key: ph.input(key, shape) for key, shape in made.shapes.items()}
    return given, {"y": made.tensor(inputs)}


@pytest.mark.parametrize("name", WAITING)
def test_every_barrier_is_needed(
    name: str, stand_in: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "MOST_GROUPS", 1)  # so that the next item begins in the same group
    given, outputs = texts(WAITING[name])
    whole = compiled(outputs)
    expected, count = in_both_orders(stand_in, whole, **given), kernels(whole).count(BARRIER)
    assert count >= 2
    for k in range(count):
        monkeypatch.setattr(compiler, "version", lambda k=k: f"without barrier {k} of {name}")
        monkeypatch.setattr(compiler, "machine_code", partial(code_without, k))
        program = compiled(outputs)
        found = []
        for backwards in (0, 1):
            number(stand_in, "backwards").value = backwards
            found.append(np.array_equal(program(**given)["y"], expected))
        assert not all(found), f"barrier {k} of {count}"


def code_without(k: int, text: str, architecture: str) -> bytes:
    """The code of a text without one of its barriers."""
    parts = text.split(BARRIER)
    without = [*parts[:k], f"{parts[k]};{parts[k + 1]}", *parts[k + 2 :]]
    return machine_code(BARRIER.join(without), architecture)


# --- where they read ------------------------------------------------------------------------

BANKS, WARP, WORD = 32, 32, 4
READ = re.compile(r"load_(f32x1|f32x4|i32x1)\((group_(?:left|right)) \+ (.*)\);")
PLACE = re.compile(r"const int (.*);")


@pytest.mark.parametrize("kinds", [*((one, one) for one in NUMPY), ("bfloat16", "int8")], ids=str)
@pytest.mark.parametrize("size", [64, 2048])
def test_no_two_work_items_meet_in_a_bank_where_tiles_are_read(
    kinds: tuple[str, str], size: int
) -> None:
    left, right = kinds
    a, b = ph.input("a", (size, size), left), ph.input("b", (size, size), right)
    product = a @ b if left == right else a.astype("float32") @ b.astype("float32")
    graph = graph_of({"y": product}, {})
    text = text_of(graph, "sm_80").partition("INLINE void k0_at")[2]
    places = [one for line in PLACE.findall(text) for one in line.split(", ") if "THREAD" in one]
    reads = READ.findall(text)
    assert len(places) >= 2 and len(reads) >= 5
    for kind, _, address in reads:
        words = 4 if kind == "f32x4" else 1
        for first in range(0, WARP, WARP // words):  # as many items as banks serve at once
            touched: dict[int, set[int]] = {}
            for thread in range(first, first + WARP // words):
                known = {"THREAD": thread, "term": 0}
                for one in places:
                    name, _, value = one.partition(" = ")
                    if "step" not in value:
                        known[name] = eval(value.replace("/", "//"), {}, known)
                start = eval(address.replace("/", "//"), {}, known) // WORD
                for word in range(start, start + words):
                    touched.setdefault(word % BANKS, set()).add(word)
            assert max(map(len, touched.values())) == 1, address
