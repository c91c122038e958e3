"""Builds tiny GGUF files, sound or hostile, one labelled part at a time.

The labels let a test change a single number of a sound file without counting bytes. Nothing here
checks anything: a builder that could not write nonsense would be of no use.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = range(10)
UINT64, INT64, FLOAT64 = 10, 11, 12
F32, F16, Q4_0, Q4_1, Q8_0, BF16 = 0, 1, 2, 3, 8, 30

_FORMATS = {
    UINT8: "<B",
    INT8: "<b",
    UINT16: "<H",
    INT16: "<h",
    UINT32: "<I",
    INT32: "<i",
    FLOAT32: "<f",
    BOOL: "<?",
    UINT64: "<Q",
    INT64: "<q",
    FLOAT64: "<d",
}


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of the file and what they are ("" = nothing to aim at)."""

    label: str
    data: bytes


@dataclass(slots=True)
class Builder:
    """Collects parts; ``bytes()`` joins them. Counts are written as given, true or not."""

    version: int = 3
    tensor_count: int = 0
    key_count: int = 0
    parts: list[Part] = field(default_factory=list)

    def add(self, label: str, form: str, value: object) -> None:
        self.parts.append(Part(label, struct.pack(form, value)))

    def raw(self, data: bytes, label: str = "") -> None:
        self.parts.append(Part(label, data))

    def string(self, label: str, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self.add(f"length of {label}", "<Q", len(data))
        self.raw(data, f"text of {label}")

    def key(self, name: str, kind: int, value: object) -> None:
        """One key with a scalar or a string."""
        self.key_count += 1
        self.string(f"key {name}", name)
        self.add(f"type of {name}", "<I", kind)
        self.value(name, kind, value)

    def array(self, name: str, kind: int, values: list[object]) -> None:
        """One key with an array of scalars or strings."""
        self.key_count += 1
        self.string(f"key {name}", name)
        self.add(f"type of {name}", "<I", ARRAY)
        self.add(f"element type of {name}", "<I", kind)
        self.add(f"element count of {name}", "<Q", len(values))
        for index, value in enumerate(values):
            self.value(f"{name}[{index}]", kind, value)

    def value(self, label: str, kind: int, value: object) -> None:
        if kind == STRING:
            assert isinstance(value, str | bytes)
            self.string(label, value)
        else:
            self.add(f"value of {label}", _FORMATS[kind], value)

    def tensor(self, name: str | bytes, sizes: tuple[int, ...], kind: int, offset: int) -> None:
        """One tensor record; ``sizes`` in ggml's order, innermost first."""
        self.tensor_count += 1
        label = name if isinstance(name, str) else name.decode()
        self.string(f"name of {label}", name)
        self.add(f"rank of {label}", "<I", len(sizes))
        for axis, size in enumerate(sizes):
            self.add(f"size {axis} of {label}", "<Q", size)
        self.add(f"block type of {label}", "<I", kind)
        self.add(f"offset of {label}", "<Q", offset)

    def data(self, payload: bytes, alignment: int = 32) -> None:
        """The padding and the tensors' bytes."""
        length = sum(len(part.data) for part in self.all_parts())
        self.raw(bytes(-length % alignment))
        self.raw(payload, "data")

    def all_parts(self) -> list[Part]:
        """The head's parts and those added."""
        head = [
            Part("magic", b"GGUF"),
            Part("version", struct.pack("<I", self.version)),
            Part("tensor count", struct.pack("<Q", self.tensor_count)),
            Part("metadata count", struct.pack("<Q", self.key_count)),
        ]
        return head + self.parts

    def bytes(self) -> bytes:
        return b"".join(part.data for part in self.all_parts())

    def places(self) -> dict[str, tuple[int, int]]:
        """Label to (offset, length), for every labelled part."""
        places, position = {}, 0
        for part in self.all_parts():
            if part.label:
                places[part.label] = (position, len(part.data))
            position += len(part.data)
        return places


def small_builder() -> Builder:
    """A sound file of about 1.5 KB: scalars of every type, arrays, four tensors of four types."""
    out = Builder()
    out.key("general.architecture", STRING, "llama")
    out.key("general.alignment", UINT32, 32)
    out.key("llama.block_count", UINT32, 2)
    out.key("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5)
    for kind, value in ((UINT8, 200), (INT8, -3), (UINT16, 60000), (INT16, -30000), (INT32, -7)):
        out.key(f"test.scalar.{kind}", kind, value)
    for kind, value in ((BOOL, True), (UINT64, 2**63), (INT64, -(2**62)), (FLOAT64, 0.1)):
        out.key(f"test.scalar.{kind}", kind, value)
    out.key("tokenizer.ggml.model", STRING, "gpt2")
    out.array("tokenizer.ggml.tokens", STRING, ["<s>", "Ġa", "b", "ü", ""])
    out.array("tokenizer.ggml.scores", FLOAT32, [0.0, -1.0, -2.0, -3.5, 4.0])
    out.array("tokenizer.ggml.token_type", INT32, [3, 1, 1, 1, 1])
    out.array("test.flags", BOOL, [True, False])
    out.tensor("norm.weight", (8,), F32, 0)
    out.tensor("a.weight", (64, 2), Q4_1, 32)
    out.tensor("b.weight", (32, 3), Q8_0, 128)
    out.tensor("c.weight", (4, 2, 2), F16, 256)
    # 8*4 | 2*2*20 + padding | 3*34 + padding | 16*2
    values = np.random.default_rng(7).integers(0, 256, 256 + 32, dtype=np.uint8)
    out.data(values.tobytes())
    return out


def small_bytes() -> bytes:
    """The sound file's bytes."""
    return small_builder().bytes()


def changed(label: str, value: int | bytes) -> bytes:
    """The sound file with one labelled part overwritten (an int keeps the part's width)."""
    builder = small_builder()
    start, length = builder.places()[label]
    data = bytearray(builder.bytes())
    data[start : start + length] = (
        value.to_bytes(length, "little") if isinstance(value, int) else value
    )
    return bytes(data)
