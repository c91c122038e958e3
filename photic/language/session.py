"""A session: a model ready to answer, from a name or a file to a stream of text.

Opening pulls the model, and compiles it or loads the program that an earlier session kept. Prompts
go through the program in chunks, then tokens one by one, or with drafts of those that come next;
the caches are the program's states.

Promises: what ``generate`` answers depends on its prompt and options only, not on what was asked
before, and not on how often. Drafts change no token, as long as the program's logits do not depend
on how many tokens a call has. Answers may be left unfinished, and several may be read in turns. A
session is not shared between threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from photic.base.errors import BadArgument
from photic.base.settings import setting
from photic.frontends.model_file import ModelFile
from photic.language.caches import (
    AUTOMATIC,
    CACHES,
    DEFAULT_CACHE,
    DEFAULT_PRECISION,
    FINE,
    PRECISIONS,
    ROUNDED,
    kept_as,
    ring_rows,
)
from photic.language.config import Config, read_config
from photic.language.errors import BadSampling, ContextOverflow
from photic.language.memory import peak_bytes
from photic.language.models import KNOWN
from photic.language.opening import fingerprint, open_model, tokenizer_of_model
from photic.language.pull import pull
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.session_calls import (
    Call,
    beginning,
    chunks,
    held_of,
    room_in,
    rows_of,
    whole,
)
from photic.language.speculative import MOST_DRAFTED, draft
from photic.language.stream import TextStream
from photic.language.tokenizer import Tokenizer
from photic.tensor.kept import Progress, kept_program, remade_program
from photic.tensor.program import Program

CHUNK_TOKENS = 128  # of a prompt in one call: enough for full register tiles, small in memory
MANY_TOKENS = 16  # in a call, from which on products are rounded, by kernels of their own
STEP = "step"


@dataclass(frozen=True, slots=True)
class Stats:
    """What one answer took; ``finish_reason`` is "stop", "length" or "" while it runs.

    ``cached_tokens`` of the prompt were in the caches already. ``accepted_tokens`` of the answer
    were drafted, out of ``drafted_tokens`` that were tried.
    """

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    generated_tokens: int = 0
    generation_seconds: float = 0.0
    peak_bytes: int = 0
    finish_reason: str = ""
    cached_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(slots=True)
class _Course:
    """How an answer goes: the tokens so far, the most there may be, the calls that were made.

    ``prompted`` is when the logits after the prompt were there, by ``time.perf_counter``.
    """

    used: list[int]
    end: int
    calls: list[Call]
    cached: int = 0
    drafted: int = 0
    accepted: int = 0
    prompted: float = 0.0


class Session:
    """A model ready to answer. Make one with ``open_session``.

    ``drafts``: how many tokens it may try at once beyond the next; its program must give the
    logits of one more.
    """

    def __init__(
        self,
        path: Path,
        config: Config,
        tokenizer: Tokenizer,
        program: Program,
        context: int,
        drafts: int = 0,
    ) -> None:
        self.path = path
        self.config = config
        self.tokenizer = tokenizer
        self.program = program
        self.context = context
        self.drafts = drafts
        self.stats = Stats()
        self._held: list[Call] = []  # what the caches hold
        self._window = max(config.windows)
        self._ring = ring_rows(self._window, context, CHUNK_TOKENS)
        self._written = 0  # the most rows of the text in the caches so far

    @property
    def programs(self) -> Mapping[str, Program]:
        """The compiled programs by name."""
        return {STEP: self.program}

    def tokens(self, text: str, *, system: str | None, raw: bool) -> list[int]:
        """The ids of a prompt: as it is, or as the user's message in the model's chat template."""
        if raw:
            return self.tokenizer.prompt(text)
        from photic.language.chat import encode_chat  # heavy, and raw prompts do without

        messages = [{"role": "system", "content": system}] if system is not None else []
        messages.append({"role": "user", "content": text})
        return encode_chat(self.tokenizer, messages, add_generation_prompt=True)

    def logits(self, ids: Sequence[int], chunk: int = CHUNK_TOKENS) -> NDArray[np.float32]:
        """The logits after ``ids``, float32 (vocabulary,), fed ``chunk`` at a time.

        Raises ContextOverflow, and BadArgument for no ids, an id outside the vocabulary or a
        chunk outside 1..CHUNK_TOKENS.
        """
        if not 1 <= chunk <= CHUNK_TOKENS:
            _refuse("chunk", chunk, f"1 to {CHUNK_TOKENS}")
        self._check(ids, 0)
        last: NDArray[np.float32] = self._after(self._chunks(ids, chunk), 1)[0]
        return last

    def forget(self) -> None:
        """From now on nothing counts as being in the caches: for those who measure."""
        self._held.clear()

    def generate(
        self,
        text: str,
        *,
        system: str | None,
        raw: bool,
        max_tokens: int,
        sampling: SamplingOptions,
        stops: Sequence[str],
    ) -> Iterator[str]:
        """The answer's text, piece by piece; ``stats`` is up to date after each.

        It ends at a token that ends answers, at a stop text, after ``max_tokens``, or where prompt
        and answer fill the context. Raises ContextOverflow for a prompt that leaves no room for
        an answer, BadArgument for an empty one, BadSampling for options that make no sense.
        """
        ending = _ending(self.tokenizer, max_tokens, stops)
        ids = self.tokens(text, system=system, raw=raw)
        self._check(ids, 1)
        course = self._course(ids, self._chunks(ids, CHUNK_TOKENS), max_tokens)
        yield from self._answer(course, ending, Sampler(sampling))

    def resume(
        self,
        ids: Sequence[int],
        *,
        max_tokens: int,
        sampling: SamplingOptions,
        stops: Sequence[str],
    ) -> Iterator[str]:
        """As ``generate`` for a prompt's ids, of which only the new are fed.

        New is what comes after the longest beginning that the caches hold, whatever calls it was
        fed in: an answer depends, as far as rounding shows in it, on how its prompt came about.
        """
        ending = _ending(self.tokenizer, max_tokens, stops)
        self._check(ids, 1)
        calls = beginning(self._held, ids[:-1])
        calls = calls if self._is_intact(rows_of(calls)) else []
        past = rows_of(calls)
        calls += chunks(ids[past:], CHUNK_TOKENS, past, self._ring)
        course = self._course(ids, calls, max_tokens)
        yield from self._answer(course, ending, Sampler(sampling))

    def following(self, ids: Sequence[int], sampler: Sampler, most: int) -> Iterator[int]:
        """The ``most`` tokens that follow a prompt, or as many as fit the context.

        Tokens that end answers are among them, and do not end it. Errors as ``logits``.
        """
        self._check(ids, 1)
        calls = self._chunks(ids, CHUNK_TOKENS)
        yield from self._tokens(self._course(ids, calls, most), sampler)

    def _chunks(self, ids: Sequence[int], size: int) -> list[Call]:
        return chunks(ids, size, 0, self._ring)

    def _is_intact(self, rows: int) -> bool:
        """Whether the caches still hold what a text of so many rows sees at its end."""
        return not self._ring or self._written - rows <= self._ring - self._window

    def _reused(self, calls: Sequence[Call]) -> int:
        """How many calls at the front need not be made again; the last always is."""
        same = held_of(calls[:-1], self._held)
        return same if self._is_intact(rows_of(calls[:same])) else 0

    def _course(self, ids: Sequence[int], calls: list[Call], most: int) -> _Course:
        cached = rows_of(calls[: self._reused(calls)])
        return _Course([*ids], min(self.context, len(ids) + most), calls, cached)

    def _answer(self, course: _Course, stream: TextStream, sampler: Sampler) -> Iterator[str]:
        prompt = len(course.used)
        start = time.perf_counter()
        for token in self._tokens(course, sampler):
            ended = token in self.tokenizer.ends
            piece = "" if ended else stream.feed(token)
            reason = ""
            if ended or stream.stop is not None:
                reason = "stop"
            elif len(course.used) >= course.end:
                reason = "length"
            if reason:
                piece += stream.finish()
            self.stats = Stats(
                prompt_tokens=prompt,
                prompt_seconds=course.prompted - start,
                generated_tokens=len(course.used) - prompt,
                generation_seconds=time.perf_counter() - course.prompted,
                peak_bytes=peak_bytes(),
                finish_reason=reason,
                cached_tokens=course.cached,
                drafted_tokens=course.drafted,
                accepted_tokens=course.accepted,
            )
            if piece:
                yield piece
            if reason:
                return

    def _tokens(self, course: _Course, sampler: Sampler) -> Iterator[int]:
        """Tokens until the course's end; those of a draft count as long as they are the picked.

        The logits after a token that was drafted wrong are of no use, and its row is given up.
        """
        guess: tuple[int, ...] = ()
        logits = self._after(course.calls, 1)
        course.prompted = time.perf_counter()
        while True:
            for place, row in enumerate(logits):
                token = sampler.pick(row, course.used)
                course.used.append(token)
                course.accepted += place > 0
                yield token
                if len(course.used) >= course.end:
                    return
                if token not in guess[place : place + 1]:
                    break
            if guess:
                course.calls[-1] = course.calls[-1].cut(place + 1)
            guess = draft(course.used, self._draftable(course))
            course.drafted += len(guess)
            course.calls.append(whole((token, *guess)))
            logits = self._after(course.calls, 1 + len(guess))

    def _draftable(self, course: _Course) -> int:
        """The most tokens to draft after the newest, which has no row yet."""
        most = min(self.drafts, course.end - len(course.used) - 1)
        room = room_in(self._ring, len(course.used) - 1) if self._ring else most + 1
        return min(most, room - 1)

    def _check(self, ids: Sequence[int], answer: int) -> None:
        """A prompt must leave room for ``answer`` tokens."""
        if not ids:
            _refuse("the prompt", "empty", "at least one token")
        if len(ids) + answer > self.context:
            given = f"{len(ids)} prompt and {answer} answer" if answer else len(ids)
            raise ContextOverflow(given=given, expected=self.context, maximum=self.config.context)
        if not 0 <= min(ids) <= max(ids) < self.config.vocabulary:
            _refuse("a token", f"{min(ids)}..{max(ids)}", f"0 to {self.config.vocabulary - 1}")

    def _after(self, calls: Sequence[Call], rows: int) -> NDArray[np.float32]:
        """The logits (rows, vocabulary) after the last tokens of these calls.

        Calls at the front that the caches hold are not repeated.
        """
        same = self._reused(calls)
        self._held[:] = calls[:same]
        past = rows_of(self._held)
        self._written = self._written if past else 0
        for number, call in enumerate(calls[same:], same + 1):
            logits = self._run(call.ids, past, rows if number == len(calls) else 0)
            self._held.append(call)
            self._written = max(self._written, past + len(call.ids))
            past += call.rows
        return logits

    def _run(self, ids: Sequence[int], past: int, rows: int) -> NDArray[np.float32]:
        """The logits (rows, vocabulary) after the last tokens of a call."""
        given: dict[str, object] = {"ids": np.asarray(ids, np.int64), "past": past}
        if self.drafts:
            given["rows"] = np.arange(max(0, len(ids) - rows), len(ids))
        else:
            given["answers"] = rows
        return self.program(**given)["logits"].astype(np.float32, copy=False)


def _ending(tokenizer: Tokenizer, max_tokens: int, stops: Sequence[str]) -> TextStream:
    """Where an answer's text goes through; wrong limits are refused before anything is computed."""
    if max_tokens < 1:
        raise BadSampling(option="max_tokens", given=max_tokens, expected="1 or more")
    return TextStream(tokenizer.token_bytes, stops)


def _refuse(argument: str, given: object, expected: str) -> None:
    raise BadArgument(op="session", argument=argument, given=given, expected=expected)


def open_session(
    model: str | Path,
    *,
    context: int | None,
    progress: Progress,
    search: float = 0.0,
    seed: int = 0,
    speculative: int = 0,
    cache: str = AUTOMATIC,
    precision: str = DEFAULT_PRECISION,
) -> Session:
    """A session for a known name, a GGUF file, a folder of Hugging Face, or one on its hub.

    ``context`` is how many tokens prompt and answer may fill; None means the model's own, more is
    ContextOverflow. ``progress(stage, done, total)`` is called while it pulls and compiles; a
    total of 0 is not known yet. ``search``: seconds to look for faster kernels first, from
    ``seed``; what is found is kept. With 0 the program that was kept is taken. ``speculative``: how
    many tokens the session may draft at once, up to MOST_DRAFTED. ``cache``: what keys and values
    are kept as, one of ``CACHES``, or ``"auto"``: float32 with ``precision="exact"``, bfloat16
    with another. ``precision``, one of ``PRECISIONS``, which say what each rounds: with ``"exact"``
    all is float32, and how a prompt is cut into calls changes no bit; with others calls of
    MANY_TOKENS and more have kernels of their own. Raises BadArgument, and what ``pull``,
    ``open_model``, ``read_config``, ``tokenizer_of_model`` and ``compile`` raise.
    """
    if not 0 <= speculative <= MOST_DRAFTED:
        _refuse("speculative", speculative, f"0 to {MOST_DRAFTED}")
    if precision not in PRECISIONS:
        _refuse("precision", precision, ", ".join(PRECISIONS))
    cache = kept_as(cache, precision)
    if cache not in CACHES:
        _refuse("cache", cache, ", ".join((*CACHES, AUTOMATIC)))
    answers = 1 + (MOST_DRAFTED if speculative else 0)  # one program for all counts of drafts
    path = pull(model, progress)
    file = open_model(path)
    config = read_config(file)
    room = room_of(config, context)
    tokenizer = tokenizer_of_model(file)
    # What was pulled by name is what it should be; hashing costs 0.1 s per 100 MB.
    known = KNOWN.get(str(model))
    sha256 = known.sha256 if known is not None else fingerprint(path)

    def make() -> Program:
        seconds = search or setting("search")
        assert isinstance(seconds, int | float)
        if seconds > 0:
            progress("search", 0, max(1, round(seconds)))
        return compiled(file, config, room, seconds, seed, (), answers, cache, precision)

    key = [sha256, str(room), str(CHUNK_TOKENS)]
    key += [f"{answers} answers"] if speculative else []
    key += [f"{cache} cache"] if cache != DEFAULT_CACHE else []
    key += [precision]
    given = key, "", make, progress
    program = remade_program(*given) if search > 0 else kept_program(*given)
    return Session(path, config, tokenizer, program, room, speculative)


def room_of(config: Config, context: int | None) -> int:
    """The tokens that prompt and answer may fill: those asked for, or the model's own.

    Raises BadArgument for none, ContextOverflow for more than the model's.
    """
    room = config.context if context is None else context
    if room < 1:
        _refuse("context", room, "1 or more")
    if room > config.context:
        raise ContextOverflow(given=room, expected=config.context, maximum=config.context)
    return room


def compiled(
    file: ModelFile,
    config: Config,
    context: int,
    search: float,
    seed: int,
    without: Sequence[str],
    answers: int = 1,
    cache: str = AUTOMATIC,
    precision: str = DEFAULT_PRECISION,
) -> Program:
    """A model's program, made anew; arguments and errors as ``photic.compile`` has them.

    ``answers``: after how many tokens of a call it may give the logits. ``cache``: as ``build``.
    """
    # The architecture and the compiler are of no use to a warm start.
    from photic.language.decoder import build
    from photic.targets.registry import target_named
    from photic.tensor.compiling import compile

    kept, precisions = kept_as(cache, precision), [precision]
    if precision in ROUNDED and target_named("").multiplies_bytes():
        precisions = [FINE, precision]
    model = build(file, config, context, CHUNK_TOKENS, answers=answers, cache=kept)
    return compile(
        {"logits": model.logits},
        model.updates,
        search=search,
        seed=seed,
        without=without,
        precision=precisions,
        # what is exact depends on how many tokens a call has as little as may be: all share kernels
        ranges={} if precision == "exact" else {"count": (MANY_TOKENS,)},
    )
