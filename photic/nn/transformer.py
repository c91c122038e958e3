"""The decoder's layer of a transformer, layers of it, and encoder and decoder together.

Weights, masks and arguments are PyTorch's; the encoder's layer is in ``attention.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from photic.nn.attention import (
    FEED_FORWARD,
    FeedForward,
    MultiheadAttention,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from photic.nn.initial import Rng, generator, glorot
from photic.nn.layers import Dropout
from photic.nn.layers_norms import EPS, LayerNorm
from photic.nn.module import Module
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"
Activation = str | Callable[[Value], Tensor]


class TransformerDecoderLayer(FeedForward):
    """Self-attention, attention to ``memory``, two linear layers; each added and normed.

    ``norm_first`` norms what goes in instead. ``activation``: "relu", "gelu" or a function.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = FEED_FORWARD,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = EPS,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        rng = generator(rng)
        heads = (d_model, nhead, dropout, bias, None, None, batch_first)
        self.self_attn = MultiheadAttention(*heads, rng=rng, dtype=dtype)
        self.multihead_attn = MultiheadAttention(*heads, rng=rng, dtype=dtype)
        self._feed(d_model, dim_feedforward, dropout, activation, bias, rng=rng, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)

    def forward(
        self,
        tgt: Value,
        memory: Value,
        tgt_mask: Value | None = None,
        memory_mask: Value | None = None,
        tgt_key_padding_mask: Value | None = None,
        memory_key_padding_mask: Value | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer of ``tgt``, which sees ``memory``; masks as for ``MultiheadAttention``."""
        x, seen = tensor(tgt), tensor(memory)

        def own(x: Tensor) -> Tensor:
            masks = (tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)
            return self.dropout1.forward(self.self_attn(x, x, x, *masks)[0])

        def other(x: Tensor) -> Tensor:
            masks = (memory_key_padding_mask, False, memory_mask, True, memory_is_causal)
            return self.dropout2.forward(self.multihead_attn(x, seen, seen, *masks)[0])

        def fed(x: Tensor) -> Tensor:
            return self.dropout3.forward(self._inner(x))

        for part, norm in ((own, self.norm1), (other, self.norm2), (fed, self.norm3)):
            x = x + part(norm.forward(x)) if self.norm_first else norm.forward(x + part(x))
        return x


class TransformerDecoder(Module):
    """Layers one after another, all of which see ``memory``, and a norm where one is given."""

    def __init__(self, layers: list[TransformerDecoderLayer], norm: Module | None = None) -> None:
        self.layers = list(layers)
        self.norm = norm

    def forward(
        self,
        tgt: Value,
        memory: Value,
        tgt_mask: Value | None = None,
        memory_mask: Value | None = None,
        tgt_key_padding_mask: Value | None = None,
        memory_key_padding_mask: Value | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layers of ``tgt``."""
        x = tensor(tgt)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for one in self.layers:
            x = one(x, memory, *masks, tgt_is_causal, memory_is_causal)
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of ``src`` and a decoder of ``tgt`` that sees it."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = FEED_FORWARD,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = EPS,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        rng = generator(rng)
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        ways = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        encoders = range(num_encoder_layers)
        made = [TransformerEncoderLayer(*sizes, *ways, rng=rng, dtype=dtype) for _ in encoders]
        self.encoder = TransformerEncoder(made, norm())
        decoders = range(num_decoder_layers)
        last = [TransformerDecoderLayer(*sizes, *ways, rng=rng, dtype=dtype) for _ in decoders]
        self.decoder = TransformerDecoder(last, norm())
        for one in self.parameters():
            if len(one.shape) == 2:
                rows, columns = one.shape
                one.value = glorot(rng, (rows, columns), dtype).value

    def forward(
        self,
        src: Value,
        tgt: Value,
        src_mask: Value | None = None,
        tgt_mask: Value | None = None,
        memory_mask: Value | None = None,
        src_key_padding_mask: Value | None = None,
        tgt_key_padding_mask: Value | None = None,
        memory_key_padding_mask: Value | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """What the decoder makes of ``tgt``; masks as for ``MultiheadAttention``."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        found: Tensor = self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)
        return found
