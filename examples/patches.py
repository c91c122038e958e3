"""A convolutional net that tells faces from other patches of photographs.

``python examples/patches.py`` takes 200 real patches of 25 x 25 pixels, half of them faces (a part
of "Labeled Faces in the Wild"), trains on 160 of them, mirrored at random, with batch norm and
dropout, and stops where the validation no longer gets better. It says how many of the patches held
out are told right, by the best weights. ``--quick`` trains less.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from fetching import Data, NotFetched, by_pip, fetched, member_of_wheel
from running import INTERRUPTED, run

import photic as ph
from photic import nn

FACES = Data(
    name="lfw_subset.npy",
    package="scikit-image==0.26.0",
    sha256="9560ec2f5edfac01973f63a8a99d00053fecd11e21877e18038fbe500f8e872c",
    read=member_of_wheel("skimage/data/lfw_subset.npy"),
)
FACE_COUNT = 100  # the first patches of the file; the others show something else
HELD_OUT = 5
BATCH = 16

Arrays = dict[str, np.ndarray]


def patches() -> tuple[Arrays, Arrays]:
    """Patches to train with, and patches held out."""
    images = np.load(fetched(FACES, by_pip)).astype(np.float32)[:, None]
    labels = (np.arange(len(images)) < FACE_COUNT).astype(np.float32)
    last = np.arange(len(images)) % HELD_OUT == 0
    return (
        {"images": images[~last], "labels": labels[~last]},
        {"images": images[last], "labels": labels[last]},
    )


class Net(nn.Module):
    """Three convolutions, each with a batch norm, and the mean over what they see."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = [(1, 8), (8, 16), (16, 32)]
        self.convolutions = [nn.Conv2d(a, b, 3, padding=1, bias=False, rng=rng) for a, b in sizes]
        self.norms = [nn.BatchNorm2d(b, momentum=0.3) for _, b in sizes]
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.2)
        self.last = nn.Linear(32, 1, rng=rng)

    def forward(self, images: ph.Tensor) -> ph.Tensor:
        x = images
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = self.pool(ph.relu(norm(convolution(x))))
        return self.last(self.dropout(ph.mean(x, (2, 3))))[:, 0]


def loss(
    model: nn.Module, images: ph.Tensor, labels: ph.Tensor
) -> tuple[ph.Tensor, dict[str, ph.Tensor]]:
    scores = model(images)
    right = ph.equal(scores > 0, labels > 0.5).astype("float32")
    return ph.binary_cross_entropy_with_logits(scores, labels), {"accuracy": ph.mean(right)}


def mirrored(data: Arrays, seed: int) -> Callable[[int], Iterator[Arrays]]:
    """For each epoch its batches, half of the images mirrored."""
    batches = nn.Batches(data, BATCH, seed, drop_last=True)

    def epoch(number: int) -> Iterator[Arrays]:
        rng = np.random.default_rng((seed, number))
        for batch in batches.epoch(number):
            turn = rng.random(BATCH)[:, None, None, None] < 0.5
            images = batch["images"]
            yield {**batch, "images": np.where(turn, images[..., ::-1], images)}

    return epoch


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="at most 8 epochs")
    parser.add_argument("--folder", type=Path, help="where checkpoints and figures are kept")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        train, held_out = patches()
    except NotFetched as error:
        print(f"no patches: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        trainer = ph.Trainer(
            Net(chosen.seed),
            loss,
            nn.AdamW(2e-3, weight_decay=1e-2),
            seed=chosen.seed,
            checkpoints=folder,
            logs=[nn.CsvLog(folder / "figures.csv")],
            callbacks=[nn.EarlyStopping(patience=12)],
        )
        epochs = 8 if chosen.quick else 80
        outcome = trainer.fit(mirrored(train, chosen.seed), held_out, epochs=epochs)
        if outcome.stopped == "interrupted":
            print(f"interrupted after {outcome.steps} steps; run it again to go on")
            return INTERRUPTED
        trainer.restore_best()
        accuracy = trainer.evaluate(held_out)["accuracy"]
    ending = outcome.stopped or "all epochs are done"
    print(f"{accuracy:.1%} of {len(held_out['labels'])} patches held out are told right ({ending})")
    return 0


if __name__ == "__main__":
    run(main)
