"""What the C numerics read and write, and that they touch nothing else."""

import ctypes

import numerics_library as library
import numpy as np
import pytest
from numerics_library import EVERY, LANES, same, stored_values

LANE = pytest.mark.parametrize("lanes", LANES)


@LANE
@pytest.mark.parametrize("dtype", EVERY)
def test_store_part_writes_no_lane_past_the_count(machine, dtype, lanes):
    values = stored_values(dtype, lanes)
    for count in range(lanes + 1):
        room = np.frombuffer(b"\xa5" * (3 * values.nbytes), np.uint8).copy()
        machine.store_part(dtype, lanes, values, room.ctypes.data + values.nbytes, count)
        written = count * values.itemsize
        want = b"\xa5" * values.nbytes + values.tobytes()[:written]
        assert room.tobytes() == want.ljust(len(room), b"\xa5")


@LANE
@pytest.mark.parametrize("dtype", EVERY)
def test_load_part_reads_the_first_lanes_and_zeros(machine, dtype, lanes):
    values = stored_values(dtype, lanes)
    for count in range(lanes + 1):
        got = machine.load_part(dtype, lanes, values.ctypes.data, count)
        want = values.copy()
        want[count:] = 0
        assert got.tobytes() == want.tobytes()


@LANE
def test_partial_loads_and_stores_never_touch_what_follows(machine, lanes, fence):
    for dtype in EVERY:
        values = stored_values(dtype, lanes)
        for count in range(lanes + 1):
            address = fence - count * values.itemsize
            machine.store_part(dtype, lanes, values, address, count)
            got = machine.load_part(dtype, lanes, address, count)
            assert got[:count].tobytes() == values[:count].tobytes()


MANY = pytest.mark.parametrize("lanes", [one for one in LANES if one > 1])


@MANY
@pytest.mark.parametrize("dtype", EVERY)
def test_gather_reads_elements_by_number_where_it_may(machine, dtype, lanes):
    rng = np.random.default_rng(9)
    base, index, mask = (
        stored_values(dtype, 100),
        rng.integers(0, 100, lanes),
        rng.random(lanes) < 0.7,
    )
    same(machine.gather(dtype, base, index, mask | True, lanes), base[index])
    for count in (0, 1, lanes // 2, lanes):
        reads = mask & (np.arange(lanes) < count)
        index[~reads] = 1 << 50  # not a place that can be read
        expected = np.where(reads, base[np.where(reads, index, 0)], np.zeros((), base.dtype))
        same(machine.gather(dtype, base, index, mask, count), expected)
        index = rng.integers(0, 100, lanes)


@MANY
@pytest.mark.parametrize("step", library.STEPS)
@pytest.mark.parametrize("dtype", EVERY)
def test_evenly_apart_lanes_are_read_and_nothing_past_the_last(machine, dtype, step, lanes, fence):
    values = stored_values(dtype, (lanes - 1) * abs(step) + 1)
    size, rng = values.itemsize, np.random.default_rng(lanes)
    start = fence - values.nbytes
    machine.store_part(dtype, lanes, values, start, 0)
    ctypes.memmove(start, values.tobytes(), values.nbytes)
    first = start if step > 0 else fence - size
    expected = values[::step] if step > 0 else values[::-1]
    every = np.ones(lanes, bool)
    same(machine.load_even(dtype, first, step, every, -1), expected)
    for count in (0, 1, lanes - 1, lanes):
        reads = (rng.random(lanes) < 0.7) & (np.arange(lanes) < count)
        last = int(np.flatnonzero(reads)[-1]) if reads.any() else 0
        if step > 0:  # the last lane that is read is the last element before the fence
            first = fence - size * (last * step + 1)
            ctypes.memmove(first, values[: last * step + 1].tobytes(), size * (last * step + 1))
            found = values[: last * step + 1 : step]
        else:
            found = expected[: last + 1]
        whole = np.zeros(lanes, values.dtype)
        whole[: last + 1] = found
        same(
            machine.load_even(dtype, first, step, reads, count),
            np.where(reads, whole, np.zeros_like(whole)),
        )


@MANY
@pytest.mark.parametrize("dtype", EVERY)
def test_two_vectors_are_written_in_turns_and_nothing_behind_them(machine, dtype, lanes, fence):
    first, second = stored_values(dtype, 2 * lanes).reshape(2, lanes)
    machine.store_pairs(dtype, lanes, first, second, fence - 2 * first.nbytes)
    written = np.stack([first, second], -1)
    assert ctypes.string_at(fence - written.nbytes, written.nbytes) == written.tobytes()


@MANY
@pytest.mark.parametrize("dtype", EVERY)
def test_the_first_lanes_of_two_vectors_are_written_in_turns(machine, dtype, lanes, fence):
    first, second = stored_values(dtype, 2 * lanes).reshape(2, lanes)
    for count in range(lanes + 1):
        written = np.stack([first, second], -1)[:count]
        before = ctypes.string_at(fence - 2 * first.nbytes, 2 * first.nbytes - written.nbytes)
        machine.store_pairs_part(dtype, lanes, first, second, fence - written.nbytes, count)
        after = ctypes.string_at(fence - 2 * first.nbytes, 2 * first.nbytes)
        assert after == before + written.tobytes()


@MANY
@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("step", [4, 5, 49])
def test_four_vectors_are_written_lane_by_lane_and_nothing_between_them(
    machine, dtype, lanes, step
):
    four = stored_values(dtype, 4 * lanes)
    expected = stored_values(dtype, lanes * step)[::-1].copy()
    written = expected.copy()
    machine.store_fours(dtype, lanes, four, step, written)
    expected.reshape(lanes, step)[:, :4] = four.reshape(4, lanes).T
    assert written.tobytes() == expected.tobytes()


@MANY
@pytest.mark.parametrize("dtype", EVERY)
def test_reverse_gives_the_last_lane_first(machine, dtype, lanes):
    values = stored_values(dtype, 4 * lanes)
    same(machine.reverse(dtype, lanes, values), values.reshape(4, lanes)[:, ::-1].reshape(-1))
