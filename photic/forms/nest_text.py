"""The text form of nests, for people, golden files and keys; it is written, never read back."""

from __future__ import annotations

from collections.abc import Mapping

from photic.ir.nest import Clip, Fit, Loop, Nest, Part, Tile


def print_nest(nest: Nest) -> str:
    """The nest as indented text, for people and golden files."""
    lines = [f"nest {nest.name}  work={nest.work}"]
    for buffer, layout in zip(nest.parameters, nest.layouts, strict=True):
        shape = ", ".join(map(str, buffer.shape))
        panel = f" panels of {layout.tile} along axis {layout.axis}" if layout.tile > 1 else ""
        lines.append(f"  {buffer.name}: {buffer.dtype}[{shape}]{panel}")
    _print(nest.body, "  ", lines)
    return "\n".join(lines) + "\n"


def _print(parts: tuple[Part, ...], indent: str, lines: list[str]) -> None:
    for part in parts:
        if isinstance(part, Loop):
            lines.append(f"{indent}{part.kind} {part.axis.name} : {part.axis.extent}")
            _print(part.body, indent + "  ", lines)
        elif isinstance(part, Clip):
            lines.append(f"{indent}{part.symbol} = min({part.size}, {part.available})")
            _print(part.body, indent, lines)
        elif isinstance(part, Fit):
            lines.append(f"{indent}if {part.needed} <= {part.available}")
            _print(part.whole, indent + "  ", lines)
            lines.append(f"{indent}else")
            _print(part.rest, indent + "  ", lines)
        else:
            lines.append(indent + _tile_text(part))


def _tile_text(tile: Tile) -> str:
    unrolled = " ".join(f"{one.name}:{one.extent}" for one in tile.unrolled)
    lanes = ""
    if tile.lanes is not None:
        one = tile.lanes
        lanes = f" vector {one.axis.name}:{one.count}x{one.width}"
        lanes += "" if one.valid is None else f" valid {one.valid}"
    return f"tile [{unrolled}{lanes}] {tile.store}"


def print_nests(nests: Mapping[str, Nest]) -> str:
    """Several nests, one below the other."""
    return "\n".join(map(print_nest, nests.values()))
