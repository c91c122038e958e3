"""Attention as modules: many heads, and the layer of an encoder, with PyTorch's weights and masks.

Bool masks hide where they are true, float masks are added, as in PyTorch's modules; where those of
``ph.attention`` are true, something is seen. ``CausalBlock`` is a decoder's layer without memory.
"""

from __future__ import annotations

from collections.abc import Callable

from photic.autograd.handles import checkpoint
from photic.base.errors import BadArgument
from photic.ir.dtype import BOOL
from photic.nn.initial import Rng, filled, generator, glorot
from photic.nn.layers import Dropout, Linear, linear
from photic.nn.layers_norms import EPS, LayerNorm
from photic.nn.module import Module
from photic.nn.parameter import Parameter
from photic.tensor.activations import gelu, relu
from photic.tensor.attention import attention, causal_mask
from photic.tensor.linear import matmul
from photic.tensor.primitive import negated, where
from photic.tensor.reductions import mean, softmax
from photic.tensor.shapes import expand_dims, reshape, swapaxes
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"
FEED_FORWARD = 2048  # PyTorch's default width
LOWEST = float("-inf")


class MultiheadAttention(Module):
    """Attention of ``num_heads`` heads over projections of query, key and value, projected again.

    ``in_proj_weight`` is (3*embed_dim, embed_dim); where keys or values have a width of their own
    (``kdim``, ``vdim``), ``q_proj_weight`` and its kin stand for it. ``dropout`` is of weights.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        if num_heads < 1 or embed_dim % num_heads:
            given = {"given": num_heads, "expected": f"a divisor of {embed_dim}"}
            raise BadArgument(op="MultiheadAttention", argument="num_heads", **given)
        rng = generator(rng)
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        self.in_proj_weight: Parameter | None = None
        if widths == (embed_dim,) * 3:
            self.in_proj_weight = glorot(rng, (3 * embed_dim, embed_dim), dtype)
        else:
            self.q_proj_weight = glorot(rng, (embed_dim, widths[0]), dtype)
            self.k_proj_weight = glorot(rng, (embed_dim, widths[1]), dtype)
            self.v_proj_weight = glorot(rng, (embed_dim, widths[2]), dtype)
        self.in_proj_bias = filled((3 * embed_dim,), 0, dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, rng=rng, dtype=dtype)
        if self.out_proj.bias is not None:
            self.out_proj.bias.value[...] = 0
        self.dropout = Dropout(dropout)

    def forward(
        self,
        query: Value,
        key: Value,
        value: Value,
        key_padding_mask: Value | None = None,
        need_weights: bool = True,
        attn_mask: Value | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output in the shape of ``query``, and the weights (batch, rows, keys) if needed.

        query (rows, batch, width), or (batch, rows, width) with ``batch_first``, or (rows, width).
        ``key_padding_mask`` (batch, keys); ``attn_mask`` (rows, keys) or (batch*heads, rows, keys).
        ``is_causal`` hides later keys without a mask.
        """
        given = [tensor(one) for one in (query, key, value)]
        is_batched = given[0].ndim == 3
        laid = [self._batch_first(one, is_batched) for one in given]
        q, k, v = self._projected(laid)
        masks = self._masks(q, k, key_padding_mask, attn_mask)
        mixed, weights = self._mixed(q, k, v, masks, is_causal, need_weights)
        rows = swapaxes(mixed, 1, 2)
        output = self.out_proj(reshape(rows, (*rows.shape[:2], self.embed_dim)))
        if weights is not None and average_attn_weights:
            weights = mean(weights, 1)
        if not is_batched:
            return output[0], None if weights is None else weights[0]
        return output if self.batch_first else swapaxes(output, 0, 1), weights

    def _batch_first(self, x: Tensor, is_batched: bool) -> Tensor:
        if not is_batched:
            return expand_dims(x, 0)
        return x if self.batch_first else swapaxes(x, 0, 1)

    def _projected(self, given: list[Tensor]) -> list[Tensor]:
        """Query, key and value, (batch, rows, width) each, as (batch, heads, rows, depth)."""
        weight, width = self.in_proj_weight, self.embed_dim
        spans = [slice(part * width, (part + 1) * width) for part in range(len(given))]
        bias = None if self.in_proj_bias is None else self.in_proj_bias.tensor
        if weight is not None and all(one.operand == given[0].operand for one in given):
            # one product, and one for the gradient of its weights
            whole = linear(given[0], weight.tensor, bias)
            return [self._heads(whole[..., span]) for span in spans]
        if weight is not None:
            weights = [weight.tensor[span] for span in spans]
        else:
            apart = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
            weights = [one.tensor for one in apart]
        biases = [None if bias is None else bias[span] for span in spans]
        parts = zip(given, weights, biases, strict=True)
        return [self._heads(linear(*one)) for one in parts]

    def _heads(self, x: Tensor) -> Tensor:
        return swapaxes(reshape(x, (*x.shape[:2], self.num_heads, -1)), 1, 2)

    def _masks(
        self, q: Tensor, k: Tensor, padding: Value | None, mask: Value | None
    ) -> list[Tensor]:
        """The masks laid on (batch, heads, rows, keys), bools true where something is hidden."""
        masks: list[Tensor] = []
        if padding is not None:
            hidden = tensor(padding)
            masks.append(reshape(hidden, (-1, 1, 1, k.shape[2])))
        if mask is not None:
            laid = tensor(mask)
            sizes = (*q.shape[:2], q.shape[2], k.shape[2])
            masks.append(reshape(laid, sizes) if laid.ndim == 3 else laid[None, None])
        return masks

    def _mixed(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        masks: list[Tensor],
        is_causal: bool,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The values by weight; by ``ph.attention`` where the weights are not wanted."""
        drops = self.training and self.dropout.p > 0
        if not drops and not need_weights and len(masks) <= 1:
            seen = [negated(one) if one.dtype == BOOL else one for one in masks]
            return checkpoint(attention)(q, k, v, seen[0] if seen else None, is_causal), None
        scores = matmul(q, swapaxes(k, -1, -2)) * (self.embed_dim // self.num_heads) ** -0.5
        for one in masks:
            is_bool = one.dtype == BOOL
            scores = where(one, LOWEST, scores) if is_bool else scores + one.astype(scores.dtype)
        if is_causal:
            scores = where(causal_mask(*scores.shape[-2:]), scores, LOWEST)
        weights = self.dropout(softmax(scores, -1))
        return matmul(weights, v), weights if need_weights else None


# a gradient computes the many inner values of gelu again instead of keeping them
ACTIVATIONS: dict[str, Callable[[Value], Tensor]] = {"relu": relu, "gelu": checkpoint(gelu)}


class FeedForward(Module):
    """The two linear layers of a transformer's layer, with dropout and an activation between."""

    def _feed(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout: float,
        activation: str | Callable[[Value], Tensor],
        bias: bool,
        *,
        rng: Rng,
        dtype: DTypeLike,
    ) -> None:
        """Make them. BadArgument for an unknown activation."""
        if isinstance(activation, str) and activation not in ACTIVATIONS:
            given = {"given": repr(activation), "expected": f"one of {', '.join(ACTIVATIONS)}"}
            raise BadArgument(op=type(self).__name__, argument="activation", **given)
        self.linear1 = Linear(d_model, dim_feedforward, bias, rng=rng, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, rng=rng, dtype=dtype)
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def _inner(self, x: Tensor) -> Tensor:
        inner = self.dropout.forward(self.activation(self.linear1.forward(x)))
        return self.linear2.forward(inner)


class TransformerEncoderLayer(FeedForward):
    """Self-attention, then two linear layers, each added to what it was given and normed.

    ``norm_first`` norms what goes in instead. ``activation``: "relu", "gelu" or a function.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = FEED_FORWARD,
        dropout: float = 0.1,
        activation: str | Callable[[Value], Tensor] = "relu",
        layer_norm_eps: float = EPS,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        rng = generator(rng)
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, rng=rng, dtype=dtype
        )
        self._feed(d_model, dim_feedforward, dropout, activation, bias, rng=rng, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(
        self,
        src: Value,
        src_mask: Value | None = None,
        src_key_padding_mask: Value | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer of ``src``; masks as for ``MultiheadAttention``."""
        x = tensor(src)

        def attended(x: Tensor) -> Tensor:
            masks = {"key_padding_mask": src_key_padding_mask, "attn_mask": src_mask}
            found, _ = self.self_attn(x, x, x, need_weights=False, is_causal=is_causal, **masks)
            return self.dropout1.forward(found)

        if self.norm_first:
            x = x + attended(self.norm1.forward(x))
            return x + self._fed_forward(self.norm2.forward(x))
        x = self.norm1.forward(x + attended(x))
        return self.norm2.forward(x + self._fed_forward(x))

    def _fed_forward(self, x: Tensor) -> Tensor:
        return self.dropout2.forward(self._inner(x))


class TransformerEncoder(Module):
    """Layers one after another, and a norm of the last where one is given."""

    def __init__(self, layers: list[TransformerEncoderLayer], norm: Module | None = None) -> None:
        self.layers = list(layers)
        self.norm = norm

    def forward(
        self,
        src: Value,
        mask: Value | None = None,
        src_key_padding_mask: Value | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layers of ``src``."""
        x = tensor(src)
        for one in self.layers:
            x = one(x, mask, src_key_padding_mask, is_causal)
        return x if self.norm is None else self.norm(x)


class CausalBlock(TransformerEncoderLayer):
    """A layer of a GPT: norms first, gelu, batch first, and no row sees a later one."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        width = 4 * d_model if dim_feedforward is None else dim_feedforward
        super().__init__(
            d_model, nhead, width, dropout, "gelu", EPS, True, True, bias, rng=rng, dtype=dtype
        )

    def forward(
        self,
        src: Value,
        src_mask: Value | None = None,
        src_key_padding_mask: Value | None = None,
        is_causal: bool = True,
    ) -> Tensor:
        """The block of (batch, rows, width)."""
        return super().forward(src, src_mask, src_key_padding_mask, is_causal)
