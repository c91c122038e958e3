"""The catalogue's entries for losses: by distance, margin and angle, of probabilities, CTC."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from catalogue.by_torch import Make, by_torch, cases, chosen, exactly, floats, speed_of, whole
from catalogue.entry import Array, Cases, Dtype, Entry
from catalogue.inputs import given, joined

import photic as ph

ROUNDINGS = 1e-6
WHY = "roundings of each element, relative to the largest numbers that go into it"
REDUCTIONS = ("mean", "sum", "none")
INF, NAN = math.inf, math.nan
EDGES = "almost everywhere"


def every(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A loss by each reduction."""
    return lambda *args: [function(*args, reduction=one, **options) for one in REDUCTIONS]


def torch_loss(name: str, **options: Any) -> Callable[..., Any]:
    """torch's loss of a name by each reduction."""

    def run(torch: Any, *args: Any) -> Any:
        function = getattr(torch.nn.functional, name)
        return [function(*args, reduction=one, **options) for one in REDUCTIONS]

    return run


def each_of(largest: float) -> Callable[..., Sequence[Array]]:
    """The scale of mean, sum and elements, where no element comes of numbers above ``largest``."""

    def scales(x: Array, *_rest: Array) -> Sequence[Array]:
        one = np.asarray(largest)
        return [one, one * max(1, x.size), one]

    return scales


def loss(
    name: str,
    inputs: Cases,
    largest: float,
    use: str = "",
    *,
    gradient: str = "smooth",
    onnx: tuple[str, ...] = (),
    speed: bool = False,
    sizes: tuple[str, ...] = (),
    **options: Any,
) -> Entry:
    """A loss that both libraries know by one name, with these options."""
    function = getattr(ph, name)
    quick = None
    if speed:
        peer = torch_loss(name, **options)
        quick = speed_of(
            lambda torch, *args: peer(torch, *args)[0],
            lambda *args: function(*args, **options),
            *[(1000, 1000)] * 2,
        )
    return Entry(
        f"{name}.{use}" if use else name,
        every(function, **options),
        by_torch(torch_loss(name, **options)),
        inputs,
        rtol=ROUNDINGS,
        scale=each_of(largest),
        why=WHY,
        sizes=sizes,
        is_peer=True,
        gradient=gradient,
        onnx=onnx,
        aten=(name,),
        speed=quick,
    )


def pairs(low: float = -2.0, high: float = 2.0) -> list[list[Make]]:
    shapes = [(1,), (7,), (), (0,), (3, 5), (2, 0), (2, 33, 17)]
    return [[floats(*one, low=low, high=high)] * 2 for one in shapes]


# --- by distance ----------------------------------------------------------------------------

PAIRS: Cases = joined(
    cases(*pairs()), given(([INF, NAN, 1.0, 0.0], [1.0, 1.0, NAN, -0.0]), ([INF], [INF]))
)

DISTANCES = (
    loss("mse_loss", PAIRS, 32, sizes=("3 m", "3 m"), speed=True),
    loss("l1_loss", PAIRS, 8, gradient=EDGES, sizes=("3 m", "3 m"), speed=True),
    loss("smooth_l1_loss", PAIRS, 16, gradient=EDGES, beta=0.5, speed=True),
    loss("smooth_l1_loss", PAIRS, 8, "zero", gradient=EDGES, beta=0.0),
    loss("huber_loss", PAIRS, 16, gradient=EDGES, delta=1.5, speed=True),
)

# --- by margin ------------------------------------------------------------------------------

SHAPES = [(1,), (7,), (0,), (3, 5)]


def signs(*shape: int) -> Make:
    return chosen(1.0, -1.0, shape=shape)


MARGINS = (
    loss(
        "hinge_embedding_loss",
        cases(*([floats(*one), signs(*one)] for one in SHAPES)),
        4,
        gradient=EDGES,
        margin=0.7,
    ),
    loss(
        "margin_ranking_loss",
        cases(*([floats(*one), floats(*one), signs(*one)] for one in SHAPES)),
        8,
        gradient=EDGES,
        margin=0.3,
    ),
    *(
        loss(
            "triplet_margin_loss",
            cases(*([floats(*one)] * 3 for one in [(1, 1), (5, 7), (0, 3), (7,), (2, 3, 9)])),
            20,
            use,
            gradient=EDGES,
            **options,
        )
        for use, options in (
            ("", {}),
            ("one", {"p": 1.0, "margin": 2.0}),
            ("swap", {"p": 3.0, "swap": True}),
        )
    ),
)

# --- by angle -------------------------------------------------------------------------------


def both_axes(torch: Any, x: Any, y: Any) -> Any:
    return [torch.nn.functional.cosine_similarity(x, y, one) for one in (1, -1)]


ANGLES = (
    Entry(
        "cosine_similarity",
        lambda x, y: [ph.cosine_similarity(x, y), ph.cosine_similarity(x, y, -1)],
        by_torch(
            lambda torch, x, y: [
                torch.nn.functional.cosine_similarity(x, y, one) for one in (1, -1)
            ]
        ),
        joined(
            cases(*([floats(*one)] * 2 for one in [(1, 1), (5, 7), (0, 3), (2, 33, 9)])),
            given(([[0.0, 0.0], [NAN, 1.0]], [[1.0, 2.0], [1.0, 1.0]])),
        ),
        atol=2e-6,
        why="sums of tens of products, over lengths",
        sizes=("5 n+", "5 n+"),
        is_peer=True,
        aten=("cosine_similarity",),
    ),
    loss(
        "cosine_embedding_loss",
        cases(*([floats(b, n), floats(b, n), signs(b)] for b, n in [(1, 1), (5, 7), (33, 9)])),
        4,
        gradient=EDGES,
        margin=0.2,
    ),
)

# --- one of several classes -----------------------------------------------------------------

CLASSES = [(1, 1), (4, 5), (2, 7, 3), (2, 3, 2, 2), (33, 100)]


def labelled(shape: tuple[int, ...], ignored: int, *more: Make) -> list[Make]:
    """Logits and class indices, one of them ignored where there are several."""

    def labels(dtype: Dtype, random: np.random.Generator) -> Array:
        drawn = np.asarray(random.integers(0, shape[1], (shape[0], *shape[2:])))
        drawn.flat[-1] = ignored if drawn.size > 1 else 0
        return drawn

    return [floats(*shape, low=-4, high=4), labels, *more]


def vector() -> list[Make]:
    return [floats(5), exactly(3)]


PLAIN = cases(*(labelled(one, -100) for one in CLASSES), vector())
WEIGHTED = cases(*(labelled(one, 2, floats(one[1], low=0.1, high=2)) for one in CLASSES[1:]))
LIKELY = cases(
    *(
        [floats(*one, low=-4, high=4), floats(*one, low=0, high=1), floats(one[1], low=0.1)]
        for one in CLASSES
    )
)
ENTROPY = ("SoftmaxCrossEntropyLoss",)
QUICK = speed_of(
    lambda torch, x: torch.nn.functional.cross_entropy(x, torch.arange(1000)),
    lambda x: ph.cross_entropy(x, ph.arange(1000)),
    (1000, 1000),
)

ENTROPIES = (
    Entry(
        "cross_entropy",
        every(ph.cross_entropy),
        by_torch(torch_loss("cross_entropy")),
        joined(PLAIN, given(([[1000.0, -1000.0, INF], [-INF, 0.0, 1.0]], np.array([1, 1])))),
        rtol=ROUNDINGS,
        scale=each_of(16),
        why=WHY,
        sizes=("n 5", "n"),
        is_peer=True,
        onnx=ENTROPY,
        aten=("cross_entropy_loss",),
        speed=QUICK,
    ),
    loss(
        "cross_entropy", WEIGHTED, 32, "smoothed", onnx=ENTROPY, label_smoothing=0.1, ignore_index=2
    ),
    loss("cross_entropy", LIKELY, 400, "probabilities", onnx=ENTROPY, label_smoothing=0.2),
    loss("nll_loss", PLAIN, 8, onnx=("NegativeLogLikelihoodLoss",), sizes=("n 5", "n")),
    loss("nll_loss", WEIGHTED, 8, "weights", onnx=("NegativeLogLikelihoodLoss",), ignore_index=2),
)

# --- yes or no, whole distributions ---------------------------------------------------------

UNIT = joined(cases(*pairs(0.0, 1.0)), given(([0.0, 1.0, 0.5], [0.0, 0.0, 1.0])))
LOGITS = joined(
    cases(*([floats(*s, low=-9, high=9), floats(*s, low=0, high=1)] for s in [(1,), (0,), (5, 7)])),
    given(([1000.0, -1000.0, 40.0, -0.0], [1.0, 0.0, 0.0, 0.5])),
)
WEIGHED = cases([floats(5, 7), floats(5, 7), floats(5, 7), floats(7, low=0.5)])
LOGS = joined(cases(*pairs(0.0, 1.0)), given(([-1.0, 0.5, 3.0], [0.0, 1.0, NAN])))


def peer_of_poisson(torch: Any, x: Any, target: Any) -> Any:
    return [
        torch.nn.functional.poisson_nll_loss(x, target, *one, reduction="none")
        for one in ((True, False), (False, False), (True, True))
    ]


LIKELIHOODS = (
    loss("binary_cross_entropy", UNIT, 100, sizes=("3 m", "3 m")),
    loss("binary_cross_entropy_with_logits", LOGITS, 1000, sizes=("5 m", "5 m"), speed=True),
    Entry(
        "binary_cross_entropy_with_logits.weights",
        lambda x, target, weight, more: ph.binary_cross_entropy_with_logits(
            x, target, weight, pos_weight=more
        ),
        by_torch(
            lambda torch, x, target, weight, more: (
                torch.nn.functional.binary_cross_entropy_with_logits(
                    x, target, weight, pos_weight=more
                )
            )
        ),
        WEIGHED,
        atol=2e-5,
        why="a mean of products of up to 30",
        is_peer=True,
        aten=("binary_cross_entropy_with_logits",),
    ),
    loss("kl_div", LOGS, 8, sizes=("3 m", "3 m")),
    loss("kl_div", cases(*pairs()), 64, "logarithms", log_target=True),
    Entry(
        "kl_div.batchmean",
        lambda x, target: ph.kl_div(x, target, "batchmean"),
        by_torch(
            lambda torch, x, target: torch.nn.functional.kl_div(x, target, reduction="batchmean")
        ),
        cases([floats(4, 7, low=0, high=1)] * 2, [floats(1, 1, low=0, high=1)] * 2),
        atol=1e-5,
        why="a sum of a few products",
        is_peer=True,
        aten=("kl_div",),
    ),
    Entry(
        "poisson_nll_loss",
        lambda x, target: [
            ph.poisson_nll_loss(x, target, *one, reduction="none")
            for one in ((True, False), (False, False), (True, True))
        ],
        by_torch(peer_of_poisson),
        cases(*([floats(*s, low=0, high=4)] * 2 for s in [(1,), (0,), (5, 7)])),
        rtol=ROUNDINGS,
        scale=lambda *_: [np.asarray(80.0)] * 3,
        why=WHY,
        is_peer=True,
        gradient=EDGES,
        aten=("poisson_nll_loss",),
    ),
)

# --- labels without timing ------------------------------------------------------------------

TIMES, BATCH, LABELS = 12, 4, 6


def log_probabilities(times: int, batch: int) -> Make:
    def make(dtype: Dtype, random: np.random.Generator) -> Array:
        return np.asarray(np.log(random.dirichlet(np.ones(LABELS), (times, batch)))).astype(dtype)

    return make


ALIGNED = cases(
    [
        log_probabilities(TIMES, BATCH),
        exactly([[1, 2, 2, 3], [4, 4, 4, 4], [5, 1, 2, 3], [1, 1, 1, 1]]),
        exactly([12, 7, 6, 3]),
        exactly([4, 4, 0, 3]),
    ],
    [log_probabilities(1, 2), whole(2, 1, low=1, high=6), exactly([1, 1]), exactly([1, 0])],
    [log_probabilities(33, 2), whole(2, 7, low=1, high=6), exactly([33, 20]), exactly([7, 5])],
)


def ctc(**options: Any) -> Entry:
    use = ".finite" if options else ""
    return Entry(
        f"ctc_loss{use}",
        every(ph.ctc_loss, **options),
        by_torch(torch_loss("ctc_loss", **options)),
        ALIGNED,
        rtol=2e-6,
        scale=each_of(100.0),
        why="a sum of logarithms over all times",
        sizes=("t+ 4 6", "4 4", "4", "4"),
        is_peer=True,
        gradient="smooth",
        aten=("ctc_loss", "_ctc_loss"),
    )


ENTRIES: tuple[Entry, ...] = (
    *DISTANCES,
    *MARGINS,
    *ANGLES,
    *ENTROPIES,
    *LIKELIHOODS,
    ctc(),
    ctc(zero_infinity=True),
)
