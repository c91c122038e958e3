"""The spellings of the cuda target: CUDA C++ as NVRTC compiles it for the device alone.

The functions are those of the c target wherever their text is C++ too; numerics_cuda.h holds the
others.
"""

from __future__ import annotations

from functools import partial

from photic.codegen.dialect import Dialect
from photic.targets.cuda.fragments import HALVES, SINGLES
from photic.targets.cuda.fragments import HEAD as FRAGMENTS
from photic.targets.group_nests import words_for
from photic.targets.group_products import GROUP
from photic.targets.lanes import LANES, prelude_of
from photic.targets.launches import Spelling, entry_source

# One block of a multiprocessor is enough: for more at once the compiler rather spills.
BOUNDS = f"__launch_bounds__({GROUP}, 1)"

THREAD = "#define THREAD ((int)threadIdx.x)\n"

assert __package__
SPELLING = Spelling(
    head=f'extern "C" __global__ void {BOUNDS}',
    inner="INLINE void",
    memory="char *",
    parameter="char *restrict p{k}",
    start="p{k}",
    group="(int64_t)blockIdx.x",
    item="(int64_t)blockIdx.x * blockDim.x + threadIdx.x",
)
DIALECT = Dialect(
    name="cuda",
    prelude=partial(prelude_of, __package__),
    kernel=SPELLING.kernel,
    pointer="*restrict {name}",
    head=THREAD + LANES + FRAGMENTS,
    entry=partial(entry_source, SPELLING),
    words=partial(words_for, (HALVES, SINGLES)),
)
