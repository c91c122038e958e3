"""The renderer: a nest becomes the text of one kernel in a C-like language.

Loops print one to one. Inside a tile every value is a register tile: one C variable for each point
of the unrolled variables that it depends on, a vector if it depends on the lanes. Equal values are
computed once a scope. Loads that an index condition guards are never executed where it fails. A
fused multiply-add is written where a sum accumulates a product, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from photic.codegen.dialect import Dialect, Need
from photic.codegen.tile import TilePrinter
from photic.codegen.words import Words, dim_text, size_name
from photic.ir.dim import Dim, Symbol, Var, bounds, mul, product, symbols
from photic.ir.index import Buffer, dims_in
from photic.ir.program import ROW_MAJOR
from photic.loops.nest import Clip, Fit, Loop, Nest, Part, Tile, parallel_loops, tiles

ALIGNMENT = 64  # bytes; one cache line


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one kernel and the functions of the prelude that it calls."""

    name: str
    text: str
    needs: frozenset[Need]


@dataclass(slots=True)
class _Printer:
    """Lines so far."""

    nest: Nest
    dialect: Dialect
    words: Words = field(default_factory=Words)


def render(nest: Nest, slots: dict[str, int], dialect: Dialect) -> Source:
    """The source of a nest. ``slots`` says where each symbolic size stands in the sizes array."""
    printer = _Printer(nest, dialect)
    words = printer.words
    words.line(dialect.kernel.format(name=nest.name) + " {")
    words.indent += 1
    written = {tile.store.buffer for tile in tiles(nest.body)}
    for number, one in enumerate(nest.parameters):
        kind = "char" if one in written else "const char"
        words.line(kind + " " + dialect.pointer.format(name=one.name, number=number))
    for buffer, start in scratch_offsets(nest).items():
        words.line(f"char *restrict {buffer.name} = scratch + {start};")
    for symbol in sorted(_symbols(nest), key=lambda one: one.name):
        if symbol.name in slots:
            words.line(f"const int64_t {size_name(symbol)} = sizes[{slots[symbol.name]}];")
    loops, body = parallel_loops(nest)
    words.line("for (int64_t item = begin; item < end; item++) {")
    words.indent += 1
    _decode(words, [loop.axis for loop in loops])
    _parts(printer, body)
    words.close()
    words.close()
    return Source(nest.name, "\n".join(words.lines) + "\n", frozenset(words.needs))


def scratch_offsets(nest: Nest) -> dict[Buffer, int]:
    """Where the buffers of one parallel item lie in its scratch, in bytes."""
    offsets: dict[Buffer, int] = {}
    total = 0
    for buffer in nest.scratch:
        offsets[buffer] = total
        total += -(-_most_bytes(buffer) // ALIGNMENT) * ALIGNMENT
    return offsets


def scratch_bytes(nest: Nest) -> int:
    """Bytes of scratch that one parallel item needs, at the largest sizes."""
    return sum(-(-_most_bytes(one) // ALIGNMENT) * ALIGNMENT for one in nest.scratch)


def _most_bytes(buffer: Buffer) -> int:
    return bounds(mul(product(buffer.shape), buffer.dtype.bytes))[1]


def _symbols(nest: Nest) -> set[Symbol]:
    found: set[Symbol] = set()
    dims: list[Dim] = [one for buffer in nest.parameters for one in buffer.shape]
    dims += _loop_dims(nest.body)
    for tile in tiles(nest.body):
        dims += [*tile.store.index, *dims_in(tile.store.value)]
        if tile.lanes is not None and tile.lanes.valid is not None:
            dims.append(tile.lanes.valid)
    for dim in dims:
        found |= symbols(dim)
    return found


def _loop_dims(parts: tuple[Part, ...]) -> list[Dim]:
    found: list[Dim] = []
    for part in parts:
        if isinstance(part, Loop):
            found += [part.axis.extent, *_loop_dims(part.body)]
        elif isinstance(part, Clip):
            found += [part.available, *_loop_dims(part.body)]
        elif isinstance(part, Fit):
            found += [part.needed, part.available]
            found += _loop_dims(part.whole) + _loop_dims(part.rest)
    return found


def _decode(words: Words, axes: list[Var]) -> None:
    """The values of the parallel variables from the item's number, the last axis fastest."""
    if not axes:
        return
    words.line("int64_t left = item;")
    for axis in reversed(axes[1:]):
        extent = dim_text(axis.extent)
        words.line(f"const int64_t {axis.name} = left % {extent}; left /= {extent};")
    words.line(f"const int64_t {axes[0].name} = left;")


def _parts(printer: _Printer, parts: tuple[Part, ...]) -> None:
    for part in parts:
        if isinstance(part, Loop):
            name = part.axis.name
            extent = dim_text(part.axis.extent)
            printer.words.line(f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{")
            printer.words.indent += 1
            _parts(printer, part.body)
            printer.words.close()
        elif isinstance(part, Clip):
            size, left = dim_text(part.size), dim_text(part.available)
            text = f"{size} < {left} ? {size} : {left}"
            printer.words.line(f"const int64_t {size_name(part.symbol)} = {text};")
            _parts(printer, part.body)
        elif isinstance(part, Fit):
            _fit(printer, part)
        else:
            _tile(printer, part)


def _fit(printer: _Printer, part: Fit) -> None:
    words = printer.words
    words.line(f"if ({dim_text(part.needed)} <= {dim_text(part.available)}) {{")
    words.indent += 1
    _parts(printer, part.whole)
    words.indent -= 1
    words.line("} else {")
    words.indent += 1
    _parts(printer, part.rest)
    words.close()


def _tile(printer: _Printer, tile: Tile) -> None:
    printer.words.line("{")
    printer.words.indent += 1
    layouts = dict(zip(printer.nest.parameters, printer.nest.layouts, strict=True))
    layouts |= dict.fromkeys(printer.nest.scratch, ROW_MAJOR)
    TilePrinter(tile, layouts, printer.words).print_store()
    printer.words.close()
