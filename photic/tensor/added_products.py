"""Products of matrices with something added, of stated ranks; convolutions of lines.

Names and arguments are PyTorch's, of convolutions NumPy's. Everything is computed in the dtype of
the sum (halves in float32) and rounded once; integers wrap in their own dtype.
"""

from __future__ import annotations

from photic.base.errors import BadArgument, ShapeMismatch
from photic.ir.dim import Dim, at_most, floordiv
from photic.ir.dtype import BOOL, FLOAT32, DType
from photic.tensor.convolution import conv
from photic.tensor.kernel_windows import windowed, windows_of
from photic.tensor.linear import matmul
from photic.tensor.primitive import accumulated, apply, masked, reciprocal, reduced
from photic.tensor.shapes import concat, expand_dims, flip, reshape, swapaxes
from photic.tensor.tensor import (
    Tensor,
    Value,
    expanded,
    in_dtype,
    joined_dtype,
    number,
    tensor,
)


def _wide(op: str, *values: Value) -> tuple[DType, list[Tensor]]:
    """The common dtype, and the values in that of the sum."""
    dtype = joined_dtype(values, op)
    wide = accumulated(dtype) if dtype.kind == "float" else dtype
    return dtype, [in_dtype(one, dtype).astype(wide) for one in values]


def _ranked(op: str, rank: int, x: Value) -> Tensor:
    value = tensor(x, op)
    if value.ndim != rank:
        raise BadArgument(op=op, argument="rank", given=value.ndim, expected=rank)
    return value


def mm(left: Value, right: Value) -> Tensor:
    """The product of two matrices. BadArgument for other ranks, ShapeMismatch."""
    return matmul(_ranked("mm", 2, left), _ranked("mm", 2, right))


def bmm(left: Value, right: Value) -> Tensor:
    """The products of as many matrices on both sides, (b, n, m) and (b, m, k). BadArgument."""
    a, b = _ranked("bmm", BATCHED, left), _ranked("bmm", BATCHED, right)
    if a.shape[0] != b.shape[0]:
        raise ShapeMismatch(op="bmm", left=a.shape, right=b.shape)
    return matmul(a, b)


BATCHED = 3  # axes of matrices in a batch


def mv(matrix: Value, vector: Value) -> Tensor:
    """A matrix times a vector. BadArgument for other ranks, ShapeMismatch."""
    return matmul(_ranked("mv", 2, matrix), _ranked("mv", 1, vector))


def matvec(matrix: Value, vector: Value) -> Tensor:
    """Matrices (..., n, m) times vectors (..., m), as NumPy's: leading axes broadcast."""
    product = matmul(matrix, expand_dims(vector, -1))
    return reshape(product, product.shape[:-1])


def vecmat(vector: Value, matrix: Value) -> Tensor:
    """Vectors (..., n) times matrices (..., n, m), as NumPy's: leading axes broadcast."""
    product = matmul(expand_dims(vector, -2), matrix)
    return reshape(product, (*product.shape[:-2], product.shape[-1]))


# --- with something added -------------------------------------------------------------------


def _sum(x: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    """``beta*x + alpha*product``; for ``beta`` 0 nothing of ``x`` shows."""
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product + (x * 0 if x.ndim > product.ndim else 0)
    return (x if beta == 1 else x * beta) + product


def addmm(x: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta*x + alpha*(left @ right)`` of matrices; ``x`` broadcasts."""
    dtype, (a, b, c) = _wide("addmm", x, left, right)
    return _sum(a, mm(b, c), beta, alpha).astype(dtype)


def addmv(x: Value, matrix: Value, vector: Value, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta*x + alpha*(matrix @ vector)``; ``x`` broadcasts."""
    dtype, (a, b, c) = _wide("addmv", x, matrix, vector)
    return _sum(a, mv(b, c), beta, alpha).astype(dtype)


def addr(x: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta*x + alpha*outer(left, right)`` of vectors; ``x`` broadcasts."""
    dtype, (a, b, c) = _wide("addr", x, _ranked("addr", 1, left), _ranked("addr", 1, right))
    return _sum(a, expand_dims(b, 1) * c, beta, alpha).astype(dtype)


def baddbmm(x: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta*x + alpha*(left @ right)`` for each matrix of a batch; ``x`` broadcasts."""
    dtype, (a, b, c) = _wide("baddbmm", x, left, right)
    return _sum(a, bmm(b, c), beta, alpha).astype(dtype)


def addbmm(x: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta*x`` and the sum over a batch of ``alpha*(left @ right)``; ``x`` broadcasts."""
    dtype, (a, b, c) = _wide("addbmm", x, left, right)
    return _sum(a, reduced("sum", bmm(b, c), 0), beta, alpha).astype(dtype)


def addcmul(x: Value, left: Value, right: Value, *, value: float = 1) -> Tensor:
    """``x + value*left*right``, element by element."""
    dtype, (a, b, c) = _wide("addcmul", x, left, right)
    return _sum(a, b * c, 1, value).astype(dtype)


def addcdiv(x: Value, top: Value, bottom: Value, *, value: float = 1) -> Tensor:
    """``x + value*top/bottom``, element by element; integers become float32."""
    joined = joined_dtype((x, top, bottom), "addcdiv")
    dtype = joined if joined.kind == "float" else FLOAT32
    a, b, c = (in_dtype(one, dtype).astype(accumulated(dtype)) for one in (x, top, bottom))
    return _sum(a, b * reciprocal(c), 1, value).astype(dtype)


def linear(x: Value, weight: Value, bias: Value | None = None) -> Tensor:
    """``x @ weight.T + bias``: (..., inputs) by (outputs, inputs) to (..., outputs).

    A weight (inputs,) gives (...,). ShapeMismatch.
    """
    dtype, (a, w, *rest) = _wide("linear", *((x, weight) if bias is None else (x, weight, bias)))
    product = matmul(a, swapaxes(w, 0, 1) if w.ndim > 1 else w)
    return (product + rest[0] if rest else product).astype(dtype)


def bilinear(left: Value, right: Value, weight: Value, bias: Value | None = None) -> Tensor:
    """``left @ weight[k] @ right + bias[k]`` of (..., n) and (..., m), for (outputs, n, m).

    The result is (..., outputs). ShapeMismatch, BadArgument.
    """
    given = (left, right, _ranked("bilinear", BATCHED, weight))
    dtype, (a, b, w, *rest) = _wide("bilinear", *(given if bias is None else (*given, bias)))
    turned = reshape(swapaxes(w, 0, 1), (w.shape[1], w.shape[0] * w.shape[2]))
    half = matmul(a, turned)
    split = reshape(half, (*half.shape[:-1], w.shape[0], w.shape[2]))
    product = reduced("sum", split * expand_dims(b, -2), -1)
    return (product + rest[0] if rest else product).astype(dtype)


# --- lines ----------------------------------------------------------------------------------


def convolve(a: Value, v: Value, mode: str = "full") -> Tensor:
    """The convolution of two lines, as NumPy's: ``mode`` full, same or valid.

    Only what meets counts: past the ends of a line not even nan of the other one does.
    BadArgument for another rank or mode, for an empty line, and where symbolic sizes leave open
    which is the longer.
    """
    x, kernel = _ranked("convolve", 1, a), _ranked("convolve", 1, v)
    longer, shorter = (x, kernel) if _is_longer("convolve", x, kernel) else (kernel, x)
    return _correlated("convolve", longer, flip(shorter), mode)


def correlate(a: Value, v: Value, mode: str = "valid") -> Tensor:
    """The sums of products of a line and another moved along it; else as ``convolve``."""
    x, kernel = _ranked("correlate", 1, a), _ranked("correlate", 1, v)
    if _is_longer("correlate", x, kernel):
        return _correlated("correlate", x, kernel, mode)
    return flip(_correlated("correlate", kernel, x, mode))


def _is_longer(op: str, x: Tensor, kernel: Tensor) -> bool:
    """Whether x is no shorter than the kernel."""
    m, n = x.shape[0], kernel.shape[0]
    if at_most(1, m) and at_most(1, n) and (at_most(n, m) or at_most(m, n)):
        return at_most(n, m)
    raise BadArgument(op=op, argument="sizes", given=(m, n), expected="one surely longer, none 0")


def _correlated(op: str, x: Tensor, kernel: Tensor, mode: str) -> Tensor:
    last = kernel.shape[0] - 1
    middle = floordiv(kernel.shape[0], 2)
    reaches: dict[str, tuple[Dim, Dim]] = {
        "full": (last, last),
        "same": (middle, last - middle),
        "valid": (0, 0),
    }
    if mode not in reaches:
        raise BadArgument(op=op, argument="mode", given=repr(mode), expected="full, same or valid")
    inside = conv(expand_dims(x, 0), expand_dims(kernel, (0, 1)))
    inside = reshape(inside, (inside.shape[-1],))
    before, after = reaches[mode]
    if before == after == 0:
        return inside
    # only here is the mask paid for: inside all places of the kernel meet the line
    start = _at_an_end(x[:last], kernel, (last + 1, 0))[last + 1 - before :]
    end = _at_an_end(x[x.shape[0] - last :], kernel, (0, last + 1))[:after]
    return concat([start, inside, end])


def _at_an_end(x: Tensor, kernel: Tensor, reach: tuple[Dim, Dim]) -> Tensor:
    """As inside, with the kernel reaching past the line; what is past it, nan too, counts not."""
    dtype, (line, weights) = _wide("convolve", x, kernel)
    windows = windows_of("convolve", line.shape, kernel.shape, 1, [reach], 1)
    held = windowed(expanded(number(True, BOOL), line.shape), windows, False)
    products = apply("mul", windowed(line, windows, 0), weights)
    return reduced("sum", masked(held, products), -1).astype(dtype)
