"""The error function, its complement and its inverse, within 4 ulp, the complement's tail too.

Polynomials were fitted by weighted least squares on Chebyshev nodes, reweighted towards the
smallest largest error, or by Remez's exchange, in 60 digits. Halves go through float32, integers
become float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from numpy.polynomial import Polynomial

from photic.ir.dtype import FLOAT32, FLOAT64, DType
from photic.tensor.compare import limited
from photic.tensor.elementary import LN_2, decayed, exp_of_at_most_0, growth, polynomial
from photic.tensor.primitive import in_float32, less, log2, reciprocal, sqrt, where
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor

# fmt: off
# erf(x) = x + x*p(x*x) for |x| < 1. Relative errors of erf by the fits alone: 1.2e-9 and 3e-17.
NEAR: dict[DType, tuple[float, ...]] = {
    FLOAT32: (
        0.12837916572499129, -0.37612625812334933, 0.1128358501357285, -0.0268538062895648,
        0.0051883169668399158, -0.00080100995255345124, 7.8535508531779196e-5,
    ),
    FLOAT64: (
        0.12837916709551257, -0.37612638903183519, 0.11283791670944178, -0.026866170643110511,
        0.0052239776061109304, -0.00085483259289667864, 0.00012055293566893536,
        -1.4924712116821591e-5, 1.6447129367564973e-6, -1.6206297461134702e-7,
        1.3710912237797575e-8, -7.7793453126988801e-10,
    ),
}

# From 1 on erf(x) = 1 - exp(-p(x - 1)). Relative errors of erf by the fits alone: 1e-9 and 3e-17.
FAR: dict[DType, tuple[float, ...]] = {
    FLOAT32: (
        1.84960552, 2.63896682, 0.843118332, 0.041500699, -0.00989089606, 0.00182615771,
        -0.000185571025,
    ),
    FLOAT64: (
        1.8496055099332484, 2.6389675142347255, 0.84310725636216794, 0.04156109796704457,
        -0.010033824553892586, 0.001977897239584982, -0.00023730019184055364,
        -2.6341305813001914e-5, 2.7286445931697175e-5, -9.7936079030827839e-6,
        2.2562940543029442e-6, -2.9736377663243321e-7, -7.8130653369946127e-9,
        1.3829113051306026e-8, -3.1981043411832822e-9, 3.625578266402201e-10,
        -1.7400070078070994e-11,
    ),
}
FAR_FROM = 1.0
FAR_TO: dict[DType, float] = {FLOAT32: 4.0, FLOAT64: 6.0}  # where erf is 1


@dataclass(frozen=True, slots=True)
class Tail:
    """erfc from a half on: ``exp(-x*x)`` times ``near(x - middle)``, from ``far_from`` on
    ``q*far(q*q)`` with ``q = 1/x``.

    From ``last`` on it is 0. Adding and taking away ``rounder`` leaves of x so few bits that
    their square is exact. Relative errors by the fits alone: 2e-8 and 2e-17.
    """

    middle: float
    far_from: float
    last: float
    rounder: float
    near: tuple[float, ...]
    far: tuple[float, ...]


TAILS: dict[DType, Tail] = {
    FLOAT32: Tail(
        middle=1.25,
        far_from=2.0,
        last=10.2,
        rounder=1.5 * 2.0**15,
        near=(
            0.367822923, -0.208821863, 0.106794988, -0.050218452, 0.0220197384, -0.00908194919,
            0.00351149308, -0.00131811594, 0.000556826205, -0.000184961743,
        ),
        far=(
            0.564189435, -0.282068709, 0.421542513, -1.00988845, 2.87076806, -7.24013179,
            12.3102169, -9.77691461,
        ),
    ),
    FLOAT64: Tail(
        middle=1.5,
        far_from=2.5,
        last=27.3,
        rounder=1.5 * 2.0**31,
        near=(
            0.3215854164543175, -0.16362291773256006, 0.076151039855476981,
            -0.032930905299563339, 0.013377340953083841, -0.0051459575479716674,
            0.0018861348767592893, -0.00066193006652197308, 0.00022330994653667495,
            -7.2658921752750001e-5, 2.2864301959238894e-5, -6.974992363854636e-6,
            2.0670007043665559e-6, -5.960828591581908e-7, 1.6749383017771233e-7,
            -4.5963178062303915e-8, 1.2391139928932705e-8, -3.2417362636812141e-9,
            7.8209206362098134e-10, -2.0088505966487191e-10, 7.1134659155836481e-11,
            -1.6498961737295006e-11,
        ),
        far=(
            0.56418958354775608, -0.282094791773589, 0.42314218751023522, -1.0578554292925611,
            3.7024878782240751, -16.660580656413194, 91.590708996951747, -593.22978749315396,
            4371.5808016992469, -34994.142276774174, 286044.08524544137, -2230838.0321014555,
            15612930.055991338, -93275587.114719409, 456235096.08186259, -1755396963.1697835,
            5070181203.6232033, -10281819312.80293, 13008616463.209393, -7708248166.8158702,
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """erfinv(x)/x where ``-log(1 - x*x)`` is below ``end``: a polynomial of that, or of its root,
    less ``middle``."""

    end: float
    of_root: bool
    middle: float
    coefficients: tuple[float, ...]


# Relative errors by the fits alone: 6e-9 and 4e-17.
PIECES: dict[DType, tuple[Piece, ...]] = {
    FLOAT32: (
        Piece(5.0, False, 0.0, (
            0.88622692, 0.232013818, 0.0115486539, -0.00233429635, -0.000127481453,
            4.45651079e-5, 3.98327061e-6, -1.97646677e-6, 2.21030991e-7, -8.79103351e-9,
        )),
        Piece(math.inf, True, 3.0, (
            2.8329768, 1.00167509, 0.00944568411, -0.00763940971, 0.00568317219, -0.00358698835,
            0.00149585816, -7.66193301e-5, -0.000318724847, 0.000128964821,
        )),
    ),
    FLOAT64: (
        Piece(6.25, False, 3.125, (
            1.6536545626831027, 0.24015818242558827, -0.0060336708714277537,
            -0.00074070253415395533, 0.0001867342080242553, -1.3882523395790712e-5,
            -1.3654691844333488e-6, 4.2347881907703255e-7, -2.9070382775986964e-8,
            -4.1126619776581975e-9, 1.0512183989191421e-9, -5.4142389939021098e-11,
            -1.2976958429977635e-11, 2.6303545498963678e-12, -8.1170058844619775e-14,
            -3.9989772492042508e-14, 6.5946964968284548e-15, -4.2866487678895521e-17,
            -1.3003880125747184e-16, 1.5759854341595669e-17, 1.1443998780998009e-18,
            -3.5755345653643813e-19, -1.0088628191046929e-21, 3.3758217790563275e-21,
        )),
        Piece(16.0, True, 3.25, (
            3.0838856104922206, 1.0052589676941657, 0.0053709145535709045,
            -0.0037512085082629823, 0.0024914420970184589, -0.0016882755342508804,
            0.00095328936307363174, -0.00035503783083773171, 2.4031263143888075e-5,
            6.8287248857550641e-5, -4.7319015617953602e-5, 1.2464432924406035e-5,
            2.9258242762660922e-6, -3.9840768413167343e-6, 1.4985457949839477e-6,
            -3.0266450054989551e-8, -2.7118641802505472e-7, 1.3394262830723453e-7,
            6.3420217146969573e-10, -1.6187531951873563e-8,
        )),
        Piece(math.inf, True, 5.0, (
            4.8499064014085842, 1.0103004648645461, -0.00013871931835395205,
            -0.00021503011986294295, 7.599527739888176e-5, -1.9681770230279533e-5,
            4.5260596715439428e-6, -9.9303221905213065e-7, 2.290162197886496e-7,
            -6.7547106017979674e-8, 2.9123838446002455e-8, -1.5271635527525644e-8,
            7.6439710302937164e-9, -3.4541247044190871e-9, 1.4903981365540677e-9,
            -4.4703567693302725e-10, -2.2828664723414292e-11, 4.5013687540696615e-11,
        )),
    ),
}
# fmt: on

TAIL_FROM, NORMAL_FROM = 0.5, 0.75
ROOT_HALF = math.sqrt(0.5)


def _of_normal(fit: Tail) -> Tail:
    """Of half of ``erfc(x*sqrt(1/2))``: a rounding of that product would show in the result."""
    middle = round(fit.middle / ROOT_HALF * 8) / 8
    inside = Polynomial([middle * ROOT_HALF - fit.middle, ROOT_HALF])
    return replace(
        fit,
        middle=middle,
        far_from=fit.far_from / ROOT_HALF,
        last=fit.last / ROOT_HALF,
        near=tuple(float(one) / 2 for one in Polynomial(fit.near)(inside).coef),
        far=tuple(one * ROOT_HALF * 2.0**k for k, one in enumerate(fit.far)),
    )


NORMAL_TAILS = {dtype: _of_normal(fit) for dtype, fit in TAILS.items()}


def _near(x: Tensor, end: float) -> Tensor:
    """erf of x limited to ``-end .. end``."""
    near = limited(x, -end, end)
    return near + near * polynomial(near * near, NEAR[x.dtype])


def _tail(magnitude: Tensor) -> Tensor:
    """erfc(x) for x from a half on."""
    fit = TAILS[magnitude.dtype]
    return _times_bell(fit, limited(magnitude, TAIL_FROM, fit.last), 1.0)


def _times_bell(fit: Tail, x: Tensor, share: float) -> Tensor:
    """``exp(-share*x*x)`` times what is fitted; the square's rounding is made good."""
    is_far = less(fit.far_from, x)
    near = polynomial(where(is_far, fit.middle, x) - fit.middle, fit.near)
    inverse = reciprocal(where(is_far, x, fit.far_from))
    far = polynomial(inverse * inverse, fit.far) * inverse
    few = (x + fit.rounder) - fit.rounder
    bell = growth(few * few * -share, (few - x) * (few + x) * share)
    return decayed(where(is_far, far, near), bell)


@in_float32
def erf(x: Tensor) -> Tensor:
    """The error function. erf(-0) = -0, erf(inf) = 1."""
    magnitude = abs(x)
    above = limited(magnitude, FAR_FROM, FAR_TO[x.dtype]) - FAR_FROM
    far = 1.0 - exp_of_at_most_0(-polynomial(above, FAR[x.dtype]))
    far = where(less(x, 0.0), -far, far)
    return where(less(magnitude, FAR_FROM), _near(x, FAR_FROM), far)


@in_float32
def erfc(x: Tensor) -> Tensor:
    """``1 - erf(x)``, relatively right where it is small. erfc(inf) = 0, erfc(-inf) = 2."""
    magnitude = abs(x)
    tail = _tail(magnitude)
    far = where(less(x, 0.0), 2.0 - tail, tail)
    return where(less(magnitude, TAIL_FROM), 1.0 - _near(x, TAIL_FROM), far)


@in_float32
def erfinv(x: Tensor) -> Tensor:
    """The inverse of ``erf``: inf at 1, -inf at -1, nan outside. erfinv(-0) = -0."""
    exponent = log2((1.0 - x) * (1.0 + x)) * -LN_2
    inside = where(less(exponent, math.inf), exponent, 1.0)
    pieces = PIECES[x.dtype]
    root = sqrt(where(less(inside, pieces[0].end), pieces[0].end, inside))
    slope = exponent
    for piece in reversed(pieces):
        at = (root if piece.of_root else inside) - piece.middle
        value = polynomial(at, piece.coefficients)
        slope = where(less(exponent, piece.end), value, slope)
    return x * slope


@in_float32
def ndtr(x: Tensor) -> Tensor:
    """The share of the normal distribution below x, relatively right where it is small."""
    magnitude, fit = abs(x), NORMAL_TAILS[x.dtype]
    tail = _times_bell(fit, limited(magnitude, NORMAL_FROM, fit.last), 0.5)
    far = where(less(x, 0.0), tail, 1.0 - tail)
    near = (_near(x * ROOT_HALF, FAR_FROM) + 1.0) * 0.5
    return where(less(magnitude, NORMAL_FROM), near, far)
