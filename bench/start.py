"""Seconds from a command to the first characters of its answer, when all is kept.

Each sample is a new process on a filled cache; the first one, which may fetch and compile, is not
counted. llama.cpp takes part, in turns, where ``llama-cpp-python`` is importable: a process that
imports it, loads the same file and answers the same prompt. Processor seconds of the whole process
are told too, which other work on the machine changes little. Needs the model (fetched on first
use).
"""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import common

from photic.language.pull import pull

REPEATS = 10
MODEL = "smollm2-135m"
PROMPT = "Why is the sky blue?"
OURS = "from photic.cli.start import run; run()"
THEIRS = """
import sys, llama_cpp
model = llama_cpp.Llama(model_path=sys.argv[1], n_ctx=0, verbose=False)
messages = [{"role": "user", "content": sys.argv[2]}]
for part in model.create_chat_completion(messages, temperature=0, max_tokens=1, stream=True):
    print(part["choices"][0]["delta"].get("content", ""), end="", flush=True)
"""


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.set_defaults(repeats=REPEATS)
    arguments = parser.parse_args()
    commands = {"photic": ["-c", OURS, "run", MODEL, PROMPT, "--max-tokens", "1"]}
    if importlib.util.find_spec("llama_cpp") is not None:
        path = pull(MODEL, lambda stage, done, total: None)
        commands["llama.cpp"] = ["-c", THEIRS, str(path), PROMPT]
    samples: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for counted in (False, *(True,) * arguments.repeats):
        for name, command in commands.items():
            found = first_characters(command)
            if counted:
                samples[name].append(found)
    common.report(
        [one for name in commands for one in figures(name, samples[name])], arguments.json
    )


def figures(name: str, samples: Sequence[tuple[float, float, float]]) -> Iterator[common.Figure]:
    kinds = ("to the first characters", "to the end of one token", "of processors")
    for kind, seconds in zip(kinds, zip(*samples, strict=True), strict=True):
        yield common.Timing(f"{name}, {kind}", seconds).figure()


def first_characters(arguments: Sequence[str]) -> tuple[float, float, float]:
    """Seconds until the first byte of the answer, until the process has ended, of processors."""
    used = processor_seconds()
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter() - start
        process.stdout.read()  # closing it early would end the process with an error
    if process.returncode:
        raise SystemExit(process.returncode)
    return first, time.perf_counter() - start, processor_seconds() - used


def processor_seconds() -> float:
    """Of all processes that this one started and that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


if __name__ == "__main__":
    main()
