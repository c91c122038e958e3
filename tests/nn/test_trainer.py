"""What a trainer does of data, step by step; the oracle is a loop in NumPy."""

from __future__ import annotations

import io
import math
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import photic as ph
from photic import nn
from photic.base.errors import BadArgument

RATE = 0.1
ROWS, FEATURES = 10, 3


def data(rows: int = ROWS, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, FEATURES))
    return {"x": x, "y": x @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_normal(rows)}


class Line(nn.Module):
    """A row of weights in float64, zeros at first."""

    def __init__(self) -> None:
        self.weight = nn.Parameter(np.zeros(FEATURES))

    def forward(self, x: ph.Tensor) -> ph.Tensor:
        return x @ self.weight.tensor


def loss(model: nn.Module, x: ph.Tensor, y: ph.Tensor) -> ph.Tensor:
    return ph.mse_loss(model(x), y)


def trained(model: nn.Module | None = None, **options) -> nn.Trainer:
    options = {"progress": False, "search": 0, **options}
    optimiser = options.pop("optimiser", nn.SGD(RATE))
    return nn.Trainer(model or Line(), options.pop("loss_fn", loss), optimiser, **options)


def weight(trainer: nn.Trainer) -> np.ndarray:
    return trainer.model.state_dict()["weight"]


def by_definition(batches: list[dict[str, np.ndarray]]) -> tuple[np.ndarray, list[float]]:
    """Gradient descent: the last weights, and each batch's loss before its step."""
    w, losses = np.zeros(FEATURES), []
    for batch in batches:
        error = batch["x"] @ w - batch["y"]
        losses.append(float((error**2).mean()))
        w = w - RATE * 2 / len(error) * error @ batch["x"]
    return w, losses


# --- batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 7, -1, 2**70])
def test_each_epoch_has_every_row_once_in_an_order_of_its_own(seed: int) -> None:
    batches = nn.Batches({"x": np.arange(23)}, 5, seed)
    epochs = [[one["x"].tolist() for one in batches.epoch(number)] for number in (0, 1, 0)]
    assert [len(one) for one in epochs[0]] == [5, 5, 5, 5, 3]
    assert len(batches) == 5 and not batches.whole
    orders = [[row for batch in one for row in batch] for one in epochs]
    assert all(sorted(one) == list(range(23)) for one in orders)
    assert orders[0] == orders[2] != orders[1]
    assert list(range(23)) not in orders
    rest = [one["x"].tolist() for one in batches.epoch(1, start=3)]
    assert rest == epochs[1][3:]


def test_the_order_is_that_of_the_words_of_philox() -> None:
    """NumPy promises not to change the streams of its bit generators."""
    key = np.array([5, 2], np.uint64)
    order = np.argsort(np.random.Philox(key=key).random_raw(6), kind="stable")
    (batch,) = nn.Batches({"x": np.arange(6)}, 6, 5).epoch(2)
    np.testing.assert_array_equal(batch["x"], order)


def test_the_order_may_be_kept_and_the_last_batch_left_out() -> None:
    batches = nn.Batches({"x": np.arange(7)}, 3, None, drop_last=True)
    assert [one["x"].tolist() for one in batches] == [[0, 1, 2], [3, 4, 5]]
    assert len(batches) == 2 and batches.whole


@pytest.mark.parametrize(
    ("arrays", "size"),
    [
        ({}, 1),
        ({"x": np.zeros(3), "y": np.zeros(4)}, 1),
        ({"x": np.zeros(())}, 1),
        ({"x": np.zeros(0)}, 1),
        ({"x": np.zeros(3)}, 0),
    ],
)
def test_arrays_that_make_no_batches_are_refused(arrays: dict[str, np.ndarray], size: int) -> None:
    with pytest.raises(BadArgument):
        nn.Batches(arrays, size)


# --- what is trained ------------------------------------------------------------------------


def test_a_training_is_the_steps_of_its_batches_the_smaller_last_one_among_them() -> None:
    trainer, batches = trained(seed=3), nn.Batches(data(), 4, 3)
    outcome = trainer.fit(data(), data(7, 1), epochs=3, batch_size=4)
    w, losses = by_definition([one for number in range(3) for one in batches.epoch(number)])
    # float64; the sums' orders differ
    np.testing.assert_allclose(weight(trainer), w, rtol=1e-12)
    assert (outcome.epochs, outcome.steps, outcome.stopped) == (3, 9, "")
    for epoch, figures in enumerate(outcome.history):
        of_rows = np.array([4, 4, 2]) * losses[3 * epoch : 3 * epoch + 3]
        assert figures["train_loss"] == pytest.approx(of_rows.sum() / ROWS, rel=1e-12)
    held_out = data(7, 1)
    judged = float(((held_out["x"] @ w - held_out["y"]) ** 2).mean())
    assert outcome.figures["val_loss"] == pytest.approx(judged, rel=1e-12)
    assert trainer.evaluate(held_out, batch_size=3)["loss"] == pytest.approx(judged, rel=1e-12)


@pytest.mark.parametrize("form", ["list", "function", "accumulated"])
def test_batches_may_come_from_anything_that_can_be_gone_through(form: str) -> None:
    batches = [data(4, number) for number in range(4)]
    want = by_definition(batches + batches)[0]
    if form == "accumulated":  # two batches a step: the same as one of both
        pairs = [
            {name: np.concatenate([one[name] for one in batches[k : k + 2]]) for name in "xy"}
            for k in (0, 2)
        ]
        want = by_definition(pairs + pairs)[0]
    trainer = trained(accumulate=2 if form == "accumulated" else 1)
    given = {"list": batches, "function": lambda epoch: iter(batches)}.get(form, batches)
    outcome = trainer.fit(given, epochs=2)
    np.testing.assert_allclose(weight(trainer), want, rtol=1e-12)
    assert outcome.steps == (4 if form == "accumulated" else 8)


def test_sizes_that_vary_are_symbolic_where_the_inputs_say_so() -> None:
    batches = [data(rows, rows) for rows in (5, 2, 7)]
    rows = ph.dim("rows", 1, 8)
    trainer = trained()
    trainer.fit(
        batches, epochs=1, inputs={"x": ((rows, FEATURES), "float64"), "y": ((rows,), "float64")}
    )
    np.testing.assert_allclose(weight(trainer), by_definition(batches)[0], rtol=1e-12)


def test_an_iterator_that_is_used_up_is_refused_in_the_second_epoch() -> None:
    def once() -> Iterator[dict[str, np.ndarray]]:
        yield data(4)

    with pytest.raises(BadArgument, match="without batches in epoch 2"):
        trained().fit(once(), epochs=2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: trained().fit([], epochs=1),
        lambda: trained().fit(data(), epochs=0),
        lambda: trained().fit({"x": [1, 2]}, epochs=1),
        lambda: trained().fit([np.zeros(3)], epochs=1),
        lambda: trained(log_every=0),
        lambda: trained().step,
        lambda: trained().restore_best(),
        lambda: trained().evaluate([]),
    ],
)
def test_what_cannot_be_trained_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(BadArgument):
        wrong()


@pytest.mark.parametrize("name", ["accumulate", "log_every"])
@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_a_count_that_is_none_is_refused_at_once(name: str, count: float) -> None:
    with pytest.raises(BadArgument, match=f"{name} is {count}, expected a whole number"):
        trained(**{name: count})


X, WHOLE = {"x": data()["x"]}, data()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: trained().fit(X, epochs=1),
        lambda: trained().fit([WHOLE], epochs=1, inputs={"x": ((ROWS, FEATURES), "float64")}),
        lambda: trained().evaluate(X),
        lambda: trained().evaluate(WHOLE | {"z": WHOLE["y"]}),
    ],
    ids=["fit", "inputs", "evaluate", "one too many"],
)
def test_data_of_other_names_than_the_loss_takes_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(BadArgument, match=r"inputs is .*, expected those of \(model, x, y\): "):
        wrong()


@pytest.mark.parametrize("other", [X, data(ROWS - 1)], ids=["a name", "a shape"])
def test_batches_of_a_step_that_differ_are_refused(other: dict[str, np.ndarray]) -> None:
    with pytest.raises(BadArgument, match=r"a batch is .*, expected as the first of its step"):
        trained(accumulate=2).fit([WHOLE, other], epochs=1)


# --- callbacks ------------------------------------------------------------------------------


class Told(nn.Callback):
    """A callback in which validation says what it is told to."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses
        self.moments: list[tuple[int, int, int]] = []

    def after_step(self, moment: nn.Moment) -> None:
        self.moments.append((moment.epoch, moment.batch, moment.step))

    def after_epoch(self, moment: nn.Moment) -> None:
        values = moment.values
        assert isinstance(values, dict)
        values["val_loss"] = self.losses[moment.epoch]


def test_a_training_ends_where_it_no_longer_gets_better() -> None:
    told = Told([5.0, 4.0, 4.5, math.nan, 3.9, 4.0, 4.0, 4.0])
    stopping = nn.EarlyStopping(patience=3)
    outcome = trained(callbacks=[told, stopping]).fit([data(4)], epochs=8)
    assert outcome.stopped == "val_loss did not improve for 3 epochs"
    assert outcome.epochs == 8 and stopping.best == 3.9
    assert told.moments == [(epoch, 1, epoch + 1) for epoch in range(8)]
    least = nn.EarlyStopping(patience=2, least=0.5, mode="max", monitor="val_loss")
    told = Told([1.0, 1.4, 1.6, 2.0, 2.1])
    outcome = trained(callbacks=[told, least]).fit([data(4)], epochs=5)
    assert (outcome.epochs, least.best) == (5, -1.6)


def test_a_rate_that_is_given_falls_on_a_plateau() -> None:
    told = Told([1.0, 1.0, 1.0, 0.5])
    rate = nn.ReduceOnPlateau(RATE, patience=2, factor=0.5)
    rates: list[float] = []

    class Seen(nn.Callback):
        def after_step(self, moment: nn.Moment) -> None:
            rates.append(moment.values["lr"])

    trainer = trained(optimiser=nn.SGD(nn.GivenRate()), callbacks=[told, rate, Seen()])
    trainer.fit([data(4)], epochs=5 - 1)
    assert rates == [RATE, RATE, RATE, RATE / 2]
    again = nn.ReduceOnPlateau(1.0)
    again.restore(rate.kept())
    assert again.kept() == rate.kept()


def test_a_loss_that_is_not_finite_ends_the_training_where_asked() -> None:
    outcome = trained(optimiser=nn.SGD(1e200), callbacks=[nn.StopIfNotFinite()]).fit(
        [data(4)] * 9, epochs=2
    )
    assert outcome.stopped.startswith("loss is ") and outcome.epochs == 0
    assert outcome.steps < 9


def test_the_best_weights_come_back(tmp_path: Path) -> None:
    trainer = trained(checkpoints=nn.Checkpoints(tmp_path, keep=1))
    trainer.fit([data(8)], [data(8)], epochs=2)
    best = weight(trainer)
    other = trained(checkpoints=nn.Checkpoints(tmp_path, keep=1), optimiser=nn.SGD(1e3))
    other.fit([data(8)], [data(8)], epochs=4)
    assert np.abs(weight(other)).max() > 10
    other.restore_best()
    np.testing.assert_array_equal(weight(other), best)


def test_accumulation_and_what_callbacks_remember_go_on_where_they_were(tmp_path: Path) -> None:
    def feed(epoch: int) -> Iterator[dict[str, np.ndarray]]:
        return (data(4, 10 * epoch + number) for number in range(7))  # one is left over

    def made(folder: Path, *more: nn.Callback) -> nn.Trainer:
        rate = nn.ReduceOnPlateau(RATE, "train_loss", patience=1, least=0.3)
        checkpoints = nn.Checkpoints(folder, keep=1)
        options = {"optimiser": nn.SGD(nn.GivenRate(), momentum=0.9), "accumulate": 2}
        return trained(callbacks=[rate, *more], checkpoints=checkpoints, **options)

    class Stop(nn.Callback):
        def after_step(self, moment: nn.Moment) -> None:
            if moment.step == 8:
                signal.raise_signal(signal.SIGINT)

    whole = made(tmp_path / "whole", nn.Callback())
    assert whole.fit(feed, epochs=5).steps == 15
    assert made(tmp_path / "cut", Stop()).fit(feed, epochs=5).steps == 8
    cut = made(tmp_path / "cut", nn.Callback())
    outcome = cut.fit(feed, epochs=5)
    assert outcome.steps == 15 and len(outcome.history) == 5
    for name, one in whole.step.state_dict().items():
        assert one.tobytes() == cut.step.states[name].tobytes(), name


# --- progress -------------------------------------------------------------------------------


def shown(terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=120)
    bar = nn.ProgressBar(console)
    bar.begin(nn.Plan(epochs=2, batches=3, epoch=0, step=0))
    for batch in range(1, 4):
        bar.after_step(nn.Moment(0, batch, batch, {"loss": 0.5}, lambda reason: None))
    bar.after_epoch(nn.Moment(0, 3, 3, {"train_loss": 0.123456, "lr": 1e-5}, lambda reason: None))
    bar.end()
    return text.getvalue()


def test_a_log_file_gets_a_line_an_epoch_and_a_terminal_a_bar_too() -> None:
    line = "epoch 1/2  train_loss 0.1235  lr 1e-05\n"
    assert shown(terminal=False) == line
    assert "3/3" in shown(terminal=True) and "train_loss 0.1235" in shown(terminal=True)


# --- memory ---------------------------------------------------------------------------------

STEPS = 2000
# Interned numbers, and what Python's allocator keeps for itself; the arrays of one step alone,
# if they stayed, would be 2,000 * 128 bytes.
ALLOWED_BYTES = 30_000


class Measured(nn.Callback):
    """Bytes that Python holds at two steps."""

    def __init__(self, first: int, last: int) -> None:
        self.at = {first: 0, last: 0}

    def after_step(self, moment: nn.Moment) -> None:
        if moment.step in self.at:
            self.at[moment.step] = tracemalloc.get_traced_memory()[0]


def test_memory_does_not_grow_with_the_steps(tmp_path: Path) -> None:
    measured = Measured(STEPS // 10, STEPS)
    trainer = trained(callbacks=[measured], logs=[nn.JsonLog(tmp_path / "log")], log_every=50)
    batch = data(4)
    tracemalloc.start()
    try:
        trainer.fit(lambda epoch: (batch for _ in range(STEPS)), epochs=1)
    finally:
        tracemalloc.stop()
    first, last = measured.at.values()
    assert first > 0 and last - first < ALLOWED_BYTES
