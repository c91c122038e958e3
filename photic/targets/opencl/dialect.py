"""The spellings of the opencl target: OpenCL C 1.2, with what Clang adds to it.

The functions are those of the c target wherever their text is OpenCL C too; numerics_opencl.h holds
the others. ``spelled`` makes the rest of a text fit: an OpenCL ``long`` has 64 bits, ``long long``
is another type.
"""

from __future__ import annotations

import re
from functools import partial

from photic.codegen.dialect import Dialect
from photic.targets.c.numerics import prelude_with
from photic.targets.launches import Spelling, entry_source

HEAD = """\
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
// What the processor of a host could do is not what kernels are written for.
#undef __aarch64__
#undef __AVX2__
#undef __AVX512F__
#undef __F16C__
#undef __FMA__
#define __builtin_elementwise_trunc trunc
#define __builtin_clzll clz
#define half half_of
#define clamp clamp_index
typedef long int64_t;
static inline int64_t floor_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t floor_mod(int64_t a, int64_t b) {
  return b == 0 ? 0 : a - floor_div(a, b) * b;
}
static inline int clamp(int64_t a) {
  return a < -(1 << 30) ? -(1 << 30) : a > (1 << 30) ? (1 << 30) : (int)a;
}
static inline int lane_count(int64_t left, int width) {
  return left < 0 ? 0 : left > width ? width : (int)left;
}
"""

_SIGNED_CHAR = re.compile(r"\bsigned char\b")
_LONG_NUMBER = re.compile(r"\b(\d+|0[xX][\da-fA-F]+)(u?)ll\b")


def spelled(text: str) -> str:
    """The text with integers of 8 and 64 bits as OpenCL writes them."""
    text = _LONG_NUMBER.sub(r"\1\2l", text).replace("long long", "long")
    return _SIGNED_CHAR.sub("char", text)


assert __package__
SPELLING = Spelling(
    head="__kernel void",
    inner="static void",
    memory="__global char *",
    parameter="__global char *p{k}, ulong o{k}",
    start="p{k} + o{k}",
    item="(int64_t)get_global_id(0)",
)
DIALECT = Dialect(
    name="opencl",
    prelude=partial(prelude_with, __package__),
    kernel=SPELLING.kernel,
    pointer="__global *restrict {name}",
    head=HEAD,
    entry=partial(entry_source, SPELLING),
)
