"""Loads of vectors: backwards as whole vectors; places that are even only in memory."""

from __future__ import annotations

import numpy as np
import pytest

import photic as ph

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("size", [3, 64, 131])
def test_what_is_read_backwards_is_what_numpy_gives(size: int, dtype: str) -> None:
    given = (RNG.normal(size=(5, size)) * 9).astype(dtype)
    program = ph.compile({"y": ph.flip(ph.input("x", given.shape, dtype), -1)}, search=0)
    assert np.array_equal(program(x=given)["y"], given[:, ::-1])


@pytest.mark.parametrize("size", [16, 45])
def test_a_guarded_load_backwards_reads_only_what_is_there(size: int) -> None:
    given = RNG.normal(size=(4, size)).astype(np.float32)
    x = ph.input("x", given.shape)
    value = ph.pad(ph.flip(x, -1), ((0, 0), (3, 7))) + ph.pad(x, ((0, 0), (7, 3)))
    expected = np.pad(given[:, ::-1], ((0, 0), (3, 7))) + np.pad(given, ((0, 0), (7, 3)))
    assert np.array_equal(ph.compile({"y": value}, search=0)(x=given)["y"], expected)


def test_a_backward_load_is_no_loop_over_lanes() -> None:
    program = ph.compile({"y": ph.flip(ph.input("x", (8, 256)), -1)}, search=0)
    assert "reverse_f32" in program.artifact.source
    assert "int lane =" not in program.artifact.source


def test_an_index_that_is_even_only_in_memory_is_read_by_whole_vectors() -> None:
    x = ph.input("x", (6, 20, 25))
    wide = ph.concat([ph.exp(x).reshape((6, 500)), ph.zeros((6, 1))], -1)
    program = ph.compile({"y": wide}, search=0)
    given = RNG.normal(size=(6, 20, 25)).astype(np.float32)
    assert "int lane =" not in program.artifact.source
    got = program(x=given)["y"]
    assert np.array_equal(got[:, 500], np.zeros(6, np.float32))
    assert np.allclose(got[:, :500], np.exp(given.reshape(6, 500)), rtol=1e-6)
