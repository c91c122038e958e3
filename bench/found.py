"""Is a streaming kernel found for attention written by its definition, and is it fast?

Causal attention of 8 heads: how many kernels the search comes to, their memory, the error against
float64, the time in turns with PyTorch's own function on two threads and with the same search
without folds and placement, and how much a process grows that calls it (the result aside, seen from
outside). Then the same program written differently: each time its ratio to the plain form. Beside
them stands what no kernel can beat: the two products of what the mask leaves at the rate of the
fused multiply-add that this machine was measured to do, and as many powers of two alone.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import common
import numpy as np
from ceilings import FLOAT, measured
from workloads import inputs_of, masked, naive_attention, shares

import photic as ph

HEADS, SIZE, DEPTH, GROUPS = 8, 1024, 64, 4
SECONDS = 60.0
THREADS = 2
SAMPLE_SECONDS = 0.05
PRODUCTS = 2  # of queries with keys, of shares with values
CACHED_BYTES = 32768
TOGETHER = 512  # rows of the judge at once
KIBIBYTE, MEGABYTE = 1024, 1e6
RESET_PEAK = "5"  # what makes Linux forget the peak of a process, see proc(5)
OTHER_BASE = 3.0
SCALE = 1 / math.sqrt(DEPTH)
WITHOUT = ("folds", "placement")

Arrays = Mapping[str, np.ndarray]

CHILD = """
import ctypes, sys
from pathlib import Path
from workloads import inputs_of
import photic as ph
program = ph.load(Path(sys.argv[1]))
given = inputs_of(program, 0)
ctypes.CDLL(None).malloc_trim(0)  # what making the inputs left would hold the result
for line in sys.stdin:
    result = program(**given) if line.strip() == "call" else None
    print("done", flush=True)
"""


# --- the program, written in several ways ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to write it for so many rows.

    ``plainly`` gives q, k and v as (heads, rows, depth) and a bias; ``back`` gives what the plain
    result looks like here.
    """

    name: str
    make: Callable[[int], ph.Tensor]
    plainly: Callable[[Arrays], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | float]]
    back: Callable[[np.ndarray], np.ndarray] = lambda result: result
    base: float = math.e


def given(rows: int) -> list[ph.Tensor]:
    return [ph.input(name, (HEADS, rows, DEPTH)) for name in "qkv"]


def scores(q: ph.Tensor, k: ph.Tensor) -> ph.Tensor:
    return q @ ph.swapaxes(k, -1, -2)


def grouped(rows: int) -> ph.Tensor:
    q = ph.input("q", (HEADS, rows, DEPTH)).reshape(HEADS // GROUPS, GROUPS, rows, DEPTH)
    k, v = (ph.input(name, (HEADS // GROUPS, 1, rows, DEPTH)) for name in "kv")
    mixed = shares(masked(scores(q, k) * SCALE), math.e) @ v
    return mixed.reshape(HEADS, rows, DEPTH)


def biased(rows: int) -> ph.Tensor:
    q, k, v = given(rows)
    found = scores(q, k) * SCALE + ph.input("bias", (rows, rows))
    return shares(masked(found), math.e) @ v


def scaled_inside(rows: int) -> ph.Tensor:
    q, k, v = given(rows)
    return shares(masked(scores(q * SCALE, k)), math.e) @ v


def scaled_outside(rows: int) -> ph.Tensor:
    q, k, v = given(rows)
    return shares(masked(scores(q, k)), math.exp(SCALE)) @ v


def permuted(rows: int) -> ph.Tensor:
    q, k, v = (ph.permute(ph.input(n, (rows, HEADS, DEPTH)), (1, 0, 2)) for n in "qkv")
    return ph.permute(shares(masked(scores(q, k) * SCALE), math.e) @ v, (1, 0, 2))


def transposed(rows: int) -> ph.Tensor:
    q, k, v = (ph.input(name, (HEADS, DEPTH, rows)) for name in "qkv")
    found = scores(ph.swapaxes(q, -1, -2), ph.swapaxes(k, -1, -2)) * SCALE
    return shares(masked(found), math.e) @ ph.swapaxes(v, -1, -2)


def swapped(rows: int) -> ph.Tensor:
    """The operands of every commutative operation in the other order."""
    q, k, v = given(rows)
    found = SCALE * ph.sum(k[:, None] * q[:, :, None], axis=-1)
    unseen = ph.arange(rows)[:, None] < ph.arange(rows)
    found = ph.where(unseen, -math.inf, found)
    powers = ph.exp2(math.log2(math.e) * (-1.0 * ph.max(found, axis=-1, keepdims=True) + found))
    share = ph.reciprocal(ph.sum(powers, axis=-1, keepdims=True)) * powers
    return ph.sum(v[:, None] * share[..., None], axis=-2)


def as_they_are(
    arrays: Arrays,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | float]:
    return arrays["q"], arrays["k"], arrays["v"], arrays.get("bias", 0.0)


def with_axes(*axes: int) -> Callable[[Arrays], tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    def plainly(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        q, k, v = (arrays[name].transpose(axes) for name in "qkv")
        return q, k, v, 0.0

    return plainly


def repeated(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    k, v = (np.repeat(arrays[name][:, 0], GROUPS, axis=0) for name in "kv")
    return arrays["q"], k, v, 0.0


PLAIN = Variant("plain", lambda rows: naive_attention(HEADS, rows, DEPTH), as_they_are)
VARIANTS: tuple[Variant, ...] = (
    Variant("grouped heads", grouped, repeated),
    Variant("a bias", biased, as_they_are),
    Variant(
        "base 3",
        lambda rows: naive_attention(HEADS, rows, DEPTH, OTHER_BASE),
        as_they_are,
        base=OTHER_BASE,
    ),
    Variant("scale inside", scaled_inside, as_they_are),
    Variant("scale outside", scaled_outside, as_they_are),
    Variant("permuted", permuted, with_axes(1, 0, 2), lambda result: result.transpose(1, 0, 2)),
    Variant("transposed", transposed, with_axes(0, 2, 1)),
    Variant("swapped operands", swapped, as_they_are),
)


def in_float64(variant: Variant, arrays: Arrays) -> np.ndarray:
    """The definition in float64, some rows of one head after the other."""
    q, k, v, bias = variant.plainly(arrays)
    heads, rows, _ = q.shape
    found, bias = np.empty(q.shape), np.broadcast_to(bias, (rows, rows))
    for head in range(heads):
        keys, values = k[head].astype(np.float64), v[head].astype(np.float64)
        for first in range(0, rows, TOGETHER):
            some = slice(first, first + TOGETHER)
            one = q[head, some].astype(np.float64) @ keys.T * SCALE + bias[some]
            one = np.where(np.arange(rows) <= np.arange(rows)[some, None], one, -np.inf)
            powers = np.exp2((one - one.max(axis=1, keepdims=True)) * math.log2(variant.base))
            found[head, some] = powers / powers.sum(axis=1, keepdims=True) @ values
    return variant.back(found)


# --- measuring ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contestant:
    """A compiled program, its inputs and what is known of it."""

    name: str
    program: ph.Program
    arrays: Arrays
    error: float

    def __call__(self) -> object:
        return self.program(**self.arrays)


def contestant(
    variant: Variant, rows: int, seconds: float, without: Sequence[str] = ()
) -> Contestant:
    program = ph.compile({"y": variant.make(rows)}, search=seconds, without=without)
    arrays = inputs_of(program, 0)
    error = np.abs(program(**arrays)["y"] - in_float64(variant, arrays)).max()
    name = f"without {' and '.join(without)}" if without else variant.name
    return Contestant(name, program, arrays, float(error))


def figure_of(one: Contestant, times: float, against: str, timing: common.Timing) -> common.Figure:
    report = one.program.report
    return {
        "name": one.name,
        "kernels": len(report.kernels),
        "peak_megabytes": one.program.peak_bytes / MEGABYTE,
        "error": one.error,
        "ms": 1000 * timing.median,
        "spread": timing.spread,
        against: times,
        "candidates": report.candidates,
        "stopped": report.stopped,
    }


def raced(
    calls: Mapping[str, Callable[[], object]], repeats: int
) -> tuple[dict[str, common.Timing], dict[str, float]]:
    """The timings, and each one's ratio to the first, round by round."""
    once = common.race(calls, repeats=1, calls_per_sample=1)
    fastest = min(one.median for one in once.values())
    count = max(1, round(SAMPLE_SECONDS / fastest))
    timings = common.race(calls, repeats=repeats, calls_per_sample=count)
    first = np.array(next(iter(timings.values())).seconds)
    ratios = {n: float(np.median(np.array(one.seconds) / first)) for n, one in timings.items()}
    return timings, ratios


def peer(arrays: Arrays) -> Callable[[], object]:
    """PyTorch's function on the plain inputs."""
    import torch

    torch.set_num_threads(THREADS)
    q, k, v = (torch.from_numpy(arrays[name])[None] for name in "qkv")
    function = torch.nn.functional.scaled_dot_product_attention
    return lambda: function(q, k, v, is_causal=True)


def against_peer(one: Contestant, other: Contestant, repeats: int) -> list[common.Figure]:
    """The plain form, PyTorch, and the plain form without what makes it stream."""
    calls: dict[str, Callable[[], object]] = {
        "torch": peer(one.arrays),
        one.name: one,
        other.name: other,
    }
    timings, ratios = raced(calls, repeats)
    found = [
        figure_of(each, ratios[each.name], "/torch", timings[each.name]) for each in (one, other)
    ]
    torch = timings["torch"]
    return [*found, {"name": "torch", "ms": 1000 * torch.median, "spread": torch.spread}]


def against_plain(
    plain: Contestant, others: Sequence[Contestant], repeats: int
) -> list[common.Figure]:
    """Every other way to write it."""
    timings, ratios = raced({one.name: one for one in (plain, *others)}, repeats)
    return [figure_of(one, ratios[one.name], "/plain", timings[one.name]) for one in others]


def ceiling(rows: int, repeats: int) -> common.Figure:
    """The least milliseconds of the products, and of the powers: no kernel does them faster.

    The powers are photic's own, with inputs that stay in the nearest cache, as a sum of each row.
    """
    pairs = HEADS * rows * (rows + 1) // 2
    rate = measured((CACHED_BYTES,), (THREADS,), repeats).arithmetic(FLOAT)
    keys = pairs // (HEADS * rows)
    x, y = ph.input("x", (HEADS * rows, 1)), ph.input("y", (keys,))
    powers = ph.compile({"y": ph.sum(ph.exp2(x + y), axis=-1)}, search=0)
    arrays = inputs_of(powers, 0)
    (timing,) = common.race(
        {"": lambda: powers(**arrays)}, repeats=repeats, calls_per_sample=1
    ).values()
    products = 1000 * PRODUCTS * 2 * pairs * DEPTH / rate
    return {
        "name": "the least",
        "products_ms": products,
        "powers_ms": 1000 * timing.minimum,
        "ms": products + 1000 * timing.minimum,
    }


# --- memory ---------------------------------------------------------------------------------


def growth(program: ph.Program) -> dict[str, float]:
    """The bytes in memory that a process gains in its first call, result aside: most, and after."""
    with tempfile.TemporaryDirectory(prefix="photic-found-") as folder:
        path = Path(folder) / "program"
        program.save(path)
        process = subprocess.Popen(
            (sys.executable, "-c", CHILD, str(path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with process:
            assert process.stdin is not None and process.stdout is not None
            status = Path(f"/proc/{process.pid}/status")
            found = []
            for word in ("wait", "call"):
                process.stdin.write(word + "\n")
                process.stdin.flush()
                process.stdout.readline()
                found.append(_resident(status))
                with suppress(OSError):  # a system that keeps the peak
                    status.with_name("clear_refs").write_text(RESET_PEAK)
            process.stdin.close()
    sizes = [math.prod(map(int, one.shape)) for one in program.artifact.outputs]
    result = sum(
        n * one.dtype.bytes for n, one in zip(sizes, program.artifact.outputs, strict=True)
    )
    before, after = found
    return {
        "most_megabytes": (after["VmHWM"] - before["VmRSS"] - result) / MEGABYTE,
        "after_megabytes": (after["VmRSS"] - before["VmRSS"] - result) / MEGABYTE,
    }


def _resident(status: Path) -> dict[str, int]:
    lines = (line.split() for line in status.read_text(encoding="utf-8").splitlines())
    return {words[0][:-1]: int(words[1]) * KIBIBYTE for words in lines if words[0].startswith("Vm")}


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--size", metavar="N", type=int, default=SIZE, help="queries, and keys")
    parser.add_argument("--search", metavar="S", type=float, default=SECONDS, help="of each search")
    names = [one.name for one in VARIANTS]
    parser.add_argument("--only", metavar="NAME", nargs="*", default=names, help="other forms")
    options = parser.parse_args()
    plain = contestant(PLAIN, options.size, options.search)
    other = contestant(PLAIN, options.size, options.search, WITHOUT)
    figures = [*against_peer(plain, other, options.repeats), ceiling(options.size, options.repeats)]
    if sys.platform == "linux":
        figures[:2] = [{**f, **growth(c.program)} for f, c in zip(figures, (plain, other))]
    common.report(figures, options.json)
    for variant in (one for one in VARIANTS if one.name in options.only):
        found = contestant(variant, options.size, options.search)
        figures += against_plain(plain, [found], options.repeats)
        print(common.table(figures[-1:]), flush=True)
    common.report(figures, options.json)


if __name__ == "__main__":
    main()
