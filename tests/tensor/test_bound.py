"""Bound calls: their results, and that they read and write in place."""

from __future__ import annotations

import numpy as np
import pytest

import photic as ph
from photic.base.errors import BadArgument

ROWS = 8


def _program() -> ph.Program:
    return ph.compile(ph.input("x", (ROWS,)) * 2.0, search=0)


def test_each_run_reads_the_input_as_it_is_and_writes_the_same_output() -> None:
    x = np.arange(ROWS, dtype=np.float32)
    bound = _program().bind(x=x)
    (first,) = bound.run().values()
    np.testing.assert_array_equal(first, x * 2)
    x += 1
    (second,) = bound.run().values()
    assert second is first
    np.testing.assert_array_equal(second, x * 2)
    assert bound.inputs["x"] is x


def test_two_bound_calls_have_outputs_of_their_own() -> None:
    program, x = _program(), np.ones(ROWS, np.float32)
    (one,), (other,) = program.bind(x=x).run().values(), program.bind(x=x).run().values()
    assert not np.shares_memory(one, other)


def test_an_input_that_would_have_to_be_copied_is_refused() -> None:
    strided = np.ones(2 * ROWS, np.float32)[::2]
    with pytest.raises(BadArgument, match="C-contiguous"):
        _program().bind(x=strided)
