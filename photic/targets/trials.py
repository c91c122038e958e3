"""The far side of a worker for devices with a driver: builds trials, times them, runs them.

Where the device shares our memory, every buffer lies beside memory that may not be touched, as the
c target's do; what a device writes beside a buffer of its own is not noticed. A sample is so many
runs of all launches, one after the other in one queue. For ``photic.targets.process``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from photic.base.errors import PhoticError
from photic.targets.c.worker import Guarded, Shared, filled, still_shared
from photic.targets.measure import OutOfBounds, Trial
from photic.targets.process import Array, with_zeros
from photic.targets.session import Loaded, Session

SHOWN_CHARACTERS = 4000


@dataclass(slots=True)
class Trials:
    """Sessions by their texts, those that have run, and the buffers that trials share.

    ``load`` makes a program of a text; its errors of the classes ``refusals`` are a trial's own.
    """

    load: Callable[[str], Loaded]
    refusals: tuple[type[PhoticError], ...]
    loaded: dict[str, tuple[Loaded, Session]] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    shared: Shared = field(default_factory=dict)

    def build(self, trials: Sequence[Trial]) -> list[str]:
        """Compile the new texts; what is wrong with each, or ""."""
        self.shared = still_shared(self.shared, trials)
        wanted = dict.fromkeys(one.text for one in trials)
        self.loaded = {one: self.loaded[one] for one in wanted if one in self.loaded}
        self.warm &= wanted.keys()
        problems = {one: self._load(one) for one in wanted if one not in self.loaded}
        return [problems.get(one.text, "") for one in trials]

    def _load(self, text: str) -> str:
        """Compile a text, or say why not."""
        try:
            made = self.load(text)
            with made.using():
                self.loaded[text] = made, made.session()
        except self.refusals as error:
            return str(error)[:SHOWN_CHARACTERS]
        return ""

    def sample(self, trial: Trial, calls: int, series: int) -> float | OutOfBounds:
        """The seconds of ``calls`` calls in a row: the least of so many series."""
        (made, session), seconds = self.loaded[trial.text], []
        for _ in range(series):
            slots = {
                number: filled(self.shared, number, one) for number, one in enumerate(trial.slots)
            }
            addresses = [one.address for one in slots.values()]
            with made.using():
                session.give(addresses, trial.sizes)
                if calls > 1 or trial.text not in self.warm:  # drivers compile at the first call
                    session.enqueue()
                    session.queue.finish()
                    self.warm.add(trial.text)
                start = time.perf_counter()
                for _ in range(calls):
                    session.enqueue()
                session.queue.finish()
                seconds.append(time.perf_counter() - start)
                session.take(addresses)
        fault = _fault(slots)
        if fault:  # nobody else may be blamed for it
            self.shared.clear()
        return fault or min(seconds)

    def run(
        self,
        trial: Trial,
        buffers: Mapping[int, Array],
        sizes: Sequence[int],
        wanted: Sequence[int],
    ) -> dict[int, Array] | OutOfBounds:
        """As ``Remote.run``."""
        (made, session), slots = self.loaded[trial.text], dict[int, Guarded]()
        every = with_zeros(trial, buffers)
        for number, array in every.items():
            slots[number] = Guarded.of(array.nbytes, at_end=True)
            slots[number].bytes[:] = np.frombuffer(array.tobytes(), np.uint8)
        with made.using():
            session.run([slots[number].address for number in sorted(slots)], sizes)
        self.warm.add(trial.text)
        changed = [
            n for n in buffers if n not in wanted and _bytes(slots[n]) != buffers[n].tobytes()
        ]
        if changed:
            return OutOfBounds(f"slot {changed[0]}, which it may only read")
        return _fault(slots) or {
            number: np.frombuffer(_bytes(slots[number]), every[number].dtype).reshape(
                every[number].shape
            )
            for number in wanted
        }


def _bytes(one: Guarded) -> bytes:
    return one.bytes.tobytes()


def _fault(slots: Mapping[int, Guarded]) -> OutOfBounds | None:
    """Where it was written outside, if anywhere."""
    broken = (number for number, one in slots.items() if not one.is_intact)
    return next((OutOfBounds(f"slot {number}") for number in broken), None)
