"""What the catalogue says of one public function: how to call it, what is true, how near it comes.

Each ``entries_<topic>.py`` beside this file ends with ``ENTRIES: tuple[Entry, ...]``. The tests run
every entry on every dtype and case by the evaluator, and compiled; the table in
``docs/catalogue.md`` and the speeds of ``bench/catalogue.py`` come from the same records. An entry
holds no expected numbers: the oracle is NumPy, SciPy, torch or exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import photic as ph

Array: TypeAlias = npt.NDArray[Any]
Dtype: TypeAlias = np.dtype[Any]
Case: TypeAlias = tuple[Array, ...]
Results: TypeAlias = "ph.Tensor | tuple[ph.Tensor, ...] | list[ph.Tensor]"
Answers: TypeAlias = "Array | tuple[Array, ...] | list[Array]"
Cases: TypeAlias = Callable[[Dtype, np.random.Generator], Iterable[Case]]
Workload: TypeAlias = Callable[[np.random.Generator], Case]

FLOATS = ("float64", "float32", "float16", "bfloat16")
HALVES = ("float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")
BOOL = ("bool",)
NUMBERS = (*FLOATS, *INTS)
ALL = (*FLOATS, *INTS, *BOOL)

GRADIENTS = ("smooth", "almost everywhere")
NO_GRADIENT = "none: "

# Past this many units in the last place an entry must say why.
UNEXPLAINED_ULPS = 4.0


@dataclass(frozen=True, slots=True)
class Speed:
    """A workload of about a million elements, for photic and for torch on the same values.

    ``peer(torch, *tensors)`` is torch's answer; ``call`` is photic's, the entry's own if left out;
    ``arrays`` makes the inputs, in float32 where they are floats. ``why`` explains a photic that is
    known to be slower.
    """

    peer: Callable[..., object]
    arrays: Workload
    call: Callable[..., Results] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One function, or one use of it ("pad.reflect"): ``name`` up to the first dot is public.

    ``call`` gets a handle for each array of a case; ``oracle`` the arrays themselves, floats as
    float64 with the same values, integers and bools as they are. ``inputs(dtype, random)`` are all
    cases of a dtype: sizes 0, 1, odd and large, 0-d, views, special values.

    A float may be off by the sum of three: ``ulps`` units in the last place of its dtype;
    ``rtol`` times ``scale`` of the arrays (|true answer| if left out); and ``atol``. Halves are
    expected to be computed in float32 and rounded once, within 0.5 ulp and ``ulps`` of float32,
    unless ``half_ulps`` says otherwise; ``half_eps`` times ``scale`` is in epsilons of the half,
    for what is rounded on the way. ``rtol`` and ``atol`` hold for float32 and halves; in
    float64 a 2**-29th of them. Integers, bools and ``ulps=0`` are equal to the bit. With
    ``zero_signs`` 0.0 and -0.0 differ (unless there is an ``rtol`` or ``atol``).

    ``sizes`` names the axes of each array ("n k", "k+ 3"): cases of that rank are run again with
    symbolic sizes, ``k+`` being at least 1, and a number a size that stays an integer.
    """

    name: str
    call: Callable[..., Results]
    oracle: Callable[..., Answers]
    inputs: Cases
    dtypes: tuple[str, ...] = FLOATS
    ulps: float = 0.5
    half_ulps: float | None = None
    half_eps: float = 0.0
    rtol: float = 0.0
    atol: float = 0.0
    scale: Callable[..., Answers] | None = None
    why: str = ""  # the reason of the tolerance
    zero_signs: bool = True
    result_dtype: Callable[[Dtype], Dtype | tuple[Dtype, ...]] | None = None
    gradient: str = "smooth"
    onnx: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    is_peer: bool = False  # the oracle needs torch
    speed: Speed | None = None

    def __post_init__(self) -> None:
        known = self.gradient in GRADIENTS or self.gradient.startswith(NO_GRADIENT)
        assert known, f"{self.name}: gradient {self.gradient!r}"
        assert set(self.dtypes) <= set(ALL), f"{self.name}: dtypes {self.dtypes}"
        is_loose = self.ulps > UNEXPLAINED_ULPS or self.rtol or self.atol
        assert self.why or not is_loose, f"{self.name}: a tolerance needs its reason"

    @property
    def function(self) -> str:
        """The public name that it is a case of."""
        return self.name.partition(".")[0]


def gives(name: str) -> Callable[[Dtype], Dtype]:
    """A ``result_dtype`` that is the same for every dtype."""
    return lambda _dtype: np.dtype(name)


def floated(dtype: Dtype) -> Dtype:
    """The ``result_dtype`` of what makes integers and bools float32."""
    return np.dtype(np.float32) if dtype.kind in "iub" else dtype


def summed(dtype: Dtype) -> Dtype:
    """The ``result_dtype`` of sums: integers and bools give int64."""
    return np.dtype(np.int64) if dtype.kind in "iub" else dtype


def with_indices(dtype: Dtype) -> tuple[Dtype, Dtype]:
    """The ``result_dtype`` of values and their places."""
    return dtype, np.dtype(np.int64)


def described(case: Case, sizes: Mapping[str, int] | None = None) -> str:
    """A case as a failure names it: dtypes, shapes, whether views."""
    parts = [
        f"{one.dtype}{list(one.shape)}{'' if one.flags.c_contiguous else ' view'}" for one in case
    ]
    return ", ".join(parts) + (f" with {dict(sizes)}" if sizes else "")
