"""The functions of the opencl target's prelude give the c target's numbers, to the bit.

What the c target's are is tested in test_numerics.py.
"""

import opencl_functions as on_device
import pytest

from photic.targets.opencl.device import DRIVEN


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_a_function_gives_the_numbers_of_c(lanes: int) -> None:
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install '.[opencl]'")
    if not DRIVEN.opened().facts.fused:
        pytest.skip("the device has no fused multiply-add, which the processor has")
    assert on_device.differences(on_device.apply, lanes) == []
