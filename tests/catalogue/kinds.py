"""Why an entry lacks a kind of case; and what kinds it has, given, derived, or refused.

A kind that an entry's cases do not have is derived from one of them (``derived.py``); or every
variant of that kind is refused with a typed error, as a rank 0 is where an axis is named, which the
tests hold too; or the reason stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from catalogue.derived import (
    BROADCAST,
    KINDS,
    LARGE,
    NOTHING,
    ODDS,
    ONE,
    SCALAR,
    VIEW,
    kinds_of,
    model,
    variants,
)
from catalogue.entry import Case, Entry
from catalogue.judging import widened
from catalogue.running import Job, built, jobs

from photic.base.errors import PhoticError

# What oracles raise of sizes that they do not take.
NO_ANSWER = (ValueError, IndexError, RuntimeError, np.linalg.LinAlgError)
# An entry without arrays whose sizes could be others lacks them all.
NO_ARRAYS = "it reads no array of several elements: its sizes are in its calls"

REASONS: Mapping[str, Mapping[str, str]] = {
    NOTHING: {
        "the oracle has no maximum of nothing; `max.nothing` has ours": """
            max max.axes min min.axes nanmax nanmin aminmax ptp softmax log_softmax logsumexp
            resize.crop grid_sample grid_sample.nearest grid_sample.solid
        """,
        "PyTorch refuses images and kernels of nothing, or gives shapes that are none": """
            conv conv1d.options conv2d.groups conv.batches conv_transpose avg_pool2d.edge0
            avg_pool2d.edge1 avg_pool1d.counted
        """,
        "NumPy has no quantile of nothing; `median` of ours is nan": """
            quantile quantile.lower quantile.midpoint quantile.rows quantile.higher quantile.many
            quantile.nearest percentile
        """,
        "NumPy refuses axes of no places": "ix_",
        "NumPy refuses weights, points and places of nothing": "average average.along polyfit",
        "PyTorch refuses sequences of nothing": """
            ctc_loss ctc_loss.finite lstm.lengths gru.bidirectional gru.lengths rnn.lengths
            rnn.relu.lengths
        """,
        "PyTorch's and NumPy's results of nothing are memory as it was": """
            multi_margin_loss batch_norm_training unpackbits
        """,
    },
    ONE: {
        "its calls name sizes or places that one element has not": """
            take.list ctc_loss ctc_loss.finite lstm.bidirectional lstm.projection gru.lengths
            multilabel_soft_margin_loss avg_pool3d avg_pool3d.edge2 rnn.unbatched chunk ix_
            gather_nd
        """,
        "PyTorch's shape is another with padding on both sides": "conv",
    },
    LARGE: {
        "matrices of this kind are not made of other ones' elements": """
            cholesky cholesky.upper cholesky_inverse
        """,
        "seconds by the evaluator, which is no compiler: sweeps over all pairs of columns": """
            eigh eigh.rank_1 eigvalsh svd svd.reduced svd.rank_1 svdvals matrix_rank matrix_norm
            cond norm.matrix_smallest norm.matrix_nuclear
        """,
        "seconds by the evaluator, of one element after another": """
            resize grid_sample.solid triplet_margin_loss.swap isin.nan quantile.lower
            quantile.midpoint quantile.higher quantile.many quantile.nearest
            scatter_reduce.prod-alone
        """,
        "its heights are to be in order": "interp",
        "its calls name the sizes of its places": "lstm lstm.lengths chunk narrow resize.scales",
        "its results are of many more elements than it reads": """
            combinations vander cartesian_prod diagflat diag_embed diag
        """,
    },
    SCALAR: {
        "the call itself reads the sizes of axes": """
            eye tri arange size reshape broadcast_to alibi_bias scatter_reduce.mean-alone
            scatter_reduce.sum-alone scatter_reduce.amax-alone cartesian_prod index_add index_fill
            scatter_reduce.amin-alone scatter_reduce.prod-alone index_add.alpha block_diag
        """,
        "PyTorch takes the batch of the first alone, ours that of both": "kl_div.batchmean",
        "NumPy makes rows of numbers, `outer` of ours keeps the rank": "outer",
        "the oracle refuses numbers": """
            pad pad.edge pad.wrap pad.symmetric-any-size pad.reflect pad.edge-any-size
            pad.wrap-any-size scatter_add scatter_reduce.prod scatter_reduce.mean
            scatter_reduce.amax scatter_reduce.mean-integer scatter scatter_nd.add scatter_nd.min
            scatter_nd.mul scatter_nd.max put_along_axis extract attention.mask pad.constants
            pad.reflect-any-size pad.symmetric scatter.last index_put index_put.accumulate average
            average.along diagonal_scatter gather.sizes triplet_margin_loss
            triplet_margin_loss.one triplet_margin_loss.swap cosine_embedding_loss layer_norm
            group_norm instance_norm batch_norm batch_norm_training scatter_reduce.amin scatter_nd
            flatten
        """,
    },
    VIEW: {},
    ODDS: {},
    BROADCAST: {
        "the oracle refuses arrays of two shapes": """
            binary_cross_entropy binary_cross_entropy_with_logits lexsort masked_scatter
        """,
    },
}
# Of these many variants are tried, or one takes seconds: only with CATALOGUE_EVERY_CASE=1.
SELDOM: Mapping[str, str] = {
    NOTHING: """
        cumulative_prod cumulative_sum gru.reset_first instance_norm lstm.bidirectional
        lstm.projection norm.matrix_columns_least norm.matrix_rows_least rnn.bidirectional
        rnn.relu.bidirectional rnn.unbatched
    """,
    ONE: """
        affine_grid attention.window avg_pool.integers avg_pool2d.options batch_norm_training
        channel_shuffle conv2d.depthwise conv2d.groups depth_to_space glu grid_sample
        grid_sample.bicubic grid_sample.nearest grid_sample.solid group_norm gru.bidirectional
        gru.reset_first instance_norm interpolate interpolate.antialias interpolate.area
        interpolate.bicubic interpolate.bilinear interpolate.linear irfft2 irfftn lp_pool1d
        lp_pool2d lp_pool3d lstm.lengths max_pool max_pool_with_indices pixel_shuffle
        pixel_unshuffle resize.scales rnn.bidirectional rnn.lengths rnn.relu.bidirectional
        rnn.relu.lengths space_to_depth split stft.plain svd.reduced take.brackets tensorsolve
        topk.rows
    """,
    LARGE: """
        addcdiv addcmul argpartition broadcast_arrays broadcast_to conv2d.depthwise conv2d.groups
        conv3d conv_transpose2d.groups gru.bidirectional gru.lengths
        gru.reset_first intersect1d isin istft lexsort lstm.bidirectional lstm.projection matrix_exp
        multi_margin_loss multilabel_soft_margin_loss partition pixel_unshuffle resize.crop rnn
        rnn.bidirectional rnn.lengths rnn.relu rnn.relu.bidirectional rnn.relu.lengths rnn.unbatched
        rope_halves rope_pairs setdiff1d solve.batch solve_triangular.batch space_to_depth split
        squeeze stft union1d update
    """,
    SCALAR: """
        cholesky_solve cosine_similarity embedding_bag gru gru.bidirectional gru.lengths
        gru.reset_first lstm lstm.bidirectional lstm.lengths lstm.projection
        multilabel_soft_margin_loss pairwise_distance rms_norm rnn rnn.bidirectional rnn.lengths
        rnn.relu rnn.relu.bidirectional rnn.relu.lengths rnn.unbatched rope_halves searchsorted
        searchsorted.right searchsorted.sorter solve_triangular solve_triangular.batch
        solve_triangular.transposed solve_triangular.unit solve_triangular.upper stft.plain update
    """,
    BROADCAST: """
        conv1d.options gru.lengths isin lstm.bidirectional lstm.lengths triplet_margin_loss.swap
    """,
    VIEW: """
        cond grid_sample.bicubic grid_sample.solid matrix_exp
    """,
}
RARE = {(kind, name) for kind, names in SELDOM.items() for name in names.split()}
WHY = {
    (kind, name): reason
    for kind, reasons in REASONS.items()
    for reason, names in reasons.items()
    for name in names.split()
}


def given_kinds(entry: Entry, dtype: str) -> set[str]:
    """The kinds that an entry's own cases have."""
    return {kind for job in jobs(entry, dtype) for kind in kinds_of(job.case)}


def derived_job(entry: Entry, kind: str, dtype: str) -> Job | str:
    """The first variant that is not refused and that the oracle answers; or why there is none."""
    case = model(entry, dtype)
    if case is None:
        return NO_ARRAYS
    unanswered = 0
    for one in variants(case, kind):
        if kind in kinds_of(one):
            job = Job(entry, dtype, -1 - KINDS.index(kind), one)
            if not _is_refused(job):
                if _is_answered(entry, one):
                    return job
                unanswered += 1
    return "" if unanswered else "refused: each variant raises a typed error"


def _is_refused(job: Job) -> bool:
    try:
        built(job, "", symbolic=False)
    except PhoticError:
        return True
    return False


def _is_answered(entry: Entry, case: Case) -> bool:
    try:
        with np.errstate(all="ignore"):
            entry.oracle(*widened(case))
    except NO_ANSWER:
        return False
    return True
