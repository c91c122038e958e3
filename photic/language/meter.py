"""What a chat template has left to spend: steps of work and characters read or made.

Promises: every count is taken before or in proportion to the work, so that work is bounded
whatever the template; no clock decides, so the same template and messages always end the same
way. Running out raises TemplateRejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from photic.language.errors import TemplateRejected

# A step is about a microsecond or less. The largest templates in use take about 2,000 a message.
STEPS = 1_000_000
STEPS_PER_MESSAGE = 20_000
# Templates read and copy a message's text a few dozen times at most.
CHARACTERS = 1 << 25
CHARACTERS_PER_CHARACTER = 64
INTEGER_BITS = 64


@dataclass(slots=True)
class Meter:
    """``steps`` and ``characters`` still allowed."""

    steps: int
    characters: int

    def step(self, count: int = 1) -> None:
        """Spend ``count`` steps (at least one)."""
        self.steps -= max(count, 1)
        if self.steps < 0:
            raise TemplateRejected(problem="it takes too many steps")

    def touch(self, characters: int) -> None:
        """Read or make ``characters`` characters."""
        self.characters -= max(characters, 0)
        if self.characters < 0:
            raise TemplateRejected(problem="it reads or makes too much text")

    def weigh(self, value: object) -> None:
        """Pay for reading ``value`` through and through, shared parts each time they occur."""
        self.step()
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, str):
                self.touch(len(one))
            elif isinstance(one, list | tuple):
                self.step(len(one))
                waiting.extend(one)
            elif isinstance(one, dict):
                self.step(2 * len(one))
                waiting.extend(one)
                waiting.extend(one.values())
            else:
                self._scalar(one)

    def made(self, value: object) -> None:
        """Pay for ``value`` itself, without what is inside it."""
        if isinstance(value, str):
            self.step()
            self.touch(len(value))
        elif isinstance(value, list | tuple | dict):
            self.step(len(value))
        else:
            self.step()
            self._scalar(value)

    def _scalar(self, value: object) -> None:
        if isinstance(value, int) and value.bit_length() > INTEGER_BITS:
            raise TemplateRejected(problem="it computes with huge integers")
        if isinstance(value, range):
            self.step(len(value))

    def listed(self, items: Iterable[object]) -> list[object]:
        """The items, each paid for as it is made."""
        return list(self.counted(items, 1))

    def counted(self, items: Iterable[object], steps: int) -> Iterator[object]:
        """The items, at ``steps`` each."""
        for item in items:
            self.step(steps)
            yield item


def meter_for(values: Iterable[object]) -> Meter:
    """A meter for messages (or other values) that sound templates stay far below."""
    unlimited = Meter(steps=1 << INTEGER_BITS, characters=1 << INTEGER_BITS)
    count = 0
    before = unlimited.characters
    for value in values:
        count += 1
        unlimited.weigh(value)
    given = before - unlimited.characters
    return Meter(
        steps=STEPS + STEPS_PER_MESSAGE * count,
        characters=CHARACTERS + CHARACTERS_PER_CHARACTER * given,
    )
