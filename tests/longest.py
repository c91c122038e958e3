"""The test files that take longest, so that processes that share the tests do not wait for one.

Files go to processes whole, in the order in which they are collected: a long one that starts last
leaves the other processes idle. A file that takes half a minute of one core is named here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# The longest first.
LONGEST = (
    "catalogue/test_catalogue.py",
    "catalogue/test_catalogue_compiled.py",
    "catalogue/test_catalogue_compiled_others.py",
    # These are short without a real model (-m model).
    "targets/test_cuda_nvrtc.py",
    "model/test_gemma3.py",
    "model/test_smollm2_answers.py",
    "model/test_smollm2.py",
    "nn/test_examples.py",
    "rules/test_sampler_folds.py",
    "autograd/test_gradient_catalogue.py",
    "targets/test_numerics.py",
    "fuzz/test_fuzz_first.py",
    "catalogue/test_catalogue_kinds.py",
    "catalogue/test_catalogue_mixed.py",
    "rules/test_sampler_algebra.py",
    "rules/test_sampler_ranges.py",
    "search/test_space.py",
    "tensor/test_decompositions.py",
)
_PLACES = {TESTS / name: place for place, name in enumerate(LONGEST)}


def longest_first(items: list[pytest.Item]) -> None:
    """Move the tests of the files that take longest to the front; all others keep their order."""
    items.sort(key=lambda item: _PLACES.get(item.path, len(LONGEST)))
