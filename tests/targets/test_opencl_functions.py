"""The functions of the opencl target's prelude give the c target's numbers, to the bit.

What the c target's are is tested in test_numerics.py.
"""

import opencl_functions as on_device
import pytest

from photic.targets.opencl.device import DRIVEN

FLOAT_BYTES, LONGEST = 4, 16  # vectors of four numbers are everywhere


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_a_function_gives_the_numbers_of_c(lanes: int) -> None:
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")
    known = DRIVEN.opened().facts
    if lanes * FLOAT_BYTES > max(known.vector_bytes, LONGEST):
        pytest.skip("the device's vectors have fewer lanes, and its driver none for more")
    if not known.fused:
        pytest.skip("the device has no fused multiply-add, which the processor has")
    assert on_device.differences(on_device.apply, lanes) == []
