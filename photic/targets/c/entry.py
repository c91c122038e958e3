"""The entry function: all kernels of a program, dispatched ahead of time from one C function.

``buffers`` holds the addresses of inputs, outputs, states and constants; intermediate values lie
in ``arena`` at offsets fixed at compile time. Small work stays on the calling thread. How work is
split never changes a result: each parallel item is computed in one order, whoever runs it.
"""

from __future__ import annotations

from pathlib import Path

from photic.codegen.clike import scratch_stride
from photic.codegen.dialect import Addresses
from photic.codegen.words import Words, dim_text, size_name
from photic.forms.layout import elements
from photic.ir.dim import product
from photic.ir.nest import Nest, parallel_loops
from photic.ir.program import Branch, Collective, Copy, Kernel, Program, Repeat, Step

SMALL_WORK = 100_000  # operations; less than this is not worth waking a thread for
POOL = Path(__file__).with_name("entry.h").read_text(encoding="utf-8")


def entry_source(program: Program, nests: dict[str, Nest], addresses: Addresses) -> str:
    """The text of ``photic_entry``; the kernels' text must stand before it."""
    words = Words()
    words.line(f"#define SMALL_WORK {SMALL_WORK}")
    words.line(f"#define KERNELS {max(1, len(nests))}")
    words.line(f"#define SCRATCH {scratch_stride(nests)}")
    words.lines += POOL.splitlines()
    words.line("void photic_entry(void *const *buffers, int64_t *sizes, char *arena,")
    with words.block("                  char *scratch, photic_pool *pool)"):
        for symbol in program.sizes:
            slot = addresses.sizes[symbol.name]
            words.line(f"const int64_t {size_name(symbol)} = sizes[{slot}];")
        _steps(words, program, program.steps, nests, addresses)
    return "\n".join(words.lines) + "\n"


def _steps(
    words: Words, program: Program, steps: tuple[Step, ...], nests: dict[str, Nest], at: Addresses
) -> None:
    for step in steps:
        match step:
            case Kernel():
                _kernel(words, step, nests, at)
            case Copy(target, source):
                place = program.places[source]
                count = elements(place.buffer.shape, place.layout)
                size = dim_text(count * place.buffer.dtype.bytes)
                words.line(f"copy_bytes({at.text(target)}, {at.text(source)}, {size});")
            case Repeat(counter, trips, body):
                name = size_name(counter)
                with words.loop(name, trips):
                    words.line(f"sizes[{at.sizes[counter.name]}] = {name};")
                    _steps(words, program, body, nests, at)
            case Branch(condition, then, otherwise):
                with words.block(f"if (*(const char *)({at.text(condition)}))", end=""):
                    _steps(words, program, then, nests, at)
                with words.block("} else"):
                    _steps(words, program, otherwise, nests, at)
            case Collective():
                raise AssertionError("on one machine collectives are kernels")


def _kernel(words: Words, step: Kernel, nests: dict[str, Nest], at: Addresses) -> None:
    nest, number = nests[step.function], list(nests).index(step.function)
    loops, _ = parallel_loops(nest)
    total = dim_text(product(loop.axis.extent for loop in loops))
    table = ", ".join(at.text(name) for name in step.arguments)
    words.line(f"{{ void *const table[] = {{ {table} }};")
    counts = f"{total}, {dim_text(nest.work)}, {number}"
    words.line(f"  run(pool, {nest.name}, table, sizes, scratch, {counts}); }}")
