"""What every bench script shares: ``--json``, the machine's description, fair timing, tables.

Scripts run as ``python bench/NAME.py`` and import this file as ``common``, before
what the tests share (``rules.sampler``), which it puts on the path. Timing alternates
between the contestants, warm, so that a drift of the machine hits them alike; compare medians by
their ratio, never figures of two runs. Nothing here sets threads or processor speed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

REPEATS = 30  # fewer leave the median to chance on a shared machine
WARM_CALLS = 3
LOW_PERCENTILE, HIGH_PERCENTILE = 10, 90
PACKAGES = ("photic", "numpy", "ziglang", "torch", "onnxruntime", "openvino")
BLAS_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "PHOTIC_THREADS")

Figure = Mapping[str, str | int | float]

# At the end, so that nothing in them hides an installed package.
TOP = Path(__file__).resolve().parents[1]
sys.path += [str(folder) for folder in (TOP, TOP / "tests") if str(folder) not in sys.path]


@dataclass(frozen=True, slots=True)
class Timing:
    """Every sample of one contestant, in seconds, in the order taken."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def minimum(self) -> float:
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """The distance from the 10th to the 90th percentile, as a part of the median."""
        low, high = np.percentile(self.seconds, (LOW_PERCENTILE, HIGH_PERCENTILE))
        return float((high - low) / self.median)

    def figure(self) -> dict[str, str | int | float]:
        return {
            "name": self.name,
            "median_seconds": self.median,
            "minimum_seconds": self.minimum,
            "spread": self.spread,
            "samples": len(self.seconds),
        }


def race(
    contestants: Mapping[str, Callable[[], object]], *, repeats: int, calls_per_sample: int
) -> dict[str, Timing]:
    """Time the contestants in turns, A B A B, after warming each.

    A sample is the mean of ``calls_per_sample`` calls; raise it where one call takes microseconds.
    """
    for call in contestants.values():
        for _ in range(WARM_CALLS):
            call()
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, call in contestants.items():
            samples[name].append(_seconds(call, calls_per_sample))
    return {name: Timing(name, tuple(found)) for name, found in samples.items()}


def _seconds(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


# --- the machine ----------------------------------------------------------------------------


def machine() -> dict[str, str | int]:
    """Processor, usable cores, versions, commit, and the variables that change what BLAS does."""
    described: dict[str, str | int] = {
        "processor": _processor(),
        "cores": _cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
    }
    versions = {name: version for name in PACKAGES if (version := _version(name))}
    variables = {name: os.environ[name] for name in BLAS_VARIABLES if name in os.environ}
    return {**described, **versions, **variables}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _commit() -> str:
    """The short commit, with ``+`` where the tree differs from it."""
    commit = _git("rev-parse", "--short", "HEAD")
    return commit + ("+" if commit and _git("status", "--porcelain") else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# --- what a script prints -------------------------------------------------------------------


def parser(description: str) -> argparse.ArgumentParser:
    """An argument parser with ``--json FILE`` and ``--repeats N``."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", metavar="FILE", type=Path, help="write the figures here as well")
    made.add_argument("--repeats", metavar="N", type=int, default=REPEATS, help="samples of each")
    return made


def report(figures: Sequence[Figure], json_path: Path | None) -> None:
    """Print the machine and the figures as a table; write both as JSON where asked."""
    described = machine()
    print(", ".join(f"{name} {value}" for name, value in described.items()))
    print(table(figures))
    if json_path is not None:
        content = {"script": Path(sys.argv[0]).name, "machine": described, "figures": figures}
        json_path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def table(figures: Sequence[Figure]) -> str:
    """One line a figure, one column a name; a figure without a name leaves its cell empty."""
    heads = list(dict.fromkeys(name for figure in figures for name in figure))
    lines = [heads, *([_cell(figure.get(head, "")) for head in heads] for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(value: str | int | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
