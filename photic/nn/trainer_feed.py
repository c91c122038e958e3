"""What a trainer takes its batches from, in one form: groups of batches, and their shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dim import Dim
from photic.ir.dtype import DType, dtype_of
from photic.nn.batches import Array, Batch, Batches, Feed, epoch_of
from photic.tensor.creation import dim

Specifications = dict[str, tuple[tuple[Dim, ...], DType]]
BATCH = "batch"  # the symbolic size of batches that are not all equal


@dataclass(frozen=True, slots=True)
class Grouped:
    """A feed, ``together`` batches of which make a step; fewer left at the end are left out."""

    feed: Feed
    together: int

    @property
    def length(self) -> int:
        """Steps in an epoch; 0 where that is not known."""
        return len(self.feed) // self.together if isinstance(self.feed, Batches) else 0

    @property
    def identity(self) -> dict[str, int | None]:
        """What must not change when a training goes on in the middle of an epoch."""
        found: dict[str, int | None] = {"accumulate": self.together}
        if isinstance(self.feed, Batches):
            found |= {"samples": self.feed.samples, "batch_size": self.feed.size}
            found |= {"seed": self.feed.seed}
        return found

    def epoch(self, number: int, start: int) -> Iterator[dict[str, Array]]:
        """The steps' inputs of an epoch, from the step ``start`` on."""
        batches = map(_arrays, epoch_of(self.feed, number, start * self.together))
        if self.together == 1:
            yield from batches
            return
        while len(group := list(islice(batches, self.together))) == self.together:
            _require_alike(group)
            yield {name: np.stack([one[name] for one in group]) for name in group[0]}

    def specifications(self, step: Mapping[str, Array]) -> Specifications:
        """Shapes and dtypes of one batch, by the first step's inputs.

        The number of rows is symbolic where the feed says that the last batch has fewer.
        """
        skipped = 0 if self.together == 1 else 1
        found = {
            name: (tuple(int(size) for size in one.shape[skipped:]), dtype_of(one.dtype))
            for name, one in step.items()
        }
        if not isinstance(self.feed, Batches) or self.feed.whole:
            return dict(found)
        rows = dim(BATCH, 1, self.feed.size)
        return {name: ((rows, *shape[1:]), dtype) for name, (shape, dtype) in found.items()}


def _require_alike(group: Sequence[Mapping[str, Array]]) -> None:
    """BadArgument unless the batches of a step have the same names and shapes."""
    first, *others = ({name: one.shape for name, one in batch.items()} for batch in group)
    for other in others:
        if other != first:
            expected = f"as the first of its step: {first}"
            raise BadArgument(op="Trainer", argument="a batch", given=other, expected=expected)


def _arrays(batch: Batch) -> dict[str, Array]:
    return {name: np.asarray(one) for name, one in batch.items()}


def rows_of(step: Mapping[str, Array]) -> int:
    """How much a step's figures count in a mean: its first input's rows, or 1 without any."""
    first = next(iter(step.values()), None)
    return first.shape[0] if first is not None and first.ndim else 1


def feed_of(
    data: Mapping[str, object] | Feed, batch_size: int, seed: int | None, whole: bool
) -> Feed:
    """Arrays by name as batches; any other feed as it is."""
    if not isinstance(data, Mapping):
        return data
    if not all(hasattr(one, "__array__") for one in data.values()):
        kinds = {name: type(one).__name__ for name, one in data.items()}
        raise BadArgument(op="Trainer", argument="data", given=kinds, expected="arrays by name")
    arrays = {name: np.asanyarray(one) for name, one in data.items()}
    return Batches(arrays, batch_size, seed, drop_last=whole)
