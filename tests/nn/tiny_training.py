"""A training small enough to be killed many times: data, model and options; also as a script.

``python tiny_training.py FOLDER`` trains in a folder, or goes on there, and writes the final
weights. There is all that could go wrong when a training goes on: dropout, batch norm, moments, a
schedule, shuffled batches of which the last is smaller, rows of logs, validation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

import photic as ph
from photic import nn

EPOCHS = 5
SAMPLES, BATCH = 70, 8
STEPS_AN_EPOCH = 9
LINE = "training\n"


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((SAMPLES, 6)).astype(np.float32)
    return {"x": x, "y": (x.sum(1) > 0).astype(np.int64)}


class Net(nn.Module):
    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.first = nn.Linear(6, 12, rng=rng)
        self.norm = nn.BatchNorm1d(12)
        self.dropout = nn.Dropout(0.3)
        self.last = nn.Linear(12, 2, rng=rng)

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return self.last(self.dropout(ph.relu(self.norm(self.first(x)))))


def loss(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> tuple[ph.Tensor, dict[str, ph.Tensor]]:
    logits = model(x)
    right = ph.equal(ph.argmax(logits, 1), y).astype("float32")
    return ph.cross_entropy(logits, y), {"accuracy": ph.mean(right)}


def trainer(
    folder: Path,
    *,
    every: int = 1,
    callbacks: Sequence[nn.Callback] = (),
    loss_fn: Callable[..., object] = loss,
) -> nn.Trainer:
    return nn.Trainer(
        Net(),
        loss_fn,
        nn.Adam(nn.CosineRate(0.05, EPOCHS * STEPS_AN_EPOCH)),
        checkpoints=nn.Checkpoints(folder / "checkpoints", every=every, keep=2),
        logs=[nn.CsvLog(folder / "log.csv"), nn.JsonLog(folder / "log.jsonl")],
        callbacks=callbacks,
        progress=False,
        search=0,
    )


def fit(one: nn.Trainer, epochs: int = EPOCHS, resume: bool = True) -> nn.Outcome:
    held_out = {name: array[:20] for name, array in data().items()}
    return one.fit(data(), held_out, epochs=epochs, batch_size=BATCH, resume=resume)


def weights(one: nn.Trainer) -> Mapping[str, np.ndarray]:
    return one.step.state_dict()


class Announce(nn.Callback):
    """Says that training begins: the moment to be killed after."""

    def begin(self, plan: nn.Plan) -> None:
        sys.stdout.write(LINE)
        sys.stdout.flush()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    made = trainer(place, callbacks=[Announce()])
    print(fit(made).stopped or "done")
    np.savez(place / "final.npz", **made.step.state_dict())
