"""The spellings of the cuda target: CUDA C++ as NVRTC compiles it for the device alone.

The functions are those of the c target wherever their text is C++ too; numerics_cuda.h holds the
others. Clang's vectors are objects here (lanes.h), whose loops the compiler unrolls. Work-items
share no memory, so that no text has a barrier.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from photic.codegen.dialect import Dialect, Need
from photic.targets.c.numerics import prelude_with
from photic.targets.launches import Spelling, entry_source

GROUP = 64  # work-items of a block: two warps, which may have all the registers that one may have

_VECTOR = re.compile(r"^typedef (.+) (\w+) __attribute__\(\(ext_vector_type\((\d+)\)\)\);$", re.M)


def prelude(needs: frozenset[Need]) -> str:
    """The functions that a program calls; as those of the c target."""
    assert __package__
    return prelude_of(__package__, needs)


def prelude_of(packages: str, needs: frozenset[Need]) -> str:
    """The same with the sections of these packages first."""
    return _VECTOR.sub(r"typedef lanes<\1, \3> \2;", prelude_with(packages, needs))


SPELLING = Spelling(
    head=f'extern "C" __global__ void __launch_bounds__({GROUP})',
    parameter="char *restrict p{k}",
    start="p{k}",
    memory="char *",
    item="(int64_t)blockIdx.x * blockDim.x + threadIdx.x",
)
DIALECT = Dialect(
    name="cuda",
    prelude=prelude,
    kernel=(
        "INLINE void {name}(char *const *buffers, const int64_t *sizes, char *scratch, "
        "int64_t begin, int64_t end)"
    ),
    pointer="*restrict {name}",
    head=Path(__file__).with_name("lanes.h").read_text(encoding="utf-8"),
    entry=partial(entry_source, SPELLING),
)
