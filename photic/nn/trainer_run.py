"""One run of a trainer: from where its checkpoints left it to the end, or to where it is stopped.

The order after a step is: state, callbacks, logs, checkpoint. After an epoch: validation, history,
callbacks, logs, checkpoint. A checkpoint holds the state after all that it follows, so that nothing
is done twice or left out when a run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain
from typing import NoReturn

from photic.base.errors import BadArgument
from photic.nn.batches import Array
from photic.nn.callbacks import Callback, Kept, Moment, Plan
from photic.nn.checkpoints import Checkpoint, Checkpoints
from photic.nn.metrics import Log
from photic.nn.module import Module
from photic.nn.step import EvalStep, Inputs, Loss, OptimiserOf, TrainStep, eval_step, train_step
from photic.nn.trainer_errors import CheckpointMismatch
from photic.nn.trainer_feed import Grouped, rows_of
from photic.nn.trainer_signals import Interruption, interruptions
from photic.nn.trainer_state import TRAINED, VALIDATED, Figures, Means, State, state_of
from photic.tensor.tensor import DTypeLike, Tensor

INTERRUPTED = "interrupted"
EPOCH = "epoch"  # a log's column: the epoch, counted from 1


@dataclass(frozen=True, slots=True)
class Setup:
    """What a trainer was made with; see ``Trainer``."""

    model: Module
    loss_fn: Callable[..., Loss]
    optimiser: OptimiserOf
    accumulate: int
    clip_norm: float | None
    clip_value: float | None
    compute: DTypeLike | None
    seed: int
    checkpoints: Checkpoints | None
    logs: tuple[Log, ...]
    log_every: int
    callbacks: tuple[Callback, ...]
    search: float | None
    target: str

    def train_step(self, inputs: Inputs) -> TrainStep:
        """The program of a step of training."""
        return train_step(
            self.model,
            self.loss_fn,
            self.optimiser,
            inputs,
            clip_norm=self.clip_norm,
            clip_value=self.clip_value,
            accumulate=self.accumulate,
            compute=self.compute,
            seed=self.seed,
            search=self.search,
            target=self.target,
        )

    def eval_step(self, inputs: Inputs) -> EvalStep:
        """The program of the loss and the metrics alone."""

        @wraps(self.loss_fn)
        def judged(model: Module, **given: Tensor) -> dict[str, Tensor]:
            found = self.loss_fn(model, **given)
            loss, metrics = found if isinstance(found, tuple) else (found, {})
            return {"loss": loss, **metrics}

        return eval_step(
            self.model,
            judged,
            inputs,
            compute=self.compute,
            search=self.search,
            target=self.target,
        )


# --- judging --------------------------------------------------------------------------------


@dataclass(slots=True)
class Judge:
    """Means of the loss and the metrics over a feed; its program is made when first needed."""

    setup: Setup
    made: tuple[str, EvalStep] | None = None

    def means(self, feed: Grouped, step: TrainStep | None, interruption: Interruption) -> Means:
        """By the weights of ``step``, else the model's. Incomplete where it is interrupted."""
        means = Means()
        program: EvalStep | None = None
        for batch in feed.epoch(0, 0):
            if interruption.wanted:
                return means
            program = program or self._ready(feed, batch, step)
            means.add(numbers(program(**batch)), rows_of(batch))
        if program is None:
            refuse("data", "without batches", "at least one")
        return means

    def _ready(self, feed: Grouped, batch: Mapping[str, Array], step: TrainStep | None) -> EvalStep:
        inputs = feed.specifications(batch)
        if self.made is None or self.made[0] != str(inputs):
            self.made = str(inputs), self.setup.eval_step(inputs)
        program = self.made[1]
        if step is None:
            program.read_model()
        else:
            program.load_state_dict(step.states)
        return program


# --- training -------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """A training that goes on until ``state`` says that it is over."""

    setup: Setup
    judge: Judge
    feed: Grouped
    validation: Grouped | None
    inputs: Inputs | None
    epochs: int
    state: State = field(default_factory=State)
    step: TrainStep | None = None
    interruption: Interruption = field(default_factory=Interruption)

    def train(self, resume: bool) -> TrainStep:
        """Begin, or go on from the last checkpoint; ``step`` has the weights at all times."""
        kept = self._begun(resume)
        first, batches = self._opened()
        step = self.step = self.setup.train_step(self.inputs or self.feed.specifications(first))
        if kept is not None:
            self._restore(step, kept)
        with interruptions() as self.interruption, self._attended():
            while self.state.epoch < self.epochs and not self.state.stopped:
                batches = batches or self.feed.epoch(self.state.epoch, self.state.batch)
                self._train_epoch(step, batches)
                batches = None
        return step

    def _opened(self) -> tuple[dict[str, Array], Iterator[dict[str, Array]] | None]:
        """A batch to build the program for, and the epoch's batches, this one among them."""
        state = self.state
        batches = self.feed.epoch(min(state.epoch, self.epochs - 1), state.batch)
        first = next(batches, None)
        if first is not None:
            return first, chain([first], batches)
        # the epoch was over but for its validation
        again = next(self.feed.epoch(0, 0), None) if state.batch else None
        if again is None:
            refuse("data", "without batches", "at least one step's")
        return again, iter(())

    @contextmanager
    def _attended(self) -> Iterator[None]:
        """Callbacks and logs begin and end with the block."""
        state = self.state
        for callback in self.setup.callbacks:
            callback.begin(Plan(self.epochs, self.feed.length, state.epoch, state.step))
        for log in self.setup.logs:
            log.begin(state.step, state.rows)
        try:
            yield
        finally:
            for callback in self.setup.callbacks:
                callback.end()
            for log in self.setup.logs:
                log.close()

    def _train_epoch(self, step: TrainStep, batches: Iterator[dict[str, Array]]) -> None:
        for batch in batches:
            self._train_step(step, batch)
            if self.state.stopped or self.interruption.wanted:
                break
        if not self.state.batch:
            given = f"without batches in epoch {self.state.epoch + 1}"
            refuse("data", given, "batches that can be gone through again, or a function of epochs")
        if not self.state.stopped and not self.interruption.wanted:
            self._end_epoch(step)
        else:
            self._write_checkpoint(step, {})
        if self.interruption.wanted:
            self.state.stop(INTERRUPTED)

    def _train_step(self, step: TrainStep, batch: Mapping[str, Array]) -> None:
        state, every = self.state, self.setup.checkpoints.every if self.setup.checkpoints else 0
        extra: dict[str, object] = {}
        for callback in self.setup.callbacks:
            extra |= callback.inputs()
        values = numbers(step(**batch, **extra))
        state.batch, state.step = state.batch + 1, state.step + 1
        state.means.add(values, rows_of(batch))
        moment = Moment(state.epoch, state.batch, state.step, values, state.stop)
        for callback in self.setup.callbacks:
            callback.after_step(moment)
        if state.step % self.setup.log_every == 0:
            self._log(state.epoch, values)
        if every and state.step % every == 0:
            self._write_checkpoint(step, {})

    def _end_epoch(self, step: TrainStep) -> None:
        state = self.state
        figures = state.means.read(TRAINED)
        if self.validation is not None:
            found = self.judge.means(self.validation, step, self.interruption)
            if self.interruption.wanted:
                self._write_checkpoint(step, {})
                return
            figures |= found.read(VALIDATED)
        moment = Moment(state.epoch, state.batch, state.step, figures, state.stop)
        state.next_epoch(figures)
        for callback in self.setup.callbacks:
            callback.after_epoch(moment)
        self._log(moment.epoch, figures)
        self._write_checkpoint(step, figures)

    def _log(self, epoch: int, values: Figures) -> None:
        for log in self.setup.logs:
            log.write(self.state.step, {EPOCH: epoch + 1, **values})
        self.state.rows += 1

    # --- checkpoints ---

    def _write_checkpoint(self, step: TrainStep, figures: Figures) -> None:
        checkpoints = self.setup.checkpoints
        if checkpoints is not None:
            progress: dict[str, object] = {
                "state": self.state.progress(),
                "feed": self.feed.identity,
                "callbacks": [dict(one.kept()) for one in self.setup.callbacks],
            }
            score = checkpoints.monitor.score(figures)
            checkpoints.write(Checkpoint(self.state.step, step.states, progress, score))

    def _begun(self, resume: bool) -> Checkpoint | None:
        """The checkpoint to go on from, if there is one; sets the state."""
        checkpoints = self.setup.checkpoints
        if checkpoints is None:
            return None
        if not resume:
            checkpoints.remove_all()
        kept = checkpoints.latest()
        if kept is None:
            return None
        try:
            self.state = state_of(kept.progress["state"])
            feed, memories = kept.progress["feed"], kept.progress["callbacks"]
        except (KeyError, TypeError, ValueError) as error:
            self._mismatch("its progress", f"of another kind ({error!r})", "a trainer's")
        if feed != self.feed.identity:
            self._mismatch("the data", feed, self.feed.identity)
        if not isinstance(memories, list) or len(memories) != len(self.setup.callbacks):
            self._mismatch("the callbacks' memory", memories, f"of {len(self.setup.callbacks)}")
        for callback, memory in zip(self.setup.callbacks, memories, strict=True):
            self._remind(callback, memory)
        return kept

    def _remind(self, callback: Callback, memory: Kept) -> None:
        """A callback goes on from what a checkpoint holds of it."""
        try:
            callback.restore(memory)
        except (KeyError, TypeError, ValueError) as error:
            expected = f"what it keeps ({error!r})"
            self._mismatch(f"the memory of {type(callback).__name__}", memory, expected)

    def _restore(self, step: TrainStep, kept: Checkpoint) -> None:
        """The checkpoint's arrays into the program."""
        for name, one in step.states.items():
            given, expected = _described(kept.arrays.get(name)), _described(one)
            if given != expected:
                self._mismatch(repr(name), given, expected)
        for name in kept.arrays.keys() - step.states.keys():
            self._mismatch(repr(name), "an array", "no array of this name")
        step.load_state_dict(kept.arrays)

    def _mismatch(self, what: str, given: object, expected: object) -> NoReturn:
        assert self.setup.checkpoints is not None
        path = self.setup.checkpoints.folder
        raise CheckpointMismatch(path=path, what=what, given=given, expected=expected)


def _described(array: Array | None) -> str:
    return "missing" if array is None else f"{array.dtype}{list(array.shape)}"


def numbers(results: Mapping[str, float | Array]) -> Figures:
    """Those results that are numbers."""
    return {name: one for name, one in results.items() if isinstance(one, float)}


def refuse(argument: str, given: object, expected: str) -> NoReturn:
    raise BadArgument(op="Trainer", argument=argument, given=given, expected=expected)
