"""The catalogue's entries for LSTM, GRU and plain recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from catalogue.by_torch import Make, by_torch, cases, exactly, floats, speed_of
from catalogue.entry import Entry

import photic as ph

ROUNDINGS = 1e-5  # tens of steps, each a sum of products and gates of up to 1
WHY = "roundings of each step, which the next ones carry on"
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


# --- arrays ---------------------------------------------------------------------------------


def layers(
    kind: str,
    inputs: int,
    hidden: int,
    count: int,
    ways: int,
    biases: bool = True,
    project: int = 0,
) -> list[Make]:
    """The weights of all layers in PyTorch's order."""
    made: list[Make] = []
    shown = project or hidden
    for number in range(count):
        width = inputs if number == 0 else shown * ways
        for _ in range(ways):
            rows = GATES[kind] * hidden
            shapes = [(rows, width), (rows, shown), *[(rows,)] * (2 * biases)]
            shapes += [(project, hidden)] if project else []
            made += [floats(*shape, low=-0.5, high=0.5) for shape in shapes]
    return made


def grouped(flat: Sequence[Any], each: int, *, projects: bool = False) -> list[ph.RecurrentWeights]:
    """Weights of one direction each, of so many arrays."""
    found = []
    for k in range(0, len(flat), each):
        part = list(flat[k : k + each])
        projection = part.pop() if projects else None
        found.append(ph.RecurrentWeights(*part, projection=projection))
    return found


def case(kind: str, sizes: tuple[int, ...], count: int = 1, ways: int = 1) -> list[Make]:
    """A sequence (places, batch, inputs), first states and weights; ``sizes`` end in hidden."""
    places, batch, inputs, hidden = sizes
    states = [floats(count * ways, batch, hidden, low=-1, high=1)] * (2 if kind == "lstm" else 1)
    return [floats(places, batch, inputs), *states, *layers(kind, inputs, hidden, count, ways)]


SMALL = [(1, 1, 1, 1), (5, 3, 4, 6), (2, 0, 3, 2), (33, 2, 7, 5)]


# --- oracles --------------------------------------------------------------------------------


def peer(kind: str, ways: int = 1) -> Callable[..., Any]:
    """torch's function; layers follow from the number of weights."""

    def run(torch: Any, x: Any, *rest: Any) -> Any:
        states, flat = (rest[:2], rest[2:]) if kind == "lstm" else (rest[:1], rest[1:])
        first = states if kind == "lstm" else states[0]
        count = len(flat) // (4 * ways)
        return getattr(torch, kind)(x, first, flat, True, count, 0.0, False, ways == 2, False)

    return run


def packed(kind: str) -> Callable[..., Any]:
    """torch's function of a packed batch, both ways, padded again."""

    def run(torch: Any, x: Any, lengths: Any, *rest: Any) -> Any:
        pack = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        states, flat = (rest[:2], rest[2:]) if kind == "lstm" else (rest[:1], rest[1:])
        order = [one[:, pack.sorted_indices] for one in states]
        first = tuple(order) if kind == "lstm" else order[0]
        made = getattr(torch, kind)(
            pack.data, pack.batch_sizes, first, flat, True, len(flat) // 8, 0.0, False, True
        )
        again = torch.nn.utils.rnn.PackedSequence(
            made[0], pack.batch_sizes, pack.sorted_indices, pack.unsorted_indices
        )
        padded = torch.nn.utils.rnn.pad_packed_sequence(again, total_length=x.shape[0])[0]
        return [padded, *(one[:, pack.unsorted_indices] for one in made[1:])]

    return run


# --- calls ----------------------------------------------------------------------------------


def lstm(x: Any, hidden: Any, cell: Any, *weights: Any, **options: Any) -> Any:
    return ph.lstm(x, grouped(weights, 4), hidden, cell, **options)


def gru(x: Any, hidden: Any, *weights: Any, **options: Any) -> Any:
    return ph.gru(x, grouped(weights, 4), hidden, **options)


def rnn(name: str) -> Callable[..., Any]:
    def call(x: Any, hidden: Any, *weights: Any, **options: Any) -> Any:
        return ph.rnn(x, grouped(weights, 4), hidden, nonlinearity=name, **options)

    return call


CALLS = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn("tanh"), "rnn_relu": rnn("relu")}
ONNX = {"lstm": ("LSTM",), "gru": ("GRU",), "rnn_tanh": ("RNN",), "rnn_relu": ("RNN",)}
LOOP = "a loop over places: a small product each, whose weights stay in the cache"


def sizes(kind: str) -> tuple[str, ...]:
    """Symbolic places; three sequences of four inputs, six hidden numbers."""
    rows, states = GATES[kind] * 6, ("1 3 6",) * (2 if kind == "lstm" else 1)
    return ("n 3 4", *states, f"{rows} 4", f"{rows} 6", f"{rows}", f"{rows}")


def entries(name: str, kind: str) -> list[Entry]:
    """One direction, both ways in two layers, and sequences of different lengths."""
    call = CALLS[kind]
    x, *rest = case(kind, (5, 3, 4, 6), 2, 2)
    named = sizes(kind)
    common: dict[str, Any] = {
        "atol": ROUNDINGS,
        "why": WHY,
        "is_peer": True,
        "gradient": "almost everywhere" if kind == "rnn_relu" else "smooth",
        "onnx": ONNX[kind],
        "aten": (kind,),
    }
    return [
        Entry(
            name,
            call,
            by_torch(peer(kind)),
            cases(*(case(kind, one) for one in SMALL)),
            sizes=named,
            speed=speed_of(
                peer(kind),
                call,
                (100, 10, 256),
                *[(1, 10, 256)] * (2 if kind == "lstm" else 1),
                *[(GATES[kind] * 256, 256)] * 2,
                *[(GATES[kind] * 256,)] * 2,
                why=LOOP,
            ),
            **common,
        ),
        Entry(
            f"{name}.bidirectional",
            lambda *given: call(*given, bidirectional=True),
            by_torch(peer(kind, 2)),
            cases([x, *rest], case(kind, (3, 2, 3, 2), 1, 2)),
            **common,
        ),
        Entry(
            f"{name}.lengths",
            lambda x, lengths, *given: call(x, *given, bidirectional=True, lengths=lengths),
            by_torch(packed(kind)),
            cases([x, exactly([3, 5, 1]), *rest]),
            **common,
        ),
    ]


# --- what only some have --------------------------------------------------------------------


def projected(torch: Any, x: Any, *flat: Any) -> Any:
    states = torch.zeros(1, 3, 2, dtype=x.dtype), torch.zeros(1, 3, 6, dtype=x.dtype)
    return torch.lstm(x, states, flat, True, 1, 0.0, False, False, True)


def reset_first(torch: Any, x: Any, *weights: Any) -> Any:
    """A step at a time, from the paper: the reset gate acts before the hidden product."""
    into, across, one, other = weights
    size, state, shown = across.shape[1], torch.zeros(x.shape[1], across.shape[1]).to(x), []
    for now in x:
        a = (now @ into.T + one).split(size, 1)
        mixed = (state @ across.T + other).split(size, 1)
        reset, update = ((a[k] + mixed[k]).sigmoid() for k in range(2))
        new = (a[2] + (state * reset) @ across[2 * size :].T + other[2 * size :]).tanh()
        state = (1 - update) * new + update * state
        shown.append(state)
    return torch.stack(shown), state[None]


OTHERS = (
    Entry(
        "lstm.projection",
        lambda x, *weights: ph.lstm(x, grouped(weights, 5, projects=True), batch_first=True),
        by_torch(projected),
        cases([floats(3, 5, 4), *layers("lstm", 4, 6, 1, 1, project=2)]),
        atol=ROUNDINGS,
        why=WHY,
        is_peer=True,
        aten=("lstm",),
    ),
    Entry(
        "gru.reset_first",
        lambda x, *weights: ph.gru(x, grouped(weights, 4), reset_after=False),
        by_torch(reset_first),
        cases([floats(5, 3, 4), *layers("gru", 4, 6, 1, 1)]),
        atol=ROUNDINGS,
        why=WHY,
        is_peer=True,
        onnx=("GRU",),
    ),
    Entry(
        "rnn.unbatched",
        lambda x, *weights: ph.rnn(x, grouped(weights, 2)),
        by_torch(
            lambda torch, x, *weights: torch.rnn_tanh(
                x, torch.zeros(1, 6).to(x), weights, False, 1, 0.0, False, False, False
            )
        ),
        cases([floats(5, 4), *layers("rnn_tanh", 4, 6, 1, 1, biases=False)]),
        atol=ROUNDINGS,
        why=WHY,
        is_peer=True,
        aten=("rnn_tanh",),
    ),
)

NAMES = {"lstm": "lstm", "gru": "gru", "rnn": "rnn_tanh", "rnn.relu": "rnn_relu"}
ENTRIES: tuple[Entry, ...] = (
    *(one for name, kind in NAMES.items() for one in entries(name, kind)),
    *OTHERS,
)
