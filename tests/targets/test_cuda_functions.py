"""The functions of the cuda target's prelude, run on a processor, give the c target's numbers.

To the bit. What the c target's are is tested in test_numerics.py and test_numerics_memory.py.
"""

import functools

import numerics_library as library
import numpy as np
import opencl_functions as on_device
import pytest
from targets.cuda_stand_in import library_of

from photic.targets.cuda.dialect import DIALECT

LANES = (1, 4)
ROOM = 64  # elements around those that are loaded


@functools.cache
def functions() -> library.Library:
    """All functions for so many lanes."""

    def prelude(needs: frozenset[library.numerics.Need]) -> str:
        return f'{DIALECT.head}\n{DIALECT.prelude(needs)}\nextern "C" {{'

    return library.Library(library_of(library.source(LANES, prelude) + "\n}"))


@pytest.mark.parametrize("lanes", LANES)
def test_a_function_gives_the_numbers_of_c(lanes: int) -> None:
    known = on_device.functions()

    def apply(number: int, lanes: int, arrays: list[np.ndarray]) -> np.ndarray:
        return functions().apply(known[number].operation, known[number].dtype, lanes, *arrays)

    assert on_device.differences(apply, lanes) == []


@pytest.mark.parametrize("dtype", library.EVERY)
def test_loads_and_stores_of_a_part_touch_no_other_lane(dtype: str) -> None:
    stored = library.stored_values(dtype, 4)
    for count in range(5):
        got = functions().load_part(dtype, 4, stored.ctypes.data, count)
        library.same(got, np.where(np.arange(4) < count, stored, np.zeros_like(stored)))
        target = library.stored_values(dtype, 5)[:4]
        want = np.where(np.arange(4) < count, stored, target)
        functions().store_part(dtype, 4, stored, target.ctypes.data, count)
        library.same(target, want)


@pytest.mark.parametrize("dtype", library.EVERY)
def test_loads_of_elements_apart_take_those_that_the_mask_lets(dtype: str) -> None:
    held = library.stored_values(dtype, 2 * ROOM)
    middle = held.ctypes.data + ROOM * held.itemsize
    mask, nothing = np.array([True, False, True, True]), np.zeros(4, held.dtype)
    index = np.array([5, 0, -3, 40])
    for count in range(5):
        lets = mask & (np.arange(4) < count)
        got = functions().gather(dtype, middle, index, mask, count)
        library.same(got, np.where(lets, held[ROOM + index], nothing))
        for step in library.STEPS:
            apart = held[ROOM + np.arange(4) * step]
            got = functions().load_even(dtype, middle, step, mask, count)
            library.same(got, np.where(lets, apart, nothing))
            library.same(functions().load_even(dtype, middle, step, mask, -1), apart)


@pytest.mark.parametrize("dtype", [*library.NUMBERS, "bool"])
def test_lanes_are_combined_in_the_order_of_c(dtype: str) -> None:
    values, on_processor = library.stored_values(dtype, 400), library.functions_for("native")
    for operation in library.REDUCTIONS:
        got = functions().reduce(operation, dtype, 4, values)
        library.same(got, on_processor.reduce(operation, dtype, 4, values))


@pytest.mark.parametrize("dtype", library.EVERY)
def test_lanes_are_filled_numbered_and_reversed(dtype: str) -> None:
    values = library.stored_values(dtype, 8)
    library.same(functions().reverse(dtype, 4, values), values.reshape(2, 4)[:, ::-1].reshape(8))
    library.same(functions().fill("splat", dtype, 4, values), np.repeat(values[:1], 4))
    if dtype in library.INTEGERS:
        library.same(functions().fill("iota", dtype, 4), np.arange(4, dtype=values.dtype))
