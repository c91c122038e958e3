"""The catalogue's judge: what it must find wrong, and what it must let pass."""

from __future__ import annotations

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from catalogue.entry import Array, Entry, floated, gives, with_indices
from catalogue.inputs import given, of_shape, one_array
from catalogue.judging import faults
from catalogue.running import Job, compiled, evaluated, jobs, sizes_of_case

import photic as ph

PLAIN = Entry("negative", ph.negative, np.negative, one_array)
LOOSE = replace(PLAIN, rtol=1e-3, why="a test")
F32 = np.dtype(np.float32)
ONE_UP = np.nextafter(np.float32(1), np.float32(2))
MOST = np.finfo(np.float32).max


def judged(entry: Entry, got: object, exact: object, dtype: object = np.float32) -> list[str]:
    """The faults of one result."""
    array = np.asarray(got, None if isinstance(got, np.ndarray) else dtype)
    return faults(entry, np.dtype(dtype), (array,), [array], [np.asarray(exact, np.float64)])


@pytest.mark.parametrize(
    ("got", "exact"),
    [
        ([1.0, ONE_UP], [1.0, 1.0]),
        ([0.0], [-0.0]),
        ([math.nan], [1.0]),
        ([1.0], [math.nan]),
        ([math.inf], [-math.inf]),
        ([MOST], [math.inf]),
        ([math.inf], [1e38]),
        ([0.0], [1e-40]),
        ([1.0], [1.0, 1.0]),
    ],
)
def test_a_wrong_float_is_found(got: list[float], exact: list[float]) -> None:
    assert judged(PLAIN, got, exact)
    assert judged(replace(PLAIN, ulps=0), got, exact)


@pytest.mark.parametrize(
    ("got", "exact"),
    [
        ([math.nan, math.inf, -0.0], [math.nan, math.inf, -0.0]),
        ([math.inf], [1e39]),
        ([np.float32(0.1)], [0.1]),
        ([0.0], [1e-50]),
        ([], []),
    ],
)
def test_the_true_answer_rounded_passes(got: list[float], exact: list[float]) -> None:
    assert not judged(PLAIN, got, exact)


def test_limits_hold_to_the_unit() -> None:
    three = [np.float32(1) + 3 * np.spacing(np.float32(1))]
    assert not judged(replace(PLAIN, ulps=3), three, [1.0])
    assert judged(replace(PLAIN, ulps=2.9), three, [1.0])
    assert not judged(replace(PLAIN, ulps=1), [MOST], [2.0**128])
    assert not judged(replace(PLAIN, zero_signs=False), [0.0], [-0.0])


def test_a_tolerance_is_of_the_stated_scale_and_smaller_in_float64() -> None:
    assert not judged(LOOSE, [1.001], [1.0])
    assert judged(LOOSE, [1.002], [1.0])
    assert judged(LOOSE, [1.001], [1.0], np.float64)
    wide = replace(LOOSE, scale=lambda x: np.full(1, 10.0))
    assert not judged(wide, [1.01], [1.0])


def test_halves_are_rounded_once_from_float32() -> None:
    entry = replace(PLAIN, ulps=4)
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        up = np.ones(1, dtype) + np.spacing(np.ones(1, dtype))
        assert judged(entry, up, [1.0], dtype)
        assert not judged(replace(entry, half_ulps=1.0), up, [1.0], dtype)


def test_integers_and_dtypes_are_equal_or_wrong() -> None:
    whole = np.array([1, 2], np.int32)
    for exact, is_wrong in (([1, 2], False), ([1, 3], True)):
        found = faults(PLAIN, whole.dtype, (whole,), [whole], [np.array(exact)])
        assert bool(found) == is_wrong
    assert faults(PLAIN, F32, (whole,), [whole], [whole])
    assert not faults(replace(PLAIN, result_dtype=gives("int32")), F32, (whole,), [whole], [whole])
    both = [whole.astype(np.float32), whole.astype(np.int64)]
    assert not faults(replace(PLAIN, result_dtype=with_indices), F32, (whole,), both, both)
    assert floated(np.dtype(np.int8)) == F32


def off_by_one(x: ph.Tensor) -> ph.Tensor:
    return -x + 1.0


def test_a_wrong_function_is_found_and_named_by_every_way_to_run_it() -> None:
    wrong = replace(PLAIN, call=off_by_one, sizes=("n",), inputs=of_shape((3,), (2, 2)))
    every = jobs(wrong, "float32")
    found = [
        *(fault for job in every for fault in evaluated(job, symbolic=False)),
        *evaluated(every[0], symbolic=True),
        *compiled(every, symbolic=False),
        *compiled(every[:1], symbolic=True),
    ]
    assert len(found) == len(every) * 2 + 2
    assert all("negative float32 case" in fault for fault in found)


def test_what_does_not_compile_is_named_and_the_rest_is_not() -> None:
    def refused(x: ph.Tensor) -> ph.Tensor:
        return ph.state(f"s{x.shape[0]}", (ph.dim("m", 0, 9),))

    bad = replace(PLAIN, name="refused", call=refused, inputs=of_shape((3,)))
    good = replace(PLAIN, inputs=of_shape((3,)))
    found = compiled([*jobs(bad, "float32"), *jobs(good, "float32")], symbolic=False)
    assert len(found) == 1 and found[0].startswith("refused float32 case 0")


def test_cases_with_other_axes_are_not_run_with_symbolic_sizes() -> None:
    entry = replace(PLAIN, sizes=("n+ 3",), inputs=given([np.ones((2, 3))]))

    def job(*shape: int) -> Job:
        array: Array = np.ones(shape, np.float32)
        return Job(entry, "float32", 0, (array,))

    assert sizes_of_case(job(2, 3)) == {"n": 2}
    for shape in ((0, 3), (2, 4), (3,), (2, 3, 1)):
        assert sizes_of_case(job(*shape)) is None
