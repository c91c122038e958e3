"""Modules: plain Python classes whose attributes are parameters, buffers and other modules.

Calling a module runs its ``forward``, which builds nodes of a graph. Nothing has to be registered:
attributes are looked through when asked for, lists, tuples and dictionaries of them too; names are
the paths of attributes, as PyTorch's (``layers.0.weight``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT32
from photic.nn.building import building_now
from photic.nn.errors import StateMismatch
from photic.nn.parameter import Buffer, Held, Parameter
from photic.storage.tensorfile import read_tensors, write_tensors
from photic.tensor.tensor import Array, DTypeLike, Tensor

_H = TypeVar("_H", bound=Held)


class Module:
    """The base of modules; a subclass sets attributes in ``__init__`` and writes ``forward``."""

    training: bool = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes of tensors. BadArgument where a subclass has none."""
        name, expected = type(self).__name__, "a method that builds the result"
        raise BadArgument(op=name, argument="forward", given="missing", expected=expected)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``forward``; the outermost call gives float32 where products are computed in halves."""
        now = building_now()
        if now is None or now.compute is None:
            return self.forward(*args, **kwargs)
        now.depth += 1
        try:
            result = self.forward(*args, **kwargs)
        finally:
            now.depth -= 1
        if now.depth == 0 and isinstance(result, Tensor) and result.dtype == now.compute:
            return result.astype(FLOAT32)
        return result

    # --- what it is made of ---

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules among the attributes, and in lists and dictionaries of them."""
        for name, value in vars(self).items():
            yield from _inside(name, value)

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, by path, each once."""
        yield from _modules(self, prefix, set())

    def modules(self) -> Iterator[Module]:
        """As ``named_modules``, without names."""
        return (one for _, one in self.named_modules())

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Every parameter once, by its path."""
        return _once(self._held(Parameter, prefix))

    def parameters(self) -> Iterator[Parameter]:
        """As ``named_parameters``, without names."""
        return (one for _, one in self.named_parameters())

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Buffer]]:
        """Every buffer once, by its path."""
        return _once(self._held(Buffer, prefix))

    def _held(self, kind: type[_H], prefix: str = "") -> Iterator[tuple[str, _H]]:
        """Values of a kind by path; one that several modules share comes several times."""
        for name, value in vars(self).items():
            if isinstance(value, kind):
                yield prefix + name, value
        for name, child in self.named_children():
            yield from child._held(kind, f"{prefix}{name}.")

    # --- modes ---

    def train(self, mode: bool = True) -> Self:
        """Dropout drops and batch norms use their batch, or (False) neither."""
        for one in self.modules():
            one.training = mode
        return self

    def eval(self) -> Self:
        """The mode of inference."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Train every parameter below here, or none."""
        for one in self.parameters():
            one.requires_grad = requires_grad
        return self

    def to(self, dtype: DTypeLike) -> Self:
        """Keep every float parameter and buffer in another dtype."""
        for _, one in self._held(Held):
            if one.dtype.kind == "float":
                one.to(dtype)
        return self

    # --- values by name ---

    def state_dict(self) -> dict[str, Array]:
        """A copy of every parameter and persistent buffer by its path, as PyTorch names them."""
        return {name: one.value.copy() for name, one in self._kept()}

    def load_state_dict(self, state: Mapping[str, Array], strict: bool = True) -> None:
        """Take values by name. StateMismatch for another shape, and if strict for other names."""
        own = dict(self._kept())
        if strict:
            _require_names(own, state)
        found = {name: np.asarray(state[name]) for name in own if name in state}
        for name, array in found.items():
            if array.shape != own[name].shape:
                shapes = {"given": array.shape, "expected": own[name].shape}
                raise StateMismatch(what="load_state_dict", name=name, **shapes)
        for name, array in found.items():
            own[name].value = array

    def _kept(self) -> Iterator[tuple[str, Held]]:
        for name, one in self._held(Held):
            if not isinstance(one, Buffer) or one.persistent:
                yield name, one

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``state_dict`` as a safetensors file, whole or not at all."""
        write_tensors(path, self.state_dict(), {})

    def load(self, path: str | os.PathLike[str], strict: bool = True) -> None:
        """Read a safetensors file into the parameters. As ``load_state_dict``."""
        self.load_state_dict(read_tensors(path), strict)

    def __repr__(self) -> str:
        children = [f"{name}: {one!r}" for name, one in self.named_children()]
        text = "\n".join(children).replace("\n", "\n  ")
        return f"{type(self).__name__}({self.extra_repr()}" + (f"\n  {text}\n)" if text else ")")

    def extra_repr(self) -> str:
        """What to say of this module besides its children."""
        return ", ".join(
            f"{name}={value!r}"
            for name, value in vars(self).items()
            if isinstance(value, int | float | str | Held) and name != "training"
        )


def _inside(name: str, value: object) -> Iterator[tuple[str, Module]]:
    if isinstance(value, Module):
        yield name, value
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _inside(f"{name}.{number}", one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _inside(f"{name}.{key}", one)


def _modules(module: Module, name: str, seen: set[int]) -> Iterator[tuple[str, Module]]:
    if id(module) not in seen:
        seen.add(id(module))
        yield name, module
        for part, child in module.named_children():
            yield from _modules(child, f"{name}.{part}" if name else part, seen)


def _once(found: Iterator[tuple[str, _H]]) -> Iterator[tuple[str, _H]]:
    seen: set[int] = set()
    for name, one in found:
        if id(one) not in seen:
            seen.add(id(one))
            yield name, one


def _require_names(own: Mapping[str, object], given: Mapping[str, object]) -> None:
    for name in own:
        if name not in given:
            raise StateMismatch(what="state", name=name, given="missing", expected="an array")
    for name in given:
        if name not in own:
            raise StateMismatch(what="state", name=name, given="given", expected="no such name")
