"""Runs functions of numerics.py on arrays: one C library with a loop around each function.

Every array is walked in steps of the lane count; arrays are padded with their last value. f16 and
bf16 arrays are their 16 bits.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from photic.targets.c import numerics
from photic.targets.c.toolchain import build_kernels, load_library, predefined_macros

Prelude = Callable[[frozenset[numerics.Need]], str]
LANES = (1, 4, 8, 16)
NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.uint16,
    "bf16": np.uint16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u8": np.uint8,
    "bool": np.bool_,
}
NUMBERS = ("f64", "f32", "i64", "i32", "i16", "i8", "u8")
INTEGERS = ("i64", "i32", "i16", "i8", "u8")
EVERY = tuple(NUMPY)
UNARY = ("exp2", "log2", "sin", "sqrt", "recip")
# name: (the compiler's flag, the macro without which this machine cannot run it)
MACHINES = {
    "native": ("", ""),
    "avx2": ("-mcpu=haswell", "__AVX2__"),
    "sse2": ("-mcpu=x86_64", "__SSE2__"),
}

# operation: (dtypes, parameters; T is the dtype itself, bool a mask, result)
SIGNATURES = {
    **dict.fromkeys(UNARY, (("f64", "f32"), ("T",), "T")),
    **{f"cast_{source}": (EVERY, (source,), "T") for source in EVERY},
    **dict.fromkeys(("add", "mul", "max", "mod"), ((*NUMBERS, "bool"), ("T", "T"), "T")),
    **dict.fromkeys(("lt", "le", "eq"), ((*NUMBERS, "bool"), ("T", "T"), "bool")),
    **dict.fromkeys(("and", "or"), (("bool",), ("T", "T"), "T")),
    "not": (("bool",), ("T",), "T"),
    "fma": ((*NUMBERS, "bool"), ("T", "T", "T"), "T"),
    "sel": (EVERY, ("bool", "T", "T"), "T"),
}
REDUCTIONS = ("hsum", "hmax")


@dataclass(frozen=True, slots=True)
class Library:
    """The loops, compiled for one machine."""

    functions: ctypes.CDLL

    def apply(self, operation: str, dtype: str, lanes: int, *arrays: np.ndarray) -> np.ndarray:
        """The function on every element of equally long one-dimensional arrays."""
        result = SIGNATURES[operation][2]
        count = len(arrays[0])
        padded = [_padded(array, lanes) for array in arrays]
        out = np.empty(len(padded[0]), NUMPY[dtype if result == "T" else result])
        self._run(operation, dtype, lanes, *padded, out, len(out))
        return out[:count]

    def reduce(self, operation: str, dtype: str, lanes: int, array: np.ndarray) -> np.ndarray:
        """hsum or hmax of each run of `lanes` elements."""
        out = np.empty(len(array) // lanes, NUMPY[dtype])
        self._run(operation, dtype, lanes, array, out, len(array))
        return out

    def load_part(self, dtype: str, lanes: int, address: int, count: int) -> np.ndarray:
        out = np.empty(lanes, NUMPY[dtype])
        self._run("load_part", dtype, lanes, address, out, count)
        return out

    def store_part(
        self, dtype: str, lanes: int, array: np.ndarray, address: int, count: int
    ) -> None:
        self._run("store_part", dtype, lanes, array, address, count)

    def gather(
        self, dtype: str, base: np.ndarray | int, index: np.ndarray, mask: np.ndarray, count: int
    ) -> np.ndarray:
        out = np.empty(len(index), NUMPY[dtype])
        self._run("gather", dtype, len(index), base, index, mask, out, count)
        return out

    def load_even(
        self, dtype: str, address: int, step: int, mask: np.ndarray, count: int
    ) -> np.ndarray:
        """One vector; all lanes, without a mask, for a count below 0."""
        out = np.empty(len(mask), NUMPY[dtype])
        self._run("load_even", dtype, len(mask), address, mask, out, step, count)
        return out

    def store_pairs(self, dtype: str, lanes: int, a: np.ndarray, b: np.ndarray, to: int) -> None:
        """Two vectors, lane after lane in turns, at an address."""
        self._run("store_pairs", dtype, lanes, a, b, to)

    def store_pairs_part(
        self, dtype: str, lanes: int, a: np.ndarray, b: np.ndarray, to: int, count: int
    ) -> None:
        """The same of the first lanes, so many."""
        self._run("store_pairs_part", dtype, lanes, a, b, to, count)

    def store_fours(
        self, dtype: str, lanes: int, four: np.ndarray, step: int, to: np.ndarray
    ) -> None:
        """Four vectors, each lane's four elements at its place in an array."""
        self._run("store_fours", dtype, lanes, four, to, step)

    def reverse(self, dtype: str, lanes: int, array: np.ndarray) -> np.ndarray:
        """Each run of `lanes` elements, the last one first."""
        out = np.empty(len(array), NUMPY[dtype])
        self._run("reverse", dtype, lanes, array, out, len(array))
        return out

    def fill(self, operation: str, dtype: str, lanes: int, *arrays: np.ndarray) -> np.ndarray:
        """iota, or splat of the first element of an array: one vector."""
        out = np.empty(lanes, NUMPY[dtype])
        self._run(operation, dtype, lanes, *arrays, out)
        return out

    def _run(self, operation: str, dtype: str, lanes: int, *values: np.ndarray | int) -> None:
        *places, last = values
        arguments = [ctypes.c_void_p(v if isinstance(v, int) else v.ctypes.data) for v in places]
        arguments += (
            [ctypes.c_longlong(last)]
            if isinstance(last, int)
            else [ctypes.c_void_p(last.ctypes.data)]
        )
        self.functions[f"run_{operation}_{dtype}x{lanes}"](*arguments)


def _padded(array: np.ndarray, lanes: int) -> np.ndarray:
    extra = -len(array) % lanes
    return np.ascontiguousarray(np.concatenate([array, np.repeat(array[-1:], extra)]))


def runs(machine: str) -> bool:
    """Whether this machine has the instructions."""
    macro = MACHINES[machine][1]
    return not macro or macro in predefined_macros("native")


@cache
def functions_for(machine: str) -> Library:
    flag = MACHINES[machine][0]
    return Library(load_library(build_kernels(source(LANES), flags=(flag,) if flag else ())))


def source(lane_counts: tuple[int, ...], prelude: Prelude = numerics.prelude) -> str:
    """C text of a loop for every function there is, behind a prelude that defines them."""
    needs: set[numerics.Need] = set()
    loops: list[str] = []
    for lanes in lane_counts:
        for text, used in _loops(lanes):
            loops.append(text)
            needs |= {(operation, dtype, lanes) for operation, dtype in used}
    return "\n".join([prelude(frozenset(needs)), *loops])


def _loops(lanes: int) -> list[tuple[str, set[tuple[str, str]]]]:
    found = []
    for operation, (dtypes, parameters, result) in SIGNATURES.items():
        for dtype in dtypes:
            types = [dtype if p == "T" else p for p in parameters]
            found.append(_loop(operation, dtype, lanes, types, dtype if result == "T" else result))
    for dtype in EVERY:
        found.extend(_memory(dtype, lanes))
        if dtype in NUMBERS or dtype == "bool":
            found.extend(_reduction(operation, dtype, lanes) for operation in REDUCTIONS)
        if dtype in INTEGERS:
            found.append(_iota(dtype, lanes))
    return found


def _loop(
    operation: str, dtype: str, lanes: int, types: list[str], result: str
) -> tuple[str, set[tuple[str, str]]]:
    names = "abc"[: len(types)]
    loads = ", ".join(
        f"load_{t}x{lanes}({n} + i * {_bytes(t)})" for t, n in zip(types, names, strict=True)
    )
    parameters = "".join(f"const char *{n}, " for n in names)
    text = f"""void run_{operation}_{dtype}x{lanes}({parameters}char *out, long long count) {{
    for (long long i = 0; i < count; i += {lanes})
        store_{result}x{lanes}(out + i * {_bytes(result)}, {operation}_{dtype}x{lanes}({loads}));
}}"""
    return text, {("load", t) for t in types} | {("store", result), (operation, dtype)}


def _reduction(operation: str, dtype: str, lanes: int) -> tuple[str, set[tuple[str, str]]]:
    size = _bytes(dtype)
    c = numerics.LANES["u8" if dtype == "bool" else dtype].c
    sign = "-" if dtype == "bool" else ""
    text = f"""void run_{operation}_{dtype}x{lanes}(const char *a, {c} *out, long long count) {{
    for (long long i = 0; i < count; i += {lanes})
        *out++ = {sign}{operation}_{dtype}x{lanes}(load_{dtype}x{lanes}(a + i * {size}));
}}"""
    return text, {("load", dtype), (operation, dtype)}


def _iota(dtype: str, lanes: int) -> tuple[str, set[tuple[str, str]]]:
    name = f"{dtype}x{lanes}"
    text = f"void run_iota_{name}(char *out) {{ store_{name}(out, iota_{name}()); }}"
    return text, {("iota", dtype), ("store", dtype)}


def _memory(dtype: str, lanes: int) -> list[tuple[str, set[tuple[str, str]]]]:
    name = f"{dtype}x{lanes}"
    c = numerics.LANES["u8" if dtype == "bool" else dtype].c
    sign = "-" if dtype == "bool" else ""
    part = f"""void run_load_part_{name}(const char *a, char *out, long long n) {{
    store_{name}(out, load_part_{name}(a, n));
}}
void run_store_part_{name}(const char *a, char *out, long long n) {{
    store_part_{name}(out, load_{name}(a), n);
}}
void run_splat_{name}(const {c} *a, char *out) {{ store_{name}(out, splat_{name}({sign}*a)); }}
"""
    used = {(o, dtype) for o in ("load", "store", "load_part", "store_part", "splat")}
    found = [(part, used | {("load", "i64")})]
    if lanes > 1:
        found += [_loop("reverse", dtype, lanes, [dtype], dtype), _apart(dtype, lanes)]
    return found


STEPS = (-1, 1, 2, 3, 7)  # between the lanes of load_even


def _apart(dtype: str, lanes: int) -> tuple[str, set[tuple[str, str]]]:
    """Loads of elements that do not lie side by side; steps are constants, as in kernels."""
    name, mask = f"{dtype}x{lanes}", f"load_boolx{lanes}(mask)"
    even = "\n".join(
        f"""    if (step == {step})
        store_{name}(out, n < 0 ? load_even_{name}(a, {step}) :
                                  load_even_masked_{name}(a, {step}, {mask}, n));"""
        for step in STEPS
    )
    text = f"""void run_store_pairs_{name}(const char *a, const char *b, char *out) {{
    store_pairs_{name}(out, load_{name}(a), load_{name}(b));
}}
void run_store_pairs_part_{name}(const char *a, const char *b, char *out, long long n) {{
    store_pairs_part_{name}(out, load_{name}(a), load_{name}(b), n);
}}
void run_store_fours_{name}(const char *a, char *out, long long step) {{
    const long long bytes = {lanes} * {_bytes(dtype)};
    store_fours_{name}(out, load_{name}(a), load_{name}(a + bytes),
                       load_{name}(a + 2 * bytes), load_{name}(a + 3 * bytes), step);
}}
void run_gather_{name}(const char *base, const char *index, const char *mask,
                       char *out, long long n) {{
    store_{name}(out, gather_{name}(base, load_i64x{lanes}(index), {mask}, n));
}}
void run_load_even_{name}(const char *a, const char *mask, char *out, long long step,
                          long long n) {{
{even}
}}"""
    used = {
        (one, dtype)
        for one in (
            "load",
            "store",
            "store_pairs",
            "store_pairs_part",
            "store_fours",
            "gather",
            "load_even",
            "load_even_masked",
        )
    }
    return text, used | {("load", "i64"), ("load", "bool")}


def _bytes(dtype: str) -> int:
    return np.dtype(NUMPY[dtype]).itemsize


def stored_values(dtype: str, count: int) -> np.ndarray:
    """Arbitrary stored elements; float ones are finite."""
    generator = np.random.default_rng(count)
    if dtype == "bool":
        return generator.random(count) < 0.5
    if dtype in ("f32", "f64"):
        return generator.normal(size=count).astype(NUMPY[dtype])
    info = np.iinfo(NUMPY[dtype])
    return generator.integers(info.min, info.max, count, NUMPY[dtype], endpoint=True)


def same(got: np.ndarray, want: np.ndarray) -> None:
    """Equal values and dtypes; any NaN equals any NaN."""
    np.testing.assert_array_equal(got, want, strict=True)
