"""A candidate of the search as a program of its own: one source with one entry function.

The table holds the region's inputs and outputs, then the buffers between its kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from photic.codegen.clike import scratch_stride
from photic.codegen.dialect import Addresses, Dialect
from photic.compiler.source import rendered
from photic.ir.dim import Symbol
from photic.ir.index import Buffer
from photic.ir.nest import Nest
from photic.ir.program import Kernel, Program
from photic.search.space import Candidate, most_bytes

MOST_SCRATCH_BYTES = 4 << 20  # of one thread; more would not stay in a cache


def table_of(nests: tuple[Nest, ...]) -> list[Buffer]:
    """Every buffer that the kernels are given, in the order of the table.

    Of one that some kernels see with merged axes, the last form.
    """
    return list({one.name: one for nest in nests for one in nest.parameters}.values())


def candidate_source(nests: tuple[Nest, ...], symbols: Sequence[Symbol], dialect: Dialect) -> str:
    """The text of a candidate; ``symbols`` are the symbolic sizes in the order of their slots."""
    slots = {one.name: number for number, one in enumerate(table_of(nests))}
    sizes = {one.name: number for number, one in enumerate(symbols)}
    steps = tuple(Kernel(nest.name, tuple(one.name for one in nest.parameters)) for nest in nests)
    program = Program(tuple(symbols), {}, {}, steps, {}, {})
    named = {one.name: one for one in nests}
    return rendered(program, named, Addresses(slots, {}, sizes), dialect)[1]


def scratch_of(nests: tuple[Nest, ...]) -> int:
    """Bytes of scratch for each thread."""
    return scratch_stride({one.name: one for one in nests})


def is_small(candidate: Candidate) -> bool:
    """True if every thread's scratch fits a cache."""
    return all(most_bytes(one.scratch) <= MOST_SCRATCH_BYTES for one in candidate.nests)
