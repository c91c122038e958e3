"""Code for older processors means the same: other instructions, other paths through the prelude."""

from __future__ import annotations

import platform

import pytest
from fuzz.agreement import batches, disagreements

IS_X86 = platform.machine().lower() in ("x86_64", "amd64")


@pytest.mark.skipif(not IS_X86, reason="needs a processor of the x86-64 family")
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_code_for_older_processors_means_the_same(
    cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTIC_CPU", cpu)
    for seeds in batches(50_000, 50_050):
        assert disagreements(seeds) == []
