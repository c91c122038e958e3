"""The renderer: a nest becomes the text of one kernel in a C-like language.

Loops print one to one. Inside a tile every value is a register tile: one C variable for each point
of the unrolled variables that it depends on, a vector if it depends on the lanes. Equal values are
computed once a scope. Loads that an index condition guards are never executed where it fails. A
fused multiply-add is written where a sum accumulates a product, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from photic.codegen.dialect import Dialect
from photic.codegen.tile import print_tile
from photic.codegen.words import Need, Words, dim_text, size_name
from photic.forms.layout import aligned_bytes
from photic.ir.dim import Dim, Var, symbols
from photic.ir.index import Buffer, dims_in
from photic.ir.nest import Clip, Fit, Loop, Nest, Part, Tile, parallel_loops, tiles
from photic.ir.program import PAIRED, ROW_MAJOR, Layout


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one kernel and the functions of the prelude that it calls."""

    text: str
    needs: frozenset[Need]


def render(nest: Nest, slots: dict[str, int], dialect: Dialect) -> Source:
    """The source of a nest. ``slots`` says where each symbolic size stands in the sizes array."""
    words, layouts = dialect.words(nest), dict(zip(nest.parameters, nest.layouts, strict=True))
    layouts |= dict.fromkeys(nest.scratch, ROW_MAJOR) | dict.fromkeys(nest.paired, PAIRED)
    written, buffers = {tile.store.buffer for tile in tiles(nest.body)}, nest.parameters
    pointers = "".join(
        f"{'' if one in written else 'const '}char {dialect.pointer.format(name=one.name)}, "
        for one in (*buffers, *nest.scratch)
    )
    # of parameters, and not of variables, compilers believe that they are restricted
    head = dialect.kernel.partition("{name}")[0] + nest.name
    with words.block(f"{head}_at({pointers}const int64_t *sizes, int64_t begin, int64_t end)"):
        shapes = (extent for one in nest.parameters for extent in one.shape)
        found = {symbol for dim in (*shapes, *_dims(nest.body)) for symbol in symbols(dim)}
        for symbol in sorted((one for one in found if one.name in slots), key=lambda one: one.name):
            words.line(f"const int64_t {size_name(symbol)} = sizes[{slots[symbol.name]}];")
        loops, body = parallel_loops(nest)
        with words.block("for (int64_t item = begin; item < end; item++)"):
            _decode(words, [loop.axis for loop in loops])
            _parts(words, layouts, body)
    with words.block(dialect.kernel.format(name=nest.name)):
        places = [f"buffers[{number}], " for number, _ in enumerate(buffers)]
        places += [f"scratch + {start}, " for start in scratch_starts(nest)[:-1]]
        words.line(f"{nest.name}_at({''.join(places)}sizes, begin, end);")
    return Source("\n".join(words.lines) + "\n", frozenset(words.needs))


def scratch_starts(nest: Nest) -> list[int]:
    """Where each buffer of one parallel item begins in its scratch, and the end, in bytes."""
    return list(accumulate((aligned_bytes(one, ROW_MAJOR) for one in nest.scratch), initial=0))


def scratch_stride(nests: dict[str, Nest]) -> int:
    """Bytes of scratch that each thread needs."""
    return max((scratch_starts(one)[-1] for one in nests.values()), default=0)


def _dims(parts: Iterable[Part]) -> Iterator[Dim]:
    """Every index, extent and limit of the parts."""
    for part in parts:
        match part:
            case Loop(axis=axis, body=body):
                yield from (axis.extent, *_dims(body))
            case Clip(available=available, body=body):
                yield from (available, *_dims(body))
            case Fit(needed=needed, available=available):
                yield from (needed, available, *_dims(part.whole + part.rest))
            case Tile(store=store, lanes=lanes):
                yield from (*store.index, *dims_in(store.value))
                if lanes is not None and lanes.valid is not None:
                    yield lanes.valid


def _decode(words: Words, axes: list[Var]) -> None:
    """The values of the parallel variables from the item's number, the last axis fastest."""
    if not axes:
        return
    words.line("int64_t left = item;")
    for axis in reversed(axes[1:]):
        extent = dim_text(axis.extent)
        words.line(f"const int64_t {axis.name} = left % {extent}; left /= {extent};")
    words.line(f"const int64_t {axes[0].name} = left;")


def _parts(words: Words, layouts: dict[Buffer, Layout], parts: tuple[Part, ...]) -> None:
    for part in parts:
        match part:
            case Loop(axis=axis, body=body):
                with words.loop(axis.name, axis.extent):
                    _parts(words, layouts, body)
            case Clip(body=body):
                size, left = dim_text(part.size), dim_text(part.available)
                text = f"{size} < {left} ? {size} : {left}"
                words.line(f"const int64_t {size_name(part.symbol)} = {text};")
                _parts(words, layouts, body)
            case Fit(needed=needed, available=available):
                with words.block(f"if ({dim_text(needed)} <= {dim_text(available)})", end=""):
                    _parts(words, layouts, part.whole)
                with words.block("} else"):
                    _parts(words, layouts, part.rest)
            case Tile():
                with words.block(""):
                    print_tile(part, layouts, words)
