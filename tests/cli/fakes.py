"""Stand-ins for the language session, so that the cli's tests need no model and no compiler.

They have the names and signatures that the cli uses, and record how they were called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace

from language.vocabulary import small_metadata

from photic.language.tokenizer import Tokenizer, build_tokenizer


@dataclass
class FakeSession:
    """Yields ``pieces``; ``calls`` keeps the arguments of each ``generate``."""

    pieces: tuple[str | BaseException, ...] = ("Because ", "of ", "light.")
    calls: list[dict[str, object]] = field(default_factory=list)
    programs: dict[str, object] = field(default_factory=dict)
    finish_reason: str = "stop"
    context: int = 64

    def generate(self, messages_or_text: str, **options: object) -> Iterator[str]:
        self.calls.append({"text": messages_or_text, **options})
        for piece in self.pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def resume(self, ids: Sequence[int], **options: object) -> Iterator[str]:
        """As ``generate``; what was asked is kept as the text that the model would read."""
        known = self.tokenizer
        text = "".join(known.decode([one]) or known.tokens[one] for one in ids)
        return self.generate(text, **options)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """A real one, with a small vocabulary and a template like SmolLM2's."""
        return build_tokenizer(small_metadata(), "fake")

    @property
    def stats(self) -> SimpleNamespace:
        return SimpleNamespace(
            prompt_tokens=10,
            prompt_seconds=0.5,
            generated_tokens=3,
            generation_seconds=0.0,
            peak_bytes=412_000_000,
            finish_reason=self.finish_reason,
            cached_tokens=0,
            drafted_tokens=0,
            accepted_tokens=0,
        )


@dataclass
class FakeOpening:
    """``open_session`` that reports ``stages`` and then gives ``session`` or raises."""

    session: FakeSession | BaseException
    stages: tuple[tuple[str, int, int], ...] = ()
    meanwhile: Callable[[], None] = lambda: None
    calls: list[tuple[str, int | None]] = field(default_factory=list)
    searches: list[tuple[float, int]] = field(default_factory=list)
    drafts: list[int] = field(default_factory=list)
    rounding: list[tuple[str, str]] = field(default_factory=list)

    def __call__(
        self,
        model: str,
        *,
        context: int | None,
        progress: Callable[[str, int, int], None],
        search: float = 0.0,
        seed: int = 0,
        speculative: int = 0,
        cache: str = "auto",
        precision: str = "bf16",
    ) -> FakeSession:
        self.calls.append((model, context))
        self.searches.append((search, seed))
        self.drafts.append(speculative)
        self.rounding.append((cache, precision))
        for stage in self.stages:
            progress(*stage)
        self.meanwhile()
        if isinstance(self.session, BaseException):
            raise self.session
        return self.session


def fake_kernel(name: str, **changes: object) -> SimpleNamespace:
    record: dict[str, object] = {
        "name": name,
        "source": f"void {name}(void) {{}}",
        "nest": f"nest of {name}",
        "calls": 1,
        "flops": 2_000_000,
        "bytes": 3_500,
        "seconds": None,
        "predicted_seconds": 1e-6,
        "rules": (),
        "timed": (2_000_000.0, 3_500.0),
    }
    return SimpleNamespace(**{**record, **changes})


def fake_program(*kernels: SimpleNamespace) -> SimpleNamespace:
    report = SimpleNamespace(
        kernels=kernels, candidates=24, seconds=5.25, stopped="out of time", matches={}
    )
    return SimpleNamespace(
        report=report,
        constant_bytes=98_765_432,
        peak_bytes=1_000,
        artifact=SimpleNamespace(target="c", sizes=(), making=None),
    )


def turn(region: str, candidates: int, seconds: float | None, left: float) -> dict[str, object]:
    """What the search tells of one turn, of a region of 3 stores among 12."""
    return {
        "region": region,
        "stores": 3,
        "regions": 12,
        "candidates": candidates,
        "seconds": seconds,
        "best": {},
        "left": left,
    }
