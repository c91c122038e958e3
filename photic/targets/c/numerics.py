"""The C functions that generated kernels are written with: lanes, masks, casts, exp2, log2, sin.

`prelude(needs)` gives exactly the typedefs and functions that `needs` names, with all that they
use, as freestanding C for Clang (no libc, no compiler-rt, no headers), in an order that depends on
`needs` only. A need is `(operation, dtype, lanes)`; its function is `operation_dtypexlanes`:
`("exp2", "f32", 16)` is `f32x16 exp2_f32x16(f32x16)`. Every type, also without a function, is the
need `("type", dtype, lanes)`.

Types. `f32x16` is a vector of 16 lanes, `f32x1` the plain scalar; dtypes are f64 f32 f16 bf16 i64
i32 i16 i8 u8 bool; lanes 1, 2, 4, ... 64. f16 and bf16 are carried as their 16 bits in unsigned
integers (they have no arithmetic: cast to f32). `boolx16` is a mask, an `int` of 0 or -1 a lane;
in memory a bool is one byte, 0 or 1. Numbers add, subtract and multiply by infix operators where
lanes > 1 (add and mul serve every lane count); comparisons are lt, le, eq, which give masks;
literals splat by a cast: `(f32x16)(1.0f)`.

    every dtype    load(p)  load_ahead(p)  store(p, v)  load_part(p, n)  store_part(p, v, n)
                   load_masked(p, mask, n)  load_even(p, step)  load_even_masked(p, step, mask, n)
                   store_pairs(p, a, b): a[0] b[0] a[1] b[1] and so on
                   store_pairs_part(p, a, b, n): of the first n lanes only
                   store_fours(p, a, b, c, d, step): a[i] b[i] c[i] d[i] from element i*step on
                   zip_lower zip_upper (a, b): so of each 128 bits' lower or upper half
                   gather(base, i64 index, mask, n)  splat(scalar)
                   sel(mask, a, b)  lo(v)  hi(v)  cat(low, high)  cast_A (from A)  reverse(v)
    not f16, bf16  add mul max mod lt le eq (a, b)   fma(a, b, c)   hsum(v)  hmax(v), to a scalar
    integers       iota()
    bool           and or not any (any gives boolx1); add max hsum hmax are or, mul is and, fma both
    f64, f32       exp2 log2 sin sqrt recip (v)

`cast_f32_f16x16(v)` is from f32 to f16 and the need `("cast_f32", "f16", 16)`. load_ahead also
fetches what comes later. load_part reads and store_part writes the first n lanes only, 0 <= n <=
lanes; the other lanes read as 0. Lane i of load_even is element i*step of p. What takes a mask
reads only lanes below n where it is set, and is there for more lanes than one.

Promised: exp2, log2, sin within 2 ulp over the whole range, subnormals included; sqrt and recip
correctly rounded; exp2 of an integer exact. max passes NaN on. mod is floored (Python's and
NumPy's), exact before its last addition; integers modulo 0 or -1 give 0 and nothing traps. Casts
round once, to nearest even, and keep subnormals; float to integer truncates, saturates, NaN gives
0. fma is one rounding only where the machine has the instruction. hsum and hmax combine halves, so
that the order is the same on every machine. Not done here: choosing lanes, any loop, any buffer.

The text is in numerics_*.h beside this file: sections that open with `//: operations : dtypes :
lanes`, where lanes is `one`, `two`, `many`, `any`, a number, `native` (fills an x86 register) or
`wide` (wider than any), and the first section that fits is taken. In a section, for f32x16: $T
f32x16, $D f32, $L 16, $H f32x8, $E f32x1, $I the integers i32x16, $B boolx16, $O the operation,
$BITS 32; in casts $FD the source dtype, $F its lanes; $LOW, $HIGH, $ALL are lane numbers, $PAIRS
those of two vectors in turns, $MIN, $MAX, $CAP the integer's bounds, the last exclusive.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Need = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Lane:
    """How one lane of a dtype is spelt in C, its bits, and whether it is an integer number."""

    c: str
    bits: int
    kind: str


LANES: dict[str, Lane] = {
    "f64": Lane("double", 64, "float"),
    "f32": Lane("float", 32, "float"),
    "f16": Lane("unsigned short", 16, "half"),
    "bf16": Lane("unsigned short", 16, "half"),
    "i64": Lane("long long", 64, "int"),
    "i32": Lane("int", 32, "int"),
    "i16": Lane("short", 16, "int"),
    "i8": Lane("signed char", 8, "int"),
    "u8": Lane("unsigned char", 8, "int"),
    "bool": Lane("int", 32, "bool"),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "ALL": tuple(LANES),
    "NUMBER": tuple(d for d, lane in LANES.items() if lane.kind in ("int", "float")),
    "FLOAT": tuple(d for d, lane in LANES.items() if lane.kind == "float"),
    "INT": tuple(d for d, lane in LANES.items() if lane.kind == "int"),
}
LANE_COUNTS = (1, 2, 4, 8, 16, 32, 64)
REGISTER_BITS = (128, 256, 512)
MIXED_BITS = 128  # within which x86 moves lanes in one cycle

# Pairs of dtypes without a section of their own: the cast goes through a dtype that holds every
# value of the source (a half type is exact in f32, 32 bits in f64, 16 bits in f32).
CAST_THROUGH: dict[tuple[str, str], str] = {
    **{(half, to): "f32" for half in ("f16", "bf16") for to in LANES if to not in ("f32", "bool")},
    **{(small, half): "f32" for small in ("i16", "i8", "u8") for half in ("f16", "bf16")},
    **{(large, "f16"): "f64" for large in ("i64", "i32")},
    ("i32", "bf16"): "f64",
}

HEAD = """\
#define INLINE static inline __attribute__((always_inline, unused))
#if defined(__FMA__) || defined(__aarch64__)
#define HAS_FMA 1
#endif
#if defined(__F16C__) || defined(__aarch64__)
#define HAS_HALF 1
#endif
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HAS_SCALE 1
#endif
#if __has_builtin(__builtin_masked_load) && defined(__AVX2__)
#define MASKED_64 1
#define MASKED_32 1
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define MASKED_16 1
#define MASKED_8 1
#endif
#endif
#if __has_builtin(__builtin_masked_gather) && defined(__AVX512F__)
#define GATHERED_64 1
#define GATHERED_32 1
#endif
"""

_TYPE = re.compile(rf"\b({'|'.join(LANES)})x(\d+)\b")
_CALL = re.compile(rf"\b([a-z]\w*)_({'|'.join(LANES)})x(\d+)\b")
_HOLE = re.compile(r"\$([A-Z]+)")


@dataclass(frozen=True, slots=True)
class Section:
    """One template: the operations, dtypes and lane counts it serves, and its text."""

    operations: tuple[str, ...]
    dtypes: tuple[str, ...]
    lanes: str
    text: str


def prelude(needs: frozenset[Need]) -> str:
    """C text that defines `needs` and what they use, each once, users after used.

    Raises KeyError for an operation that does not exist for its dtype and lanes.
    """
    return prelude_with("", needs)


def prelude_with(packages: str, needs: frozenset[Need]) -> str:
    """As `prelude`; the sections of other packages' numerics_*.h are tried before these, in order.

    `packages` are names with spaces between.
    """
    order: list[Need] = []
    texts: dict[Need, str] = {}
    for need in sorted(needs):
        _visit(packages, need, order, texts)
    types = {need[1:] for need in needs}
    for text in texts.values():
        types |= {(dtype, int(lanes)) for dtype, lanes in _TYPE.findall(text)}
    typedefs = [_typedef(dtype, lanes) for dtype, lanes in sorted(types)]
    return "\n".join([HEAD, *typedefs, "", *(texts[need] for need in order)])


def exists(need: Need) -> bool:
    """Whether `prelude` knows the need."""
    operation, dtype, lanes = need
    known = dtype in LANES and lanes in LANE_COUNTS
    return known and (operation == "type" or _template("", operation, dtype, lanes) is not None)


def function(need: Need) -> str:
    """The C name of a need's function."""
    operation, dtype, lanes = need
    return f"{operation}_{dtype}x{lanes}"


def _visit(packages: str, need: Need, order: list[Need], texts: dict[Need, str]) -> None:
    """Append what `need` uses, then `need`, to `order`; `texts` holds all that was begun."""
    if need in texts or need[0] == "type":
        return
    texts[need] = text = _instance(packages, need)
    used = {(name, dtype, int(lanes)) for name, dtype, lanes in _CALL.findall(text)}
    for other in sorted(used - {need}):
        _visit(packages, other, order, texts)
    order.append(need)


@cache
def _instance(packages: str, need: Need) -> str:
    operation, dtype, lanes = need
    text = _template(packages, operation, dtype, lanes)
    if text is None:
        raise KeyError(f"no C function {function(need)}")
    values = _holes(operation, dtype, lanes)
    return _HOLE.sub(lambda hole: values[hole[1]], text)


def _template(packages: str, operation: str, dtype: str, lanes: int) -> str | None:
    own = _fitting(_sections_of(packages), operation, dtype, lanes)
    source = operation.removeprefix("cast_")
    is_routed = source == dtype or (source, dtype) in CAST_THROUGH
    if own is None and source != operation and is_routed:
        return _routed_cast(source, dtype)
    return own or _fitting(_sections(), operation, dtype, lanes)


def _fitting(sections: tuple[Section, ...], operation: str, dtype: str, lanes: int) -> str | None:
    fits = (
        section.text
        for section in sections
        if operation in section.operations
        and dtype in section.dtypes
        and _lanes_fit(section.lanes, LANES[dtype].bits, lanes)
    )
    return next(fits, None)


def _routed_cast(source: str, dtype: str) -> str:
    if source == dtype:
        return "INLINE $T cast_$D_$T($T v) { return v; }\n"
    middle = CAST_THROUGH[source, dtype]
    return f"INLINE $T cast_$FD_$T($F v) {{ return cast_{middle}_$T(cast_$FD_{middle}x$L(v)); }}\n"


def _lanes_fit(spec: str, bits: int, lanes: int) -> bool:
    match spec:
        case "any":
            return True
        case "one":
            return lanes == 1
        case "two":
            return lanes == 2
        case "many":
            return lanes > 1
        case "native":
            return bits * lanes in REGISTER_BITS
        case "wide":
            return bits * lanes > max(REGISTER_BITS)
        case _:
            return lanes == int(spec)


def _holes(operation: str, dtype: str, lanes: int) -> dict[str, str]:
    lane = LANES[dtype]
    half = lanes // 2
    source = operation.rpartition("_")[2]
    low = 0 if dtype == "u8" else -(2 ** (lane.bits - 1))
    cap = 2**lane.bits + low
    return {
        "T": f"{dtype}x{lanes}",
        "D": dtype,
        "L": str(lanes),
        "H": f"{dtype}x{half}",
        "E": f"{dtype}x1",
        "I": f"i{lane.bits}x{lanes}",
        "B": f"boolx{lanes}",
        "O": operation,
        "BITS": str(lane.bits),
        "FD": source,
        "F": f"{source}x{lanes}",
        "LOW": _numbers(0, half),
        "HIGH": _numbers(half, lanes),
        "ALL": _numbers(0, lanes),
        "LOWER": _zipped(lane.bits, lanes, 0),
        "UPPER": _zipped(lane.bits, lanes, 1),
        "PAIRS": ", ".join(f"{one}, {lanes + one}" for one in range(lanes)),
        "MIN": f"({low + 1}ll - 1)" if low else "0",
        "MAX": f"{cap - 1}ll",
        "CAP": f"{cap}.0",
    }


def _zipped(bits: int, lanes: int, half: int) -> str:
    """Two vectors' lanes in turns, of each 128 bits one half."""
    count = max(1, min(lanes, MIXED_BITS // bits) // 2)
    places = (start + half * count for start in range(0, lanes, 2 * count))
    return ", ".join(f"{at + k}, {lanes + at + k}" for at in places for k in range(count))


def _numbers(start: int, stop: int) -> str:
    return ", ".join(map(str, range(start, stop)))


def _typedef(dtype: str, lanes: int) -> str:
    vector = f" __attribute__((ext_vector_type({lanes})))" if lanes > 1 else ""
    return f"typedef {LANES[dtype].c} {dtype}x{lanes}{vector};"


@cache
def _sections() -> tuple[Section, ...]:
    """Every section of the template files, in the order in which they are tried."""
    return _sections_of(__package__)


@cache
def _sections_of(packages: str) -> tuple[Section, ...]:
    """The sections of packages' template files, in the order of their names."""
    found = []
    for folder in map(files, packages.split()):
        names = sorted(
            entry.name
            for entry in folder.iterdir()
            if entry.name.startswith("numerics_") and entry.name.endswith(".h")
        )
        found += [one for name in names for one in _parse((folder / name).read_text("utf-8"))]
    return tuple(found)


def _parse(text: str) -> list[Section]:
    sections = []
    for part in re.split(r"^//: ", text, flags=re.MULTILINE)[1:]:
        header, _, body = part.partition("\n")
        operations, dtypes, lanes = header.split(" : ")
        kept = [line for line in body.splitlines() if line and not line.startswith("//")]
        sections.append(
            Section(
                tuple(name for word in operations.split() for name in _operations(word)),
                tuple(name for word in dtypes.split() for name in GROUPS.get(word, (word,))),
                lanes,
                "\n".join(kept) + "\n",
            )
        )
    return sections


def _operations(word: str) -> list[str]:
    """`cast_INT` stands for cast_i64, cast_i32, ...; other words for themselves."""
    stem, _, group = word.rpartition("_")
    return [f"{stem}_{dtype}" for dtype in GROUPS[group]] if group in GROUPS else [word]
