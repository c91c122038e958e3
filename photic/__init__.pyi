"""The public names as type checkers and editors see them; at run time each is fetched on use."""

from photic import nn as nn
from photic.autograd.handles import (
    checkpoint as checkpoint,
)
from photic.autograd.handles import (
    grad as grad,
)
from photic.autograd.handles import (
    jvp as jvp,
)
from photic.autograd.handles import (
    stop_gradient as stop_gradient,
)
from photic.autograd.handles import (
    value_and_grad as value_and_grad,
)
from photic.autograd.handles import (
    vjp as vjp,
)
from photic.frontends.onnx.export import export_onnx as export_onnx
from photic.nn.trainer import Trainer as Trainer
from photic.tensor import random as random
from photic.tensor.activations import (
    celu as celu,
)
from photic.tensor.activations import cosh as cosh
from photic.tensor.activations import (
    elu as elu,
)
from photic.tensor.activations import gelu as gelu
from photic.tensor.activations import (
    log_sigmoid as log_sigmoid,
)
from photic.tensor.activations import (
    mish as mish,
)
from photic.tensor.activations import relu as relu
from photic.tensor.activations import (
    selu as selu,
)
from photic.tensor.activations import sigmoid as sigmoid
from photic.tensor.activations import silu as silu
from photic.tensor.activations import sinh as sinh
from photic.tensor.activations import softplus as softplus
from photic.tensor.activations import tanh as tanh
from photic.tensor.activations import (
    tanhshrink as tanhshrink,
)
from photic.tensor.adaptive import adaptive_avg_pool as adaptive_avg_pool
from photic.tensor.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from photic.tensor.adaptive import adaptive_avg_pool2d as adaptive_avg_pool2d
from photic.tensor.adaptive import adaptive_avg_pool3d as adaptive_avg_pool3d
from photic.tensor.adaptive import adaptive_max_pool as adaptive_max_pool
from photic.tensor.adaptive import adaptive_max_pool1d as adaptive_max_pool1d
from photic.tensor.adaptive import adaptive_max_pool2d as adaptive_max_pool2d
from photic.tensor.adaptive import adaptive_max_pool3d as adaptive_max_pool3d
from photic.tensor.adaptive import adaptive_max_pool_with_indices as adaptive_max_pool_with_indices
from photic.tensor.adaptive import global_avg_pool as global_avg_pool
from photic.tensor.adaptive import global_lp_pool as global_lp_pool
from photic.tensor.adaptive import global_max_pool as global_max_pool
from photic.tensor.added_products import addbmm as addbmm
from photic.tensor.added_products import addcdiv as addcdiv
from photic.tensor.added_products import addcmul as addcmul
from photic.tensor.added_products import addmm as addmm
from photic.tensor.added_products import addmv as addmv
from photic.tensor.added_products import addr as addr
from photic.tensor.added_products import baddbmm as baddbmm
from photic.tensor.added_products import bilinear as bilinear
from photic.tensor.added_products import bmm as bmm
from photic.tensor.added_products import convolve as convolve
from photic.tensor.added_products import correlate as correlate
from photic.tensor.added_products import linear as linear
from photic.tensor.added_products import matvec as matvec
from photic.tensor.added_products import mm as mm
from photic.tensor.added_products import mv as mv
from photic.tensor.added_products import vecmat as vecmat
from photic.tensor.agreement import allclose as allclose
from photic.tensor.agreement import array_equal as array_equal
from photic.tensor.arithmetic import divide as divide
from photic.tensor.arithmetic import divmod as divmod
from photic.tensor.arithmetic import floor_divide as floor_divide
from photic.tensor.arithmetic import (
    fmod as fmod,
)
from photic.tensor.arithmetic import (
    lerp as lerp,
)
from photic.tensor.arithmetic import negative as negative
from photic.tensor.arithmetic import (
    remainder as remainder,
)
from photic.tensor.arithmetic import subtract as subtract
from photic.tensor.arithmetic import true_divide as true_divide
from photic.tensor.attention import alibi_bias as alibi_bias
from photic.tensor.attention import alibi_slopes as alibi_slopes
from photic.tensor.attention import attention as attention
from photic.tensor.bags import embedding_bag as embedding_bag
from photic.tensor.bitwise import bitwise_and as bitwise_and
from photic.tensor.bitwise import bitwise_count as bitwise_count
from photic.tensor.bitwise import bitwise_invert as bitwise_invert
from photic.tensor.bitwise import bitwise_left_shift as bitwise_left_shift
from photic.tensor.bitwise import bitwise_not as bitwise_not
from photic.tensor.bitwise import bitwise_or as bitwise_or
from photic.tensor.bitwise import bitwise_right_shift as bitwise_right_shift
from photic.tensor.bitwise import bitwise_xor as bitwise_xor
from photic.tensor.bitwise import invert as invert
from photic.tensor.bitwise import left_shift as left_shift
from photic.tensor.bitwise import packbits as packbits
from photic.tensor.bitwise import right_shift as right_shift
from photic.tensor.bitwise import unpackbits as unpackbits
from photic.tensor.bound import Bound as Bound
from photic.tensor.calculus import cumulative_trapezoid as cumulative_trapezoid
from photic.tensor.calculus import gradient as gradient
from photic.tensor.calculus import interp as interp
from photic.tensor.calculus import trapezoid as trapezoid
from photic.tensor.calculus import unwrap as unwrap
from photic.tensor.compare import clip as clip
from photic.tensor.compare import equal as equal
from photic.tensor.compare import (
    fmax as fmax,
)
from photic.tensor.compare import (
    fmin as fmin,
)
from photic.tensor.compare import greater as greater
from photic.tensor.compare import greater_equal as greater_equal
from photic.tensor.compare import (
    isclose as isclose,
)
from photic.tensor.compare import isfinite as isfinite
from photic.tensor.compare import isinf as isinf
from photic.tensor.compare import isnan as isnan
from photic.tensor.compare import (
    isneginf as isneginf,
)
from photic.tensor.compare import (
    isposinf as isposinf,
)
from photic.tensor.compare import less_equal as less_equal
from photic.tensor.compare import logical_and as logical_and
from photic.tensor.compare import logical_not as logical_not
from photic.tensor.compare import logical_or as logical_or
from photic.tensor.compare import logical_xor as logical_xor
from photic.tensor.compare import maximum as maximum
from photic.tensor.compare import minimum as minimum
from photic.tensor.compare import (
    nan_to_num as nan_to_num,
)
from photic.tensor.compare import not_equal as not_equal
from photic.tensor.compiling import compile as compile
from photic.tensor.compiling import load as load
from photic.tensor.convolution import conv as conv
from photic.tensor.convolution import conv1d as conv1d
from photic.tensor.convolution import conv2d as conv2d
from photic.tensor.convolution import conv3d as conv3d
from photic.tensor.convolution import conv_transpose as conv_transpose
from photic.tensor.convolution import conv_transpose1d as conv_transpose1d
from photic.tensor.convolution import conv_transpose2d as conv_transpose2d
from photic.tensor.convolution import conv_transpose3d as conv_transpose3d
from photic.tensor.counting import argwhere as argwhere
from photic.tensor.counting import bincount as bincount
from photic.tensor.counting import count_nonzero as count_nonzero
from photic.tensor.counting import flatnonzero as flatnonzero
from photic.tensor.counting import histc as histc
from photic.tensor.counting import histogram as histogram
from photic.tensor.counting import histogram_bin_edges as histogram_bin_edges
from photic.tensor.counting import nonzero as nonzero
from photic.tensor.creation import arange as arange
from photic.tensor.creation import constant as constant
from photic.tensor.creation import dim as dim
from photic.tensor.creation import empty as empty
from photic.tensor.creation import empty_like as empty_like
from photic.tensor.creation import eye as eye
from photic.tensor.creation import full as full
from photic.tensor.creation import full_like as full_like
from photic.tensor.creation import geomspace as geomspace
from photic.tensor.creation import identity as identity
from photic.tensor.creation import input as input
from photic.tensor.creation import linspace as linspace
from photic.tensor.creation import logspace as logspace
from photic.tensor.creation import ones as ones
from photic.tensor.creation import ones_like as ones_like
from photic.tensor.creation import result_type as result_type
from photic.tensor.creation import size as size
from photic.tensor.creation import state as state
from photic.tensor.creation import zeros as zeros
from photic.tensor.creation import zeros_like as zeros_like
from photic.tensor.ctc import ctc_loss as ctc_loss
from photic.tensor.decompositions import cholesky as cholesky
from photic.tensor.decompositions import cholesky_solve as cholesky_solve
from photic.tensor.decompositions import det as det
from photic.tensor.decompositions import inv as inv
from photic.tensor.decompositions import lstsq as lstsq
from photic.tensor.decompositions import lu as lu
from photic.tensor.decompositions import matrix_power as matrix_power
from photic.tensor.decompositions import qr as qr
from photic.tensor.decompositions import slogdet as slogdet
from photic.tensor.decompositions import solve as solve
from photic.tensor.decompositions import solve_triangular as solve_triangular
from photic.tensor.diagonals import diag as diag
from photic.tensor.diagonals import diag_embed as diag_embed
from photic.tensor.diagonals import diagflat as diagflat
from photic.tensor.diagonals import diagonal as diagonal
from photic.tensor.diagonals import diagonal_scatter as diagonal_scatter
from photic.tensor.diagonals import fill_diagonal as fill_diagonal
from photic.tensor.diagonals import trace as trace
from photic.tensor.diagonals import tri as tri
from photic.tensor.diagonals import tril as tril
from photic.tensor.diagonals import triu as triu
from photic.tensor.distinct import mode as mode
from photic.tensor.distinct import unique as unique
from photic.tensor.divisors import gcd as gcd
from photic.tensor.divisors import lcm as lcm
from photic.tensor.elementary import (
    deg2rad as deg2rad,
)
from photic.tensor.elementary import (
    degrees as degrees,
)
from photic.tensor.elementary import entr as entr
from photic.tensor.elementary import exp as exp
from photic.tensor.elementary import expm1 as expm1
from photic.tensor.elementary import log as log
from photic.tensor.elementary import log1p as log1p
from photic.tensor.elementary import log10 as log10
from photic.tensor.elementary import (
    logaddexp as logaddexp,
)
from photic.tensor.elementary import (
    logaddexp2 as logaddexp2,
)
from photic.tensor.elementary import (
    rad2deg as rad2deg,
)
from photic.tensor.elementary import (
    radians as radians,
)
from photic.tensor.elementary import rsqrt as rsqrt
from photic.tensor.elementary import xlog1py as xlog1py
from photic.tensor.elementary import (
    xlogy as xlogy,
)
from photic.tensor.error_functions import (
    erf as erf,
)
from photic.tensor.error_functions import (
    erfc as erfc,
)
from photic.tensor.error_functions import (
    erfinv as erfinv,
)
from photic.tensor.error_functions import ndtr as ndtr
from photic.tensor.float_parts import frexp as frexp
from photic.tensor.float_parts import ldexp as ldexp
from photic.tensor.float_parts import modf as modf
from photic.tensor.fourier import fft as fft
from photic.tensor.fourier import fft2 as fft2
from photic.tensor.fourier import fftfreq as fftfreq
from photic.tensor.fourier import fftn as fftn
from photic.tensor.fourier import fftshift as fftshift
from photic.tensor.fourier import ifft as ifft
from photic.tensor.fourier import ifft2 as ifft2
from photic.tensor.fourier import ifftn as ifftn
from photic.tensor.fourier import ifftshift as ifftshift
from photic.tensor.fourier import irfft as irfft
from photic.tensor.fourier import irfft2 as irfft2
from photic.tensor.fourier import irfftn as irfftn
from photic.tensor.fourier import rfft as rfft
from photic.tensor.fourier import rfft2 as rfft2
from photic.tensor.fourier import rfftfreq as rfftfreq
from photic.tensor.fourier import rfftn as rfftn
from photic.tensor.gamma_functions import (
    digamma as digamma,
)
from photic.tensor.gamma_functions import (
    lgamma as lgamma,
)
from photic.tensor.gates import (
    glu as glu,
)
from photic.tensor.gates import (
    hardshrink as hardshrink,
)
from photic.tensor.gates import (
    hardsigmoid as hardsigmoid,
)
from photic.tensor.gates import (
    hardswish as hardswish,
)
from photic.tensor.gates import (
    hardtanh as hardtanh,
)
from photic.tensor.gates import (
    leaky_relu as leaky_relu,
)
from photic.tensor.gates import (
    prelu as prelu,
)
from photic.tensor.gates import (
    relu6 as relu6,
)
from photic.tensor.gates import (
    softshrink as softshrink,
)
from photic.tensor.gates import (
    softsign as softsign,
)
from photic.tensor.gates import (
    threshold as threshold,
)
from photic.tensor.grids import cartesian_prod as cartesian_prod
from photic.tensor.grids import combinations as combinations
from photic.tensor.grids import diag_indices as diag_indices
from photic.tensor.grids import indices as indices
from photic.tensor.grids import ix_ as ix_
from photic.tensor.grids import meshgrid as meshgrid
from photic.tensor.grids import ravel_multi_index as ravel_multi_index
from photic.tensor.grids import tril_indices as tril_indices
from photic.tensor.grids import triu_indices as triu_indices
from photic.tensor.grids import unravel_index as unravel_index
from photic.tensor.indexing import choose as choose
from photic.tensor.indexing import embedding as embedding
from photic.tensor.indexing import gather as gather
from photic.tensor.indexing import gather_nd as gather_nd
from photic.tensor.indexing import index_select as index_select
from photic.tensor.indexing import narrow as narrow
from photic.tensor.indexing import one_hot as one_hot
from photic.tensor.indexing import select as select
from photic.tensor.indexing import take as take
from photic.tensor.indexing import take_along_axis as take_along_axis
from photic.tensor.indexing import update as update
from photic.tensor.inverse_functions import acos as acos
from photic.tensor.inverse_functions import acosh as acosh
from photic.tensor.inverse_functions import arccos as arccos
from photic.tensor.inverse_functions import arccosh as arccosh
from photic.tensor.inverse_functions import arcsin as arcsin
from photic.tensor.inverse_functions import arcsinh as arcsinh
from photic.tensor.inverse_functions import arctan as arctan
from photic.tensor.inverse_functions import arctan2 as arctan2
from photic.tensor.inverse_functions import arctanh as arctanh
from photic.tensor.inverse_functions import asin as asin
from photic.tensor.inverse_functions import asinh as asinh
from photic.tensor.inverse_functions import atan as atan
from photic.tensor.inverse_functions import atan2 as atan2
from photic.tensor.inverse_functions import atanh as atanh
from photic.tensor.inverse_functions import logit as logit
from photic.tensor.joining import append as append
from photic.tensor.joining import block as block
from photic.tensor.joining import block_diag as block_diag
from photic.tensor.joining import column_stack as column_stack
from photic.tensor.joining import delete as delete
from photic.tensor.joining import dstack as dstack
from photic.tensor.joining import hstack as hstack
from photic.tensor.joining import insert as insert
from photic.tensor.joining import vstack as vstack
from photic.tensor.likelihoods import binary_cross_entropy as binary_cross_entropy
from photic.tensor.likelihoods import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from photic.tensor.likelihoods import cross_entropy as cross_entropy
from photic.tensor.likelihoods import gaussian_nll_loss as gaussian_nll_loss
from photic.tensor.likelihoods import kl_div as kl_div
from photic.tensor.likelihoods import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from photic.tensor.likelihoods import nll_loss as nll_loss
from photic.tensor.likelihoods import poisson_nll_loss as poisson_nll_loss
from photic.tensor.likelihoods import soft_margin_loss as soft_margin_loss
from photic.tensor.linear import cross as cross
from photic.tensor.linear import dot as dot
from photic.tensor.linear import einsum as einsum
from photic.tensor.linear import inner as inner
from photic.tensor.linear import kron as kron
from photic.tensor.linear import matmul as matmul
from photic.tensor.linear import multi_dot as multi_dot
from photic.tensor.linear import outer as outer
from photic.tensor.linear import tensordot as tensordot
from photic.tensor.linear import vdot as vdot
from photic.tensor.linear import vecdot as vecdot
from photic.tensor.loops import prod as prod
from photic.tensor.loops import scan as scan
from photic.tensor.losses import cosine_embedding_loss as cosine_embedding_loss
from photic.tensor.losses import cosine_similarity as cosine_similarity
from photic.tensor.losses import hinge_embedding_loss as hinge_embedding_loss
from photic.tensor.losses import huber_loss as huber_loss
from photic.tensor.losses import l1_loss as l1_loss
from photic.tensor.losses import margin_ranking_loss as margin_ranking_loss
from photic.tensor.losses import mse_loss as mse_loss
from photic.tensor.losses import multi_margin_loss as multi_margin_loss
from photic.tensor.losses import smooth_l1_loss as smooth_l1_loss
from photic.tensor.losses import triplet_margin_loss as triplet_margin_loss
from photic.tensor.magnitudes import cdist as cdist
from photic.tensor.magnitudes import dist as dist
from photic.tensor.magnitudes import norm as norm
from photic.tensor.magnitudes import pairwise_distance as pairwise_distance
from photic.tensor.magnitudes import pdist as pdist
from photic.tensor.magnitudes import renorm as renorm
from photic.tensor.masks import compress as compress
from photic.tensor.masks import extract as extract
from photic.tensor.masks import masked_fill as masked_fill
from photic.tensor.masks import masked_scatter as masked_scatter
from photic.tensor.masks import masked_select as masked_select
from photic.tensor.matrix_functions import cholesky_inverse as cholesky_inverse
from photic.tensor.matrix_functions import cond as cond
from photic.tensor.matrix_functions import logdet as logdet
from photic.tensor.matrix_functions import matrix_exp as matrix_exp
from photic.tensor.matrix_functions import matrix_norm as matrix_norm
from photic.tensor.matrix_functions import tensorinv as tensorinv
from photic.tensor.matrix_functions import tensorsolve as tensorsolve
from photic.tensor.matrix_functions import vector_norm as vector_norm
from photic.tensor.nan_reductions import nanargmax as nanargmax
from photic.tensor.nan_reductions import nanargmin as nanargmin
from photic.tensor.nan_reductions import nancumprod as nancumprod
from photic.tensor.nan_reductions import nancumsum as nancumsum
from photic.tensor.nan_reductions import nanmax as nanmax
from photic.tensor.nan_reductions import nanmean as nanmean
from photic.tensor.nan_reductions import nanmin as nanmin
from photic.tensor.nan_reductions import nanprod as nanprod
from photic.tensor.nan_reductions import nanstd as nanstd
from photic.tensor.nan_reductions import nansum as nansum
from photic.tensor.nan_reductions import nanvar as nanvar
from photic.tensor.norms import batch_norm as batch_norm
from photic.tensor.norms import batch_norm_training as batch_norm_training
from photic.tensor.norms import group_norm as group_norm
from photic.tensor.norms import instance_norm as instance_norm
from photic.tensor.norms import layer_norm as layer_norm
from photic.tensor.norms import local_response_norm as local_response_norm
from photic.tensor.norms import normalize as normalize
from photic.tensor.norms import rms_norm as rms_norm
from photic.tensor.ordering import argpartition as argpartition
from photic.tensor.ordering import argsort as argsort
from photic.tensor.ordering import lexsort as lexsort
from photic.tensor.ordering import partition as partition
from photic.tensor.ordering import sort as sort
from photic.tensor.ordering import topk as topk
from photic.tensor.padding import pad as pad
from photic.tensor.pixels import channel_shuffle as channel_shuffle
from photic.tensor.pixels import depth_to_space as depth_to_space
from photic.tensor.pixels import pixel_shuffle as pixel_shuffle
from photic.tensor.pixels import pixel_unshuffle as pixel_unshuffle
from photic.tensor.pixels import space_to_depth as space_to_depth
from photic.tensor.polynomials import polyfit as polyfit
from photic.tensor.polynomials import polyval as polyval
from photic.tensor.polynomials import vander as vander
from photic.tensor.pooling import avg_pool as avg_pool
from photic.tensor.pooling import avg_pool1d as avg_pool1d
from photic.tensor.pooling import avg_pool2d as avg_pool2d
from photic.tensor.pooling import avg_pool3d as avg_pool3d
from photic.tensor.pooling import lp_pool as lp_pool
from photic.tensor.pooling import lp_pool1d as lp_pool1d
from photic.tensor.pooling import lp_pool2d as lp_pool2d
from photic.tensor.pooling import lp_pool3d as lp_pool3d
from photic.tensor.pooling import max_pool as max_pool
from photic.tensor.pooling import max_pool1d as max_pool1d
from photic.tensor.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from photic.tensor.pooling import max_pool2d as max_pool2d
from photic.tensor.pooling import max_pool2d_with_indices as max_pool2d_with_indices
from photic.tensor.pooling import max_pool3d as max_pool3d
from photic.tensor.pooling import max_pool3d_with_indices as max_pool3d_with_indices
from photic.tensor.pooling import max_pool_with_indices as max_pool_with_indices
from photic.tensor.pooling import max_unpool as max_unpool
from photic.tensor.pooling import max_unpool1d as max_unpool1d
from photic.tensor.pooling import max_unpool2d as max_unpool2d
from photic.tensor.pooling import max_unpool3d as max_unpool3d
from photic.tensor.powers import (
    cbrt as cbrt,
)
from photic.tensor.powers import (
    hypot as hypot,
)
from photic.tensor.powers import pow as pow
from photic.tensor.powers import (
    power as power,
)
from photic.tensor.primitive import add as add
from photic.tensor.primitive import exp2 as exp2
from photic.tensor.primitive import less as less
from photic.tensor.primitive import log2 as log2
from photic.tensor.primitive import mod as mod
from photic.tensor.primitive import multiply as multiply
from photic.tensor.primitive import reciprocal as reciprocal
from photic.tensor.primitive import sin as sin
from photic.tensor.primitive import sqrt as sqrt
from photic.tensor.primitive import where as where
from photic.tensor.program import Program as Program
from photic.tensor.recurrent import RecurrentWeights as RecurrentWeights
from photic.tensor.recurrent import gru as gru
from photic.tensor.recurrent import lstm as lstm
from photic.tensor.recurrent import rnn as rnn
from photic.tensor.reductions import all as all
from photic.tensor.reductions import amax as amax
from photic.tensor.reductions import amin as amin
from photic.tensor.reductions import any as any
from photic.tensor.reductions import argmax as argmax
from photic.tensor.reductions import argmin as argmin
from photic.tensor.reductions import log_softmax as log_softmax
from photic.tensor.reductions import logsumexp as logsumexp
from photic.tensor.reductions import max as max
from photic.tensor.reductions import mean as mean
from photic.tensor.reductions import min as min
from photic.tensor.reductions import softmax as softmax
from photic.tensor.reductions import softmin as softmin
from photic.tensor.reductions import std as std
from photic.tensor.reductions import sum as sum
from photic.tensor.reductions import var as var
from photic.tensor.repeating import repeat as repeat
from photic.tensor.repeating import repeat_interleave as repeat_interleave
from photic.tensor.repeating import tile as tile
from photic.tensor.replacing import select_scatter as select_scatter
from photic.tensor.replacing import slice_scatter as slice_scatter
from photic.tensor.resizing import interpolate as interpolate
from photic.tensor.resizing import resize as resize
from photic.tensor.rope import rope_halves as rope_halves
from photic.tensor.rope import rope_pairs as rope_pairs
from photic.tensor.rope import rope_tables as rope_tables
from photic.tensor.rope_rates import Rope as Rope
from photic.tensor.rope_rates import rope_rates as rope_rates
from photic.tensor.rope_scalings import RopeDynamic as RopeDynamic
from photic.tensor.rope_scalings import RopeLinear as RopeLinear
from photic.tensor.rope_scalings import RopeLlama3 as RopeLlama3
from photic.tensor.rope_scalings import RopeLong as RopeLong
from photic.tensor.rope_scalings import RopePlain as RopePlain
from photic.tensor.rope_scalings import RopeProportional as RopeProportional
from photic.tensor.rope_scalings import RopeYarn as RopeYarn
from photic.tensor.rope_scalings import yarn_gain as yarn_gain
from photic.tensor.rotations import eigh as eigh
from photic.tensor.rotations import eigvalsh as eigvalsh
from photic.tensor.rotations import matrix_rank as matrix_rank
from photic.tensor.rotations import pinv as pinv
from photic.tensor.rotations import svd as svd
from photic.tensor.rotations import svdvals as svdvals
from photic.tensor.rounding import abs as abs
from photic.tensor.rounding import absolute as absolute
from photic.tensor.rounding import around as around
from photic.tensor.rounding import ceil as ceil
from photic.tensor.rounding import copysign as copysign
from photic.tensor.rounding import fix as fix
from photic.tensor.rounding import floor as floor
from photic.tensor.rounding import frac as frac
from photic.tensor.rounding import heaviside as heaviside
from photic.tensor.rounding import rint as rint
from photic.tensor.rounding import round as round
from photic.tensor.rounding import sign as sign
from photic.tensor.rounding import signbit as signbit
from photic.tensor.rounding import square as square
from photic.tensor.rounding import trunc as trunc
from photic.tensor.running import cummax as cummax
from photic.tensor.running import cummin as cummin
from photic.tensor.running import cumprod as cumprod
from photic.tensor.running import cumsum as cumsum
from photic.tensor.running import cumulative_prod as cumulative_prod
from photic.tensor.running import cumulative_sum as cumulative_sum
from photic.tensor.running import diff as diff
from photic.tensor.running import logcumsumexp as logcumsumexp
from photic.tensor.sampling_grids import affine_grid as affine_grid
from photic.tensor.sampling_grids import grid_sample as grid_sample
from photic.tensor.scattering import index_add as index_add
from photic.tensor.scattering import index_copy as index_copy
from photic.tensor.scattering import index_fill as index_fill
from photic.tensor.scattering import index_put as index_put
from photic.tensor.scattering import put as put
from photic.tensor.scattering import put_along_axis as put_along_axis
from photic.tensor.scattering import scatter as scatter
from photic.tensor.scattering import scatter_add as scatter_add
from photic.tensor.scattering import scatter_nd as scatter_nd
from photic.tensor.scattering import scatter_reduce as scatter_reduce
from photic.tensor.searching import bucketize as bucketize
from photic.tensor.searching import digitize as digitize
from photic.tensor.searching import searchsorted as searchsorted
from photic.tensor.selection import kthvalue as kthvalue
from photic.tensor.selection import median as median
from photic.tensor.selection import nanmedian as nanmedian
from photic.tensor.selection import nanpercentile as nanpercentile
from photic.tensor.selection import nanquantile as nanquantile
from photic.tensor.selection import percentile as percentile
from photic.tensor.selection import quantile as quantile
from photic.tensor.sets import intersect1d as intersect1d
from photic.tensor.sets import isin as isin
from photic.tensor.sets import setdiff1d as setdiff1d
from photic.tensor.sets import union1d as union1d
from photic.tensor.shapes import atleast_1d as atleast_1d
from photic.tensor.shapes import atleast_2d as atleast_2d
from photic.tensor.shapes import atleast_3d as atleast_3d
from photic.tensor.shapes import broadcast_arrays as broadcast_arrays
from photic.tensor.shapes import broadcast_shapes as broadcast_shapes
from photic.tensor.shapes import broadcast_to as broadcast_to
from photic.tensor.shapes import concat as concat
from photic.tensor.shapes import concatenate as concatenate
from photic.tensor.shapes import expand as expand
from photic.tensor.shapes import expand_dims as expand_dims
from photic.tensor.shapes import flatten as flatten
from photic.tensor.shapes import flip as flip
from photic.tensor.shapes import fliplr as fliplr
from photic.tensor.shapes import flipud as flipud
from photic.tensor.shapes import matrix_transpose as matrix_transpose
from photic.tensor.shapes import moveaxis as moveaxis
from photic.tensor.shapes import permute as permute
from photic.tensor.shapes import permute_dims as permute_dims
from photic.tensor.shapes import ravel as ravel
from photic.tensor.shapes import reshape as reshape
from photic.tensor.shapes import roll as roll
from photic.tensor.shapes import rot90 as rot90
from photic.tensor.shapes import squeeze as squeeze
from photic.tensor.shapes import stack as stack
from photic.tensor.shapes import swapaxes as swapaxes
from photic.tensor.shapes import transpose as transpose
from photic.tensor.shapes import unflatten as unflatten
from photic.tensor.shapes import unsqueeze as unsqueeze
from photic.tensor.slicing import array_split as array_split
from photic.tensor.slicing import chunk as chunk
from photic.tensor.slicing import dsplit as dsplit
from photic.tensor.slicing import hsplit as hsplit
from photic.tensor.slicing import split as split
from photic.tensor.slicing import unbind as unbind
from photic.tensor.slicing import unstack as unstack
from photic.tensor.slicing import vsplit as vsplit
from photic.tensor.spans import aminmax as aminmax
from photic.tensor.spans import ptp as ptp
from photic.tensor.spectra import bartlett_window as bartlett_window
from photic.tensor.spectra import blackman_window as blackman_window
from photic.tensor.spectra import dct as dct
from photic.tensor.spectra import hamming_window as hamming_window
from photic.tensor.spectra import hann_window as hann_window
from photic.tensor.spectra import idct as idct
from photic.tensor.spectra import istft as istft
from photic.tensor.spectra import kaiser_window as kaiser_window
from photic.tensor.spectra import mel_filter_bank as mel_filter_bank
from photic.tensor.spectra import stft as stft
from photic.tensor.statistics import average as average
from photic.tensor.statistics import corrcoef as corrcoef
from photic.tensor.statistics import cov as cov
from photic.tensor.statistics import std_mean as std_mean
from photic.tensor.statistics import var_mean as var_mean
from photic.tensor.tensor import Tensor as Tensor
from photic.tensor.unfolding import fold as fold
from photic.tensor.unfolding import sliding_window_view as sliding_window_view
from photic.tensor.unfolding import unfold as unfold
from photic.tensor.waves import cos as cos
from photic.tensor.waves import sinc as sinc
from photic.tensor.waves import tan as tan

__version__: str
__all__: list[str]
