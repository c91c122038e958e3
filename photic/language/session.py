"""A session: a model ready to answer, from a name or a file to a stream of text.

Opening pulls the model, and compiles it or loads the program that an earlier session kept. Prompts
go through the program in chunks, then tokens one by one; the caches are the program's states.

Promises: an answer depends on its prompt and options only, not on what was asked before, and not
on how often. Answers may be left unfinished, and several may be read in turns. A session is not
shared between threads.
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
from photic.frontends.gguf.reader import GgufFile, open_gguf
from photic.language.errors import BadSampling, ContextOverflow
from photic.language.kept import Progress, kept_program, remade_program
from photic.language.llama_config import Config, read_config
from photic.language.memory import peak_bytes
from photic.language.models import KNOWN
from photic.language.pull import pull
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.stream import TextStream
from photic.language.tokenizer import Tokenizer, build_tokenizer
from photic.storage.files import file_sha256
from photic.tensor.program import Program

CHUNK_TOKENS = 128  # of a prompt in one call: enough for full register tiles, small in memory
STEP = "step"
TARGET = "c"

Call = tuple[int, ...]
"""The token ids of one call of the program."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What one answer took; ``finish_reason`` is "stop", "length" or "" while it runs."""

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    generated_tokens: int = 0
    generation_seconds: float = 0.0
    peak_bytes: int = 0
    finish_reason: str = ""


class Session:
    """A model ready to answer. Make one with ``open_session``."""

    def __init__(
        self, path: Path, config: Config, tokenizer: Tokenizer, program: Program, context: int
    ) -> None:
        self.path = path
        self.config = config
        self.tokenizer = tokenizer
        self.program = program
        self.context = context
        self.stats = Stats()
        self._calls: list[Call] = []  # that made what the caches hold

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
        return self._after(self._prompt_calls(ids, 0, chunk))

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
        if max_tokens < 1:
            raise BadSampling(option="max_tokens", given=max_tokens, expected="1 or more")
        stream, sampler = TextStream(self.tokenizer.token_bytes, stops), Sampler(sampling)
        used = self.tokens(text, system=system, raw=raw)
        prompt = len(used)
        calls = self._prompt_calls(used, 1, CHUNK_TOKENS)
        start = time.perf_counter()
        logits = self._after(calls)
        first = time.perf_counter()
        reason = ""
        while not reason:
            token = sampler.pick(logits, used)
            used.append(token)
            made = len(used) - prompt
            ended = token in self.tokenizer.ends
            piece = "" if ended else stream.feed(token)
            if ended or stream.stop is not None:
                reason = "stop"
            elif made >= max_tokens or len(used) >= self.context:
                reason = "length"
            if reason:
                piece += stream.finish()
            seconds = time.perf_counter() - first
            self.stats = Stats(prompt, first - start, made, seconds, peak_bytes(), reason)
            if piece:
                yield piece
            if not reason:
                calls.append((token,))
                logits = self._after(calls)

    def _prompt_calls(self, ids: Sequence[int], answer: int, chunk: int) -> list[Call]:
        """A prompt in chunks; it must leave room for ``answer`` tokens."""
        if not ids:
            _refuse("the prompt", "empty", "at least one token")
        if len(ids) + answer > self.context:
            given = f"{len(ids)} prompt and {answer} answer" if answer else len(ids)
            raise ContextOverflow(given=given, expected=self.context, maximum=self.config.context)
        if not 0 <= min(ids) <= max(ids) < self.config.vocabulary:
            _refuse("a token", f"{min(ids)}..{max(ids)}", f"0 to {self.config.vocabulary - 1}")
        return [tuple(ids[start : start + chunk]) for start in range(0, len(ids), chunk)]

    def _after(self, calls: Sequence[Call]) -> NDArray[np.float32]:
        """The logits after these calls; those at the front that the caches hold are not repeated.

        Whole calls are compared, not ids, because the same ids in other chunks give results that
        differ by rounding.
        """
        same = 0
        for ours, held in zip(calls[:-1], self._calls, strict=False):
            if ours != held:
                break
            same += 1
        del self._calls[same:]
        past = sum(map(len, self._calls))
        for call in calls[same:]:
            result = self.program(ids=np.asarray(call, np.int64), past=past)
            self._calls.append(call)
            past += len(call)
        return result["logits"].astype(np.float32, copy=False)


def _refuse(argument: str, given: object, expected: str) -> None:
    raise BadArgument(op="session", argument=argument, given=given, expected=expected)


def open_session(
    model: str | Path,
    *,
    context: int | None,
    progress: Progress,
    search: float = 0.0,
    seed: int = 0,
) -> Session:
    """A session for a known name or a GGUF file.

    ``context`` is how many tokens prompt and answer may fill; None means the model's own, more is
    ContextOverflow. ``progress(stage, done, total)`` is called while it pulls and compiles; a
    total of 0 is not known yet. ``search``: seconds to look for faster kernels first, from
    ``seed``; what is found is kept. With 0 the program that was kept is taken. Raises what
    ``pull``, ``open_gguf``, ``read_config``, ``build_tokenizer`` and ``compile`` raise.
    """
    path = pull(model, progress)
    file = open_gguf(path)
    config = read_config(file)
    room = room_of(config, context)
    tokenizer = build_tokenizer(file.metadata, path)
    # What was pulled by name is what it should be; hashing costs 0.1 s per 100 MB.
    known = KNOWN.get(str(model))
    sha256 = known.sha256 if known is not None else file_sha256(path)

    def make() -> Program:
        seconds = search or setting("search")
        assert isinstance(seconds, int | float)
        if seconds > 0:
            progress("search", 0, max(1, round(seconds)))
        return compiled(file, config, room, seconds, seed, ())

    given = (sha256, str(room), str(CHUNK_TOKENS)), TARGET, make, progress
    program = remade_program(*given) if search > 0 else kept_program(*given)
    return Session(path, config, tokenizer, program, room)


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
    file: GgufFile, config: Config, context: int, search: float, seed: int, without: Sequence[str]
) -> Program:
    """A model's program, made anew; arguments and errors as ``photic.compile`` has them."""
    # The architecture and the compiler are of no use to a warm start.
    from photic.language.llama import build
    from photic.tensor.compiling import compile

    model = build(file, config, context, CHUNK_TOKENS)
    outputs = {"logits": model.logits}
    return compile(outputs, model.updates, target=TARGET, search=search, seed=seed, without=without)
