"""A training from data to trained weights: epochs, validation, checkpoints, logs, the end.

Promises: a training that was ended in any way, and is started again with the same program, data
and options, comes to the same weights to the bit; Ctrl-C ends it after the current step, with a
checkpoint and no exception; memory does not grow with the number of steps. What one step computes
is ``train_step``'s business.

Does not shuffle or keep what a user's own iterator gives: such a one must give the same batches
again when a training goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from photic.nn.batches import Feed
from photic.nn.callbacks import Callback
from photic.nn.callbacks_progress import ProgressBar
from photic.nn.checkpoints import Checkpoints
from photic.nn.metrics import Log
from photic.nn.module import Module
from photic.nn.step import Inputs, Loss, OptimiserOf, TrainStep
from photic.nn.trainer_feed import Grouped, feed_of
from photic.nn.trainer_run import Judge, Run, Setup, refuse
from photic.nn.trainer_signals import Interruption
from photic.nn.trainer_state import Figures
from photic.tensor.tensor import DTypeLike

Data = Mapping[str, object] | Feed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a training came to: epochs and steps done, the last epoch's figures, all epochs'.

    ``stopped`` is empty after the last epoch, "interrupted" after Ctrl-C, or a callback's reason.
    """

    epochs: int
    steps: int
    figures: Mapping[str, float]
    history: Sequence[Mapping[str, float]]
    stopped: str


class Trainer:
    """Trains a model; ``fit`` does it.

    ``loss_fn(model, **inputs)`` gives the loss, or ``(loss, {name: metric})``; its arguments are
    the data's names. ``accumulate``: so many batches make a step, their gradients averaged.
    ``checkpoints`` is a folder or ``Checkpoints``; without it nothing is kept. ``logs`` get a row
    every ``log_every`` steps, with the epoch (from 1) and the step's results, and one an epoch,
    with ``train_...`` and ``val_...``. ``compute``, ``clip_norm``, ``clip_value``, ``seed``,
    ``search`` and ``target`` are those of ``train_step``; ``seed`` shuffles arrays too.
    """

    def __init__(
        self,
        model: Module,
        loss_fn: Callable[..., Loss],
        optimiser: OptimiserOf,
        *,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        compute: DTypeLike | None = None,
        seed: int = 0,
        checkpoints: Checkpoints | str | Path | None = None,
        logs: Sequence[Log] = (),
        log_every: int = 1,
        callbacks: Sequence[Callback] = (),
        progress: bool = True,
        search: float | None = None,
        target: str = "",
    ) -> None:
        _require_count("accumulate", accumulate)
        _require_count("log_every", log_every)
        if isinstance(checkpoints, str | Path):
            checkpoints = Checkpoints(checkpoints)
        self._setup = Setup(
            model=model,
            loss_fn=loss_fn,
            optimiser=optimiser,
            accumulate=accumulate,
            clip_norm=clip_norm,
            clip_value=clip_value,
            compute=compute,
            seed=seed,
            checkpoints=checkpoints,
            logs=tuple(logs),
            log_every=log_every,
            callbacks=(*callbacks, ProgressBar()) if progress else tuple(callbacks),
            search=search,
            target=target,
        )
        self._judge = Judge(self._setup)
        self._run: Run | None = None

    @property
    def model(self) -> Module:
        """The model; after ``fit`` it has the trained weights."""
        return self._setup.model

    @property
    def step(self) -> TrainStep:
        """The compiled step of this or the last ``fit``: program, states. BadArgument before."""
        if self._run is None or self._run.step is None:
            refuse("step", "asked for before fit", "a training")
        return self._run.step

    def fit(
        self,
        data: Data,
        validation: Data | None = None,
        *,
        epochs: int,
        batch_size: int = 32,
        drop_last: bool = False,
        inputs: Inputs | None = None,
        resume: bool = True,
    ) -> Outcome:
        """Train for ``epochs`` in all, and leave the weights in the model.

        ``data`` are arrays by name, cut into shuffled batches of ``batch_size`` rows; or an
        iterable of batches by name, or a function from an epoch's number to one. ``validation`` is
        gone through after each epoch. The last batch of arrays may be smaller: then the number of
        rows is a symbolic size of the program, which may change its speed; it is left out where
        ``drop_last`` or ``accumulate``. Other batches have the shapes of the first, or those of
        ``inputs``, which may have symbolic sizes.

        With ``resume`` a training goes on from its last checkpoint; a finished one is only read.
        Without it the folder's checkpoints are removed. Raises CheckpointMismatch for a checkpoint
        of another training, BadArgument for data that cannot be used, and what compiling raises.
        """
        _require_count("epochs", epochs)
        whole = drop_last or self._setup.accumulate > 1
        feed = Grouped(feed_of(data, batch_size, self._setup.seed, whole), self._setup.accumulate)
        held_out = None if validation is None else _in_order(validation, batch_size)
        run = self._run = Run(self._setup, self._judge, feed, held_out, inputs, epochs)
        run.train(resume).write_model()
        state = run.state
        last = state.history[-1] if state.history else {}
        return Outcome(state.epoch, state.step, last, state.history, state.stopped)

    def evaluate(self, data: Data, *, batch_size: int = 32) -> Figures:
        """Means of the loss and the metrics over data, by the model's weights as they are now.

        In the eval mode: no dropout, running statistics. A batch counts by its rows.
        """
        feed = _in_order(data, batch_size)
        return self._judge.means(feed, None, Interruption()).read("")

    def restore_best(self) -> None:
        """The model and the step get the weights of the checkpoint with the best score."""
        checkpoints = self._setup.checkpoints
        best = checkpoints.best() if checkpoints else None
        if best is None:
            refuse("checkpoints", "without one that was scored", "a training that was validated")
        self.step.load_state_dict(best.arrays)
        self.step.write_model()


def _require_count(argument: str, given: object) -> None:
    if not isinstance(given, Integral) or given < 1:
        refuse(argument, given, "a whole number, 1 or more")


def _in_order(data: Data, batch_size: int) -> Grouped:
    return Grouped(feed_of(data, batch_size, None, False), 1)
