"""A training that was ended in any way comes to the same weights, to the bit."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from nn import tiny_training
from nn.tiny_training import BATCH, EPOCHS, STEPS_AN_EPOCH, Net, data, fit, trainer, weights

from photic import nn
from photic.nn.trainer_errors import CheckpointDamaged, CheckpointMismatch

KILLS = 4
SECONDS = 0.25  # about what the steps of the training take, each with a checkpoint


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, np.ndarray], Path]:
    """The weights and the folder of a training that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    one = trainer(folder)
    assert fit(one).steps == EPOCHS * STEPS_AN_EPOCH
    return dict(weights(one)), folder


def assert_same(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    assert got.keys() == want.keys()
    for name in want:
        assert got[name].tobytes() == want[name].tobytes(), name


def assert_same_logs(folder: Path, want: Path) -> None:
    for name in ("log.csv", "log.jsonl"):
        assert (folder / name).read_text() == (want / name).read_text()


def start(folder: Path) -> subprocess.Popen[str]:
    """The training in a process of its own, at the moment when its steps begin."""
    script = Path(tiny_training.__file__)
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == tiny_training.LINE
    return process


def test_a_training_killed_at_random_moments_comes_to_the_same_bits(
    whole: tuple[dict[str, np.ndarray], Path], tmp_path: Path
) -> None:
    moments = random.Random(5)
    ended = []
    for _ in range(KILLS):
        process = start(tmp_path)
        time.sleep(moments.uniform(0, SECONDS / KILLS))
        process.kill()
        process.communicate()
        ended.append(process.returncode)
    assert -signal.SIGKILL in ended
    process = start(tmp_path)
    assert process.communicate()[0] == "done\n" and process.returncode == 0
    assert_same(dict(np.load(tmp_path / "final.npz")), whole[0])
    assert_same_logs(tmp_path, whole[1])


class AtStep(nn.Callback):
    """Does something after one step."""

    def __init__(self, step: int, act) -> None:
        self.step, self.act = step, act

    def after_step(self, moment: nn.Moment) -> None:
        if moment.step == self.step:
            self.act()


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


# In the middle of an epoch; at its last step, before the validation; at the very end.
@pytest.mark.parametrize("step", [STEPS_AN_EPOCH + 4, 2 * STEPS_AN_EPOCH, EPOCHS * STEPS_AN_EPOCH])
def test_ctrl_c_saves_and_ends_and_the_training_goes_on_to_the_same_bits(
    whole: tuple[dict[str, np.ndarray], Path], tmp_path: Path, step: int
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    outcome = fit(trainer(tmp_path, every=0, callbacks=[AtStep(step, ctrl_c)]))
    assert (outcome.stopped, outcome.steps) == ("interrupted", step)
    assert signal.getsignal(signal.SIGINT) is handler
    one = trainer(tmp_path, every=0, callbacks=[nn.Callback()])
    assert fit(one).stopped == ""
    assert_same(dict(weights(one)), whole[0])
    assert_same_logs(tmp_path, whole[1])


def test_a_second_ctrl_c_is_an_exception_as_usual(tmp_path: Path) -> None:
    def twice() -> None:
        ctrl_c()
        ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        fit(trainer(tmp_path, callbacks=[AtStep(3, twice)]))


def test_a_finished_training_is_read_and_not_trained_again(
    whole: tuple[dict[str, np.ndarray], Path],
) -> None:
    one = trainer(whole[1])
    outcome = fit(one)
    assert outcome.steps == EPOCHS * STEPS_AN_EPOCH and len(outcome.history) == EPOCHS
    assert_same(dict(weights(one)), whole[0])
    for name, value in one.model.state_dict().items():
        np.testing.assert_array_equal(value, whole[0][name])


def test_a_damaged_checkpoint_is_passed_over(
    whole: tuple[dict[str, np.ndarray], Path], tmp_path: Path
) -> None:
    fit(trainer(tmp_path), epochs=2)
    newest = nn.Checkpoints(tmp_path / "checkpoints").paths()[-1]
    blob = bytearray(newest.read_bytes())
    blob[-1] ^= 1  # one bit of one array
    newest.write_bytes(blob)
    one = trainer(tmp_path)
    with pytest.warns(CheckpointDamaged, match="sha256"):
        fit(one)
    assert_same(dict(weights(one)), whole[0])


def test_without_resume_a_training_begins_anew(
    whole: tuple[dict[str, np.ndarray], Path], tmp_path: Path
) -> None:
    fit(trainer(tmp_path), epochs=1)
    one = trainer(tmp_path)
    fit(one, resume=False)
    assert_same(dict(weights(one)), whole[0])
    assert_same_logs(tmp_path, whole[1])


def test_a_checkpoint_of_other_data_or_of_another_model_is_refused(tmp_path: Path) -> None:
    fit(trainer(tmp_path), epochs=1)
    with pytest.raises(CheckpointMismatch, match="'batch_size': 8"):
        trainer(tmp_path).fit(data(), epochs=2, batch_size=BATCH + 2)
    other = nn.Trainer(
        Net(), tiny_training.loss, nn.SGD(0.1), checkpoints=tmp_path / "checkpoints", progress=False
    )
    with pytest.raises(CheckpointMismatch, match="exp_avg"):
        fit(other)


def test_callbacks_in_another_order_than_the_checkpoints_are_refused(tmp_path: Path) -> None:
    callbacks = [nn.EarlyStopping(), nn.StopIfNotFinite()]
    fit(trainer(tmp_path, callbacks=callbacks), epochs=1)
    with pytest.raises(CheckpointMismatch, match=r"the memory of EarlyStopping is {}"):
        fit(trainer(tmp_path, callbacks=callbacks[::-1]))
