"""Runs functions of the metal target's prelude on arrays, by a processor that stands in.

Which functions there are, and of what, is said by numerics_library.py; those of float64 are left
out, as the language has none.
"""

import ctypes
import functools

import numpy as np
import opencl_functions as on_device
from numerics_library import NUMPY
from targets.metal_stand_in import library_of

from photic.targets.metal.dialect import DIALECT, spelled

KERNEL = """
extern "C" void run(int which, const device char *a, const device char *b, const device char *c,
                    device char *out, long count) {{
  for (long i = 0; i < count; i += {lanes})
    switch (which) {{
{cases}
    }}
}}
"""


def is_said(one: on_device.Function) -> bool:
    """True if the language has the function's dtypes."""
    return "f64" not in (one.dtype, one.result, *one.operands)


@functools.cache
def library(lanes: int) -> ctypes.CDLL:
    """All functions for so many lanes."""
    needs, cases = set[tuple[str, str, int]](), []
    for number, one in enumerate(on_device.functions()):
        if is_said(one):
            needs |= {(one.operation, one.dtype, lanes), ("store", one.result, lanes)}
            needs |= {("load", short, lanes) for short in one.operands}
            cases.append(on_device.case(number, one, lanes))
    body = KERNEL.format(lanes=lanes, cases="\n".join(cases))
    return library_of(spelled(f"{DIALECT.head}\n{DIALECT.prelude(frozenset(needs))}\n{body}"))


def apply(number: int, lanes: int, arrays: list[np.ndarray]) -> np.ndarray:
    """The function of a number on arrays whose length is a multiple of ``lanes``."""
    out = np.zeros(len(arrays[0]), NUMPY[on_device.functions()[number].result])
    given = [array.ctypes.data for array in arrays] + [0] * (3 - len(arrays))
    pointers = [ctypes.c_void_p(one) for one in (*given, out.ctypes.data)]
    library(lanes).run(number, *pointers, ctypes.c_long(len(out)))
    return out
