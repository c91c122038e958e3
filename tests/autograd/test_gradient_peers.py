"""Every function with a gradient has torch's slopes, in float64, forward and backward.

torch's side is an entry's own call of torch (its oracle's, or that of its timed workload, on the
first case that both take) or a row of pairs.py or pairs_written.py. All float results are weighed
at random, all float inputs get gradients. What has no peer says why in ``ALONE``: there central
differences decide.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from autograd.catalogued import differentiable, is_float, moved_off
from autograd.checking import evaluated, inputs_of, named
from autograd.pairs import SAME, Call
from autograd.pairs_written import PAIRS
from catalogue.by_torch import ByTorch
from catalogue.entry import NO_GRADIENT, Entry
from catalogue.running import entries, jobs
from catalogue.test_complete import BY_NAME, functions

import photic as ph
from photic.base.errors import PhoticError
from photic.forms.eval import Array

FEWEST, MOST = 4, 700  # elements of a case that says something, and is quick
VALUES = 1e-6  # torch's float64 functions and photic's differ by far less
SLOPES = 1e-7  # of the largest slope of an input (or 1); decompositions lose half the digits

ALONE = {
    "constant": "torch has no constants beside tensors",
    "dct": "torch has no cosine transforms",
    "empty_like": "it does not depend on its input",
    "histogram": "torch has no slopes of histograms",
    "idct": "torch has no cosine transforms",
    "argpartition": "places, by which its elements are looked up",
    "ix_": "places, which are integers",
    "interp": "torch has no interpolation between given points",
    "unique": "torch has no slopes of it",
    "unwrap": "torch has no phases to unwrap",
    "yarn_gain": "a number, of no tensor",
}
# torch has no slopes of what comes after the first array: classes' weights, given probabilities
FIRST_ONLY = {
    "binary_cross_entropy_with_logits.weights",
    "cross_entropy.smoothed",
    "nll_loss.weights",
    "soft_margin_loss",
}


@dataclass(frozen=True, slots=True)
class Sides:
    """Both calls, and arrays for both; ``wanted`` are the places of those with gradients."""

    name: str
    call: Call
    peer: Call
    arrays: Sequence[Array]
    wanted: Sequence[int]

    def own(self) -> tuple[list[Array], list[Array]]:
        """Float results, and the gradients of their weighted sum."""
        handles = inputs_of(self.arrays)
        results = [one for one in flat(self.call(*handles)) if is_float(one)]
        weights = [ph.constant(one) for one in self.weights([one.shape for one in results])]
        found = ph.vjp(results, [handles[k] for k in self.wanted], weights)
        values = evaluated([*results, *found], named(self.arrays))
        return values[: len(results)], values[len(results) :]

    def torchs(self) -> tuple[list[Array], list[Array]]:
        import torch

        given = [torch.tensor(one) for one in self.arrays]
        for k in self.wanted:
            given[k].requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of what torch plans to change
            made = [one for one in flat(self.peer(torch, *given)) if one.is_floating_point()]
        weights = map(torch.tensor, self.weights([tuple(one.shape) for one in made]))
        loss = sum(((one * weight).sum() for one, weight in zip(made, weights)), torch.zeros(()))
        if loss.requires_grad:
            loss.backward()
        found = [given[k].grad for k in self.wanted]
        zeros = [np.zeros(self.arrays[k].shape) for k in self.wanted]
        grads = [zero if one is None else one.numpy() for one, zero in zip(found, zeros)]
        return [one.detach().numpy() for one in made], grads

    @staticmethod
    def weights(shapes: Sequence[Any]) -> list[Array]:
        random = np.random.default_rng(2)
        return [random.normal(size=one) for one in shapes]


def flat(made: Any) -> list[Any]:
    return [x for one in made for x in flat(one)] if isinstance(made, tuple | list) else [made]


def floats(arrays: Sequence[Array]) -> list[int]:
    return [k for k, one in enumerate(arrays) if one.dtype == np.float64]


# --- what is compared -----------------------------------------------------------------------


def paired(function: str) -> Iterator[Sides]:
    """The rows of both tables about a function."""
    for one in (*SAME, *PAIRS):
        if one.name == function:
            arrays = one.arrays(np.random.default_rng(3))
            yield Sides(one.name, one.call, one.peer, arrays, floats(arrays))


def peers(entry: Entry) -> Iterator[tuple[Call, Call]]:
    """An entry's calls of torch, each with photic's."""
    if isinstance(entry.oracle, ByTorch):
        yield entry.call, entry.oracle.function
    if entry.speed is not None:
        yield entry.speed.call or entry.call, entry.speed.peer


def candidates(entry: Entry, call: Call, peer: Call) -> Iterator[Sides]:
    """The entry's cases of a fair size, small ones first; each also made positive."""
    sizes = [(sum(one.size for one in job.case), job) for job in jobs(entry, "float64")]
    for size, job in sorted(sizes, key=lambda pair: (pair[0] < FEWEST, pair[0])):
        arrays = moved_off(job.case, np.random.default_rng(job.number))
        wanted = floats(arrays)[: 1 if entry.name in FIRST_ONLY else None]
        if size <= MOST and any(arrays[k].size for k in wanted):
            yield Sides(str(job), call, peer, arrays, wanted)
            positive = [np.abs(x) + 0.1 if k in wanted else x for k, x in enumerate(arrays)]
            yield Sides(f"{job}, positive", call, peer, positive, wanted)


def is_shared(sides: Sides) -> bool:
    """Compare, where both take the case and mean the same by it; False where not."""
    try:
        (own, gradients), (values, slopes) = sides.own(), sides.torchs()
    except (PhoticError, RuntimeError, TypeError, ValueError, IndexError):
        return False  # a workload's call is for its own shapes
    if not all(np.isfinite(one).all() for one in (*own, *slopes)) or not near(own, values, VALUES):
        return False
    assert near(gradients, slopes, SLOPES), f"{sides.name}: {gradients}, torch says {slopes}"
    return True


def near(got: Sequence[Array], want: Sequence[Array], limit: float) -> bool:
    """Whether all are of one shape, and apart by the limit of the largest element (or of 1)."""
    if [one.shape for one in got] != [one.shape for one in want]:
        return False
    pairs = [(one, other) for one, other in zip(got, want, strict=True) if one.size]
    return all(np.abs(a - b).max() <= limit * max(1, np.abs(b).max()) for a, b in pairs)


FUNCTIONS = sorted({one.function for one in differentiable()})


@pytest.mark.peers
@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one not in ALONE])
def test_values_and_slopes_are_torchs(function: str) -> None:
    compared = 0
    for sides in paired(function):
        (own, gradients), (values, slopes) = sides.own(), sides.torchs()
        assert near(own, values, VALUES), f"{own}, torch says {values}"
        assert near(gradients, slopes, SLOPES), f"{gradients}, torch says {slopes}"
        compared += 1
    for entry in differentiable():
        if entry.function == function and not compared:
            compared += any(any(map(is_shared, candidates(entry, *one))) for one in peers(entry))
    assert compared, "no case that torch takes: add a row to pairs.py, or a reason to ALONE"


# --- nothing is left out --------------------------------------------------------------------


def test_every_public_function_has_a_gradient_that_is_checked_or_says_why_not() -> None:
    made = {BY_NAME.get(one) for one in FUNCTIONS}
    without = [one for one in entries() if one.gradient.startswith(NO_GRADIENT)]
    made |= {BY_NAME.get(one.function) for one in without}
    missing = [name for name, one in functions().items() if one not in made]
    assert not missing, f"neither a gradient in float64 nor a reason: {', '.join(missing)}"


def test_what_stands_alone_has_a_gradient_and_a_reason() -> None:
    assert set(ALONE) <= set(FUNCTIONS)
    assert all(len(reason.split()) >= 3 for reason in ALONE.values())
