"""The spellings of the metal target: the cuda target's C++ with address spaces, without float64.

Metal's language has no double: numerics_metal.h says without it what the c target says with it.
What a pointer points to is said everywhere: ``spelled`` adds it to pointers of the prelude and of
the renderer, which are to buffers, but for the table of sizes. Apple's devices may take subnormal
numbers of float32 for zero; nothing here changes that.
"""

from __future__ import annotations

import re
from dataclasses import replace

from photic.codegen.dialect import Addresses
from photic.codegen.words import Need, Words
from photic.ir.nest import Nest
from photic.ir.program import Program
from photic.targets.cuda.dialect import DIALECT as CUDA
from photic.targets.cuda.dialect import SPELLING as OF_CUDA
from photic.targets.lanes import LANES, prelude_of
from photic.targets.launches import entry_source
from photic.targets.opencl.dialect import spelled as with_short_names

MOST_BUFFERS = 31  # of a kernel, with sizes, scratch and counts
HEAD = """\
#if __has_include(<metal_stdlib>)
#include <metal_stdlib>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#endif
#define PRIVATE thread
#define same_bits as_type
#define __fmaf_rn metal::fma
#define __fsqrt_rn metal::sqrt
static inline int __clzll(long v) {
  unsigned high = (unsigned)(v >> 32), low = (unsigned)v;
  return (int)(high ? metal::clz(high) : 32 + metal::clz(low));
}
static inline unsigned short half_of(float v) { return as_type<unsigned short>((half)v); }
static inline float single_of(unsigned short v) { return (float)as_type<half>(v); }
typedef struct { long total, each; } photic_counts;
"""
_POINTER = re.compile(r"\b(\w+) (?=\*(?:\w|\)))")
_KERNEL = re.compile(
    r"(kernel void \w+\((.*))const photic_sizes given,\n +"
    r"device char \*scratch, int64_t total, int64_t each\) \{\n"
)


def prelude(needs: frozenset[Need]) -> str:
    """The functions that a program calls: the c target's promises, sin and mod by integers."""
    assert __package__
    return _POINTER.sub(r"device \1 ", prelude_of(f"{__package__} {_CUDA}", needs))


def spelled(text: str) -> str:
    """A whole text as Metal has it: ``long`` has 64 bits, and sizes are constants."""
    return with_short_names(text).replace("const int64_t *sizes", "constant int64_t *sizes")


def entry(program: Program, nests: dict[str, Nest], addresses: Addresses) -> str:
    """Kernel functions with their arguments numbered, and the plan."""
    return _KERNEL.sub(_numbered, entry_source(SPELLING, program, nests, addresses))


def _numbered(found: re.Match[str]) -> str:
    """A kernel's head: sizes, scratch and counts come after the buffers."""
    count = found[2].count("[[buffer(")
    return (
        f"{found[1]}constant photic_sizes &given [[buffer({count})]],\n"
        f"    device char *scratch [[buffer({count + 1})]], "
        f"constant photic_counts &counts [[buffer({count + 2})]],\n"
        "    uint item [[thread_position_in_grid]]) {\n"
        "  const int64_t total = counts.total, each = counts.each;\n"
    )


_CUDA = "photic.targets.cuda"
SPELLING = replace(
    OF_CUDA,
    head="kernel void",
    memory="device char *",
    parameter="device char *p{k} [[buffer({k})]]",
    item="(int64_t)item",
    group="",  # nests are run by items alone
    table="const thread ",
)
DIALECT = replace(
    CUDA,
    name="metal",
    prelude=prelude,
    kernel=SPELLING.kernel,
    pointer="device *{name}",
    head=HEAD + LANES,
    entry=entry,
    words=lambda nest: Words(),
)
