"""One device: every kind of kernel against float64, its speed, and what the device can do at most.

    python bench/gpu_device.py --target cuda [--search 10] [--only softmax ...]
        [--model smollm2-135m] [--json FILE]

Each workload is compiled for the target, run on random numbers and compared with the evaluator in
float64: ``error`` is a part of the largest number. ``milliseconds`` are of launches alone, by many
in a row; what lies on the device stays there. A language model's rows are tokens a second of a
prompt and of what follows it. Beside matmul and attention stand torch's own where
torch finds the same device (CUDA or ROCm). "copy" counts bytes read and written. The script has not
run on a GPU yet, for want of one; it runs on any target that a program on the host drives (opencl).
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import common
import numpy as np
from workloads import WORKLOADS, Workload, inputs_of

import photic as ph
from photic.base.settings import override_setting
from photic.cli.bench_llm import GENERATED_TOKENS, PROMPT_TOKENS, TEXT
from photic.cli.bench_llm_runs import Task, own, race
from photic.forms.eval import evaluate
from photic.language.session import open_session
from photic.targets.registry import target_named
from photic.targets.session import Loaded, Session
from photic.tensor.compiling import graph_of

TARGETS = ("cuda", "hip", "metal", "opencl")
COPIED = 1 << 26  # numbers
RUNS = 3  # of a language model, after one that does not count
SAMPLES, LEAST_SECONDS = 5, 0.02  # the fastest of so many; what one takes at least
MATMUL = 4096  # rows of the matrices that the ceiling of products is taken with
MILLISECONDS, GIGA, TERA = 1e3, 1e9, 1e12


def seconds_of(call: Callable[[], object], finish: Callable[[], object]) -> float:
    """Of one call, by the fastest of several series."""
    call()
    finish()
    count, found = 1, list[float]()
    while len(found) < SAMPLES:
        start = time.perf_counter()
        for _ in range(count):
            call()
        finish()
        taken = time.perf_counter() - start
        if taken < LEAST_SECONDS:
            count *= 2
        else:
            found.append(taken / count)
    return min(found)


def launched(program: ph.Program, given: Mapping[str, np.ndarray], target: str) -> float:
    """Seconds of a program's launches on these inputs; its constants are random here."""
    known = target_named(target)
    made = known.load(known.build(program.artifact.source))
    assert isinstance(made, Loaded)
    draw = np.random.default_rng(0)
    with made.using():
        session: Session = made.session()
        sizes = [session.number(one[1]) for one in session.plan.slots]
        arrays = [draw.standard_normal(max(4, size) // 4 + 1, np.float32) for size in sizes]
        for one in program.artifact.inputs:
            flat = np.ascontiguousarray(given[one.name]).reshape(-1).view(np.uint8)
            arrays[one.slot].view(np.uint8)[: flat.size] = flat
        session.give([one.ctypes.data for one in arrays], [])
        return seconds_of(session.enqueue, session.queue.finish)


def row(one: Workload, target: str, search: float) -> common.Figure:
    """A workload's error and speed."""
    outputs = {"y": one.make()}
    program = ph.compile(outputs, target=target, search=search)
    given = inputs_of(program, 1)
    got = program(**given)["y"].astype(np.float64)
    want = evaluate(graph_of(outputs, {}), given, {}, {}, widen=True)[0]["y"]
    seconds = launched(program, given, target)
    figure: dict[str, str | int | float] = {
        "workload": one.name,
        "kernels": len(program.report.kernels),
        "error": float(np.abs(got - want).max() / np.abs(want).max()),
        "milliseconds": seconds * MILLISECONDS,
    }
    peer = torch_seconds(one.name, given)
    return figure | ({"torch": peer * MILLISECONDS, "ratio": seconds / peer} if peer else {})


def torch_seconds(name: str, given: Mapping[str, np.ndarray]) -> float:
    """The same by torch on its own device; 0 where there is none, or no function for it."""
    if name not in ("matmul", "attention") or (torch := torch_here()) is None:
        return 0.0
    on_device = {key: torch.from_numpy(one).cuda() for key, one in given.items()}
    if name == "matmul":
        return seconds_of(lambda: on_device["x"] @ on_device["w"], torch.cuda.synchronize)
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (on_device[key][None] for key in "qkv")
    return seconds_of(lambda: attention(q, k, v, is_causal=True), torch.cuda.synchronize)


def torch_here() -> Any:
    """torch, if it finds a GPU."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def ceilings(target: str) -> list[common.Figure]:
    """What the device can do at most: bytes by a copy of ours, products by torch's."""
    x = np.zeros(COPIED, np.float32)
    program = ph.compile({"y": ph.input("x", x.shape) + 1}, target=target, search=0)
    seconds = launched(program, {"x": x}, target)
    found: list[common.Figure] = [
        {"workload": "copy", "rate": 2 * x.nbytes / seconds / GIGA, "unit": "GB/s"}
    ]
    if (torch := torch_here()) is not None:
        a = torch.randn(MATMUL, MATMUL, device="cuda")
        seconds = seconds_of(lambda: a @ a, torch.cuda.synchronize)
        rate = 2 * MATMUL**3 / seconds / TERA
        found.append({"workload": "torch's product", "rate": rate, "unit": "TFLOP/s"})
    return found


def language(model: str, target: str) -> list[common.Figure]:
    """How fast a language model reads and writes on the target."""
    override_setting("target", target)
    session = open_session(model, context=None, progress=lambda *_: None)
    ids = np.random.default_rng(0).integers(0, session.config.vocabulary, PROMPT_TOKENS)
    beginning = session.tokens(TEXT, system=None, raw=True)
    task = Task(tuple(ids.tolist()), tuple(beginning), GENERATED_TOKENS)
    found = race([own("photic", session, ph.__version__)], task, RUNS)
    return [
        {"workload": f"{model} {one.test}", "rate": one.mean, "unit": "tokens/s"} for one in found
    ]


def main() -> None:
    """Check, measure, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.add_argument("--target", choices=TARGETS, default="cuda")
    parser.add_argument("--search", type=float, default=0.0, help="seconds for each workload")
    parser.add_argument("--only", metavar="NAME", nargs="*", default=[], help="these workloads")
    parser.add_argument("--model", default="", help="a language model too: smollm2-135m")
    arguments = parser.parse_args()
    print(target_named(arguments.target).facts(), file=sys.stderr)
    found = [] if arguments.only else ceilings(arguments.target)
    for one in WORKLOADS:
        if not arguments.only or one.name in arguments.only:
            found.append(row(one, arguments.target, arguments.search))
            print(found[-1], file=sys.stderr, flush=True)
    found += language(arguments.model, arguments.target) if arguments.model else []
    common.report(found, arguments.json)


if __name__ == "__main__":
    main()
