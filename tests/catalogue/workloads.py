"""An entry's workload made ready: arrays, photic's results on handles of them, torch's call."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from catalogue.entry import Array, Entry, Speed

import photic as ph


@dataclass(frozen=True, slots=True)
class Workload:
    """What both sides compute: inputs by name, named results, and torch's call on the same."""

    inputs: dict[str, Array]
    results: dict[str, ph.Tensor]
    peer: Callable[[], object]

    def require_alike(self) -> None:
        """ValueError unless torch's results have the shapes of photic's."""
        theirs = self.peer()
        many = theirs if isinstance(theirs, tuple | list) else (theirs,)
        shapes = [one.shape for one in self.results.values()]
        expected = [tuple(one.shape) for one in many]
        if shapes != expected:
            raise ValueError(f"photic gives {shapes}, torch {expected}")


def workload(entry: Entry, speed: Speed) -> Workload:
    """The entry's workload, the same in every run."""
    import torch

    arrays = speed.arrays(np.random.default_rng(zlib.crc32(entry.name.encode())))
    inputs = {f"x{k}": one for k, one in enumerate(arrays)}
    handles = [ph.input(name, one.shape, one.dtype) for name, one in inputs.items()]
    made = (speed.call or entry.call)(*handles)
    many = made if isinstance(made, tuple | list) else (made,)
    tensors = [torch.from_numpy(one) for one in arrays]
    results = {f"y{k}": one for k, one in enumerate(many)}
    return Workload(inputs, results, lambda: speed.peer(torch, *tensors))
