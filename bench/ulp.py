"""The largest error of float functions, in units in the last place (ulp).

The primitives as the c target spells them, and what is composed of them as compiled programs.
float32: every one of the 2^32 inputs (or `--sample N` of them, spread evenly over all bit patterns
and so over all exponents), against a double-precision function of the same input, the C library's,
NumPy's or SciPy's, which errs by less than 1e-8 float32 ulp; the error is taken before the
reference is rounded, so that a correctly rounded result shows 0.5. Of two arguments: `--pairs N` of
them. float64: a sample of the primitives over all exponents, against NumPy's long double, where
that is wider than float64.

Where logaddexp cancels, no relative error is small: see `ulp_sums.py`. In slices: `ulp_slices.py`.
Not measured: gates of straight lines, what is exact (floor, frac, ...), and gelu,
whose error is bounded by |x| and not relatively.

A result that should be NaN or infinite and is not counts as infinitely wrong.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import common
import numpy as np
from scipy import special

import photic as ph
from photic.targets.c.numerics import prelude
from photic.targets.c.toolchain import build_kernels, load_library

OPERATIONS = ("exp2", "log2", "sin", "sqrt", "recip")
LANES = (1, 4, 8, 16)
PATTERNS = 2**32
PIECE = 2**24  # inputs of one task: a fraction of a second
BATCH = 4096  # inputs in the first-level cache
COMPOSED_PIECE = 2**20  # inputs of one call of a program
F64_SAMPLE = 2**20
LONG_DOUBLE = {"exp2": np.exp2, "log2": np.log2, "sin": np.sin, "sqrt": np.sqrt}

PAIRS = 2**24
WAVES = ("sin", "cos", "tan")
WAVES_TO = 1e5  # the range in which waves are held to the limit of all functions


def _sinc(x: np.ndarray) -> np.ndarray:
    """sin(pi*x)/(pi*x): the whole part that is even is taken off, so that whole numbers give 0;
    of infinities nan, as NumPy's."""
    rest = x - 2 * np.round(x / 2)
    result = np.sin(np.pi * rest) / (np.pi * x)
    return np.where(x == 0, 1.0, np.where(rest % 1 == 0, 0.0, result))


def _mish(x: np.ndarray) -> np.ndarray:
    """x*n/(n + 2) with n = e**x*(e**x + 2); where x is positive divided by e**2x."""
    e = np.exp(-np.abs(x))
    above = 2 * e + 1
    below = e * (e + 2)
    return np.where(x > 0, x * above / (above + 2 * e * e), x * below / (below + 2))


def _erfinv(x: np.ndarray) -> np.ndarray:
    """SciPy's, which takes a hundred times as long where there is no result as where there is."""
    inside = np.abs(x) <= 1
    return np.where(inside, special.erfinv(np.where(inside, x, 0.0)), np.nan)


# What is composed, by its public name; names that are not there yet are left out.
COMPOSED: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "cos": np.cos,
    "tan": np.tan,
    "sinc": _sinc,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": _erfinv,
    "ndtr": special.ndtr,
    "sigmoid": special.expit,
    "log_sigmoid": special.log_expit,
    "logit": special.logit,
    "softplus": lambda x: -special.log_expit(-x),
    "silu": lambda x: x * special.expit(x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "mish": _mish,
}

OF_TWO: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "power": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "xlogy": special.xlogy,
}

COMMON_SOURCE = f"""
double reference_recip(double x) {{ return 1 / x; }}

// Every value of a batch against the reference: the worst error and the input that has it.
static void compare(const float *got, const double *exact, const unsigned *input, double *worst,
                    unsigned *at) {{
    for (int i = 0; i < {BATCH}; i++) {{
        union {{ float value; unsigned bits; }} near = {{(float)exact[i]}};
        unsigned field = near.bits >> 23 & 255;
        double error;
        if (field == 255)
            error = got[i] == near.value || (got[i] != got[i] && near.value != near.value)
                ? 0 : __builtin_inf();
        else {{
            union {{ unsigned long long bits; double value; }} unit = {{
                (1023ull + 150 - (field ? field : 1)) << 52}};
            error = __builtin_fabs(got[i] - exact[i]) * unit.value;
            if (error != error) error = __builtin_inf();
        }}
        if (error > *worst) *worst = error, *at = input[i];
    }}
}}

void compare_piece(const float *got, const double *exact, const unsigned *input, long long count,
                   double *worst, unsigned *at) {{
    for (long long i = 0; i < count; i += {BATCH})
        compare(got + i, exact + i, input + i, worst, at);
}}

static unsigned long long mix(unsigned long long x) {{  // splitmix64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}}
"""


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error seen and the input that has it."""

    ulp: float
    at: float


def source() -> str:
    """C text: for each operation `sweep_OP(first, count, stride, reference, worst, at)`."""
    needs = {
        (operation, dtype, lanes)
        for operation in (*OPERATIONS, "load", "store")
        for dtype in ("f32", "f64")
        for lanes in LANES
    }
    loops = [
        _loop(operation, dtype, lanes)
        for operation in OPERATIONS
        for dtype in ("f32", "f64")
        for lanes in LANES
    ]
    sweeps = [_sweep(operation) for operation in OPERATIONS]
    return "\n".join([prelude(frozenset(needs)), COMMON_SOURCE, *loops, *sweeps])


def _loop(operation: str, dtype: str, lanes: int) -> str:
    name = f"{dtype}x{lanes}"
    return f"""
void run_{operation}_{name}(const {dtype}x1 *x, {dtype}x1 *y, long long count) {{
    for (long long i = 0; i < count; i += {lanes})
        store_{name}(y + i, {operation}_{name}(load_{name}(x + i)));
}}"""


def _sweep(operation: str) -> str:
    """Input k is pattern k * stride, moved by less than stride where the stride is above 1."""
    checks = "\n".join(
        f"        run_{operation}_f32x{lanes}(x, y, {BATCH});\n"
        f"        compare(y, exact, input, worst + {i}, at + {i});"
        for i, lanes in enumerate(LANES)
    )
    return f"""
void sweep_{operation}(long long first, long long count, long long stride,
                       double (*reference)(double), double *worst, unsigned *at) {{
    unsigned input[{BATCH}];
    float x[{BATCH}], y[{BATCH}];
    double exact[{BATCH}];
    for (long long start = first; start < first + count; start += {BATCH}) {{
        for (int i = 0; i < {BATCH}; i++) {{
            unsigned long long k = start + i;
            input[i] = (unsigned)(k * stride + mix(k) % stride);
            union {{ unsigned bits; float value; }} u = {{input[i]}};
            x[i] = u.value;
            exact[i] = reference(x[i]);
        }}
{checks}
    }}
}}"""


def references(library: ctypes.CDLL) -> dict[str, ctypes.c_void_p]:
    """The address of double f(double) for every operation."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    functions = {name: libm[name] for name in OPERATIONS if name != "recip"}
    functions["recip"] = library["reference_recip"]
    return {name: ctypes.cast(function, ctypes.c_void_p) for name, function in functions.items()}


def sweep(library: ctypes.CDLL, operation: str, inputs: int, threads: int) -> list[Worst]:
    """The worst of each lane count over `inputs` float32 inputs, a multiple of BATCH."""
    function, reference = library[f"sweep_{operation}"], references(library)[operation]
    stride = PATTERNS // inputs

    def piece(first: int) -> list[Worst]:
        worst, at = np.full(len(LANES), -1.0), np.zeros(len(LANES), np.uint32)
        function(
            ctypes.c_longlong(first),
            ctypes.c_longlong(min(PIECE, inputs - first)),
            ctypes.c_longlong(stride),
            reference,
            ctypes.c_void_p(worst.ctypes.data),
            ctypes.c_void_p(at.ctypes.data),
        )
        found = zip(worst.tolist(), at.view(np.float32).tolist(), strict=True)
        return [Worst(ulp, value) for ulp, value in found]

    with ThreadPoolExecutor(threads) as pool:
        pieces = list(pool.map(piece, range(0, inputs, PIECE)))
    return [max(column, key=lambda worst: worst.ulp) for column in zip(*pieces, strict=True)]


def f64_sample() -> np.ndarray:
    """float64 values over all bit patterns, multiples of pi, and ordinary numbers."""
    generator = np.random.default_rng(0)
    patterns = np.arange(F64_SAMPLE, dtype=np.uint64) << np.uint64(64 - 20)
    patterns |= generator.integers(0, 2**44, F64_SAMPLE, np.uint64)
    multiples = np.arange(1, F64_SAMPLE // 4 + 1) * np.longdouble("3.14159265358979323846264338328")
    ordinary = generator.normal(0, 30, F64_SAMPLE // 4)
    return np.concatenate([patterns.view(np.float64), multiples.astype(np.float64), ordinary])


def f64_worst(library: ctypes.CDLL, operation: str, lanes: int, x: np.ndarray) -> Worst:
    """The worst float64 error over `x`, whose length is a multiple of every lane count."""
    y = np.empty_like(x)
    library[f"run_{operation}_f64x{lanes}"](
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(y.ctypes.data),
        ctypes.c_longlong(len(x)),
    )
    with np.errstate(all="ignore"):
        exact = LONG_DOUBLE.get(operation, np.reciprocal)(x.astype(np.longdouble))
        near = exact.astype(np.float64)
        error = np.abs(y.astype(np.longdouble) - exact) / np.spacing(np.abs(near))
    special = ~np.isfinite(near)
    alike = (y == near) | (np.isnan(y) & np.isnan(near))
    error = np.where(special, np.where(alike, 0, np.inf), np.where(np.isnan(error), np.inf, error))
    at = int(np.argmax(error))
    return Worst(float(error[at]), float(x[at]))


# --- what is composed -----------------------------------------------------------------------


def patterns(first: int, count: int, stride: int) -> np.ndarray:
    """float32 bit patterns ``first*stride ...``, moved by less than stride where it is above 1."""
    numbers = np.arange(first, first + count, dtype=np.uint64) * np.uint64(stride)
    if stride > 1:
        generator = np.random.default_rng(first)
        numbers += generator.integers(0, stride, count, np.uint64)
    return numbers.astype(np.uint32)


def compared(library: ctypes.CDLL, got: np.ndarray, exact: np.ndarray, at: np.ndarray) -> Worst:
    """The worst of results, each with the number (a uint32) that says which it is."""
    worst, where = np.full(1, -1.0), np.zeros(1, np.uint32)
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in (got, exact, at)]
    found = (ctypes.c_void_p(one.ctypes.data) for one in (worst, where))
    library["compare_piece"](*pointers, ctypes.c_longlong(len(got)), *found)
    return Worst(float(worst[0]), float(where.view(np.float32)[0]))


def worsts_within(
    library: ctypes.CDLL,
    program: ph.Program,
    exact: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    wide: np.ndarray,
    limits: tuple[float, ...],
) -> list[Worst]:
    """The worst of a program's results at x, by itself for inputs up to each of the limits.

    ``wide`` is x as float64.
    """
    with np.errstate(all="ignore"):
        true = exact(wide)
    got = program(x=x)["y"]
    found = []
    for limit in limits:
        columns = [got, true, x.view(np.uint32)]
        if limit < math.inf:  # what lies outside is 0 and right
            inside = np.abs(x) <= limit
            columns = [np.where(inside, one, one.dtype.type(0)) for one in columns]
        found.append(compared(library, *columns))
    return found


def limits_of(name: str) -> tuple[float, ...]:
    """The whole range, and for waves the range in which they keep to the limit of all."""
    return (math.inf, WAVES_TO) if name in WAVES else (math.inf,)


def composed_worst(
    library: ctypes.CDLL, name: str, exact: Callable[..., np.ndarray], inputs: int, threads: int
) -> list[Worst]:
    """The worst of a composed function over float32 inputs; of waves, of small ones by itself."""
    length = min(COMPOSED_PIECE, inputs)
    program = ph.compile({"y": getattr(ph, name)(ph.input("x", (length,)))}, search=0)
    stride = PATTERNS // inputs

    def piece(first: int) -> list[Worst]:
        x = patterns(first, length, stride).view(np.float32)
        with np.errstate(invalid="ignore"):  # signalling nan
            wide = x.astype(np.float64)
        return worsts_within(library, program, exact, x, wide, limits_of(name))

    with ThreadPoolExecutor(threads) as pool:
        pieces = list(pool.map(piece, range(0, inputs, length)))
    return [max(column, key=lambda worst: worst.ulp) for column in zip(*pieces, strict=True)]


def pairs_worst(
    library: ctypes.CDLL, name: str, exact: Callable[..., np.ndarray], pairs: int
) -> tuple[float, str]:
    """The worst of a function of two over pairs: half of them patterns, half ordinary numbers."""
    x, y = ph.input("x", (COMPOSED_PIECE,)), ph.input("y", (COMPOSED_PIECE,))
    program = ph.compile({"z": getattr(ph, name)(x, y)}, search=0)
    numbers = np.arange(COMPOSED_PIECE, dtype=np.uint32)
    worst, place = -1.0, ""
    for first in range(0, max(pairs, COMPOSED_PIECE), COMPOSED_PIECE):
        generator = np.random.default_rng(first)
        words = generator.integers(0, PATTERNS, (2, COMPOSED_PIECE), np.uint64).astype(np.uint32)
        given = words.view(np.float32)
        half = COMPOSED_PIECE // 2
        given[:, :half] = generator.normal(0, 10, (2, half))
        with np.errstate(all="ignore"):
            true = exact(*given.astype(np.float64))
        found = compared(library, program(x=given[0], y=given[1])["z"], true, numbers)
        if found.ulp > worst:
            at = int(np.float32(found.at).view(np.uint32))
            worst = found.ulp
            place = " ".join(float(one).hex() for one in given[:, at])
    return worst, place


def composed_figures(
    library: ctypes.CDLL, only: str, inputs: int, pairs: int, threads: int
) -> list[common.Figure]:
    """Every composed function that there is, or one."""
    figures: list[common.Figure] = []
    singles = {"sin": np.sin, **COMPOSED}
    for name, exact in singles.items():
        if hasattr(ph, name) and only in ("", name):
            start = time.perf_counter()
            found = composed_worst(library, name, exact, inputs, threads)
            seconds = time.perf_counter() - start
            labels = (name, f"{name} to {WAVES_TO:g}")
            figures += [figure(a, inputs, b, seconds) for a, b in zip(labels, found)]
            print(common.table(figures[-len(found) :]).split("\n", 1)[1], flush=True)
    for name, function in OF_TWO.items():
        if hasattr(ph, name) and only in ("", name):
            start = time.perf_counter()
            worst, place = pairs_worst(library, name, function, pairs)
            seconds = time.perf_counter() - start
            figures.append(
                {"function": name, "inputs": pairs, "max_ulp": worst, "at": place}
                | {"seconds": seconds}
            )
            print(common.table(figures[-1:]).split("\n", 1)[1], flush=True)
    return figures


def figure(name: str, inputs: int, worst: Worst, seconds: float) -> common.Figure:
    return {
        "function": name,
        "inputs": inputs,
        "max_ulp": worst.ulp,
        "at": worst.at.hex(),
        "seconds": seconds,
    }


def main() -> None:
    parser = common.parser(__doc__.splitlines()[0])
    parser.add_argument("--sample", metavar="N", type=int, help="float32 inputs (default: all)")
    parser.add_argument("--pairs", metavar="N", type=int, default=PAIRS, help="of two arguments")
    parser.add_argument("--threads", metavar="N", type=int, default=2)
    names = sorted({*OPERATIONS, *COMPOSED, *OF_TWO})
    parser.add_argument("--only", metavar="OP", choices=names, default="", help="one function")
    arguments = parser.parse_args()
    inputs = max(min(arguments.sample or PATTERNS, PATTERNS) // BATCH, 1) * BATCH
    library = load_library(build_kernels(source()))
    figures: list[common.Figure] = []
    for operation in OPERATIONS:
        if arguments.only in ("", operation):
            figures += primitive_figures(library, operation, inputs, arguments.threads)
    whole = max(inputs // COMPOSED_PIECE, 1) * min(COMPOSED_PIECE, inputs)
    figures += composed_figures(library, arguments.only, whole, arguments.pairs, arguments.threads)
    common.report(figures, arguments.json)


def primitive_figures(
    library: ctypes.CDLL, operation: str, inputs: int, threads: int
) -> list[common.Figure]:
    """A primitive in float32 and float64, for each number of lanes."""
    figures = []
    start = time.perf_counter()
    found = sweep(library, operation, inputs, threads)
    seconds = time.perf_counter() - start
    for lanes, worst in zip(LANES, found, strict=True):
        figures.append(figure(f"{operation}_f32x{lanes}", inputs, worst, seconds / len(LANES)))
    if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant:
        x = f64_sample()
        for lanes in LANES:
            start = time.perf_counter()
            worst = f64_worst(library, operation, lanes, x)
            seconds = time.perf_counter() - start
            figures.append(figure(f"{operation}_f64x{lanes}", len(x), worst, seconds))
    return figures


if __name__ == "__main__":
    main()
