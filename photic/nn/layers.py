"""Layers without places: products with weights, lookups, norms over features, dropout, containers.

Names, arguments, defaults and shapes of weights are PyTorch's, but for ``rng``, from which first
values are drawn, and ``dtype``. Layers over images are in ``layers_images.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from photic.autograd.handles import stop_gradient
from photic.base.errors import BadArgument
from photic.nn.building import computed, draw_key
from photic.nn.initial import Rng, by_inputs, generator, normal
from photic.nn.module import Module
from photic.nn.parameter import Parameter
from photic.tensor import random
from photic.tensor.added_products import bilinear
from photic.tensor.bags import embedding_bag
from photic.tensor.compare import equal
from photic.tensor.creation import counted
from photic.tensor.indexing import embedding
from photic.tensor.linear import matmul
from photic.tensor.primitive import as_float, where
from photic.tensor.shapes import swapaxes
from photic.tensor.tensor import DTypeLike, Tensor, Value, tensor

FLOAT = "float32"


def linear(x: Value, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x weight^T + bias`` over the last axis; ``weight`` is (outputs, inputs)."""
    product = matmul(computed(tensor(x)), swapaxes(computed(weight), 0, 1))
    return product if bias is None else product + computed(bias)


class Linear(Module):
    """``x weight^T + bias``; ``weight`` is (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        rng = generator(rng)
        self.in_features, self.out_features = in_features, out_features
        self.weight = by_inputs(rng, (out_features, in_features), in_features, dtype)
        self.bias: Parameter | None = None
        if bias:
            self.bias = by_inputs(rng, (out_features,), in_features, dtype)

    def forward(self, x: Value) -> Tensor:
        return linear(x, self.weight.tensor, None if self.bias is None else self.bias.tensor)


class Embedding(Module):
    """Rows of ``weight`` (num_embeddings, embedding_dim) looked up by integers.

    The row ``padding_idx`` begins as zeros and gets no gradient.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            expected = f"a row of {num_embeddings}"
            given = {"given": padding_idx, "expected": expected}
            raise BadArgument(op="Embedding", argument="padding_idx", **given)
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = normal(rng, (num_embeddings, embedding_dim), dtype)
        if padding_idx is not None:
            self.weight.value[padding_idx] = 0

    def forward(self, places: Value) -> Tensor:
        table = self.weight.tensor
        if self.padding_idx is not None:
            is_padding = equal(counted(0, table.shape[0]), self.padding_idx)[:, None]
            table = where(is_padding, stop_gradient(table), table)
        return embedding(places, table)


class EmbeddingBag(Module):
    """Rows of ``weight`` looked up by integers, those of a bag as one: ``ph.embedding_bag``."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: str = "mean",
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        self.mode = mode
        self.weight = normal(rng, (num_embeddings, embedding_dim), dtype)

    def forward(
        self,
        places: Value,
        offsets: Value | None = None,
        per_sample_weights: Value | None = None,
    ) -> Tensor:
        return embedding_bag(places, self.weight.tensor, offsets, self.mode, per_sample_weights)


class Bilinear(Module):
    """``left @ weight[k] @ right + bias[k]``."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        rng: Rng,
        dtype: DTypeLike = FLOAT,
    ) -> None:
        rng, shape = generator(rng), (out_features, in1_features, in2_features)
        self.weight = by_inputs(rng, shape, in1_features, dtype)
        self.bias = by_inputs(rng, shape[:1], in1_features, dtype) if bias else None

    def forward(self, left: Value, right: Value) -> Tensor:
        given = [computed(tensor(one)) for one in (left, right, self.weight.tensor)]
        bias = None if self.bias is None else computed(self.bias.tensor)
        return bilinear(given[0], given[1], given[2], bias)


# --- dropout --------------------------------------------------------------------------------


class Dropout(Module):
    """In training, each element 0 with probability ``p``, the others over ``1 - p``.

    What is dropped depends on the step's seed, the number of steps done and how many draws the
    graph made before: the same on every target. NotTraining where no train step is being built.
    """

    def __init__(self, p: float = 0.5) -> None:
        _check_rate(type(self).__name__, p)
        self.p = p

    def forward(self, x: Value) -> Tensor:
        if not self.training or self.p == 0:
            return tensor(x)
        return random.dropout(x, self.p, draw_key(type(self).__name__))


class Dropout2d(Dropout):
    """``Dropout`` of whole channels of (batch, channels, ...)."""

    def forward(self, x: Value) -> Tensor:
        value = as_float(x, type(self).__name__)
        if not self.training or self.p == 0:
            return value
        if value.ndim < 2:
            expected = "(batch, channels, ...)"
            given = {"given": value.ndim, "expected": expected}
            raise BadArgument(op=type(self).__name__, argument="rank", **given)
        shape = (*value.shape[:2], *(1,) * (value.ndim - 2))
        kept = random.bernoulli(draw_key(type(self).__name__), 1.0 - self.p, shape)
        scale = 1.0 / (1.0 - self.p) if self.p < 1 else 0.0
        return where(kept, value * scale, 0.0)


class Dropout1d(Dropout2d):
    """``Dropout2d`` of (batch, channels, places)."""


class Dropout3d(Dropout2d):
    """``Dropout2d`` of (batch, channels, depths, rows, columns)."""


def _check_rate(op: str, rate: float) -> None:
    if not 0 <= rate <= 1:
        raise BadArgument(op=op, argument="p", given=rate, expected="0 to 1")


# --- containers -----------------------------------------------------------------------------


class ModuleList(Module):
    """Modules in a row, named ``0``, ``1``, ...; it has no ``forward``."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        for one in modules:
            self.append(one)

    def append(self, module: Module) -> None:
        """One more at the end. BadArgument for what is no module."""
        if not isinstance(module, Module):
            expected = "a module"
            raise BadArgument(op="append", argument="module", given=repr(module), expected=expected)
        setattr(self, str(len(self)), module)

    def __len__(self) -> int:
        return sum(1 for _ in self.named_children())

    def __iter__(self) -> Iterator[Module]:
        return (one for _, one in self.named_children())

    def __getitem__(self, number: int) -> Module:
        return list(self)[number]


class ModuleDict(Module):
    """Modules by name; it has no ``forward``."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        for name, one in modules.items():
            setattr(self, name, one)

    def __getitem__(self, name: str) -> Module:
        return dict(self.named_children())[name]

    def keys(self) -> Iterator[str]:
        """The names."""
        return (name for name, _ in self.named_children())


class Sequential(ModuleList):
    """Modules one after another, named ``0``, ``1``, ..."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Value) -> Value:
        for one in self:
            x = one(x)
        return x


class ParameterList(Module):
    """Parameters in a row, named ``0``, ``1``, ...; arrays become parameters."""

    def __init__(self, values: Iterable[object] = ()) -> None:
        for one in values:
            self.append(one)

    def append(self, value: object) -> None:
        """One more at the end."""
        setattr(self, str(len(self)), _parameter(value))

    def __len__(self) -> int:
        return len(list(self))

    def __iter__(self) -> Iterator[Parameter]:
        return (one for one in vars(self).values() if isinstance(one, Parameter))

    def __getitem__(self, number: int) -> Parameter:
        return list(self)[number]


class ParameterDict(Module):
    """Parameters by name; arrays become parameters."""

    def __init__(self, values: Mapping[str, object]) -> None:
        for name, one in values.items():
            setattr(self, name, _parameter(one))

    def __getitem__(self, name: str) -> Parameter:
        return dict(self.items())[name]

    def items(self) -> Iterator[tuple[str, Parameter]]:
        """The names with their parameters."""
        return ((name, one) for name, one in vars(self).items() if isinstance(one, Parameter))

    def keys(self) -> Iterator[str]:
        """The names."""
        return (name for name, _ in self.items())


def _parameter(value: object) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)
