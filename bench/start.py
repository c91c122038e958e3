"""Seconds from typing ``photic run`` to the first characters of the answer, when all is kept.

Each sample is a new process on a filled cache; the first one, which may fetch and compile, is not
counted. Needs the model (fetched on first use).
"""

from __future__ import annotations

import subprocess
import sys
import time

import common

REPEATS = 10
PROMPT = "Why is the sky blue?"
COMMAND = "from photic.cli.main import run; run()"


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.set_defaults(repeats=REPEATS)
    arguments = parser.parse_args()
    first_characters()
    samples = [first_characters() for _ in range(arguments.repeats)]
    timings = [
        common.Timing("to the first characters", tuple(first for first, _ in samples)),
        common.Timing("to the end of one token", tuple(end for _, end in samples)),
    ]
    common.report([one.figure() for one in timings], arguments.json)


def first_characters() -> tuple[float, float]:
    """Seconds until the first byte of the answer, and until the process has ended."""
    command = [sys.executable, "-c", COMMAND, "run", "smollm2-135m", PROMPT, "--max-tokens", "1"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter() - start
        process.stdout.read()  # closing it early would end the process with an error
    if process.returncode:
        raise SystemExit(process.returncode)
    return first, time.perf_counter() - start


if __name__ == "__main__":
    main()
