"""photic: a deep-learning compiler over twelve primitives.

``import photic as ph`` names everything a user needs and imports none of it: each name is fetched
from its module on first use. ``__all__`` leaves out the names that hide Python's builtins.
"""

from __future__ import annotations

import builtins
import importlib
import sys

__version__ = "0.1.0"

_MODULES: dict[str, str] = {
    "photic.tensor.tensor": "Tensor",
    "photic.tensor.compiling": "compile load",
    "photic.tensor.bound": "Bound",
    "photic.tensor.program": "Program",
    "photic.tensor.creation": """
        dim input state constant size full zeros ones full_like zeros_like ones_like
        empty empty_like arange linspace logspace geomspace eye identity result_type
    """,
    "photic.tensor.primitive": "exp2 log2 sin sqrt reciprocal add multiply mod less where",
    "photic.tensor.arithmetic": """
        negative subtract divide floor_divide divmod remainder fmod lerp true_divide
    """,
    "photic.tensor.compare": """
        greater less_equal greater_equal equal not_equal isnan isfinite isinf
        isposinf isneginf isclose nan_to_num fmax fmin
        logical_not logical_and logical_or logical_xor maximum minimum clip
    """,
    "photic.tensor.rounding": """
        floor ceil trunc frac round abs sign square signbit copysign heaviside absolute
        around fix rint
    """,
    "photic.tensor.elementary": """
        exp expm1 log log10 log1p rsqrt logaddexp logaddexp2 xlogy deg2rad rad2deg radians
        degrees xlog1py entr
    """,
    "photic.tensor.waves": "cos tan sinc",
    "photic.tensor.inverse_functions": """
        asin acos atan atan2 asinh acosh atanh logit
        arcsin arccos arctan arctan2 arcsinh arccosh arctanh
    """,
    "photic.tensor.error_functions": "erf erfc erfinv ndtr",
    "photic.tensor.gamma_functions": "lgamma digamma",
    "photic.tensor.activations": """
        tanh sinh cosh sigmoid silu relu softplus gelu mish log_sigmoid elu celu selu tanhshrink
    """,
    "photic.tensor.gates": """
        leaky_relu prelu relu6 hardtanh hardsigmoid hardswish softsign softshrink hardshrink
        threshold glu
    """,
    "photic.tensor.powers": "power cbrt hypot pow",
    "photic.tensor.bitwise": """
        bitwise_not bitwise_and bitwise_or bitwise_xor left_shift right_shift
        bitwise_count bitwise_invert invert bitwise_left_shift bitwise_right_shift
        packbits unpackbits
    """,
    "photic.tensor.loops": "scan prod",
    "photic.tensor.ordering": "sort argsort topk partition argpartition lexsort",
    "photic.tensor.selection": """
        kthvalue median nanmedian quantile nanquantile
        percentile nanpercentile
    """,
    "photic.tensor.searching": "searchsorted digitize bucketize",
    "photic.tensor.counting": """
        count_nonzero nonzero argwhere flatnonzero bincount histogram histogram_bin_edges
        histc
    """,
    "photic.tensor.distinct": "unique mode",
    "photic.tensor.nan_reductions": """
        nansum nanmax nanmin nanmean nanvar nanstd nanprod nancumsum nancumprod nanargmax
        nanargmin
    """,
    "photic.tensor.spans": "aminmax ptp",
    "photic.tensor.running": """
        cumsum cumprod cummax cummin logcumsumexp diff cumulative_sum cumulative_prod
    """,
    "photic.tensor.shapes": """
        reshape ravel flatten unflatten transpose permute swapaxes moveaxis broadcast_to
        expand broadcast_shapes broadcast_arrays squeeze expand_dims unsqueeze atleast_1d
        atleast_2d atleast_3d flip fliplr flipud rot90 roll concat concatenate stack
        matrix_transpose permute_dims
    """,
    "photic.tensor.scattering": """
        scatter scatter_add scatter_reduce scatter_nd put_along_axis put index_add index_copy
        index_fill index_put
    """,
    "photic.tensor.masks": "masked_fill masked_scatter masked_select extract compress",
    "photic.tensor.replacing": "slice_scatter select_scatter",
    "photic.tensor.padding": "pad",
    "photic.tensor.slicing": """
        split array_split hsplit vsplit dsplit chunk unbind unstack
    """,
    "photic.tensor.repeating": "tile repeat repeat_interleave",
    "photic.tensor.joining": """
        vstack hstack dstack column_stack append block_diag delete insert block
    """,
    "photic.tensor.diagonals": """
        tri tril triu diag diagonal diagflat diag_embed diagonal_scatter trace
        fill_diagonal
    """,
    "photic.tensor.unfolding": "sliding_window_view unfold fold",
    "photic.tensor.convolution": """
        conv conv1d conv2d conv3d conv_transpose conv_transpose1d conv_transpose2d
        conv_transpose3d
    """,
    "photic.tensor.pooling": """
        max_pool max_pool1d max_pool2d max_pool3d max_pool_with_indices
        max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices max_unpool
        max_unpool1d max_unpool2d max_unpool3d avg_pool avg_pool1d avg_pool2d avg_pool3d
        lp_pool lp_pool1d lp_pool2d lp_pool3d
    """,
    "photic.tensor.adaptive": """
        adaptive_avg_pool adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        adaptive_max_pool adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
        adaptive_max_pool_with_indices global_avg_pool global_max_pool global_lp_pool
    """,
    "photic.tensor.resizing": "interpolate resize",
    "photic.tensor.sampling_grids": "affine_grid grid_sample",
    "photic.tensor.pixels": """
        channel_shuffle depth_to_space pixel_shuffle pixel_unshuffle space_to_depth
    """,
    "photic.tensor.grids": """
        meshgrid indices unravel_index ravel_multi_index tril_indices triu_indices
        diag_indices ix_ cartesian_prod combinations
    """,
    "photic.tensor.reductions": """
        sum max min any all mean var std argmax argmin softmax log_softmax logsumexp amax
        amin softmin
    """,
    "photic.tensor": "random",
    "photic.tensor.linear": """
        matmul dot vdot vecdot inner outer cross kron multi_dot tensordot einsum
    """,
    "photic.tensor.magnitudes": "norm cdist pairwise_distance dist pdist renorm",
    "photic.tensor.decompositions": """
        cholesky cholesky_solve solve_triangular lu solve inv det slogdet matrix_power qr lstsq
    """,
    "photic.tensor.rotations": "eigh eigvalsh svd svdvals pinv matrix_rank",
    "photic.tensor.fourier": """
        fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn
        fftfreq rfftfreq fftshift ifftshift
    """,
    "photic.tensor.spectra": """
        hann_window hamming_window blackman_window stft istft dct idct mel_filter_bank
        bartlett_window kaiser_window
    """,
    "photic.tensor.indexing": """
        take index_select narrow embedding take_along_axis gather gather_nd choose select one_hot
        update
    """,
    "photic.tensor.statistics": "average cov corrcoef var_mean std_mean",
    "photic.tensor.calculus": "gradient trapezoid cumulative_trapezoid interp unwrap",
    "photic.tensor.polynomials": "vander polyval polyfit",
    "photic.tensor.added_products": """
        mm bmm mv matvec vecmat addmm addmv addr baddbmm addbmm addcmul addcdiv linear
        bilinear convolve correlate
    """,
    "photic.tensor.divisors": "gcd lcm",
    "photic.tensor.float_parts": "modf ldexp frexp",
    "photic.tensor.sets": "isin union1d intersect1d setdiff1d",
    "photic.tensor.agreement": "allclose array_equal",
    "photic.tensor.matrix_functions": """
        vector_norm matrix_norm cond logdet cholesky_inverse matrix_exp tensorinv
        tensorsolve
    """,
    "photic.tensor.norms": """
        rms_norm layer_norm group_norm instance_norm batch_norm batch_norm_training
        local_response_norm normalize
    """,
    "photic.tensor.attention": "attention alibi_bias alibi_slopes",
    "photic.tensor.rope": "rope_tables rope_halves rope_pairs",
    "photic.tensor.rope_rates": "Rope rope_rates",
    "photic.tensor.rope_scalings": """
        RopePlain RopeLinear RopeDynamic RopeYarn RopeLlama3 RopeLong RopeProportional yarn_gain
    """,
    "photic.tensor.recurrent": "RecurrentWeights lstm gru rnn",
    "photic.tensor.bags": "embedding_bag",
    "photic.tensor.losses": """
        mse_loss l1_loss smooth_l1_loss huber_loss hinge_embedding_loss
        margin_ranking_loss triplet_margin_loss cosine_similarity cosine_embedding_loss
        multi_margin_loss
    """,
    "photic.tensor.likelihoods": """
        cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits
        kl_div poisson_nll_loss gaussian_nll_loss soft_margin_loss
        multilabel_soft_margin_loss
    """,
    "photic.tensor.ctc": "ctc_loss",
    "photic.frontends.onnx.export": "export_onnx",
    "photic": "nn",
    "photic.nn.trainer": "Trainer",
    "photic.autograd.handles": "grad value_and_grad vjp jvp stop_gradient checkpoint",
}

_HOME: dict[str, str] = {
    name: module for module, names in _MODULES.items() for name in names.split()
}

__all__ = sorted(name for name in _HOME if not hasattr(builtins, name))


def __getattr__(name: str) -> object:
    """A public name, from its module."""
    if name not in _HOME:
        from photic.tensor.other_names import FUNCTION_HINTS, hint_of

        raise AttributeError(
            f"module 'photic' has no attribute {name!r}{hint_of(name, FUNCTION_HINTS)}",
            name=name,
            obj=sys.modules[__name__],
        )
    if _HOME[name] == __name__:  # a folder
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
