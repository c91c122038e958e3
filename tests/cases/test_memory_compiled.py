"""NUM-11, DYN, ALI, CRA and TIM cases of generated code: what it touches, how long it takes."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from fuzz.agreement import require_meaning

import photic as ph

ROUNDING = 1e-5  # sums of up to 66 float32: some roundings of 6e-8 each
SECONDS = 30.0  # a stated cap; each takes a tenth of it on the slowest machine seen


# --- NUM-11 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(66, 66, 8), (17, 5, 33), (9, 3, 65), (3, 2, 17), (2, 9, 18)])
def test_num_11_a_reduced_middle_axis_stores_no_more_than_its_rows(
    shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    value = ph.input("x", shape)
    outputs = {"sum": ph.sum(value, axis=1), "max": ph.max(value, axis=1)}
    result = require_meaning(outputs, {"x": x}, rtol=ROUNDING)  # between guard words
    np.testing.assert_allclose(result["sum"], x.sum(1), rtol=ROUNDING, atol=ROUNDING)


def test_num_11_an_activation_with_channels_last_then_a_wide_product(
    rng: np.random.Generator,
) -> None:
    x = rng.standard_normal((5, 7, 8)).astype(np.float32)
    w = rng.standard_normal((8, 66)).astype(np.float32)
    y = ph.matmul(ph.gelu(ph.input("x", x.shape)), ph.constant(w))
    require_meaning(y, {"x": x}, rtol=ROUNDING)


# --- DYN ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 10, 31, 32, 33])
def test_dyn_02_memory_past_a_symbolic_size_is_not_even_read(size: int) -> None:
    n = ph.dim("n", 1, 64)
    x = ph.input("x", (10, n))
    outputs = {"y": ph.softmax(x), "mean": ph.mean(x, axis=1), "at": ph.argmax(x, axis=1)}
    given = {"x": np.ones((10, size), np.float32)}  # what lies past it ends the process
    result = require_meaning(outputs, given, sizes={"n": size}, rtol=ROUNDING)
    np.testing.assert_allclose(result["y"], 1 / size, rtol=ROUNDING)


def test_dyn_03_results_keep_their_values() -> None:
    program = ph.compile({"y": ph.input("x", (1,)) + 1.0})
    for _ in range(3):
        program(x=np.zeros(1, np.float32))
    results = [program(x=np.array([k / 10], np.float32))["y"] for k in range(5)]
    view = results[1][:]
    program(x=np.array([9], np.float32))
    assert [round(float(one[0]), 5) for one in results] == [1.0, 1.1, 1.2, 1.3, 1.4]
    assert view[0] == results[1][0]
    for one, other in itertools.combinations(results, 2):
        assert not np.shares_memory(one, other)


# --- ALI ------------------------------------------------------------------------------------


def test_ali_03_halves_of_a_state_change_places() -> None:
    state = ph.state("s", (8,))
    program = ph.compile({"old": state}, {state: ph.concat([state[4:], state[:4]])})
    program.states["s"][...] = np.arange(1, 9)
    assert program()["old"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert program.states["s"].tolist() == [5, 6, 7, 8, 1, 2, 3, 4]


def test_ali_03_every_second_element_is_set() -> None:
    state = ph.state("s", (6,))
    odd = ph.equal(ph.mod(ph.arange(6), 2), 1)
    program = ph.compile({"ones": ph.ones(())}, {state: ph.where(odd, state, ph.ones((6,)))})
    program()
    assert program.states["s"].tolist() == [1, 0, 1, 0, 1, 0]


def test_ali_03_a_shift_over_its_own_source_never_tears() -> None:
    size = 1 << 20
    state, new = ph.state("s", (size,), "int32"), ph.input("new", (size // 2,), "int32")
    program = ph.compile({"first": state[0]}, {state: ph.concat([state[size // 2 :], new])})
    want = np.zeros(size, np.int32)
    for number in range(10):
        fresh = np.arange(size // 2, dtype=np.int32) * (number + 1)
        program(new=fresh)
        want = np.concatenate([want[size // 2 :], fresh])
        np.testing.assert_array_equal(program.states["s"], want)


def test_ali_03_two_states_change_places() -> None:
    a, b = ph.state("a", (33,)), ph.state("b", (33,))
    program = ph.compile({"sum": a + b}, {a: b, b: a})
    program.states["a"][...], program.states["b"][...] = 1, 2
    program()
    assert (program.states["a"] == 2).all()
    assert (program.states["b"] == 1).all()


def test_ali_04_inputs_may_overlap() -> None:
    x, y = ph.input("x", (4,)), ph.input("y", (4,))
    program = ph.compile({"twice": x * 2.0, "sum": x * 2.0 + y})
    base = np.ones(8, np.float32)
    for a, b in ((np.ones(4, np.float32), np.ones(4, np.float32)), (base[:4], base[2:6])):
        result = program(x=a, y=b)
        assert result["twice"].tolist() == [2, 2, 2, 2]
        assert result["sum"].tolist() == [3, 3, 3, 3]
    assert program(x=base[:4], y=base[:4])["sum"].tolist() == [3, 3, 3, 3]
    assert base.tolist() == [1] * 8


def test_ali_04_a_state_given_as_an_input_is_read_as_it_was() -> None:
    size = 100
    state, x = ph.state("s", (size,)), ph.input("x", (size,))
    program = ph.compile({"y": x * 10.0}, {state: state + ph.flip(x, 0)})
    program.states["s"][...] = np.arange(size)
    held = np.array(program.states["s"])
    result = program(x=program.states["s"])
    np.testing.assert_array_equal(result["y"], held * 10)
    np.testing.assert_array_equal(program.states["s"], held + held[::-1])


# --- CRA-02 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(65536, 65537), (3, 2**31)])
def test_cra_02_sums_count_past_two_to_the_32(shape: tuple[int, int]) -> None:
    one = ph.input("x", (1, 1), "int64")
    total = ph.compile({"y": ph.sum(ph.broadcast_to(one, shape))})(x=np.ones((1, 1), np.int64))
    assert total["y"] == shape[0] * shape[1]


def test_cra_02_the_last_element_is_found_past_two_to_the_31() -> None:
    size = 2**31 + 3
    last = ph.equal(ph.arange(size), size - 1)
    assert ph.compile({"y": ph.argmax(last)})()["y"] == size - 1


def test_cra_02_a_size_bound_when_called_may_pass_two_to_the_31() -> None:
    n = ph.dim("n", 1, 2**40)
    x = ph.input("x", (1,), "int64")
    program = ph.compile({"y": ph.sum(ph.broadcast_to(x, (n,)))})
    assert program(x=np.ones(1, np.int64), n=2**31 + 3)["y"] == 2**31 + 3


# --- TIM-01 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [6, 10, 16, 24, 200])
def test_tim_01_sums_of_many_terms_compile_in_bounded_time(count: int) -> None:
    terms = [ph.input(f"x{k}", (5,)) for k in range(count)]
    start = time.perf_counter()
    total = terms[0] + (terms[1] - terms[0])
    for one in terms:
        total = total + one
    given = {f"x{k}": np.full(5, k, np.float32) for k in range(count)}
    result = ph.compile({"y": total})(**given)["y"]
    assert time.perf_counter() - start < SECONDS
    np.testing.assert_array_equal(result, sum(given.values()) + 1)


@pytest.mark.parametrize("depth", [40, 2000])
def test_tim_01_a_residual_chain_compiles_in_bounded_time(depth: int) -> None:
    x = ph.input("x", (33,))
    start = time.perf_counter()
    value = x
    for _ in range(depth):
        value = value + ph.relu(value * 0.001)
    a = np.linspace(-1, 1, 33, dtype=np.float32)
    result = ph.compile({"y": value})(x=a)["y"]
    assert time.perf_counter() - start < SECONDS
    want = a.copy()
    for _ in range(depth):
        want = want + np.maximum(want * np.float32(0.001), 0)
    np.testing.assert_array_equal(result, want)


def test_tim_01_a_value_shared_by_doubling_stays_small() -> None:
    value = ph.input("x", (7,))
    for _ in range(100):
        value = value + value
    result = ph.compile({"y": value})(x=np.full(7, 2.0**-100 * 3, np.float32))["y"]
    assert (result == 3).all()


def test_tim_01_lookups_of_lookups_compile_in_bounded_time() -> None:
    size, depth = 40, 40
    table = ph.input("t", (size,), "int64")
    start = time.perf_counter()
    place = ph.input("p", (3,), "int64")
    for _ in range(depth):
        place = ph.take(table, place, 0)
    following = np.random.default_rng(0).permutation(size)
    result = ph.compile({"y": place})(t=following, p=np.array([0, 1, 2]))["y"]
    assert time.perf_counter() - start < SECONDS
    want = np.array([0, 1, 2])
    for _ in range(depth):
        want = following[want]
    np.testing.assert_array_equal(result, want)


def test_tim_01_four_hundred_mixed_operations_compile_in_bounded_time() -> None:
    table = ph.input("t", (50, 8))
    start = time.perf_counter()
    value = ph.input("x", (9, 8))
    place = ph.input("p", (9,), "int64")
    for number in range(100):
        row = ph.take(table, ph.mod(place + number, 50), 0)
        value = (value * 0.5 + row).astype("float64").astype("float32")
    rng = np.random.default_rng(0)
    given = {"t": rng.standard_normal((50, 8)), "x": rng.standard_normal((9, 8))}
    given = {name: array.astype(np.float32) for name, array in given.items()}
    places = np.arange(9)
    result = ph.compile({"y": value})(**given, p=places)["y"]
    assert time.perf_counter() - start < SECONDS
    want = given["x"]
    for number in range(100):
        want = want * np.float32(0.5) + given["t"][(places + number) % 50]
    np.testing.assert_allclose(result, want, rtol=ROUNDING)


def test_a_chain_compiles_on_a_small_stack_too() -> None:
    value = ph.input("x", (3,))
    for _ in range(2000):
        value = ph.where(ph.less(value, 5.0), value + 1.0, value)
    found: list[np.ndarray] = []
    thread = threading.Thread(
        target=lambda: found.append(ph.compile({"y": value})(x=np.zeros(3, np.float32))["y"])
    )
    thread.start()
    thread.join()
    assert found[0].tolist() == [5, 5, 5]
