"""The public names as type checkers and editors see them; at run time each is fetched on use."""

from photic.tensor.activations import (
    cosh as cosh,
)
from photic.tensor.activations import (
    erf as erf,
)
from photic.tensor.activations import (
    gelu as gelu,
)
from photic.tensor.activations import (
    relu as relu,
)
from photic.tensor.activations import (
    sigmoid as sigmoid,
)
from photic.tensor.activations import (
    silu as silu,
)
from photic.tensor.activations import (
    sinh as sinh,
)
from photic.tensor.activations import (
    softplus as softplus,
)
from photic.tensor.activations import (
    tanh as tanh,
)
from photic.tensor.arithmetic import (
    divide as divide,
)
from photic.tensor.arithmetic import (
    divmod as divmod,
)
from photic.tensor.arithmetic import (
    floor_divide as floor_divide,
)
from photic.tensor.arithmetic import (
    negative as negative,
)
from photic.tensor.arithmetic import (
    subtract as subtract,
)
from photic.tensor.attention import alibi_bias as alibi_bias
from photic.tensor.attention import alibi_slopes as alibi_slopes
from photic.tensor.attention import attention as attention
from photic.tensor.bags import embedding_bag as embedding_bag
from photic.tensor.bitwise import (
    bitwise_and as bitwise_and,
)
from photic.tensor.bitwise import (
    bitwise_not as bitwise_not,
)
from photic.tensor.bitwise import (
    bitwise_or as bitwise_or,
)
from photic.tensor.bitwise import (
    bitwise_xor as bitwise_xor,
)
from photic.tensor.bitwise import (
    left_shift as left_shift,
)
from photic.tensor.bitwise import (
    right_shift as right_shift,
)
from photic.tensor.compare import (
    clip as clip,
)
from photic.tensor.compare import (
    equal as equal,
)
from photic.tensor.compare import (
    greater as greater,
)
from photic.tensor.compare import (
    greater_equal as greater_equal,
)
from photic.tensor.compare import (
    isfinite as isfinite,
)
from photic.tensor.compare import (
    isinf as isinf,
)
from photic.tensor.compare import (
    isnan as isnan,
)
from photic.tensor.compare import (
    less_equal as less_equal,
)
from photic.tensor.compare import (
    logical_and as logical_and,
)
from photic.tensor.compare import (
    logical_not as logical_not,
)
from photic.tensor.compare import (
    logical_or as logical_or,
)
from photic.tensor.compare import (
    logical_xor as logical_xor,
)
from photic.tensor.compare import (
    maximum as maximum,
)
from photic.tensor.compare import (
    minimum as minimum,
)
from photic.tensor.compare import (
    not_equal as not_equal,
)
from photic.tensor.compiling import compile as compile
from photic.tensor.compiling import load as load
from photic.tensor.creation import (
    arange as arange,
)
from photic.tensor.creation import (
    constant as constant,
)
from photic.tensor.creation import (
    dim as dim,
)
from photic.tensor.creation import (
    eye as eye,
)
from photic.tensor.creation import (
    full as full,
)
from photic.tensor.creation import (
    full_like as full_like,
)
from photic.tensor.creation import (
    input as input,
)
from photic.tensor.creation import (
    linspace as linspace,
)
from photic.tensor.creation import (
    ones as ones,
)
from photic.tensor.creation import (
    ones_like as ones_like,
)
from photic.tensor.creation import (
    result_type as result_type,
)
from photic.tensor.creation import (
    size as size,
)
from photic.tensor.creation import (
    state as state,
)
from photic.tensor.creation import (
    zeros as zeros,
)
from photic.tensor.creation import (
    zeros_like as zeros_like,
)
from photic.tensor.ctc import ctc_loss as ctc_loss
from photic.tensor.elementary import (
    cos as cos,
)
from photic.tensor.elementary import (
    exp as exp,
)
from photic.tensor.elementary import (
    expm1 as expm1,
)
from photic.tensor.elementary import (
    log as log,
)
from photic.tensor.elementary import (
    log1p as log1p,
)
from photic.tensor.elementary import (
    log10 as log10,
)
from photic.tensor.elementary import (
    rsqrt as rsqrt,
)
from photic.tensor.elementary import (
    tan as tan,
)
from photic.tensor.indexing import (
    embedding as embedding,
)
from photic.tensor.indexing import (
    one_hot as one_hot,
)
from photic.tensor.indexing import (
    take as take,
)
from photic.tensor.indexing import (
    take_along_axis as take_along_axis,
)
from photic.tensor.indexing import (
    update as update,
)
from photic.tensor.likelihoods import binary_cross_entropy as binary_cross_entropy
from photic.tensor.likelihoods import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from photic.tensor.likelihoods import cross_entropy as cross_entropy
from photic.tensor.likelihoods import kl_div as kl_div
from photic.tensor.likelihoods import nll_loss as nll_loss
from photic.tensor.likelihoods import poisson_nll_loss as poisson_nll_loss
from photic.tensor.linear import (
    dot as dot,
)
from photic.tensor.linear import (
    einsum as einsum,
)
from photic.tensor.linear import (
    inner as inner,
)
from photic.tensor.linear import (
    matmul as matmul,
)
from photic.tensor.linear import (
    outer as outer,
)
from photic.tensor.linear import (
    tensordot as tensordot,
)
from photic.tensor.loops import cumprod as cumprod
from photic.tensor.loops import cumsum as cumsum
from photic.tensor.loops import prod as prod
from photic.tensor.loops import scan as scan
from photic.tensor.losses import cosine_embedding_loss as cosine_embedding_loss
from photic.tensor.losses import cosine_similarity as cosine_similarity
from photic.tensor.losses import hinge_embedding_loss as hinge_embedding_loss
from photic.tensor.losses import huber_loss as huber_loss
from photic.tensor.losses import l1_loss as l1_loss
from photic.tensor.losses import margin_ranking_loss as margin_ranking_loss
from photic.tensor.losses import mse_loss as mse_loss
from photic.tensor.losses import smooth_l1_loss as smooth_l1_loss
from photic.tensor.losses import triplet_margin_loss as triplet_margin_loss
from photic.tensor.norms import batch_norm as batch_norm
from photic.tensor.norms import batch_norm_training as batch_norm_training
from photic.tensor.norms import group_norm as group_norm
from photic.tensor.norms import instance_norm as instance_norm
from photic.tensor.norms import layer_norm as layer_norm
from photic.tensor.norms import local_response_norm as local_response_norm
from photic.tensor.norms import normalize as normalize
from photic.tensor.norms import rms_norm as rms_norm
from photic.tensor.powers import power as power
from photic.tensor.primitive import (
    add as add,
)
from photic.tensor.primitive import (
    exp2 as exp2,
)
from photic.tensor.primitive import (
    less as less,
)
from photic.tensor.primitive import (
    log2 as log2,
)
from photic.tensor.primitive import (
    mod as mod,
)
from photic.tensor.primitive import (
    multiply as multiply,
)
from photic.tensor.primitive import (
    reciprocal as reciprocal,
)
from photic.tensor.primitive import (
    sin as sin,
)
from photic.tensor.primitive import (
    sqrt as sqrt,
)
from photic.tensor.primitive import (
    where as where,
)
from photic.tensor.program import Program as Program
from photic.tensor.recurrent import RecurrentWeights as RecurrentWeights
from photic.tensor.recurrent import gru as gru
from photic.tensor.recurrent import lstm as lstm
from photic.tensor.recurrent import rnn as rnn
from photic.tensor.reductions import (
    all as all,
)
from photic.tensor.reductions import (
    any as any,
)
from photic.tensor.reductions import (
    argmax as argmax,
)
from photic.tensor.reductions import (
    argmin as argmin,
)
from photic.tensor.reductions import (
    log_softmax as log_softmax,
)
from photic.tensor.reductions import (
    logsumexp as logsumexp,
)
from photic.tensor.reductions import (
    max as max,
)
from photic.tensor.reductions import (
    mean as mean,
)
from photic.tensor.reductions import (
    min as min,
)
from photic.tensor.reductions import (
    softmax as softmax,
)
from photic.tensor.reductions import (
    std as std,
)
from photic.tensor.reductions import (
    sum as sum,
)
from photic.tensor.reductions import (
    var as var,
)
from photic.tensor.rope import rope_halves as rope_halves
from photic.tensor.rope import rope_pairs as rope_pairs
from photic.tensor.rope import rope_tables as rope_tables
from photic.tensor.rope_rates import Rope as Rope
from photic.tensor.rope_rates import RopeDynamic as RopeDynamic
from photic.tensor.rope_rates import RopeLinear as RopeLinear
from photic.tensor.rope_rates import RopeLlama3 as RopeLlama3
from photic.tensor.rope_rates import RopeLong as RopeLong
from photic.tensor.rope_rates import RopePlain as RopePlain
from photic.tensor.rope_rates import RopeProportional as RopeProportional
from photic.tensor.rope_rates import RopeYarn as RopeYarn
from photic.tensor.rope_rates import rope_rates as rope_rates
from photic.tensor.rope_rates import yarn_gain as yarn_gain
from photic.tensor.rounding import (
    abs as abs,
)
from photic.tensor.rounding import (
    ceil as ceil,
)
from photic.tensor.rounding import (
    floor as floor,
)
from photic.tensor.rounding import (
    round as round,
)
from photic.tensor.rounding import (
    sign as sign,
)
from photic.tensor.rounding import (
    square as square,
)
from photic.tensor.rounding import (
    trunc as trunc,
)
from photic.tensor.shapes import (
    broadcast_arrays as broadcast_arrays,
)
from photic.tensor.shapes import (
    broadcast_to as broadcast_to,
)
from photic.tensor.shapes import (
    concat as concat,
)
from photic.tensor.shapes import (
    concatenate as concatenate,
)
from photic.tensor.shapes import (
    expand_dims as expand_dims,
)
from photic.tensor.shapes import (
    flip as flip,
)
from photic.tensor.shapes import (
    moveaxis as moveaxis,
)
from photic.tensor.shapes import (
    pad as pad,
)
from photic.tensor.shapes import (
    permute as permute,
)
from photic.tensor.shapes import (
    ravel as ravel,
)
from photic.tensor.shapes import (
    repeat as repeat,
)
from photic.tensor.shapes import (
    reshape as reshape,
)
from photic.tensor.shapes import (
    roll as roll,
)
from photic.tensor.shapes import (
    split as split,
)
from photic.tensor.shapes import (
    squeeze as squeeze,
)
from photic.tensor.shapes import (
    stack as stack,
)
from photic.tensor.shapes import (
    swapaxes as swapaxes,
)
from photic.tensor.shapes import (
    tile as tile,
)
from photic.tensor.shapes import (
    transpose as transpose,
)
from photic.tensor.shapes import (
    tri as tri,
)
from photic.tensor.shapes import (
    tril as tril,
)
from photic.tensor.shapes import (
    triu as triu,
)
from photic.tensor.tensor import Tensor as Tensor

__version__: str
__all__: list[str]
