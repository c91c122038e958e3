"""Runs functions of the opencl target's prelude on arrays: one kernel that has them all.

Which functions there are, and of what, is said by numerics_library.py.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numerics_library import NUMPY, SIGNATURES, functions_for

from photic.targets.c.numerics import LANES
from photic.targets.opencl.device import DRIVEN, compiled
from photic.targets.opencl.dialect import DIALECT, HEAD, spelled

COUNT = 4096
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0**31, 2.0**63, -(2.0**63), 3e5]
BYTES = {short: max(1, lane.bits // 8) if short != "bool" else 1 for short, lane in LANES.items()}
Apply = Callable[[int, int, list[np.ndarray]], np.ndarray]
KERNEL = """
__kernel void run(int which, __global const char *a, __global const char *b,
                  __global const char *c, __global char *out) {{
    const long i = get_global_id(0) * {lanes};
    switch (which) {{
{cases}
    }}
}}
"""


@dataclass(frozen=True)
class Function:
    """An operation for a dtype: the dtypes of its operands, and of its result."""

    operation: str
    dtype: str
    operands: tuple[str, ...]
    result: str


def functions() -> list[Function]:
    """Every function that takes its operands lane by lane."""
    return [
        Function(
            operation,
            dtype,
            tuple(dtype if one == "T" else one for one in parameters),
            dtype if result == "T" else result,
        )
        for operation, (dtypes, parameters, result) in SIGNATURES.items()
        for dtype in dtypes
    ]


def case(number: int, one: Function, lanes: int) -> str:
    """The function's line of the kernel."""
    loads = ", ".join(
        f"load_{short}x{lanes}({name} + i * {BYTES[short]})"
        for name, short in zip("abc", one.operands)
    )
    call = f"{one.operation}_{one.dtype}x{lanes}({loads})"
    return (
        f"case {number}: store_{one.result}x{lanes}(out + i * {BYTES[one.result]}, {call}); break;"
    )


@functools.cache
def kernel(lanes: int) -> Any:
    """All functions for so many lanes, compiled by the driver."""
    needs = set()
    for one in functions():
        needs |= {(one.operation, one.dtype, lanes), ("store", one.result, lanes)}
        needs |= {("load", short, lanes) for short in one.operands}
    cases = "\n".join(case(number, one, lanes) for number, one in enumerate(functions()))
    made = DIALECT.prelude(frozenset(needs))
    text = "\n".join([HEAD, made, KERNEL.format(lanes=lanes, cases=cases)])
    return DRIVEN.opened().cl.Kernel(compiled(DRIVEN.opened(), spelled(text)), "run")


def apply(number: int, lanes: int, arrays: list[np.ndarray]) -> np.ndarray:
    """The function of a number on arrays whose length is a multiple of ``lanes``."""
    known, one = DRIVEN.opened(), functions()[number]
    cl, flags = known.cl, known.cl.mem_flags.READ_WRITE | known.cl.mem_flags.COPY_HOST_PTR
    out = np.zeros(len(arrays[0]), NUMPY[one.result])
    buffers = [cl.Buffer(known.context, flags, hostbuf=array) for array in (*arrays, out)]
    queue = cl.CommandQueue(known.context)
    found, *given = buffers[-1], np.int32(number), *buffers[:-1]
    given += [found] * (4 - len(given))
    kernel(lanes).set_args(*given, found)
    cl.enqueue_nd_range_kernel(queue, kernel(lanes), (len(out) // lanes,), None)
    cl.enqueue_copy(queue, out, found)
    queue.finish()
    return out


# --- comparing ------------------------------------------------------------------------------


def sample(short: str, seed: int) -> np.ndarray:
    """Bits of every exponent for floats, with special values; the whole range for the others."""
    draw, kind = np.random.default_rng(seed), np.dtype(NUMPY[short])
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


def differences(
    apply: Apply, lanes: int, chosen: Callable[[Function], bool] = lambda _: True
) -> list[str]:
    """Where ``apply``, given a function's number, does not give the c target's numbers."""
    on_processor, wrong = functions_for("native"), []
    for number, one in enumerate(functions()):
        if not chosen(one):
            continue
        given = [sample(short, number + k) for k, short in enumerate(one.operands)]
        got = apply(number, lanes, given)
        want = on_processor.apply(one.operation, one.dtype, lanes, *given)
        same = bits(got, one.result) == bits(want, one.result)
        if not same.all():
            k = int(np.argmin(same))
            at = [array[k] for array in given]
            wrong.append(f"{one.operation}_{one.dtype}{at}: {got[k]!r}, not {want[k]!r}")
    return wrong
