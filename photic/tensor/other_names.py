"""What NumPy and PyTorch call otherwise, or what makes no sense here: hints for missing names.

Read only where an attribute is missing, of ``photic`` or of a tensor; nothing here is an alias.
"""

from __future__ import annotations

from collections.abc import Mapping

_NO_NUMBERS = "it has no numbers before a program runs: ph.compile(...) gives one that returns them"
_DTYPES = "dtypes are named by strings or NumPy's: 'float32', np.float32"
_DTYPE_NAMES = (
    *("float64", "float32", "float16", "bfloat16", "double", "half"),
    *("int64", "int32", "int16", "int8", "uint8", "bool_", "long"),
)
_CAST = "x.astype('float32') and the like change the dtype"
_WHOLE_PROGRAM = "a program is compiled for a target as a whole: ph.compile(..., target=...)"
_FROZEN = "tensors are frozen"

FUNCTION_HINTS: Mapping[str, str] = {
    "array": "ph.constant",
    "as_tensor": "ph.constant",
    "asarray": "ph.constant",
    "bernoulli": "ph.random.bernoulli",
    "cat": "ph.concat",
    "clamp": "ph.clip",
    "clone": _FROZEN,
    "detach": "ph.stop_gradient",
    "dropout": "ph.random.dropout",
    "ediff1d": "ph.diff",
    "float_power": "ph.power of x.astype('float64')",
    "from_numpy": "ph.constant",
    "gumbel_softmax": "ph.softmax of x + ph.random.gumbel(...)",
    "in1d": "ph.isin",
    "jit": "ph.compile",
    "linalg": "its functions stand in photic itself: ph.norm, ph.inv, ph.solve",
    "logsigmoid": "ph.log_sigmoid",
    "movedim": "ph.moveaxis",
    "multinomial": "ph.random.categorical",
    "neg": "ph.negative",
    "no_grad": "ph.stop_gradient",
    "normal": "ph.random.normal",
    "placeholder": "ph.input",
    "positive": "+x",
    "rand": "ph.random.uniform",
    "randint": "ph.random.randint",
    "randn": "ph.random.normal",
    "randperm": "ph.random.permutation",
    "rope": "ph.rope_halves or ph.rope_pairs",
    "scaled_dot_product_attention": "ph.attention",
    "swapdims": "ph.swapaxes",
    "t": "x.T",
    "tensor_split": "ph.array_split",
    "unique_consecutive": "ph.unique counts equal elements wherever they stand",
    "upsample": "ph.interpolate",
    "view": "ph.reshape",
    **dict.fromkeys(_DTYPE_NAMES, _DTYPES),
}

METHOD_HINTS: Mapping[str, str] = {
    "backward": "ph.grad(loss, variables)",
    "bool": _CAST,
    "clamp": "x.clip",
    "clone": _FROZEN,
    "copy": _FROZEN,
    "cpu": _WHOLE_PROGRAM,
    "cuda": _WHOLE_PROGRAM,
    "detach": "ph.stop_gradient(x)",
    "device": _WHOLE_PROGRAM,
    "double": _CAST,
    "float": _CAST,
    "grad": "ph.grad(loss, variables)",
    "half": _CAST,
    "int": _CAST,
    "item": _NO_NUMBERS,
    "long": _CAST,
    "neg": "-x",
    "norm": "ph.norm(x)",
    "numpy": _NO_NUMBERS,
    "pow": "x ** y",
    "size": "x.shape is the sizes, x.numel() their product",
    "t": "x.T",
    "to": f"{_CAST}; {_WHOLE_PROGRAM}",
    "tolist": _NO_NUMBERS,
    "type": _CAST,
}


def hint_of(name: str, hints: Mapping[str, str]) -> str:
    """What to add to the message of a missing name; PyTorch's names of steps in place end in _."""
    in_place = name.endswith("_") and not name.endswith("__")
    found = hints.get(name) or (f"{_FROZEN}: x = x.{name[:-1]}(...)" if in_place else "")
    return f"; here: {found}" if found else ""
