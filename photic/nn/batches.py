"""NumPy arrays cut into batches, shuffled anew in each epoch.

Promises: the order of an epoch is a function of the seed and the epoch's number alone, the same on
every machine and NumPy version, so that a run that was ended goes on where it was without the
order being kept anywhere. Nothing is copied but the rows of one batch. ``Feed`` is what a
trainer takes batches from, these or a user's own.

Does not read files, and does not prepare batches in other threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument

Array = NDArray[np.generic]
Batch = Mapping[str, Array]
Feed = Iterable[Batch] | Callable[[int], Iterable[Batch]]
"""Batches, to be gone through anew in each epoch; or a function from an epoch's number to them."""

# Key words of the generator: 64 bits of the seed, and the epoch's number.
WORD_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Batches:
    """``arrays`` with one row a sample, in batches of ``size`` rows.

    ``seed`` shuffles; None keeps the order of the arrays. The last batch of an epoch has what rows
    are left, or is left out where ``drop_last``. Raises BadArgument for arrays of unequal lengths,
    without axes, without rows, or for a size that is not positive.
    """

    arrays: Mapping[str, Array]
    size: int
    seed: int | None = 0
    drop_last: bool = False

    def __post_init__(self) -> None:
        if not self.arrays or any(not one.ndim for one in self.arrays.values()):
            _refuse("arrays", sorted(self.arrays), "arrays with an axis of samples")
        if len({len(one) for one in self.arrays.values()}) > 1:
            lengths = {name: len(one) for name, one in self.arrays.items()}
            _refuse("arrays", lengths, "one number of samples")
        if self.size < 1:
            _refuse("size", self.size, "1 or more")
        if not len(self):
            _refuse("arrays", f"{self.samples} samples", "enough for one batch")

    @property
    def samples(self) -> int:
        """The number of rows."""
        return len(next(iter(self.arrays.values())))

    @property
    def whole(self) -> bool:
        """Whether all batches have ``size`` rows."""
        return self.drop_last or self.samples % self.size == 0

    def __len__(self) -> int:
        """Batches in an epoch."""
        rounded = 0 if self.drop_last else self.size - 1
        return (self.samples + rounded) // self.size

    def __iter__(self) -> Iterator[dict[str, Array]]:
        return self.epoch(0)

    def epoch(self, number: int, start: int = 0) -> Iterator[dict[str, Array]]:
        """The batches of an epoch, from the batch ``start`` on."""
        order = self._order(number)
        for batch in range(start, len(self)):
            rows = order[batch * self.size : (batch + 1) * self.size]
            yield {name: one[rows] for name, one in self.arrays.items()}

    def _order(self, number: int) -> NDArray[np.int64]:
        if self.seed is None:
            return np.arange(self.samples)
        # NumPy keeps the words of its bit generators for ever, but not what it shuffles with them
        key = np.array([self.seed & WORD_MASK, number], np.uint64)
        words = np.random.Philox(key=key).random_raw(self.samples)
        return np.argsort(words, kind="stable")


def epoch_of(feed: Feed, number: int, start: int) -> Iterator[Batch]:
    """The batches of an epoch of any feed, from the batch ``start`` on.

    What cannot begin in the middle is gone through from its beginning.
    """
    if isinstance(feed, Batches):
        yield from feed.epoch(number, start)
        return
    batches = feed(number) if callable(feed) else feed
    for place, batch in enumerate(batches):
        if not isinstance(batch, Mapping):
            _refuse("a batch", type(batch).__name__, "a mapping from names to arrays")
        if place >= start:
            yield batch


def _refuse(argument: str, given: object, expected: str) -> None:
    raise BadArgument(op="batches", argument=argument, given=given, expected=expected)
