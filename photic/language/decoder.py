"""A decoder of any known architecture as a graph, from a model's file.

One program takes token ids of any number up to ``chunk`` and the count of tokens already in the
cache, and gives the logits of the last one, or none for ``answers`` 0: a prompt's other chunks need
none. The caches are states, written in place. Layers with a window keep a ring of rows
(``caches.py``) where that is less than the context: then a call must not pass the ring's end, and
gives nan if it does.

Linear layers may have biases. Every tensor of the file is used, or the file is refused.
``build_training`` is the same model without caches, for the logits of every token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from photic.base.errors import BadArgument
from photic.frontends.model_file import ModelFile
from photic.ir.dim import Dim
from photic.ir.dim import mod as mod_of
from photic.language import gemma3, llama, phi3, qwen3
from photic.language.caches import CACHES, DEFAULT_CACHE, ring_rows
from photic.language.config import Config
from photic.language.modules import Adapt, Seen, Step, linear, norm
from photic.language.weights import Weights
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import equal, less_equal, logical_and
from photic.tensor.creation import arange, dim, input, size
from photic.tensor.indexing import embedding
from photic.tensor.primitive import less, mod, where
from photic.tensor.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Model:
    """The graph of one step: logits (answers, vocabulary), and the caches' next values."""

    logits: Tensor
    updates: dict[Tensor, Tensor]


def _as_they_are(step: Step, x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True, slots=True)
class Parts:
    """What differs: a layer, and what becomes of the embeddings before the first one."""

    layer: Callable[[Step, int, Tensor], Tensor]
    first: Callable[[Step, Tensor], Tensor] = _as_they_are


PARTS: dict[str, Parts] = {
    "llama": Parts(llama.layer),
    "qwen2": Parts(llama.layer),
    "qwen3": Parts(qwen3.layer),
    "gemma3": Parts(gemma3.layer, gemma3.enlarged),
    "phi3": Parts(phi3.layer),
}


def build(
    file: ModelFile,
    config: Config,
    context: int,
    chunk: int,
    adapt: Adapt | None = None,
    answers: int = 1,
    cache: str = DEFAULT_CACHE,
) -> Model:
    """The graph for a cache of ``context`` tokens, up to ``chunk`` new ones a call.

    ``adapt`` changes what the linear layers of its choice give, the head's among them. With
    ``answers`` above 1 an input ``rows``, int64, names up to so many of the call's tokens, and the
    logits are those after each of them: (rows, vocabulary). ``cache``: what keys and values are
    kept as, one of ``CACHES``.

    Raises ModelIncomplete for a tensor that is missing or has another shape, BadArgument for
    another cache, and the file's error for tensors that this architecture does not have and for
    elements that are not read.
    """
    if cache not in CACHES:
        raise BadArgument(op="build", argument="cache", given=cache, expected=", ".join(CACHES))
    count, past = dim("count", 1, chunk), dim("past", 0, context)
    ids = input("ids", (count,), "int64")
    weights = Weights(file)
    table = _table(config, weights)
    length, places = past + count, arange(past, past + count)
    whole = _whole(places, arange(length), context + chunk, length, past)
    window = max(config.windows)
    ring = ring_rows(window, context, chunk)
    local = _ring(places, window, ring, chunk, past) if ring else _windowed(whole, places, window)
    step = Step(config, weights, count, length, places, whole, local, cache, adapt)
    x = _layers(step, embedding(ids, table))
    if ring:  # rows past its end are no part of it: better no numbers than wrong ones
        x = where(less(size(mod_of(past, ring) + count), ring + 1), x, math.nan)
    wanted = dim("answers", 0, answers)
    last = x[count - wanted : count]
    if answers > 1:
        last = embedding(input("rows", (wanted,), "int64"), x)
    logits = _head(step, last, table)
    weights.check_all_used()
    return Model(logits, step.updates)


def build_training(
    file: ModelFile, config: Config, ids: Tensor, adapt: Adapt | None = None
) -> Tensor:
    """The logits (texts, tokens, vocabulary) after each token of ``ids`` (texts, tokens).

    The texts lie one after another in one sequence, of which each token sees its own text: the
    masks have the square of all tokens. Raises as ``build``.
    """
    texts, tokens = ids.shape
    weights = Weights(file)
    table = _table(config, weights)
    count = texts * tokens
    row = arange(count)
    text, places = floor_divide(row, tokens), mod(row, tokens)
    seen = logical_and(less_equal(row[None, :], row[:, None]), equal(text[None, :], text[:, None]))
    whole = Seen(places, seen, 0, count, 0)
    local = _windowed(whole, places, max(config.windows))
    step = Step(config, weights, count, tokens, places, whole, local, DEFAULT_CACHE, adapt)
    x = _layers(step, embedding(ids.reshape((count,)), table))
    logits = _head(step, x, table)
    weights.check_all_used()
    return logits.reshape((texts, tokens, config.vocabulary))


def _whole(places: Tensor, keys: Tensor, rows: int, length: Dim, past: Dim) -> Seen:
    """Every token sees itself and all before."""
    return Seen(keys, less_equal(keys[None, :], places[:, None]), rows, length, past)


def _windowed(whole: Seen, places: Tensor, window: int) -> Seen:
    """The same rows, of which a token sees the last ``window`` only."""
    if not window:
        return whole
    return replace(whole, seen=whole.seen * _within(places, whole.places, window))


def _ring(places: Tensor, window: int, ring: int, chunk: int, past: Dim) -> Seen:
    """Rows of a ring, and behind it room for what a call that passes its end would write."""
    start = mod_of(past, ring)
    end, row = start + places.shape[0], arange(ring)
    keys = where(less(row, size(end)), row, row - ring) + size(past - start)
    filled = less(-1, keys)
    seen = less_equal(keys[None, :], places[:, None]) * _within(places, keys, window)
    return Seen(keys, seen * filled[None, :], ring + chunk, ring, start, filled)


def _within(places: Tensor, keys: Tensor, window: int) -> Tensor:
    return less((places - window)[:, None], keys[None, :])


def _table(config: Config, weights: Weights) -> Tensor:
    return weights.tensor("token_embd.weight", (config.vocabulary, config.width))


def _layers(step: Step, x: Tensor) -> Tensor:
    parts = PARTS[step.config.architecture.name]
    x = parts.first(step, x)
    for number in range(step.config.layers):
        x = parts.layer(step, number, x)
    return x


def _head(step: Step, x: Tensor, table: Tensor) -> Tensor:
    """Logits of what the layers gave; without a matrix of its own the head is the embedding's."""
    last = norm(step, "output_norm", x)
    if step.weights.has("output.weight"):
        return linear(step, "output", last, step.config.vocabulary)
    return last @ table.T
