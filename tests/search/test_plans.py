"""Nests that are known to be fast are members of their spaces: chosen one by one, they come out.

A matrix product with a re-laid constant, attention with queries across the vectors, and a product
with 4-bit blocks whose scales stand outside the inner sum. Each must also pass the search's check,
whose oracle is the evaluator in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from search.spaces import following, require_right, works_of
from search.value_programs import weights

import photic as ph
from photic.frontends.gguf.blocks import unpack
from photic.ir import index as form
from photic.ir.index import Access
from photic.ir.nest import Clip, Fit, Loop, Nest, Part, Tile
from photic.loops.arrange import Leaf, Open, Plan, Then
from photic.loops.plan import best_known
from photic.loops.statements import Region, Statement
from photic.loops.target import Machine
from photic.search.choosing import replaying
from photic.search.space import Candidate, Space, build, space_of
from photic.search.work import Work

# The machine that the nests were written for; the compiler splits its vectors for others.
WIDE = Machine(vector_bytes=64, vector_registers=32, cores=2, cache_bytes=1 << 21)
BLOCK_VALUES, BLOCK_BYTES = 32, 20
HEADS, QUERIES, KEYS, DEPTH, WIDTH = 2, 128, 192, 64, 48
ROWS, BLOCKS = 32, 24
EXTENTS = {ROWS: "row", BLOCKS: "block", BLOCK_VALUES // 2: "element", 2: "half"}


def then(*plans: Plan) -> Plan:
    return plans[0] if len(plans) == 1 else Then(plans[0], then(*plans[1:]))


def leaves(numbers: range) -> Plan:
    return then(*(Leaf(number) for number in numbers))


def outline(nest: Nest, names: Mapping[str, str]) -> str:
    """Loops with their trips, and tiles with what is unrolled and across vectors, renamed."""

    def lines(parts: tuple[Part, ...], indent: str) -> Iterator[str]:
        for part in parts:
            if isinstance(part, Loop):
                yield f"{indent}{part.kind} {named(part.axis.name)} : {part.axis.extent}"
                yield from lines(part.body, indent + "  ")
            elif isinstance(part, Fit):
                yield f"{indent}if"
                yield from lines(part.whole, indent + "  ")
                yield from lines(part.rest, indent + "  ")
            elif isinstance(part, Clip):
                yield from lines(part.body, indent)
            else:
                yield f"{indent}{named(part.store.buffer.name)} [{shape(part)}]"

    def shape(tile: Tile) -> str:
        found = [f"{named(one.name)}:{one.extent}" for one in tile.unrolled]
        if tile.lanes is not None:
            found.append(f"{named(tile.lanes.axis.name)}:{tile.lanes.count}x{tile.lanes.width}")
        return " ".join(found)

    def named(name: str) -> str:
        return "_".join(names.get(part, part) for part in name.split("_"))

    return "\n".join(lines(nest.body, "")) + "\n"


def only_work(outputs: Mapping[str, ph.Tensor]) -> tuple[Work, Space]:
    """The one region of a program and its space."""
    (work,) = works_of(outputs)
    return work, space_of(work, WIDE, ())


def named_by_extent(region: Region, extents: Mapping[int, str]) -> dict[str, str]:
    """Names for the axes of a region, which all have different extents."""
    axes = {axis for one in region.statements for axis in one.axes}
    return {axis.name: extents[int(axis.extent)] for axis in axes}


def scratch(made: Candidate, names: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes of what each parallel item has for itself, weights and next values aside."""
    found = made.nests[0].scratch
    return {names[b.name]: tuple(map(int, b.shape)) for b in found if b.name in names}


# --- a matrix product with a constant -------------------------------------------------------


def test_a_product_with_a_relaid_constant_and_a_register_tile_of_six_rows_is_in_the_space() -> None:
    w = ph.constant(np.ones((64, 192), np.float32))
    work, space = only_work({"y": ph.input("x", (24, 64)) @ w})
    (store,) = work.stores
    rows, columns = (axis.name for axis in store.axes)
    known = {"kernels": "as written", "f0 lanes": columns, "f0 register tile": f"4 {rows}:6"}
    made = build(space, replaying(known, best_known))
    (nest,) = made.nests
    assert outline(nest, {rows: "i", columns: "j"}) == (
        "parallel j_t : 3\n"  # panels of 4 vectors
        "  parallel i_t : 4\n"
        f"    {store.buffer.name} [i_u:6 j_v:4x16]\n"
    )
    panels = {b.name: lay for b, lay in zip(nest.parameters, nest.layouts) if lay.tile > 1}
    assert {(lay.axis, lay.tile) for lay in panels.values()} == {(1, 64)}
    assert set(panels) == work.constants and not nest.scratch
    require_right(work, made)


# --- attention ------------------------------------------------------------------------------


def attention() -> ph.Tensor:
    """Causal attention as its definition says."""
    q = ph.input("q", (HEADS, QUERIES, DEPTH))
    k, v = ph.input("k", (HEADS, KEYS, DEPTH)), ph.input("v", (HEADS, KEYS, WIDTH))
    scores = q @ ph.swapaxes(k, -1, -2) * (1 / math.sqrt(DEPTH))
    seen = ph.arange(KEYS) < ph.arange(QUERIES)[:, None] + (KEYS - QUERIES + 1)
    return weights(ph.where(seen, scores, -math.inf), math.e) @ v


def streaming(space: Space) -> int:
    """The alternative in which both sums are accumulators of one fold, and queries are copied."""

    def fits(region: Region) -> bool:
        copies = (one for one in region.statements if one.value.op == "load")
        is_copied = [extents_of(one) for one in copies] == [{HEADS, QUERIES, DEPTH}]
        return is_copied and sum(one.weight is not None for one in region.statements) == 2

    return next(number for number, one in enumerate(space.regions) if fits(one))


def roles(region: Region) -> dict[str, str]:
    """What each statement of streaming attention is."""
    found = {}
    for one in region.statements:
        if one.target.name in region.outputs:
            role = "result"
        elif one.weight is not None:
            role = "mixed" if len(one.axes) == 3 else "total"
        elif one.running:
            role = "share"
        else:
            kinds = {"load": "copy", "sum": "score", "max": "largest"}
            role = kinds.get(one.value.op, "inverse")
        found[one.target.name] = role
    return found


def attention_nest() -> tuple[Work, Candidate, dict[str, str]]:
    """Tiles of 64 queries and keys, the queries across vectors, 4 keys or values beside them."""
    work, space = only_work({"y": attention()})
    number = streaming(space)
    region = space.regions[number]
    sizes = {HEADS: "head", QUERIES: "query", KEYS: "key", WIDTH: "value", DEPTH: "depth"}
    names = roles(region) | named_by_extent(region, sizes)
    axes = {
        names[name]: axis for name, axis in space.plans_for(number).axes.items() if name in names
    }
    named = {role: name for name, role in names.items()}
    count = len(region.statements)
    last = max(k for k, one in enumerate(region.statements) if one.running)
    fold = Open(axes["key"], leaves(range(1, last + 1)))
    rest = leaves(range(last + 1, count))
    plan = Open(axes["head"], Open(axes["query"], then(Leaf(0), fold, rest)))
    query, key, value = (named[name] for name in ("query", "key", "value"))
    known = {f"tile {query}": "64", f"tile {key}": "64", "innermost": query}
    for role in ("score", "mixed", "total"):
        known[f"{named[role]} lanes"] = f"{query}_i"
    known[f"{named['largest']}_next lanes"] = f"{query}_i"
    known[f"{named['score']} register tile"] = f"4 {key}_i:4"
    known[f"{named['mixed']} register tile"] = f"4 {value}:4"
    return work, build(space, following(space, number, plan, known)), names


ATTENTION = """\
parallel head_o : 2
  parallel query_o : 2
    serial depth : 64
      copy [query_i_v:4x16]
    largest [query_i_v:4x16]
    serial value : 48
      mixed [query_i_v:4x16]
    total [query_i_v:4x16]
    serial key_o : 3
      if
        serial key_i_t : 16
          score [key_i_u:4 query_i_v:4x16]
        largest_next [query_i_v:4x16]
        largest_mixed [query_i_v:4x16]
        largest [query_i_v:4x16]
        serial key_i : 64
          share [query_i_v:4x16]
        serial value_t : 12
          mixed [value_u:4 query_i_v:4x16]
        total [query_i_v:4x16]
    inverse [query_i_v:4x16]
    serial query_i : 64
      result [value_v:3x16]
"""


def test_attention_with_queries_across_the_vectors_is_in_the_space() -> None:
    _, made, names = attention_nest()
    (nest,) = made.nests
    assert outline(nest, names) == ATTENTION


def test_streaming_attention_keeps_tiles_only_and_skips_what_is_masked() -> None:
    work, made, names = attention_nest()
    assert not made.stored and made.is_finite
    rows = {"largest": (64,), "total": (64,), "inverse": (64,)}
    tiles = {"score": (64, 64), "share": (64, 64), "mixed": (WIDTH, 64), "copy": (DEPTH, 64)}
    assert scratch(made, names) == rows | tiles
    require_right(work, made)


# --- a product with 4-bit blocks ------------------------------------------------------------


def packed(rows: int, columns: int) -> ph.Tensor:
    """A vector times weights of 4-bit blocks with a scale and a least value each."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (rows * columns // BLOCK_VALUES, BLOCK_BYTES), np.uint8)
    for place in (0, 2):
        data[:, place : place + 2] = rng.normal(size=(len(data), 1)).astype("<f2").view(np.uint8)
    weight = unpack(data.reshape(-1), "Q4_1", (rows, columns))
    return ph.sum(weight * ph.input("x", (columns,)), axis=-1)


def scales_outside(space: Space, sums: int) -> int:
    """An alternative with so many sums over blocks for each row, no element of which is scaled."""

    def fits(region: Region) -> bool:
        scaled = [one for one in region.statements if any(map(is_half, form.loads(one.value)))]
        is_outside = all(extents_of(one) == {ROWS, BLOCKS} for one in scaled)
        return is_outside and len(sums_over_blocks(region)) == sums

    return next(number for number, one in enumerate(space.regions) if fits(one))


def is_half(access: Access) -> bool:
    return access.buffer.dtype.is_half  # only scales and least values are


def extents_of(one: Statement) -> set[int]:
    return {int(axis.extent) for axis in one.every_axis}


def role_of(one: Statement) -> str:
    """What a statement of the product with scales outside is, by its axes and what it sums."""
    if ROWS not in extents_of(one):
        return "x"
    (summed,) = [EXTENTS[int(axis.extent)] for axis in one.reduced] or [""]
    return {"": "high", "element": "products", "half": "both", "block": "sum"}[summed]


def sums_over_blocks(region: Region) -> list[int]:
    """The statements that add up what blocks come to in a row."""
    found = (k for k, one in enumerate(region.statements) if extents_of(one) == {ROWS, BLOCKS})
    return [k for k in found if region.statements[k].reduced]


def product_nests(sums: int, parallel: bool) -> tuple[Work, Candidate, dict[str, str]]:
    """Rows across the vectors and blocks one after the other; perhaps 16 rows at a time."""
    work, space = only_work({"y": packed(ROWS, BLOCKS * BLOCK_VALUES)})
    number = scales_outside(space, sums)
    region, known = space.regions[number], space.plans_for(number).axes
    names = {name: EXTENTS[int(axis.extent)] for name, axis in known.items()}
    names |= {one.target.name: role_of(one) for one in region.statements}
    row, block = (next(a for a in known.values() if a.extent == n) for n in (ROWS, BLOCKS))
    count, first = len(region.statements), sums_over_blocks(region)[0] + 1
    plan: Plan = Open(block, leaves(range(count)))
    if parallel:
        plan = then(Open(row, Open(block, leaves(range(first)))), leaves(range(first, count)))
    across = f"{row.name}_i" if parallel else row.name
    answers = {f"tile {row.name}": "16", "innermost": row.name}
    for one in (each for each in region.statements[:first] if row in each.axes):
        answers[f"{one.target.name} lanes"] = across
    return work, build(space, following(space, number, plan, answers)), names


IN_ONE_KERNEL = """\
sum [row_v:2x16]
serial block_o : 24
  serial element : 16
    high [row_v:2x16]
  products [half_r:2 row_v:2x16]
  both [row_v:2x16]
  serial half : 2
    x [element:1x16]
  x []
  sum [row_v:2x16]
"""

ROWS_IN_PARALLEL = """\
parallel row_o : 2
  sum [row_i_v:1x16]
  serial block_o : 24
    serial element : 16
      high [row_i_v:1x16]
    products [half_r:2 row_i_v:1x16]
    both [row_i_v:1x16]
    sum [row_i_v:1x16]
"""


def test_a_product_with_scales_outside_is_in_the_space_as_one_kernel() -> None:
    work, made, names = product_nests(1, parallel=False)
    (nest,) = made.nests
    assert outline(nest, names) == IN_ONE_KERNEL and not made.stored
    # of an infinite input two parts of different signs are added, where the judge adds one
    require_right(work, made)


def test_a_product_with_scales_outside_is_in_the_space_with_rows_in_parallel() -> None:
    work, made, names = product_nests(2, parallel=True)
    assert outline(made.nests[0], names) == ROWS_IN_PARALLEL
    require_right(work, made)
