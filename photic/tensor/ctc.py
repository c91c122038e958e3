"""Connectionist temporal classification: the loss of a label sequence whose timing is unknown.

The sum over all alignments is a ``scan`` over time, in logarithms (Graves and others 2006, section
4.1). Where no alignment exists the loss is infinite.
"""

from __future__ import annotations

import math

from photic.base.errors import BadArgument, DtypeMismatch, ShapeMismatch
from photic.ir.dtype import INT64
from photic.tensor.compare import equal, maximum, not_equal
from photic.tensor.creation import counted, full
from photic.tensor.indexing import take_along_axis
from photic.tensor.loops import Tensors, scan
from photic.tensor.losses import combined
from photic.tensor.primitive import accumulated, as_float, less, reciprocal, where
from photic.tensor.reductions import logsumexp
from photic.tensor.shapes import broadcast_to, concat, reshape, stack, window
from photic.tensor.tensor import Tensor, Value, tensor


def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of ``targets`` under every alignment.

    ``log_probs`` is (time, batch, classes), ``targets`` integers (batch, labels), padded with
    anything; the lengths are (batch,) integers. Repeated labels need a ``blank`` between them.
    "mean" divides each loss by its number of labels (at least 1), then averages.
    ``zero_infinity`` makes impossible targets' losses 0. Sizes may be symbolic. Raises BadArgument,
    DtypeMismatch, ShapeMismatch.
    """
    given = as_float(log_probs, "ctc_loss")
    labels, times, lengths = (_integers(x) for x in (targets, input_lengths, target_lengths))
    if given.ndim != 3:
        raise BadArgument(
            op="ctc_loss", argument="rank", given=given.ndim, expected="(time, batch, classes)"
        )
    batch = given.shape[1]
    if labels.ndim != 2 or {labels.shape[0], *times.shape, *lengths.shape} != {batch}:
        raise ShapeMismatch(op="ctc_loss", left=given.shape, right=labels.shape)
    loss = _negative_log(given.astype(accumulated(given.dtype)), labels, times, lengths, blank)
    if zero_infinity:
        loss = where(equal(loss, math.inf), 0.0, loss)
    if reduction == "mean":
        loss = loss * reciprocal(maximum(lengths, 1).astype(loss.dtype))
    return combined("ctc_loss", loss, reduction, given.dtype)


def _integers(x: Value) -> Tensor:
    value = tensor(x, "ctc_loss")
    if value.dtype.kind != "int":
        raise DtypeMismatch(op="ctc_loss", given=value.dtype, expected="an integer dtype")
    return value.astype(INT64)


def _negative_log(
    logs: Tensor, labels: Tensor, times: Tensor, lengths: Tensor, blank: int
) -> Tensor:
    """The loss of each sequence. States are the labels with blanks around each: 2*labels + 1."""
    states = _with_blanks(labels, blank)
    count = states.shape[1]
    shown = take_along_axis(logs, broadcast_to(states, (logs.shape[0], *states.shape)), 2)
    # a label may follow the one before it directly, unless it is the same
    skips = not_equal(states, blank) * not_equal(states, _later(states, 2, blank))
    start = where(less(counted(0, count), 1), 0.0, full((logs.shape[1], count), -math.inf))

    def body(carried: Tensors, slices: Tensors) -> tuple[Tensors, Tensors]:
        (before,), (now, is_first) = carried, slices
        skip = where(skips, _later(before, 2, -math.inf), -math.inf)
        # at the first time the paths begin: in the first blank or the first label
        ways = [before, _later(before, 1, -math.inf), where(is_first, -math.inf, skip)]
        arrived = logsumexp(stack(ways, 0), 0) + now
        return (arrived,), (arrived,)

    first = less(counted(0, logs.shape[0]), 1)
    _, (paths,) = scan(body, (start.astype(logs.dtype),), (shown, first))
    last = _at_time(paths, times - 1)
    last = where(less(times, 1)[:, None], start, last)
    ends = stack([lengths * 2, lengths * 2 - 1], 1)
    found = take_along_axis(last, maximum(ends, 0), 1)
    return -logsumexp(where(less(ends, 0), -math.inf, found), 1)


def _at_time(paths: Tensor, times: Tensor) -> Tensor:
    """Of (time, batch, states) each sequence's states at its time."""
    place = broadcast_to(maximum(times, 0)[None, :, None], (1, *paths.shape[1:]))
    return take_along_axis(paths, place, 0)[0]


def _with_blanks(labels: Tensor, blank: int) -> Tensor:
    batch, count = labels.shape
    pairs = stack([full((batch, count), blank, INT64), labels], 2)
    return concat([reshape(pairs, (batch, count * 2)), full((batch, 1), blank, INT64)], 1)


def _later(x: Tensor, places: int, before: float) -> Tensor:
    """Each row moved on, with a number in the places that come free."""
    gap = full((x.shape[0], places), before, x.dtype)
    wide = concat([gap, x], 1)
    return window(wide, 1, 0, x.shape[1], "ctc_loss")
