"""A Hugging Face folder of a decoder as a model's file: GGUF's keys and names of tensors.

Promises: every file it names is read as what nobody vouches for; weights are windows of the mapped
files, nothing is copied and no code of the folder is run; a part that an index names lies in the
folder itself (links, as the hub's cache has them, are followed). Norms get the 1 that some models
leave out. Pickled weights (.bin) are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

import numpy as np

from photic.frontends.errors import FolderBroken, FolderUnsupported
from photic.frontends.gguf.metadata import shown
from photic.frontends.huggingface.config import Described, read_config
from photic.frontends.huggingface.json_file import read_json
from photic.frontends.huggingface.kinds import IGNORED_ENDS, gguf_name
from photic.frontends.model_file import ModelFile
from photic.storage.tensorfile import Array, read_tensors
from photic.tensor.creation import constant
from photic.tensor.tensor import Tensor

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
FLOATS = ("float32", "float16", "bfloat16")
HEAD = "output.weight"
NORM_END = "norm.weight"


@dataclass(frozen=True, slots=True, eq=False)
class ModelFolder(ModelFile):
    """An open folder. Errors name the keys of config.json."""

    described: Described = field(repr=False)
    arrays: Mapping[str, Array] = field(repr=False)

    def values(self, name: str) -> Tensor:
        """A tensor as float32. Raises FolderUnsupported for other elements than floats."""
        if name in self.described.rotation.factors:
            return self.described.rotation.factors[name].astype("float32")
        array = self.arrays[name]
        if str(array.dtype) not in FLOATS:
            self.unsupported(f"the dtype of {name}", str(array.dtype), ", ".join(FLOATS))
        values = constant(array).astype("float32")
        adds_one = self.described.kind.adds_one and name.endswith(NORM_END)
        return values + 1.0 if adds_one else values

    def corrupt(self, key: str, given: object, expected: str) -> NoReturn:
        """Raise FolderBroken."""
        own = self.described.named.get(key, key)
        raise FolderBroken(path=self.path / CONFIG, field=own, given=given, expected=expected)

    def unsupported(self, what: str, given: object, expected: str) -> NoReturn:
        """Raise FolderUnsupported."""
        own = self.described.named.get(what, what)
        raise FolderUnsupported(path=self.path, what=own, given=given, expected=expected)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder with a config."""
    return (path / CONFIG).is_file()


def open_folder(path: Path) -> ModelFolder:
    """Read the config and map the weights of a folder.

    Raises FileUnreadable for a file that is missing, FolderBroken, TensorFileCorrupt, and
    FolderUnsupported for a model or a setting that is not done here.
    """
    described = read_config(read_json(path / CONFIG))
    arrays = dict(_named(path, described))
    factors = described.rotation.factors
    shapes = {name: one.shape for name, one in arrays.items()}
    shapes |= {name: tuple(map(int, one.shape)) for name, one in factors.items()}
    return ModelFolder(
        path=path,
        metadata=MappingProxyType(described.values),
        types=MappingProxyType(described.types),
        shapes=MappingProxyType(shapes),
        described=described,
        arrays=MappingProxyType(arrays),
    )


def _named(path: Path, described: Described) -> Iterator[tuple[str, Array]]:
    """The tensors by GGUF's names; a head that is the embedding's is left out."""
    for name, array in _arrays(path):
        own = gguf_name(described.kind, name)
        if not (name.endswith(IGNORED_ENDS) or (described.ties and own == HEAD)):
            yield own, array


def _arrays(path: Path) -> Iterator[tuple[str, Array]]:
    """Every tensor of the folder, from one file or from those of an index."""
    if not (path / INDEX).is_file():
        yield from read_tensors(path / WEIGHTS).items()
        return
    index = read_json(path / INDEX)
    places = index.inner("weight_map")
    if places is None:
        index.fail("weight_map", None, "an object")
    files: dict[str, Mapping[str, Array]] = {}
    for name in places.table:
        part = places.text(name) or ""
        if not part.endswith(".safetensors") or Path(part).name != part or "\\" in part:
            places.fail(shown(name), part, "the name of a .safetensors file of this folder")
        if part not in files:
            files[part] = read_tensors(path / part)
        if name not in files[part]:
            places.fail(shown(name), f"{part}, which does not hold it", "a file that does")
        yield name, np.asarray(files[part][name])
