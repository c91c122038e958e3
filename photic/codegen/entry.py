"""The entry function: all kernels of a program, dispatched ahead of time from one C function.

``buffers`` holds the addresses of inputs, outputs, states and constants; intermediate values lie
in ``arena`` at offsets fixed at compile time. Small work stays on the calling thread. How work is
split never changes a result: each parallel item is computed in one order, whoever runs it.
"""

from __future__ import annotations

from dataclasses import dataclass

from photic.codegen.clike import scratch_bytes
from photic.codegen.words import Words, dim_text, size_name
from photic.ir.dim import Dim, mul, product
from photic.ir.program import Branch, Collective, Copy, Kernel, Program, Repeat, Step
from photic.loops.layout import elements
from photic.loops.nest import Nest, parallel_loops

SMALL_WORK = 32768  # operations; less than this is not worth waking a thread for

POOL = """\
typedef void (*photic_kernel)(void *const *buffers, const int64_t *sizes, char *scratch,
                              int64_t begin, int64_t end);
typedef struct photic_pool photic_pool;
#ifdef PHOTIC_TIMES
long long photic_cycles[KERNELS];
#endif
struct photic_pool {
  void (*parallel)(photic_pool *, photic_kernel, void *const *buffers, const int64_t *sizes,
                   char *scratch, int64_t scratch_stride, int64_t total);
};
__attribute__((noinline)) static void run(
    photic_pool *pool, photic_kernel kernel, void *const *buffers, const int64_t *sizes,
    char *scratch, int64_t total, int64_t work, int number) {
  if (total <= 0) return;
#ifdef PHOTIC_TIMES
  long long start = __builtin_readcyclecounter();
#endif
  if (total == 1 || work < SMALL_WORK) kernel(buffers, sizes, scratch, 0, total);
  else pool->parallel(pool, kernel, buffers, sizes, scratch, SCRATCH, total);
#ifdef PHOTIC_TIMES
  photic_cycles[number] += __builtin_readcyclecounter() - start;
#endif
}
static void copy_bytes(char *target, const char *source, int64_t bytes) {
  typedef char piece __attribute__((ext_vector_type(64), aligned(1)));
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) *(piece *)(target + i) = *(const piece *)(source + i);
  for (; i < bytes; i++) target[i] = source[i];
}
"""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where buffers are: a slot of the table, or an offset (bytes) in the arena."""

    slots: dict[str, int]
    offsets: dict[str, int]
    sizes: dict[str, int]

    def text(self, name: str) -> str:
        """The address of a buffer in the entry function."""
        if name in self.slots:
            return f"buffers[{self.slots[name]}]"
        return f"arena + {self.offsets[name]}ll"


def entry_source(program: Program, nests: dict[str, Nest], addresses: Addresses) -> str:
    """The text of ``photic_entry``; the kernels' text must stand before it."""
    words = Words()
    words.lines.append(f"#define SMALL_WORK {SMALL_WORK}")
    words.lines.append(f"#define KERNELS {max(1, len(nests))}")
    words.lines.append(f"#define SCRATCH {scratch_stride(nests)}")
    words.lines += POOL.splitlines()
    words.line("void photic_entry(void *const *buffers, int64_t *sizes, char *arena,")
    words.line("                  char *scratch, photic_pool *pool) {")
    words.indent += 1
    for symbol in program.sizes:
        words.line(f"const int64_t {size_name(symbol)} = sizes[{addresses.sizes[symbol.name]}];")
    _steps(words, program, program.steps, nests, addresses)
    words.close()
    return "\n".join(words.lines) + "\n"


def scratch_stride(nests: dict[str, Nest]) -> int:
    """Bytes of scratch that each thread needs."""
    return max((scratch_bytes(one) for one in nests.values()), default=0)


def _steps(
    words: Words, program: Program, steps: tuple[Step, ...], nests: dict[str, Nest], at: Addresses
) -> None:
    for step in steps:
        if isinstance(step, Kernel):
            _kernel(words, step, nests, at)
        elif isinstance(step, Copy):
            size = dim_text(_bytes(program, step.source))
            words.line(f"copy_bytes({at.text(step.target)}, {at.text(step.source)}, {size});")
        elif isinstance(step, Repeat):
            name = size_name(step.counter)
            words.line(f"for (int64_t {name} = 0; {name} < {dim_text(step.trips)}; {name}++) {{")
            words.indent += 1
            words.line(f"sizes[{at.sizes[step.counter.name]}] = {name};")
            _steps(words, program, step.body, nests, at)
            words.close()
        elif isinstance(step, Branch):
            words.line(f"if (*(const char *)({at.text(step.condition)})) {{")
            words.indent += 1
            _steps(words, program, step.then, nests, at)
            words.indent -= 1
            words.line("} else {")
            words.indent += 1
            _steps(words, program, step.otherwise, nests, at)
            words.close()
        else:
            assert not isinstance(step, Collective), "on one machine collectives are kernels"


def _bytes(program: Program, name: str) -> Dim:
    place = program.places[name]
    return mul(elements(place.buffer.shape, place.layout), place.buffer.dtype.bytes)


def _kernel(words: Words, step: Kernel, nests: dict[str, Nest], at: Addresses) -> None:
    nest, number = nests[step.function], list(nests).index(step.function)
    loops, _ = parallel_loops(nest)
    total = dim_text(product(loop.axis.extent for loop in loops))
    table = ", ".join(at.text(name) for name in step.arguments)
    words.line(f"{{ void *const table[] = {{ {table} }};")
    counts = f"{total}, {dim_text(nest.work)}, {number}"
    words.line(f"  run(pool, {nest.name}, table, sizes, scratch, {counts}); }}")
