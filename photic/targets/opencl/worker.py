"""The opencl target's worker: builds trials, times them on noise and runs them between guards.

Where the device shares our memory, every buffer lies beside memory that may not be touched, as the
c target's do; what a device writes beside a buffer of its own is not noticed. A sample is so many
runs of all launches, one after the other in one queue. For ``photic.targets.process``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from photic.targets.c.worker import Guarded, Shared, filled
from photic.targets.measure import OutOfBounds, Trial
from photic.targets.opencl.device import SHOWN_CHARACTERS, loaded
from photic.targets.opencl.errors import OpenclFailed, OpenclLacks
from photic.targets.opencl.facts import driver_errors, opened
from photic.targets.opencl.session import Session
from photic.targets.process import Array


@dataclass(slots=True)
class Worker:
    """Sessions by their texts, those that have run, and the buffers that trials share."""

    sessions: dict[str, Session] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    shared: Shared = field(default_factory=dict)

    def build(self, trials: Sequence[Trial]) -> list[str]:
        """Compile the new texts; what is wrong with each, or ""."""
        self.shared.clear()
        wanted = dict.fromkeys(one.text for one in trials)
        self.sessions = {one: self.sessions[one] for one in wanted if one in self.sessions}
        self.warm &= wanted.keys()
        problems = {one: self.load(one) for one in wanted if one not in self.sessions}
        return [problems.get(one.text, "") for one in trials]

    def load(self, text: str) -> str:
        """Compile a text, or say why not."""
        try:
            found = loaded(text)
            with driver_errors(found.opened):
                self.sessions[text] = Session(found.opened, found.program, found.plan, {})
        except (opened().cl.Error, OpenclLacks, OpenclFailed) as error:
            return str(error)[:SHOWN_CHARACTERS]
        return ""

    def sample(self, trial: Trial, calls: int, series: int) -> float | OutOfBounds:
        """The seconds of ``calls`` calls in a row: the least of so many series."""
        session, seconds = self.sessions[trial.text], []
        for _ in range(series):
            slots = {
                number: filled(self.shared, number, one) for number, one in enumerate(trial.slots)
            }
            addresses = [one.address for one in slots.values()]
            with driver_errors(session.opened):
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
        """Call once on these arrays."""
        session, slots = self.sessions[trial.text], dict[int, Guarded]()
        for number, array in buffers.items():
            slots[number] = Guarded.of(array.nbytes, at_end=True)
            slots[number].bytes[:] = np.frombuffer(array.tobytes(), np.uint8)
        with driver_errors(session.opened):
            session.run([slots[number].address for number in sorted(slots)], sizes)
        self.warm.add(trial.text)
        changed = [
            n for n in buffers if n not in wanted and _bytes(slots[n]) != buffers[n].tobytes()
        ]
        if changed:
            return OutOfBounds(f"slot {changed[0]}, which it may only read")
        return _fault(slots) or {
            number: np.frombuffer(_bytes(slots[number]), buffers[number].dtype).reshape(
                buffers[number].shape
            )
            for number in wanted
        }


def _bytes(one: Guarded) -> bytes:
    return one.bytes.tobytes()


def _fault(slots: Mapping[int, Guarded]) -> OutOfBounds | None:
    """Where it was written outside, if anywhere."""
    broken = (number for number, one in slots.items() if not one.is_intact)
    return next((OutOfBounds(f"slot {number}") for number in broken), None)
