"""How many of the ``onnx`` package's own backend tests pass, by group, and why others do not.

    python bench/onnx_conformance.py [--kinds node,simple,...] [--match TEXT] [--compiled]
        [--part 1/4] [--write] [--check] [--show]

Runs through ``photic.frontends.onnx.backend``. By default the evaluator computes; with
``--compiled`` programs do. ``--write`` notes what passes in ``tests/frontends/onnx/passing.txt``;
``--check`` ends with 1 where something in that list did not pass, and names it.
Groups out of scope are listed with their reason and count.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from photic.base.errors import PhoticError
from photic.frontends.onnx.backend import PhoticBackend
from photic.frontends.onnx.segments import evaluated

LIGHT = "light"  # the topologies of nine real networks, always compiled
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", LIGHT)
PASSING = Path(__file__).parent.parent / "tests" / "frontends" / "onnx" / "passing.txt"
TRAINING = "ai.onnx.preview.training"
RANDOM_OPS = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
RANDOM_OPS |= {"Multinomial"}
STRING_OPS = {
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "RegexFullMatch",
    "TfIdfVectorizer",
}
ROOT = Path(onnx.__file__).parent.parent
REASON_LETTERS = 160
FAILURES = (
    *(PhoticError, AssertionError, ArithmeticError, AttributeError, LookupError, MemoryError),
    *(NotImplementedError, OSError, RuntimeError, TypeError, ValueError),
)
# tests that fail because the numbers that they expect were rounded on the way to them
ROUNDED = {
    "test_attention_4d_causal_fp16_expanded": "Softmax adds halves in float32, there in halves",
    "test_dft_inverse": "what is 0 comes out as 3e-15 here, there as 1.9e-7",
    "test_dft_inverse_opset19": "what is 0 comes out as 3e-15 here, there as 1.9e-7",
}
TRAINING_FLAG = 2  # the place of Dropout's input that turns sampling on


class EvaluatedBackend(PhoticBackend):
    """The same backend, by the evaluator."""

    runner = staticmethod(evaluated)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one test: passed, failed, or out of scope, and why."""

    name: str
    kind: str
    state: str
    reason: str
    seconds: float


# --- scope ----------------------------------------------------------------------------------


def out_of_scope(model: onnx.ModelProto) -> str:
    """Why a model is out of scope; empty if it is not."""
    nodes = list(all_nodes(model.graph))
    ops = {node.op_type for node in nodes}
    if any(node.domain == TRAINING for node in nodes):
        return "training operators"
    if any(node.domain == "ai.onnx.ml" for node in nodes):
        return "classical machine learning (ai.onnx.ml)"
    if "ImageDecoder" in ops:
        return "decoding of image files"
    if ops & RANDOM_OPS or any(is_training_dropout(node) for node in nodes):
        return "sampled random numbers"
    ports = [*model.graph.input, *model.graph.output]
    if ops & STRING_OPS or any(is_string(port.type) for port in ports):
        return "strings"
    held = {port.type.WhichOneof("value") for port in ports}
    if "optional_type" in held or any("Optional" in op for op in ops):
        return "optionals"
    if "sequence_type" in held or any("Sequence" in op and op != "ReverseSequence" for op in ops):
        return "sequences"
    return ""


def is_training_dropout(node: onnx.NodeProto) -> bool:
    return node.op_type == "Dropout" and len(node.input) > TRAINING_FLAG


def is_string(kind: onnx.TypeProto) -> bool:
    return kind.tensor_type.elem_type == onnx.TensorProto.STRING


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the graphs in it."""
    for node in graph.node:
        yield node
        for one in node.attribute:
            if one.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(one.g)


# --- running --------------------------------------------------------------------------------


def cases(kind: str) -> list[Any]:
    """The tests of a kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(load_model_tests(kind="real" if kind == LIGHT else kind))


def model_of(case: Any) -> onnx.ModelProto:
    if case.model is not None:
        return case.model
    if case.url:
        return onnx.load(str(ROOT / case.url))
    return onnx.load(str(Path(case.model_dir) / "model.onnx"))


def data_of(case: Any, model: onnx.ModelProto) -> list[tuple[list[Any], list[Any]]]:
    """(inputs, outputs) of each data set."""
    if case.data_sets is not None:
        return [(as_arrays(inputs), as_arrays(outputs)) for inputs, outputs in case.data_sets]
    if case.url:
        return [light_data(case, model)]
    found = []
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        sides = [read_files(folder, "input", model.graph.input)]
        sides.append(read_files(folder, "output", model.graph.output))
        found.append((sides[0], sides[1]))
    return found


def light_data(case: Any, model: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
    """Numbers in order as input, and the output that lies beside the model."""
    held = {one.name for one in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(x) for x in model.graph.input if x.name not in held]
    proto = onnx.TensorProto()
    file = ROOT / case.url.replace(".onnx", "_output_0.pb")
    proto.ParseFromString(file.read_bytes())
    return inputs, [onnx.numpy_helper.to_array(proto)]


def as_arrays(tensors: list[Any]) -> list[Any]:
    """Arrays, also where a test has tensors of the file format."""
    is_proto = [isinstance(one, onnx.TensorProto) for one in tensors]
    to_array = onnx.numpy_helper.to_array
    return [to_array(one) if proto else one for one, proto in zip(tensors, is_proto)]


def read_files(folder: Path, side: str, ports: Any) -> list[Any]:
    """The tensors of ``input_0.pb, input_1.pb, ...``."""
    arrays = []
    for number in range(len(list(folder.glob(f"{side}_*.pb")))):
        proto = onnx.TensorProto()
        proto.ParseFromString((folder / f"{side}_{number}.pb").read_bytes())
        arrays.append(onnx.numpy_helper.to_array(proto))
    return arrays


def run_case(case: Any, kind: str, backend: type[PhoticBackend]) -> Outcome:
    """One test; an exception counts as a failure, its text is the reason."""
    start = time.perf_counter()
    model = model_of(case)
    state, reason = "out", out_of_scope(model)
    if not reason:
        try:
            chosen_backend = PhoticBackend if kind == LIGHT else backend
            prepared = chosen_backend.prepare(model, folder=case.model_dir or ".")
            for inputs, outputs in data_of(case, model):
                found = list(prepared.run(inputs))
                Runner.assert_similar_outputs(outputs, found, case.rtol, case.atol)
            state = "passed"
        except FAILURES as error:
            state, reason = "failed", f"{type(error).__name__}: {error}"
    return Outcome(case.name, kind, state, reason, time.perf_counter() - start)


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """The tests that the options leave, each with its kind."""
    part, parts = map(int, options.part.split("/"))
    number = 0
    for kind in options.kinds.split(","):
        for case in cases(kind):
            number += 1
            if options.match in case.name and number % parts == part % parts:
                yield kind, case


def report(outcomes: list[Outcome], show: bool) -> None:
    """Counts by kind, reasons of what is out of scope, and of what failed."""
    print(f"{'group':20} {'all':>5} {'out':>5} {'passed':>7} {'failed':>7}  of those in scope")
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        by_kind[one.kind].append(one)
    for kind, group in by_kind.items():
        states = Counter(one.state for one in group)
        inside = states["passed"] + states["failed"]
        share = 100 * states["passed"] / inside if inside else 100.0
        print(
            f"{kind:20} {len(group):5} {states['out']:5} {states['passed']:7} "
            f"{states['failed']:7}  {share:5.1f}%"
        )
    reasons = Counter(one.reason for one in outcomes if one.state == "out")
    for reason, count in reasons.most_common():
        print(f"  out of scope: {reason}: {count}")
    failed = [one for one in outcomes if one.state == "failed"]
    for one in failed if show else []:
        reason = ROUNDED.get(one.name) or " ".join(one.reason.split())[:REASON_LETTERS]
        print(f"  {one.name}: {reason}")


def fallen(outcomes: list[Outcome]) -> list[str]:
    """The tests that once passed and do not any more."""
    known = set(PASSING.read_text(encoding="utf-8").split())
    return sorted(one.name for one in outcomes if one.name in known and one.state != "passed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--match", default="")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    backend = PhoticBackend if options.compiled else EvaluatedBackend
    outcomes = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind, case in chosen(options):
            outcomes.append(run_case(case, kind, backend))
    report(outcomes, options.show)
    if options.write:
        names = sorted(one.name for one in outcomes if one.state == "passed")
        PASSING.write_text("\n".join(names) + "\n", encoding="utf-8")
    slow = sorted(outcomes, key=lambda one: -one.seconds)[:3]
    lost = fallen(outcomes) if options.check else []
    if lost:
        print("no longer passing:", ", ".join(lost))
    print("slowest:", ", ".join(f"{one.name} {one.seconds:.1f} s" for one in slow), file=sys.stderr)
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
