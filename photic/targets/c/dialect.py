"""The spellings of the c target: freestanding C for Clang."""

from __future__ import annotations

from photic.codegen.dialect import Dialect
from photic.targets.c.entry import entry_source
from photic.targets.c.matrix_text import TileWords
from photic.targets.c.numerics import prelude

HEAD = """\
typedef long long int64_t;
static inline int64_t floor_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t floor_mod(int64_t a, int64_t b) {
  return b == 0 ? 0 : a - floor_div(a, b) * b;
}
static inline int clamp(int64_t a) {
  return a < -(1 << 30) ? -(1 << 30) : a > (1 << 30) ? (1 << 30) : (int)a;
}
// Hidden from the optimiser: on sums of masks whose known half counts, Clang 22 never ends.
static inline int lane_count(int64_t left, int width) {
  int count = left < 0 ? 0 : left > width ? width : (int)left;
  __asm__("" : "+r"(count));
  return count;
}
"""

DIALECT = Dialect(
    name="c",
    prelude=prelude,
    kernel=(
        "__attribute__((noinline)) static void {name}(void *const *buffers, "
        "const int64_t *sizes, char *scratch, int64_t begin, int64_t end)"
    ),
    pointer="*restrict {name}",
    head=HEAD,
    entry=entry_source,
    words=lambda nest: TileWords(),
)
