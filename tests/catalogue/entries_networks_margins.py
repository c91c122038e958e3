"""The catalogue's entries for more losses and distances, softmin, and windows of constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from catalogue.by_torch import by_torch, cases, chosen, floats, whole
from catalogue.entry import FLOATS, Entry
from catalogue.inputs import of_shape, of_shapes

import photic as ph

ROUNDINGS = "roundings of each element, relative to the largest numbers that go into it"


def loss(
    name: str,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    inputs: Any,
    aten: tuple[str, ...] = (),
    **more: Any,
) -> Entry:
    """Two results: a mean, and each element."""
    return Entry(
        name,
        call,
        by_torch(oracle),
        inputs,
        more.pop("dtypes", FLOATS),
        rtol=2.0**-19,
        scale=lambda *x: (np.asarray(50.0),) * RESULTS,
        why=ROUNDINGS,
        is_peer=True,
        gradient="almost everywhere",
        aten=aten or (name,),
        **more,
    )


RESULTS = 2
SIGNS = cases(
    [floats(3, 4), chosen(-1, 1, shape=(3, 4))],
    [floats(1, 1), chosen(-1, 1, shape=(1, 1))],
)

LOSSES = (
    loss(
        "gaussian_nll_loss",
        lambda x, t, v: (
            ph.gaussian_nll_loss(x, t, v, True),
            ph.gaussian_nll_loss(x, t, v, reduction="none"),
        ),
        lambda torch, x, t, v: (
            torch.nn.functional.gaussian_nll_loss(x, t, v, True),
            torch.nn.functional.gaussian_nll_loss(x, t, v, reduction="none"),
        ),
        cases([floats(3, 4), floats(3, 4), floats(3, 4, low=0.25, high=4.0)]),
        sizes=("n k", "n k", "n k"),
    ),
    loss(
        "soft_margin_loss",
        lambda x, t: (ph.soft_margin_loss(x, t), ph.soft_margin_loss(x, t, "none")),
        lambda torch, x, t: (
            torch.nn.functional.soft_margin_loss(x, t),
            torch.nn.functional.soft_margin_loss(x, t, reduction="none"),
        ),
        SIGNS,
        sizes=("n k", "n k"),
    ),
    loss(
        "multilabel_soft_margin_loss",
        lambda x, t: (
            ph.multilabel_soft_margin_loss(x, t),
            ph.multilabel_soft_margin_loss(x, t, np.float32([1, 2, 3, 4]), "none"),
        ),
        lambda torch, x, t: (
            torch.nn.functional.multilabel_soft_margin_loss(x, t),
            torch.nn.functional.multilabel_soft_margin_loss(
                x, t, torch.tensor([1.0, 2.0, 3.0, 4.0]), reduction="none"
            ),
        ),
        cases([floats(3, 4), chosen(0, 1, shape=(3, 4))]),
        sizes=("n 4", "n 4"),
    ),
    loss(
        "multi_margin_loss",
        lambda x, t: (
            ph.multi_margin_loss(x, t),
            ph.multi_margin_loss(x, t, 2, 0.5, np.float32([1, 2, 3, 4]), "none"),
        ),
        lambda torch, x, t: (
            torch.nn.functional.multi_margin_loss(x, t),
            torch.nn.functional.multi_margin_loss(
                x, t, 2, 0.5, torch.tensor([1.0, 2.0, 3.0, 4.0]).to(x.dtype), reduction="none"
            ),
        ),
        cases([floats(3, 4), whole(3, low=0, high=4)], [floats(1, 4), whole(1, low=0, high=4)]),
        sizes=("n 4", "n"),
    ),
)

DISTANCES = (
    loss(
        "dist",
        lambda x, y: (ph.dist(x, y), ph.dist(x, y, 3.0)),
        lambda torch, x, y: (torch.dist(x, y), torch.dist(x, y, 3.0)),
        of_shapes([(3, 4), (4,)], [(5,), (5,)]),
        sizes=("n k", "k"),
    ),
    loss(
        "pdist",
        lambda x: (ph.pdist(x), ph.pdist(x, 1.0)),
        lambda torch, x: (torch.pdist(x), torch.pdist(x, 1.0)),
        of_shape((4, 3), (1, 2), (6, 17)),
        ("pdist", "_pdist_forward"),
    ),
    loss(
        "renorm",
        lambda x: (ph.renorm(x, 2.0, 0, 2.0), ph.renorm(x, 1.0, -1, 5.0)),
        lambda torch, x: (torch.renorm(x, 2.0, 0, 2.0), torch.renorm(x, 1.0, -1, 5.0)),
        of_shape((4, 3), (1, 2), (2, 17)),
        sizes=("n+ k+",),
    ),
    loss(
        "softmin",
        lambda x: (ph.softmin(x), ph.softmin(x, 0)),
        lambda torch, x: (
            torch.nn.functional.softmin(x, -1),
            torch.nn.functional.softmin(x, 0),
        ),
        of_shape((4, 3), (1, 1)),
        ("softmax",),
        sizes=("n+ k+",),
    ),
)


def window(name: str, *sizes: int) -> Entry:
    """Constants; of an input the dtype alone is read."""
    call: Any = getattr(ph, name)
    return Entry(
        name,
        lambda x: tuple(
            call(n, periodic, dtype=x.dtype) for n in sizes for periodic in (True, False)
        ),
        by_torch(
            lambda torch, x: tuple(
                getattr(torch, name)(n, periodic, dtype=torch.float64)
                for n in sizes
                for periodic in (True, False)
            )
        ),
        of_shape(()),
        FLOATS,
        atol=2.0**-20,
        why="torch's series of the Bessel function ends early",
        gradient="none: constants",
        is_peer=True,
        aten=(name,),
    )


WINDOWS = (window("bartlett_window", 1, 2, 7), window("kaiser_window", 1, 2, 8))

ENTRIES: tuple[Entry, ...] = (*LOSSES, *DISTANCES, *WINDOWS)
