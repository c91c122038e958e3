"""Every workload of the library beside its best peer: time, error, share of the ceiling.

Photic's program is a plain call on NumPy arrays; the peers are torch (eager, and ``--compiled``
torch.compile at its most thorough) and OpenVINO in float32 where it is installed. All make new
results at each call, on two threads. Contestants take turns; between them is a pause in which the
other's threads go to sleep, and an untimed call. ``speed`` is the best peer's time over photic's,
round by round, the median: above 1 photic is faster; ``of_minima`` the same of the fastest samples,
which says more where other work keeps the processors busy. ``a/a`` is how far photic is from itself
in the same race, 10th to 90th percentile: ratios nearer to 1 than that mean nothing.

Errors are the largest distance to torch's function in float64, in units: the dtype's epsilon times
what the element is made of (the same sums of absolute values for products and sums, these and the
weights for attention, the largest element otherwise). An error is right if it is at most the peer's
or two units. For exact functions it counts elements that differ. ``share`` is of the ceiling that
binds, arithmetic or memory, the best that ``bench/ceilings.py`` saw in the same run.

``--resume`` goes on where a run with the same ``--json`` ended; what ended the process is noted.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ceilings
import common
import kernel_peers
import ml_dtypes
import numpy as np
from kernel_workloads import WORKS, Work

import photic as ph
from photic.base.errors import PhoticError
from photic.targets.c.pool import set_threads

SAMPLE_SECONDS = 0.01
PAUSE_SECONDS = 0.005  # the longest that torch's idle threads were seen spinning
PHOTIC, AGAIN = "photic", "again"
ALLOWED_UNITS = 2.0
LOW, MIDDLE, HIGH = 10, 50, 90
MILLISECONDS = 1e3
NEAR_CEILING, NEAR_BAR = 0.85, 0.95
DIED = "ended the process"

# What the geometric mean of a family's speeds is to reach, and the least of them.
BARS: Mapping[str, tuple[float, float]] = {
    "product f32, constant": (1.0, 0.9),
    "product bf16, constant": (0.9, 0.75),
    "attention f32": (1.1, 0.0),
    "attention bf16": (1.0, 0.0),
    "convolution": (1.0, 0.8),
    "rows": (1.3, 1.0),
    "reductions": (1.3, 1.0),
    "orders": (0.5, 0.5),
}

Call = Callable[[], Any]
Figure = dict[str, str | int | float]


# --- one workload ---------------------------------------------------------------------------


def program_of(work: Work, arrays: Sequence[np.ndarray], seconds: float) -> ph.Program:
    """Compiled by photic, constants known."""
    split = len(arrays) - work.constants
    handles = [ph.input(f"x{k}", one.shape, one.dtype) for k, one in enumerate(arrays[:split])]
    made = work.make(*handles, *(ph.constant(one) for one in arrays[split:]))
    many = made if isinstance(made, tuple | list) else (made,)
    return ph.compile({f"y{k}": one for k, one in enumerate(many)}, search=seconds)


def figure_of(work: Work, options: argparse.Namespace, roofs: ceilings.Roofs) -> Figure:
    """All that is said of a workload."""
    random = np.random.default_rng(zlib.crc32(work.name.encode()))
    arrays = [one.made(random) for one in work.inputs]
    start = time.perf_counter()
    program = program_of(work, arrays, options.search)
    seconds = time.perf_counter() - start
    given = {f"x{k}": one for k, one in enumerate(arrays[: len(program.artifact.inputs)])}
    peers = peers_of(work, arrays, options)
    errors = errors_of(work, arrays, list(program(**given).values()))
    calls = {PHOTIC: lambda: program(**given), AGAIN: lambda: program(**given), **peers}
    written = sum(one.nbytes for one in program(**given).values())
    limit = roofs.least(work.dtype, work.flops, sum(one.nbytes for one in arrays), written)
    return {
        "family": work.family,
        "workload": work.name,
        **speeds_of(raced(calls, options.repeats), *limit),
        **errors,
        "kernels": len(program.report.kernels),
        "search_s": program.report.seconds,
        "compile_s": seconds,
        "candidates": program.report.candidates,
    }


def peers_of(
    work: Work, arrays: Sequence[np.ndarray], options: argparse.Namespace
) -> dict[str, Call]:
    """Every peer that can run it."""
    peers: dict[str, Call] = {"torch": kernel_peers.eager(work, arrays)}
    if options.compiled:
        peers["torch.compile"] = kernel_peers.compiled(work, arrays)
    if kernel_peers.has_openvino():
        converted = kernel_peers.openvino(work, arrays)
        if converted is not None:
            peers["OpenVINO"] = converted
    return peers


# --- errors ---------------------------------------------------------------------------------


def errors_of(work: Work, arrays: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> Figure:
    """Photic's error and torch's, and whether photic's is allowed."""
    truth = kernel_peers.in_float64(work, arrays)
    theirs = kernel_peers.as_arrays(kernel_peers.eager(work, arrays)())
    if work.is_exact:
        ours, other = (_differing(one, truth) for one in (found, theirs))
        return {"error": ours, "peer_error": other, "right": _said(ours <= other)}
    epsilon = float(ml_dtypes.finfo(found[0].dtype).eps)
    units = [epsilon * one for one in kernel_peers.scales(work, arrays)]
    ours, other = (_most(one, truth, units) for one in (found, theirs))
    return {"error": ours, "peer_error": other, "right": _said(ours <= max(other, ALLOWED_UNITS))}


def _said(truth: bool) -> str:
    return "yes" if truth else "NO"


def _differing(found: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> int:
    return sum(
        int(np.count_nonzero(one.astype(true.dtype) != true))
        for one, true in zip(found, truth, strict=True)
    )


def _most(
    found: Sequence[np.ndarray], truth: Sequence[np.ndarray], units: Sequence[np.ndarray]
) -> float:
    """The largest distance in units."""
    tiny = np.finfo(np.float64).tiny  # where nothing is summed nothing may differ
    return max(
        float(np.max(np.abs(one.astype(np.float64) - true) / np.maximum(unit, tiny)))
        for one, true, unit in zip(found, truth, units, strict=True)
    )


# --- speeds ---------------------------------------------------------------------------------


def raced(calls: Mapping[str, Call], repeats: int) -> dict[str, common.Timing]:
    """The contestants in turns, each after a pause; short calls after an untimed one."""
    once = common.race(calls, repeats=1, calls_per_sample=1)
    counts = {name: max(1, round(SAMPLE_SECONDS / one.median)) for name, one in once.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            samples[name].append(_sampled(call, counts[name]))
    return {name: common.Timing(name, tuple(found)) for name, found in samples.items()}


def _sampled(call: Call, count: int) -> float:
    time.sleep(PAUSE_SECONDS)
    if count > 1:
        call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def speeds_of(timings: Mapping[str, common.Timing], least_seconds: float, binding: str) -> Figure:
    """Times, the ratio to the best peer, the spread of photic's ratio to itself, the share."""
    ours = np.array(timings[PHOTIC].seconds)
    peers = {name: one for name, one in timings.items() if name not in (PHOTIC, AGAIN)}
    best = min(peers.values(), key=lambda one: one.median)
    again = np.array(timings[AGAIN].seconds) / ours
    low, high = np.percentile(again, (LOW, HIGH))
    return {
        "photic_ms": MILLISECONDS * timings[PHOTIC].median,
        "least_ms": MILLISECONDS * timings[PHOTIC].minimum,
        "peer": best.name,
        "peer_ms": MILLISECONDS * best.median,
        "speed": float(np.median(np.array(best.seconds) / ours)),
        "of_minima": min(one.minimum for one in peers.values()) / timings[PHOTIC].minimum,
        "a/a": float(high - low),
        "share": least_seconds / timings[PHOTIC].median,
        "peer_share": least_seconds / best.median,
        "binds": binding,
        **{f"{name}_ms": MILLISECONDS * one.median for name, one in peers.items()},
        **{f"{name}_least_ms": MILLISECONDS * one.minimum for name, one in peers.items()},
    }


# --- families -------------------------------------------------------------------------------


def means_of(figures: Sequence[common.Figure]) -> list[common.Figure]:
    """The geometric mean and the least speed of each family, beside what they are to reach."""
    means: list[common.Figure] = []
    for family in dict.fromkeys(str(one["family"]) for one in figures):
        those = [one for one in figures if one["family"] == family and "speed" in one]
        if not those:
            continue
        mean = float(np.exp(np.mean([np.log(float(one["speed"])) for one in those])))
        worst = min(those, key=lambda one: float(one["speed"]))
        bar, least = BARS.get(family, (0.0, 0.0))
        short = [one for one in those if float(one["speed"]) < _bar_of(one, least)]
        means.append({
            "family": family,
            "workloads": len(those),
            "mean": mean,
            "bar": bar or "-",
            "least": float(worst["speed"]),
            "least_bar": least or "-",
            "below": len(short),
            "of": worst["workload"],
            "reached": _said(mean >= bar and not short),
        })  # fmt: skip
    return means


def _bar_of(figure: common.Figure, least: float) -> float:
    """The least speed asked of a workload; both near the ceiling, it cannot be far from 1."""
    shares = (float(figure["share"]), float(figure["peer_share"]))
    return min(least, NEAR_BAR) if min(shares) > NEAR_CEILING else least


# --- what is printed ------------------------------------------------------------------------


def markdown(figures: Sequence[common.Figure], seconds: float) -> str:
    """The tables of the readme."""
    described = common.machine()
    day = datetime.now(UTC).date().isoformat()
    lines = [
        f"{day}, {described['processor']}, {described['cores']} cores, commit "
        f"{described['commit']}, {seconds:g} s of search for each; `bench/kernels.py`:",
        "",
        "| family | workloads | geometric mean | least | of |",
        "|---|---|---|---|---|",
        *(
            f"| {one['family']} | {one['workloads']} | {one['mean']:.2f} | {one['least']:.2f} "
            f"| {one['of']} |"
            for one in means_of(figures)
        ),
        "",
        "| workload | photic ms | best peer | its ms | speed | error, peer's | share of ceiling |",
        "|---|---|---|---|---|---|---|",
        *map(_line, figures),
    ]
    return "\n".join(lines)


def _line(one: common.Figure) -> str:
    if "problem" in one:
        return f"| {one['workload']} | {one['problem']} | | | | | |"
    return (
        f"| {one['workload']} | {one['photic_ms']:.4g} | {one['peer']} | {one['peer_ms']:.4g} "
        f"| {one['speed']:.2f} | {one['error']:.2g}, {one['peer_error']:.2g} "
        f"| {one['share']:.0%} {one['binds']} |"
    )


SHOWN = (
    "workload", "photic_ms", "peer", "peer_ms", "speed", "of_minima", "a/a", "error", "peer_error",
    "right", "share", "binds", "kernels", "search_s", "compile_s", "candidates", "problem",
)  # fmt: skip


def shown(figure: common.Figure) -> common.Figure:
    """What fits on a line."""
    return {name: figure[name] for name in SHOWN if name in figure}


def kept(path: Path | None, is_resumed: bool) -> list[common.Figure]:
    """The figures of an earlier run."""
    if path is None or not is_resumed or not path.exists():
        return []
    return list(json.loads(path.read_text(encoding="utf-8"))["figures"])


def write(path: Path | None, figures: Sequence[common.Figure], roofs: ceilings.Roofs) -> None:
    """All figures so far."""
    if path is not None:
        content = {
            "script": Path(__file__).name,
            "machine": common.machine(),
            "ceilings": roofs.figures(),
            "figures": figures,
        }
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="TEXT", nargs="+", default=[""], help="names with it")
    parser.add_argument("--search", metavar="S", type=float, default=0.0, help="of each search")
    parser.add_argument("--compiled", action="store_true", help="race torch.compile as well")
    parser.add_argument("--resume", action="store_true", help="keep what --json has")
    parser.add_argument("--markdown", action="store_true", help="print the readme's tables")
    options = parser.parse_args()
    set_threads(kernel_peers.THREADS)
    roofs = ceilings.measured()
    print(common.table(roofs.figures()), flush=True)
    figures = kept(options.json, options.resume)
    known = {one["workload"] for one in figures}
    for work in WORKS:
        is_asked = any(text in f"{work.family}: {work.name}" for text in options.only)
        if work.name in known or not is_asked:
            continue
        write(options.json, [*figures, _failed(work, DIED)], roofs)
        try:
            figures.append(figure_of(work, options, roofs))
        except (PhoticError, AssertionError) as error:
            figures.append(_failed(work, f"{type(error).__name__}: {error}"))
        print("  ".join(common.table([shown(figures[-1])]).splitlines()[1:]), flush=True)
        write(options.json, figures, roofs)
    common.report([shown(one) for one in figures], None)
    print(common.table(means_of(figures)))
    if options.markdown:
        print(markdown(figures, options.search))


def _failed(work: Work, problem: str) -> common.Figure:
    return {"family": work.family, "workload": work.name, "problem": problem}


if __name__ == "__main__":
    main()
