"""Non-maximum suppression as a loop of the program: boxes by falling score, overlaps left out."""

from __future__ import annotations

from photic.ir.dtype import INT64
from photic.tensor import compare, creation, indexing, loops, primitive, reductions, shapes
from photic.tensor.tensor import Tensor

CORNERS, CENTRES = 0, 1


def suppressed(
    boxes: Tensor,
    scores: Tensor,
    most: int,
    overlap: float,
    least: float | None,
    form: int,
) -> tuple[Tensor, Tensor]:
    """Which boxes stay, as (batch, classes, trips, 3) of places, -1 past the last; and how many.

    boxes (batch, boxes, 4), scores (batch, classes, boxes). In each trip the best box that is left
    stays, and those that overlap it by more than ``overlap`` go.
    """
    corners = _corners(boxes, form)
    batch, classes, extent = scores.shape
    trips = min(most, int(extent)) if isinstance(extent, int) else most
    is_open = creation.ones(scores.shape, "bool") if least is None else scores > least

    def body(
        carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]
    ) -> tuple[list[Tensor], list[Tensor]]:
        (left,) = carried
        lowest = creation.full(scores.shape, float("-inf"), scores.dtype)
        best = reductions.argmax(primitive.where(left, scores, lowest), -1)
        is_any = reductions.any(left, -1)
        counted = creation.arange(extent)
        is_best = compare.equal(counted, best[..., None])
        shared = _overlaps(corners[:, None], best) > overlap
        gone = compare.logical_or(is_best, shared)
        after = compare.logical_and(
            left, compare.logical_not(compare.logical_and(gone, is_any[..., None]))
        )
        return [after], [primitive.where(is_any, best, -1)]

    _, (chosen,) = loops.scan(body, (is_open,), trips=trips)
    chosen = shapes.moveaxis(chosen, 0, -1)
    wide = chosen.shape
    rows = shapes.broadcast_to(creation.arange(batch)[:, None, None], wide)
    kinds = shapes.broadcast_to(creation.arange(classes)[None, :, None], wide)
    is_kept = chosen >= 0
    places = [primitive.where(is_kept, one, -1) for one in (rows, kinds, chosen)]
    return shapes.stack(places, -1), reductions.sum(is_kept.astype(INT64))


def _corners(boxes: Tensor, form: int) -> Tensor:
    """(..., 4): the lower and the upper end along y, then x."""
    a, b, c, d = (boxes[..., k] for k in range(4))
    if form == CENTRES:  # x and y of the centre, width, height
        ends = (b - d / 2, a - c / 2, b + d / 2, a + c / 2)
        return shapes.stack(ends, -1)
    ends = (
        compare.minimum(a, c),
        compare.minimum(b, d),
        compare.maximum(a, c),
        compare.maximum(b, d),
    )
    return shapes.stack(ends, -1)


def _overlaps(corners: Tensor, best: Tensor) -> Tensor:
    """The share of each box with the best one: their intersection over their union."""
    chosen = indexing.take_along_axis(corners, best[..., None, None], -2)
    low = compare.maximum(corners[..., :2], chosen[..., :2])
    high = compare.minimum(corners[..., 2:], chosen[..., 2:])
    both = compare.maximum(high - low, 0.0)
    shared = both[..., 0] * both[..., 1]
    union = _area(corners) + _area(chosen) - shared
    return primitive.where(union > 0.0, shared / union, 0.0)


def _area(corners: Tensor) -> Tensor:
    sides = corners[..., 2:] - corners[..., :2]
    return sides[..., 0] * sides[..., 1]
