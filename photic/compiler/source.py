"""The source of a program: its kernels and their entry function as one text."""

from __future__ import annotations

from photic.codegen.clike import Source, render
from photic.codegen.dialect import Addresses, Dialect
from photic.ir.nest import Nest
from photic.ir.program import Program


def rendered(
    program: Program, nests: dict[str, Nest], addresses: Addresses, dialect: Dialect
) -> tuple[dict[str, Source], str]:
    """The source of each nest, and the text of all of them with their entry function."""
    sources = {name: render(one, addresses.sizes, dialect) for name, one in nests.items()}
    needs = frozenset(need for one in sources.values() for need in one.needs)
    texts = [one.text for one in sources.values()]
    entry = dialect.entry(program, nests, addresses)
    return sources, "\n".join([dialect.head, dialect.prelude(needs), *texts, entry])
