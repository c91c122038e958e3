"""A session: a model ready to answer, from a name or a file to a stream of text.

Opening pulls the model, and compiles it or loads the program that an earlier session kept. Prompts
go through the program in chunks, then tokens one by one; the caches are the program's states. One
answer at a time: a session is not shared between threads.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import photic
from photic.base.errors import (
    ContextOverflow,
    FileUnwritable,
    NoSpace,
    PhoticError,
)
from photic.base.trace import emit
from photic.frontends.gguf.reader import GgufFile, open_gguf
from photic.language.chat import encode_chat
from photic.language.llama import build
from photic.language.llama_config import Config, read_config
from photic.language.memory import peak_bytes
from photic.language.pull import pull
from photic.language.sampling import Sampler, SamplingOptions
from photic.language.stream import TextStream
from photic.language.tokenizer import Tokenizer, build_tokenizer
from photic.storage.files import cache_folder, file_sha256, reading_folders, warn_of_fallback
from photic.targets.registry import target_named
from photic.tensor.compiling import DEFAULT_TARGET, compile
from photic.tensor.program import Program
from photic.tensor.store import load_program

CHUNK_TOKENS = 128  # of a prompt in one call: enough for full register tiles, small in memory
STEP = "step"

Progress = Callable[[str, int, int], None]


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

    @property
    def programs(self) -> Mapping[str, Program]:
        """The compiled programs by name."""
        return {STEP: self.program}

    def tokens(self, text: str, *, system: str | None, raw: bool) -> list[int]:
        """The ids of a prompt: as it is, or as the user's message in the model's chat template."""
        if raw:
            return self.tokenizer.prompt(text)
        messages = [{"role": "system", "content": system}] if system is not None else []
        messages.append({"role": "user", "content": text})
        return encode_chat(self.tokenizer, messages, add_generation_prompt=True)

    def logits(
        self, ids: Sequence[int], past: int, chunk: int
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """The logits after ``ids`` that follow ``past`` tokens already in the caches.

        Fed ``chunk`` at a time, at most CHUNK_TOKENS. Raises ContextOverflow.
        """
        if not ids or past + len(ids) > self.context:
            raise ContextOverflow(
                given=past + len(ids), expected=self.context, maximum=self.config.context
            )
        result: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}
        for start in range(0, len(ids), chunk):
            part = np.asarray(ids[start : start + chunk], np.int64)
            result = self.program(ids=part, past=past + start)
        return result["logits"].astype(np.float32, copy=False)

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

        It ends at a token that ends answers, at a stop text, after ``max_tokens``, or where the
        context is full. Raises ContextOverflow for a prompt that leaves no room for an answer.
        """
        ids = self.tokens(text, system=system, raw=raw)
        start = time.perf_counter()
        logits = self.logits(ids, 0, CHUNK_TOKENS)
        first = time.perf_counter()
        stream = TextStream(self.tokenizer.token_bytes, stops)
        sampler = Sampler(sampling)
        used, made, reason = list(ids), 0, ""
        while not reason:
            token = sampler.pick(logits, used)
            made += 1
            if token in self.tokenizer.ends:
                reason = "stop"
                break
            used.append(token)
            piece = stream.feed(token)
            if stream.stop is not None:
                reason = "stop"
            elif made >= max_tokens or len(used) > self.context:
                reason = "length"
            self._note(len(ids), first - start, made, time.perf_counter() - first, "")
            if piece:
                yield piece
            if not reason:
                logits = self.logits([token], len(used) - 1, 1)
        rest = stream.finish()
        self._note(len(ids), first - start, made, time.perf_counter() - first, reason)
        if rest:
            yield rest

    def _note(self, prompt: int, first: float, made: int, rest: float, reason: str) -> None:
        self.stats = Stats(prompt, first, made, rest, peak_bytes(), reason)


def open_session(model: str | Path, *, context: int | None, progress: Progress) -> Session:
    """A session for a known name or a GGUF file.

    ``context`` is how many tokens prompt and answer may fill; None means the model's own, more is
    ContextOverflow. ``progress(stage, done, total)`` is called while it pulls and compiles.
    """
    path = pull(model, progress)
    progress("load", 0, 1)
    file = open_gguf(path)
    config = read_config(file)
    room = config.context if context is None else context
    if room > config.context:
        raise ContextOverflow(given=room, expected=config.context, maximum=config.context)
    tokenizer = build_tokenizer(file.metadata, path)
    progress("load", 1, 1)
    program = _kept_program(file, config, room, progress)
    return Session(path, config, tokenizer, program, room)


def _kept_program(file: GgufFile, config: Config, context: int, progress: Progress) -> Program:
    """The program that an earlier session kept, or a new one, kept for later ones."""
    key = _program_key(file.path, context)
    for folder in reading_folders("programs"):
        if (folder / key).is_dir():
            try:
                return load_program(folder / key)
            except PhoticError as error:
                emit("files", "program refused", problem=str(error))
    progress("compile", 0, 1)
    model = build(file, config, context, CHUNK_TOKENS)
    program = compile({"logits": model.logits}, model.updates)
    try:
        program.save(cache_folder("programs") / key)
    except (NoSpace, FileUnwritable) as error:
        warn_of_fallback(str(error))
    progress("compile", 1, 1)
    return program


def _program_key(path: Path, context: int) -> str:
    """Changes with the model's bytes, with photic's own code, and with the machine."""
    target = target_named(DEFAULT_TARGET)
    parts = [file_sha256(path), _own_code(), target.key(), str(context), str(CHUNK_TOKENS)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _own_code() -> str:
    """A fingerprint of photic's own files, so that an edit never meets an older program."""
    root = Path(photic.__file__).parent
    rows = []
    for file in sorted(root.rglob("*.[pch]*")):
        if "__pycache__" not in file.parts:
            known = file.stat()
            rows.append(f"{file.relative_to(root)} {known.st_size} {known.st_mtime_ns}")
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
