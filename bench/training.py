"""Train steps beside torch's: an MLP, a small ResNet, a transformer of 4 layers, an LSTM.

From the same first weights and batches: the loss curve and the optimiser's states after ``--steps``
steps in float64; the curve in float32 beside torch's own distance between one and two threads, and
both beside the curve in float64; the time of a step beside torch eager on two threads; the memory
that a step holds at most (parameters, moments, gradients, values between; batches aside), torch's
as its profiler counts it. ``--only`` names models, ``--kernels`` adds those of the most work,
``--compiled`` more contestants, torch.compile of the model in these modes (needs a C++ compiler).
All take turns; compilation and first calls are not timed. Freezing, which torch has for inference,
does not apply to training.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import common
import numpy as np

import photic as ph
from photic import nn

THREADS = 2
STEPS = 100
SAMPLES = 15
MILLISECONDS = 1e3
MEGABYTE = 1e6
SHOWN_KERNELS = 8

Batch = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Model:
    """A model in both worlds, what it learns, and how.

    ``own`` and ``peer`` make it; ``loss`` and ``peer_loss`` are of it and a batch; ``batch`` draws
    one; ``optimiser`` is its name and arguments, the same in both worlds.
    """

    name: str
    own: Callable[[], nn.Module]
    peer: Callable[[], Any]
    loss: Callable[..., ph.Tensor]
    peer_loss: Callable[..., Any]
    batch: Callable[[np.random.Generator, str], Batch]
    optimiser: tuple[str, Mapping[str, Any]]


# --- a perceptron ---------------------------------------------------------------------------

WIDTHS = (784, 256, 128, 10)
ROWS = 128


def own_perceptron() -> nn.Module:
    rng = np.random.default_rng(0)
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(WIDTHS):
        layers += [nn.Linear(inputs, outputs, rng=rng), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def peer_perceptron() -> Any:
    import torch

    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(WIDTHS):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def own_classes(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> ph.Tensor:
    return ph.cross_entropy(model(x), y)


def peer_classes(model: Any, x: Any, y: Any) -> Any:
    import torch

    return torch.nn.functional.cross_entropy(model(x), y)


def rows(rng: np.random.Generator, dtype: str) -> Batch:
    x = rng.normal(size=(ROWS, WIDTHS[0])).astype(dtype)
    return {"x": x, "y": rng.integers(0, WIDTHS[-1], ROWS)}


# --- a residual net -------------------------------------------------------------------------

IMAGES, CHANNELS, SIDE, CLASSES = 16, (16, 16, 32, 64), 16, 10


class OwnBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int, rng: np.random.Generator) -> None:
        how: dict[str, Any] = {"padding": 1, "bias": False, "rng": rng}
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, **how)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, **how)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False, rng=rng)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        inner = self.bn2(self.conv2(ph.relu(self.bn1(self.conv1(x)))))
        return ph.relu(inner + self.shortcut(x))


def own_residual() -> nn.Module:
    rng = np.random.default_rng(0)
    first = [nn.Conv2d(3, CHANNELS[0], 3, padding=1, bias=False, rng=rng)]
    blocks = [
        OwnBlock(inputs, outputs, 1 + (k > 0), rng)
        for k, (inputs, outputs) in enumerate(itertools.pairwise(CHANNELS))
    ]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS[-1], CLASSES, rng=rng)]
    return nn.Sequential(*first, nn.BatchNorm2d(CHANNELS[0]), nn.ReLU(), *blocks, *last)


def peer_residual() -> Any:
    import torch
    from torch.nn.functional import relu

    class Block(torch.nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            how: dict[str, Any] = {"padding": 1, "bias": False}
            self.conv1 = torch.nn.Conv2d(inputs, outputs, 3, stride, **how)
            self.bn1 = torch.nn.BatchNorm2d(outputs)
            self.conv2 = torch.nn.Conv2d(outputs, outputs, 3, **how)
            self.bn2 = torch.nn.BatchNorm2d(outputs)
            self.shortcut: Any = torch.nn.Identity()
            if stride > 1 or inputs != outputs:
                self.shortcut = torch.nn.Conv2d(inputs, outputs, 1, stride, bias=False)

        def forward(self, x: Any) -> Any:
            inner = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
            return relu(inner + self.shortcut(x))

    first = [torch.nn.Conv2d(3, CHANNELS[0], 3, padding=1, bias=False)]
    blocks = [
        Block(inputs, outputs, 1 + (k > 0))
        for k, (inputs, outputs) in enumerate(itertools.pairwise(CHANNELS))
    ]
    norm = [torch.nn.BatchNorm2d(CHANNELS[0]), torch.nn.ReLU()]
    pool = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    return torch.nn.Sequential(
        *first, *norm, *blocks, *pool, torch.nn.Linear(CHANNELS[-1], CLASSES)
    )


def images(rng: np.random.Generator, dtype: str) -> Batch:
    x = rng.normal(size=(IMAGES, 3, SIDE, SIDE)).astype(dtype)
    return {"x": x, "y": rng.integers(0, CLASSES, IMAGES)}


# --- language models ------------------------------------------------------------------------

WORDS, WIDTH, HEADS, LAYERS = 256, 64, 4, 4
TEXTS, PLACES = 8, 32


class OwnLanguage(nn.Module):
    """Words and places looked up, layers, words again."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.words = nn.Embedding(WORDS, WIDTH, rng=rng)
        self.places = nn.Embedding(PLACES, WIDTH, rng=rng)
        self.layers = nn.ModuleList(nn.CausalBlock(WIDTH, HEADS, rng=rng) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False, rng=rng)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        h = self.words(x) + self.places(ph.arange(PLACES))
        for one in self.layers:
            h = one(h)
        return self.head(self.norm(h))


def peer_language() -> Any:
    import torch

    class Language(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, WIDTH)
            self.places = torch.nn.Embedding(PLACES, WIDTH)
            how: dict[str, Any] = {"batch_first": True, "norm_first": True}
            arguments = (WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu")
            self.layers = torch.nn.ModuleList(
                torch.nn.TransformerEncoderLayer(*arguments, **how) for _ in range(LAYERS)
            )
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

        def forward(self, x: Any) -> Any:
            h = self.words(x) + self.places(torch.arange(PLACES))
            mask = torch.nn.Transformer.generate_square_subsequent_mask(PLACES, dtype=h.dtype)
            for one in self.layers:
                h = one(h, mask, is_causal=True)
            return self.head(self.norm(h))

    return Language()


class OwnRecurrent(nn.Module):
    """Words looked up, two layers of LSTM, words again."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.words = nn.Embedding(WORDS, WIDTH, rng=rng)
        self.lstm = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True, rng=rng)
        self.head = nn.Linear(WIDTH, WORDS, rng=rng)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.head(self.lstm(self.words(x))[0])


def peer_recurrent() -> Any:
    import torch

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, WIDTH)
            self.lstm = torch.nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)
            self.head = torch.nn.Linear(WIDTH, WORDS)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.words(x))[0])

    return Recurrent()


def own_next(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> ph.Tensor:
    return ph.cross_entropy(model(x).reshape(-1, WORDS), y.reshape(-1))


def peer_next(model: Any, x: Any, y: Any) -> Any:
    import torch

    return torch.nn.functional.cross_entropy(model(x).reshape(-1, WORDS), y.reshape(-1))


def texts(rng: np.random.Generator, dtype: str) -> Batch:
    words = rng.integers(0, WORDS, (TEXTS, PLACES + 1))
    return {"x": words[:, :-1].copy(), "y": words[:, 1:].copy()}


MODELS = (
    Model(
        "MLP",
        own_perceptron,
        peer_perceptron,
        own_classes,
        peer_classes,
        rows,
        ("AdamW", {"lr": 1e-3}),
    ),
    Model(
        "ResNet",
        own_residual,
        peer_residual,
        own_classes,
        peer_classes,
        images,
        ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-4}),
    ),
    Model(
        "transformer",
        OwnLanguage,
        peer_language,
        own_next,
        peer_next,
        texts,
        ("AdamW", {"lr": 1e-3}),
    ),
    Model(
        "LSTM",
        OwnRecurrent,
        peer_recurrent,
        own_next,
        peer_next,
        texts,
        ("Adam", {"lr": 1e-3}),
    ),
)


# --- a run of steps -------------------------------------------------------------------------


def batches(model: Model, dtype: str, count: int) -> list[Batch]:
    rng = np.random.default_rng(1)
    return [model.batch(rng, dtype) for _ in range(count)]


def own_step(model: Model, dtype: str, state: Mapping[str, np.ndarray]) -> nn.TrainStep:
    """The compiled step, from these weights."""
    module = model.own().to(dtype)
    module.load_state_dict(state)
    name, arguments = model.optimiser
    (batch,) = batches(model, dtype, 1)
    shapes = {key: (one.shape, one.dtype) for key, one in batch.items()}
    optimiser = getattr(nn, name)(**arguments)
    return nn.train_step(module, model.loss, optimiser, shapes, search=0)


@dataclass(slots=True)
class PeerStep:
    """torch's step over one model."""

    model: Model
    module: Any
    optimiser: Any

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        self.optimiser.zero_grad()
        loss = self.model.peer_loss(self.module, **batch)
        loss.backward()
        self.optimiser.step()
        return loss

    def curve(self, given: Sequence[Batch]) -> np.ndarray:
        return np.array([self(tensors(one)).item() for one in given])


def tensors(batch: Batch) -> dict[str, Any]:
    import torch

    return {name: torch.tensor(one) for name, one in batch.items()}


def peer_step(model: Model, dtype: str, state: Mapping[str, np.ndarray]) -> PeerStep:
    import torch

    module = model.peer().to(getattr(torch, dtype))
    module.load_state_dict({name: torch.tensor(one) for name, one in state.items()})
    name, arguments = model.optimiser
    return PeerStep(model, module, getattr(torch.optim, name)(module.parameters(), **arguments))


def first_values(model: Model, dtype: str) -> dict[str, np.ndarray]:
    """torch's first weights, which both sides begin with."""
    import torch

    torch.manual_seed(0)
    return {name: one.numpy() for name, one in model.peer().double().state_dict().items()}


# --- what is compared -----------------------------------------------------------------------


def states_apart(own: nn.TrainStep, peer: PeerStep) -> float:
    """The largest distance between moments, relative to the largest element of each."""
    worst = 0.0
    for name, one in peer.module.named_parameters():
        for moment, value in peer.optimiser.state[one].items():
            if moment != "step":
                want = value.numpy()
                distance = np.abs(own.states[f"{name}:{moment}"] - want).max()
                worst = max(worst, float(distance / max(np.abs(want).max(), 1e-30)))
    return worst


def agreement(model: Model, steps: int) -> common.Figure:
    """Curves and states in both dtypes."""
    import torch

    torch.set_num_threads(THREADS)
    state = first_values(model, "float64")
    given = batches(model, "float64", steps)
    own, peer = own_step(model, "float64", state), peer_step(model, "float64", state)
    exact = peer.curve(given)
    curve = np.array([own(**one)["loss"] for one in given])
    narrow = batches(model, "float32", steps)
    curves = []
    for threads in (1, THREADS):
        torch.set_num_threads(threads)
        curves.append(peer_step(model, "float32", state).curve(narrow))
    step = own_step(model, "float32", state)
    single = np.array([step(**one)["loss"] for one in narrow])
    return {
        "model": model.name,
        "last_loss": float(exact[-1]),
        "f64_curve": apart(curve, exact),
        "f64_states": states_apart(own, peer),
        "f32_curve": apart(single, curves[1]),
        "torch_1_to_2": apart(*curves),
        "f32_to_f64": apart(single, exact),
        "torch_f32_to_f64": apart(curves[1], exact),
    }


def apart(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.abs(left - right).max())


def peer_bytes(step: PeerStep, batch: Mapping[str, Any]) -> int:
    """What torch holds at most during a step, by its profiler's events of memory."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    step(batch)
    step.optimiser.zero_grad()
    held = sum(one.nbytes for one in step.module.state_dict().values())
    for state in step.optimiser.state.values():
        held += sum(one.nbytes for one in state.values() if isinstance(one, torch.Tensor))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step(batch)
    events = profiler.profiler.kineto_results.events()  # type: ignore[union-attr]
    memory = [one for one in events if one.name() == "[memory]"]
    changes = [one.nbytes() for one in sorted(memory, key=lambda one: one.start_ns())]
    return held + int(max(np.cumsum(changes)))


def compiled(step: PeerStep, mode: str) -> PeerStep:
    """The step whose model goes through torch.compile, in a mode of it."""
    import torch

    torch._dynamo.reset()  # type: ignore[no-untyped-call]
    step.module.compile(mode=mode)
    return step


def beside_compiled(found: Mapping[str, common.Timing], modes: Sequence[str]) -> dict[str, float]:
    """For each mode its time and what it is of photic's; the best of torch's at last."""
    ours, figures = found["photic"], {}
    for mode in modes:
        figures[f"{mode}_ms"] = found[mode].median * MILLISECONDS
        figures[f"{mode}_over_photic"] = found[mode].median / ours.median
        figures[f"{mode}_of_minima"] = found[mode].minimum / ours.minimum
    best = min((found[one] for one in ("torch", *modes)), key=lambda one: one.minimum)
    return figures | {"best_of_minima": best.minimum / ours.minimum}


def speed(model: Model, samples: int, kernels: bool, modes: Sequence[str]) -> common.Figure:
    """The time of a step in turns with torch's, and the memory of both."""
    import torch

    torch.set_num_threads(THREADS)
    state = first_values(model, "float32")
    (batch,) = batches(model, "float32", 1)
    start = time.perf_counter()
    own = own_step(model, "float32", state)
    compiling = time.perf_counter() - start
    peer, given = peer_step(model, "float32", state), tensors(batch)
    sides: dict[str, Callable[[], object]] = {
        "photic": lambda: own(**batch),
        "torch": lambda: peer(given).item(),
    }
    for mode in modes:
        step = compiled(peer_step(model, "float32", state), mode)
        sides[mode] = lambda step=step: step(given).item()  # type: ignore[misc]
    found = common.race(sides, repeats=samples, calls_per_sample=1)
    ours, theirs = found["photic"], found["torch"]
    if kernels:
        most = sorted(own.program.report.kernels, key=lambda one: -one.flops)[:SHOWN_KERNELS]
        shown = [{"kernel": one.name, "flops": one.flops, "bytes": one.bytes} for one in most]
        print(common.table(shown))
    return {
        "model": model.name,
        "kernels": len(own.program.report.kernels),
        "compile_seconds": compiling,
        "photic_ms": ours.median * MILLISECONDS,
        "torch_ms": theirs.median * MILLISECONDS,
        "torch_over_photic": theirs.median / ours.median,
        "of_minima": theirs.minimum / ours.minimum,
        **beside_compiled(found, modes),
        "photic_megabytes": own.memory_bytes / MEGABYTE,
        "torch_megabytes": peer_bytes(peer, given) / MEGABYTE,
    }


def options() -> argparse.Namespace:
    parser = common.parser(__doc__ or "")
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="these models")
    parser.add_argument("--steps", metavar="N", type=int, default=STEPS, help="of the curves")
    parser.add_argument("--kernels", action="store_true", help="show those of the most work")
    modes = ("default", "max-autotune")
    parser.add_argument("--compiled", choices=modes, nargs="+", default=[], help="of torch.compile")
    parser.set_defaults(repeats=SAMPLES)
    return parser.parse_args()


def main() -> None:
    """Measure, print, write JSON where asked."""
    arguments = options()
    chosen = [one for one in MODELS if not arguments.only or one.name in arguments.only]
    figures: list[common.Figure] = []
    if arguments.steps:
        curves = [agreement(one, arguments.steps) for one in chosen]
        print(common.table(curves))
        figures += curves
    if arguments.repeats:
        how = (arguments.repeats, arguments.kernels, arguments.compiled)
        speeds: list[common.Figure] = []
        for one in chosen:
            speeds.append(speed(one, *how))
            print(common.table(speeds[-1:]), flush=True)
        figures += speeds
    common.report(figures, arguments.json)


if __name__ == "__main__":
    main()
