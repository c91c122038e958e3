"""The peers of ``bench/kernels.py``: a workload's torch function, eager, compiled, by OpenVINO.

Two threads each. Constants are parameters of a module, so that whoever compiles may lay them anew.
OpenVINO is told to compute in float32 (its own choice on some processors is bfloat16) and reads and
writes the caller's memory. What a peer cannot run is left out, never guessed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from kernel_workloads import FLOAT, HALF, Work

Call = Callable[[], object]

THREADS = 2


def torch_module() -> Any:
    """torch, on two threads, without gradients."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    return torch


def as_tensor(torch: Any, array: np.ndarray) -> Any:
    """The tensor over an array's memory."""
    if array.dtype.name == HALF:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_arrays(results: Any) -> list[np.ndarray]:
    """Results as arrays; bfloat16 as float32, which holds it."""
    many = results if isinstance(results, tuple | list) else (results,)
    floats = [one.float() if str(one.dtype) == "torch.bfloat16" else one for one in many]
    return [one.numpy() for one in floats]


def in_float64(work: Work, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The peer's results in float64."""
    torch = torch_module()
    return as_arrays(work.peer(torch, *_wide(torch, arrays)))


def scales(work: Work, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What each element's error is measured against, in float64."""
    torch = torch_module()
    wide = _wide(torch, arrays)
    if work.scale is not None:
        return as_arrays(work.scale(torch, *wide))
    if work.is_linear:
        return as_arrays(work.peer(torch, *(one.abs() for one in wide)))
    return [np.abs(one).max() for one in in_float64(work, arrays)]


def _wide(torch: Any, arrays: Sequence[np.ndarray]) -> list[Any]:
    tensors = (as_tensor(torch, one) for one in arrays)
    return [one.double() if one.dtype.is_floating_point else one for one in tensors]


# --- eager ----------------------------------------------------------------------------------


def eager(work: Work, arrays: Sequence[np.ndarray]) -> Call:
    """torch, operation by operation."""
    torch = torch_module()
    tensors = [as_tensor(torch, one) for one in arrays]
    return lambda: work.peer(torch, *tensors)


def _module(work: Work, arrays: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
    """A module that holds the constants, and what it is called with."""
    torch = torch_module()
    tensors = [as_tensor(torch, one) for one in arrays]
    split = len(tensors) - work.constants

    class Held(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for number, one in enumerate(tensors[split:]):
                held = torch.nn.Parameter(one, requires_grad=False)
                self.register_parameter(f"constant{number}", held)

        def forward(self, *given: Any) -> Any:
            held = (getattr(self, f"constant{number}") for number in range(work.constants))
            return work.peer(torch, *given, *held)

    return Held().eval(), tensors[:split]


# --- those that compile ---------------------------------------------------------------------


def compiled(work: Work, arrays: Sequence[np.ndarray]) -> Call:
    """torch.compile at its most thorough: it takes seconds to minutes."""
    torch = torch_module()
    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    module, given = _module(work, arrays)
    function = torch.compile(module, mode="max-autotune")
    function(*given)
    return lambda: function(*given)


def has_openvino() -> bool:
    """Whether it is installed."""
    return importlib.util.find_spec("openvino") is not None


def openvino(work: Work, arrays: Sequence[np.ndarray]) -> Call | None:
    """OpenVINO on float32, or nothing for what it cannot convert."""
    if work.dtype != FLOAT:
        return None
    library = importlib.import_module("openvino")
    module, given = _module(work, arrays)
    shapes = [list(one.shape) for one in given]
    try:
        model = library.convert_model(module, example_input=tuple(given), input=shapes)
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": THREADS,
            "NUM_STREAMS": 1,
        }
        request = library.Core().compile_model(model, "CPU", settings).create_infer_request()
        inputs = dict(enumerate(arrays[: len(given)]))
        request.infer(inputs, share_inputs=True, share_outputs=True)
    except (RuntimeError, importlib.import_module("openvino.frontend").OpConversionFailure):
        return None
    return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)
