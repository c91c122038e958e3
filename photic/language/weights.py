"""A model's tensors by name: each with the shape that the architecture asks for, none forgotten.

It promises that a tensor handed out has the shape asked for, and, by ``check_all_used``, that a
file with tensors of another kind of model is refused instead of half used. It does not know any
architecture, and reads no values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from photic.frontends.gguf.metadata import shown
from photic.frontends.model_file import ModelFile
from photic.language.errors import ModelIncomplete
from photic.tensor.tensor import Tensor

SHOWN_NAMES = 5  # of unused tensors, in a message


@dataclass(frozen=True, slots=True)
class Weights:
    """The tensors of one file, and which of them were asked for."""

    file: ModelFile
    _used: set[str] = field(default_factory=set)

    def tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """The float32 tensor of this name; ModelIncomplete if it is missing or shaped otherwise."""
        found = self.file.shapes.get(name)
        if found is None:
            problem = f"of shape {shape} is missing"
            raise ModelIncomplete(path=self.file.path, name=name, problem=problem)
        if found != shape:
            problem = f"has the shape {found}, expected {shape}"
            raise ModelIncomplete(path=self.file.path, name=name, problem=problem)
        self._used.add(name)
        return self.file.values(name)

    def has(self, name: str) -> bool:
        """Whether the file has a tensor that the architecture can do without."""
        return name in self.file.shapes

    def check_all_used(self) -> None:
        """Refuse a file with tensors that nothing asked for, by name: leaving them out is wrong."""
        unused = [shown(name) for name in self.file.shapes if name not in self._used]
        if unused:
            more = "" if len(unused) <= SHOWN_NAMES else f" and {len(unused) - SHOWN_NAMES} more"
            given = ", ".join(unused[:SHOWN_NAMES]) + more
            expected = "the tensors of " + self.file.text("general.architecture")
            self.file.unsupported("a tensor", given, expected)
