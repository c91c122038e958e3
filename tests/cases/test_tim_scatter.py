"""TIM-03: writing at places that come from data compiles in bounded time, also twelve layers deep.

The report's ScatterND is written here as one-hot sums (a selection where nobody writes); a cache's
update is ``ph.update`` at a symbolic place.
"""

from __future__ import annotations

import time

import numpy as np

import photic as ph

SECONDS = 30.0  # a stated cap; each takes a tenth of it on the slowest machine seen
SHAPE = (1, 8, 16)
LAYERS, CONTEXT, WIDTH = 12, 32, 8


def scattered(data: ph.Tensor, indices: ph.Tensor, updates: ph.Tensor) -> ph.Tensor:
    """``data`` with ``updates`` at full ``indices``, which do not repeat."""
    steps = ph.constant(np.array([SHAPE[1] * SHAPE[2], SHAPE[2], 1]))
    flat = ph.ravel(ph.sum(indices * steps, axis=-1))
    count = SHAPE[0] * SHAPE[1] * SHAPE[2]
    hits = ph.equal(ph.expand_dims(flat, 1), ph.arange(count))
    written = ph.sum(ph.where(hits, ph.expand_dims(ph.ravel(updates), 1), 0.0), axis=0)
    merged = ph.where(ph.any(hits, axis=0), written, ph.ravel(data))
    return ph.reshape(merged, SHAPE)


def test_tim_03_a_scatter_to_places_from_data_compiles_in_bounded_time(
    rng: np.random.Generator,
) -> None:
    start = time.perf_counter()
    data, indices = ph.input("data", SHAPE), ph.input("indices", (1, 4, 1, 3), "int64")
    updates = ph.input("updates", (1, 4, 1))
    program = ph.compile({"y": scattered(data, indices, updates)})
    assert time.perf_counter() - start < SECONDS
    places = np.array([[0, 7, 15], [0, 0, 0], [0, 3, 9], [0, 3, 10]])
    given = {
        "data": rng.standard_normal(SHAPE).astype(np.float32),
        "indices": places.reshape(1, 4, 1, 3),
        "updates": rng.standard_normal((1, 4, 1)).astype(np.float32),
    }
    want = given["data"].copy()
    want[tuple(places.T)] = given["updates"].ravel()
    np.testing.assert_array_equal(program(**given)["y"], want)


def test_tim_03_twelve_layers_of_caches_compile_in_bounded_time(rng: np.random.Generator) -> None:
    start = time.perf_counter()
    past = ph.dim("past", 0, CONTEXT - 1)
    value, updates = ph.input("x", (1, WIDTH)), {}
    for layer in range(LAYERS):
        cache = ph.state(f"cache{layer}", (CONTEXT, WIDTH))
        updates[cache] = ph.update(cache, value, past, 0)
        value = value + ph.mean(updates[cache], axis=0, keepdims=True)
    program = ph.compile({"y": value}, updates)
    assert time.perf_counter() - start < SECONDS
    caches = np.zeros((LAYERS, CONTEXT, WIDTH))
    for step in range(3):
        x = rng.standard_normal((1, WIDTH)).astype(np.float32)
        want = x.astype(np.float64)
        for cache in caches:
            cache[step] = want
            want = want + cache.mean(0, keepdims=True)
        got = program(x=x, past=step)["y"]
        # sums of 32 float32, twelve times
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
