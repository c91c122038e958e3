"""What the cuda target's kernels take of devices: registers, memory of work-items, spills.

Programs are planned for an A100 and an H100 and compiled by NVRTC for sm_80 and sm_90, which takes
no device; nothing is measured, and nothing was searched but where it says "winner" (the fewest
kernels of the search's candidates, of those the fastest by prediction). A row is a program on a
target: kernels, the most registers of one, the most bytes of a work-item's own memory, kernels that
spill, and the bytes that they spill; ``--each`` has a row for each kernel. ``pip install
'photic[cuda]'`` brings NVRTC.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import common
import numpy as np
from targets.cuda_cases import MACHINES, text_of, winner_texts
from workloads import WORKLOADS, matmul, naive_attention

import photic as ph
from photic import nn
from photic.frontends.onnx.model import load
from photic.ir.graph import Graph
from photic.language.config import read_config
from photic.language.decoder import build
from photic.language.opening import open_model
from photic.language.pull import pull
from photic.targets.cuda.compiler import Resources, resources, version
from photic.tensor.compiling import graph_of

ONNX = (
    "blazeface-front",
    "silero_vad_op18_ifless",
    "efficientnet-lite0",
    "minilm",
    "focus",
    "nsfw",
)
CONTEXT, CHUNK = 2048, 128  # tokens of SmolLM2

Texts = Callable[[str], Iterable[str]]


def planned(graph: Callable[[], Graph]) -> Texts:
    """The text of a program for an architecture."""
    return lambda architecture: [text_of(graph(), architecture)]


def winning(outputs: Mapping[str, ph.Tensor]) -> Texts:
    """The texts of the winners of a program's groups."""
    return functools.partial(winner_texts, outputs)


def smollm2() -> Graph:
    """The step of the language model, from its GGUF file."""
    file = open_model(pull("smollm2-135m", lambda *_: None))
    model = build(file, read_config(file), CONTEXT, CHUNK)
    return graph_of({"logits": model.logits}, model.updates)


def onnx(name: str) -> Graph:
    """A real model in an ONNX file, at the sizes of a real input."""
    from onnx_models import workloads  # its tests' files are of no use to other programs

    one = next(each for each in workloads() if each.name == name)
    sizes = {
        f"{key}_{axis}": extent
        for key, array in one.feeds().items()
        for axis, extent in enumerate(array.shape)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(one.data())
        return graph_of(load(path, sizes).tensors, {})


def encoder() -> Graph:
    """A layer of a transformer."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, rng=np.random.default_rng(0))
    return graph_of({"y": layer(ph.input("x", (2, 128, 256)))}, {})


def images() -> Graph:
    """A small convolutional net."""
    rng = np.random.default_rng(0)
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, rng=rng),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, rng=rng),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 16 * 16, 10, rng=rng),
    )
    return graph_of({"y": net(ph.input("x", (4, 3, 32, 32)))}, {})


def programs() -> Iterator[tuple[str, Texts]]:
    """All of them by name; the largest come last."""
    yield "matmul, winner", winning({"y": matmul()})
    yield "attention, winner", winning({"y": naive_attention(4, 256, 64)})
    for one in WORKLOADS:
        yield one.name, planned(lambda make=one.make: graph_of({"y": make()}, {}))
    yield "transformer layer", planned(encoder)
    yield "convolutional net", planned(images)
    for name in ONNX:
        yield name, planned(functools.partial(onnx, name))
    yield "smollm2-135m", planned(smollm2)


def rows(name: str, texts: Texts, architecture: str, each: bool) -> Iterator[common.Figure]:
    """A program's figures on a target."""
    start, found = time.perf_counter(), list[Resources]()
    for text in texts(architecture):
        found += resources(text, architecture)
    place = {"program": name, "target": architecture}
    spilling = [one for one in found if one.spilled_bytes]
    for one in found if each else ():
        yield place | {
            "kernel": one.kernel,
            "registers": one.registers,
            "memory": one.stack_bytes,
            "spilled": one.spilled_bytes,
        }
    if not each:
        yield place | {
            "kernels": len(found),
            "registers": max(one.registers for one in found),
            "memory": max(one.stack_bytes for one in found),
            "spilling": len(spilling),
            "spilled": sum(one.spilled_bytes for one in spilling),
            "seconds": round(time.perf_counter() - start, 1),
        }


def main() -> None:
    """Compile, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="NAME", nargs="*", default=[], help="these programs")
    parser.add_argument("--each", action="store_true", help="a row for each kernel")
    arguments = parser.parse_args()
    print(version(), file=sys.stderr)
    found: list[common.Figure] = []
    for name, texts in programs():
        if arguments.only and name not in arguments.only:
            continue
        for architecture in MACHINES:
            new = list(rows(name, texts, architecture, arguments.each))
            found += new
            print(*new, sep="\n", file=sys.stderr, flush=True)
    common.report(found, arguments.json)


if __name__ == "__main__":
    main()
