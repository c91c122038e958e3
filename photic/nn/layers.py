"""Layers without places: products with weights, lookups, norms over features, dropout, containers.

Names, arguments, defaults and shapes of weights are PyTorch's, but for ``rng``, from which first
values are drawn, and ``dtype``. Layers over images are in ``layers_images.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from photic.base.errors import BadArgument
from photic.nn.building import computed
from photic.nn.initial import Rng, by_inputs, generator
from photic.nn.module import Module
from photic.nn.parameter import Parameter
from photic.tensor.linear import matmul
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


class Sequential(ModuleList):
    """Modules one after another, named ``0``, ``1``, ..."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Value) -> Value:
        for one in self:
            x = one(x)
        return x
