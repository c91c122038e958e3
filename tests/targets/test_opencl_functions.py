"""The functions of the opencl target's prelude give the c target's numbers, to the bit.

What the c target's are is tested in test_numerics.py.
"""

import numerics_library as library
import numpy as np
import opencl_functions as on_device
import pytest

from photic.targets.opencl.facts import facts

COUNT = 4096
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0**31, 2.0**63, -(2.0**63), 3e5]


def sample(short: str, seed: int) -> np.ndarray:
    """Bits of every exponent for floats, with special values; the whole range for the others."""
    draw, kind = np.random.default_rng(seed), np.dtype(library.NUMPY[short])
    if kind == np.bool_:
        return draw.random(COUNT) < 0.5
    found = draw.integers(0, 256, (COUNT, kind.itemsize), np.uint8).view(kind).reshape(-1)
    if kind.kind == "f":
        found[::7] = draw.standard_normal(len(found[::7])) * 100
        found[: len(SPECIAL)] = draw.permutation(np.array(SPECIAL, kind))
    else:
        found[::3] = draw.integers(0, 9, len(found[::3]))
        found[: 2 * 9 : 2] = np.array(-1 if kind.kind == "i" else 0, kind)
    return found


def bits(array: np.ndarray, short: str) -> np.ndarray:
    """The bits of numbers, every nan the same."""
    if short in ("f16", "bf16"):
        most = 0x7C00 if short == "f16" else 0x7F80
        return np.where((array & 0x7FFF) > most, 0x7FFF, array)
    if array.dtype.kind == "f":
        unsigned = np.uint32 if array.dtype.itemsize == 4 else np.uint64
        return np.where(np.isnan(array), 0, array.view(unsigned))
    return array


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_a_function_gives_the_numbers_of_c(lanes: int) -> None:
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")
    if not facts().fused:
        pytest.skip("the device has no fused multiply-add, which the processor has")
    on_processor, wrong = library.functions_for("native"), []
    for number, one in enumerate(on_device.functions()):
        given = [sample(short, number + k) for k, short in enumerate(one.operands)]
        got = on_device.apply(number, lanes, given)
        want = on_processor.apply(one.operation, one.dtype, lanes, *given)
        same = bits(got, one.result) == bits(want, one.result)
        if not same.all():
            k = int(np.argmin(same))
            at = [array[k] for array in given]
            wrong.append(f"{one.operation}_{one.dtype}{at}: {got[k]!r}, not {want[k]!r}")
    assert wrong == []
