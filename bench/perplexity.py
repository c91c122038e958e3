"""Perplexity of SmolLM2 on 20,000 words of English, and how far logits are from the true ones.

True are the logits of transformers' model in float32 with the file's weights unpacked. The text is
read in windows, each from an empty context, and every token but a window's first is judged. photic
takes part in each precision, and with each kind of cache that is asked for.
llama.cpp takes part where ``llama-cpp-python`` is importable, with its own defaults: it quantises
activations, and keeps keys and values as float16. Needs the model and the Brown corpus (fetched on
first use), torch, transformers and gguf.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from model.peer import llama_of
from numpy.typing import NDArray

from photic.language.caches import AUTOMATIC, CACHES
from photic.language.config import read_config
from photic.language.opening import open_model, tokenizer_of_model
from photic.language.pull import pull
from photic.language.session import CHUNK_TOKENS, compiled
from photic.tensor.precision import PRECISIONS

MODEL = "smollm2-135m"
WORDS = 20_000
WINDOW = 512  # tokens, the context of llama.cpp's own perplexity tool
COMPARED = 4  # windows of which logits are compared
PEER = "llama_cpp"

Logits = NDArray[np.float32]
Reader = Callable[[Sequence[int]], Logits]
"""All logits (tokens, vocabulary) of a window of tokens."""


@dataclass(slots=True)
class Judged:
    """What one contestant's logits came to so far."""

    tokens: int = 0
    surprise: float = 0.0
    largest_error: float = 0.0
    squares: float = 0.0
    compared: int = 0
    seconds: float = 0.0

    def judge(self, ids: Sequence[int], logits: Logits) -> None:
        """Add the surprise, in nats, at every token but the first."""
        wide = logits[:-1].astype(np.float64)
        top = wide.max(axis=1)
        total = np.log(np.exp(wide - top[:, None]).sum(axis=1)) + top
        told = wide[np.arange(len(ids) - 1), np.asarray(ids[1:])]
        self.surprise += float((total - told).sum())
        self.tokens += len(ids) - 1

    def compare(self, logits: Logits, true: Logits) -> None:
        apart = np.abs(logits - true)
        self.largest_error = max(self.largest_error, float(apart.max()))
        self.squares += float(np.square(apart, dtype=np.float64).sum())
        self.compared += apart.size

    def figure(self, name: str) -> common.Figure:
        return {
            "name": name,
            "tokens": self.tokens,
            "perplexity": f"{np.exp(self.surprise / self.tokens):.4f}",
            "largest_logit_error": self.largest_error,
            "root_mean_square_error": float(np.sqrt(self.squares / max(1, self.compared))),
            "seconds": self.seconds,
        }


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = common.parser(__doc__ or "")
    parser.add_argument("--words", type=int, default=WORDS, help="how much of the text")
    parser.add_argument("--text", type=Path, help="a text in place of the Brown corpus")
    parser.add_argument("--precisions", nargs="*", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--caches", nargs="*", default=[AUTOMATIC], choices=(AUTOMATIC, *CACHES))
    arguments = parser.parse_args()
    path = pull(MODEL, lambda stage, done, total: None)
    text = arguments.text.read_text(encoding="utf-8") if arguments.text else brown()
    ids = tokenizer_of_model(open_model(path)).encode(
        first_words(text, arguments.words), special=False
    )
    readers = contestants(path, arguments.precisions, arguments.caches)
    found = {name: Judged() for name in readers}
    for number, window in enumerate(windows(ids)):
        judge_all(readers, found, window, number < COMPARED)
    common.report([one.figure(name) for name, one in found.items()], arguments.json)


def judge_all(
    readers: dict[str, Reader], found: dict[str, Judged], window: Sequence[int], compared: bool
) -> None:
    """One window through every contestant; the first is the one that the others are compared to."""
    true: Logits | None = None
    for name, read in readers.items():
        start = time.perf_counter()
        logits = read(window)
        found[name].seconds += time.perf_counter() - start
        found[name].judge(window, logits)
        true = logits if true is None else true
        if compared:
            found[name].compare(logits, true)


def windows(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Whole windows; a shorter one at the end is left out unless there is no other."""
    for start in range(0, max(1, len(ids) - WINDOW + 1), WINDOW):
        yield ids[start : start + WINDOW]


def first_words(text: str, count: int) -> str:
    """The text up to the end of its ``count``-th word."""
    ends = [one.end() for one, _ in zip(re.finditer(r"\S+", text), range(count))]
    return text[: ends[-1]]


def brown() -> str:
    """The corpus as the example of the same name reads it."""
    sys.path.append(str(common.TOP / "examples"))
    found: str = importlib.import_module("brown").brown()
    return found


# --- the contestants ------------------------------------------------------------------------


def contestants(path: Path, precisions: Sequence[str], caches: Sequence[str]) -> dict[str, Reader]:
    """The true logits first."""
    found = {"transformers, float32": by_transformers(path)}
    for precision, cache in itertools.product(precisions, caches):
        found[f"photic, {precision}, cache {cache}"] = by_photic(path, precision, cache)
    if importlib.util.find_spec(PEER) is not None:
        found["llama.cpp"] = by_llama_cpp(path)
    return found


def by_transformers(path: Path) -> Reader:
    import torch

    model = llama_of(path)

    def read(ids: Sequence[int]) -> Logits:
        with torch.no_grad():
            logits: Logits = model(torch.tensor([list(ids)])).logits[0].numpy()
        return logits

    return read


def by_photic(path: Path, precision: str, cache: str) -> Reader:
    file = open_model(path)
    program = compiled(
        file,
        read_config(file),
        WINDOW,
        search=0,
        seed=0,
        without=(),
        answers=CHUNK_TOKENS,
        cache=cache,
        precision=precision,
    )

    def read(ids: Sequence[int]) -> Logits:
        parts = []
        for start in range(0, len(ids), CHUNK_TOKENS):
            part = np.asarray(ids[start : start + CHUNK_TOKENS])
            given = {"ids": part, "past": start, "rows": np.arange(len(part))}
            parts.append(program(**given)["logits"].reshape(len(part), -1))
        return np.concatenate(parts)

    return read


def by_llama_cpp(path: Path) -> Reader:
    package: Any = importlib.import_module(PEER)
    llama = package.Llama(
        model_path=str(path), n_ctx=WINDOW, n_batch=WINDOW, logits_all=True, verbose=False
    )

    def read(ids: Sequence[int]) -> Logits:
        llama.reset()
        llama.eval(list(ids))
        logits: Logits = np.array(llama.scores[: len(ids)], np.float32)
        return logits

    return read


if __name__ == "__main__":
    main()
