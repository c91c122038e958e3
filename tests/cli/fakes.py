"""Stand-ins for the language session, so that the cli's tests need no model and no compiler.

They have the names and signatures that the cli uses, and record how they were called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace


@dataclass
class FakeSession:
    """Yields ``pieces``; ``calls`` keeps the arguments of each ``generate``."""

    pieces: tuple[str | BaseException, ...] = ("Because ", "of ", "light.")
    calls: list[dict[str, object]] = field(default_factory=list)
    programs: dict[str, object] = field(default_factory=dict)

    def generate(self, messages_or_text: str, **options: object) -> Iterator[str]:
        self.calls.append({"text": messages_or_text, **options})
        for piece in self.pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    @property
    def stats(self) -> SimpleNamespace:
        return SimpleNamespace(
            prompt_tokens=10,
            prompt_seconds=0.5,
            generated_tokens=3,
            generation_seconds=0.0,
            peak_bytes=412_000_000,
            finish_reason="stop",
        )


@dataclass
class FakeOpening:
    """``open_session`` that reports ``stages`` and then gives ``session`` or raises."""

    session: FakeSession | BaseException
    stages: tuple[tuple[str, int, int], ...] = ()
    meanwhile: Callable[[], None] = lambda: None
    calls: list[tuple[str, int | None]] = field(default_factory=list)

    def __call__(
        self, model: str, *, context: int | None, progress: Callable[[str, int, int], None]
    ) -> FakeSession:
        self.calls.append((model, context))
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
        "calls": 1,
        "flops": 2_000_000,
        "bytes": 3_500,
        "seconds": 0.0,
        "rules": (),
    }
    return SimpleNamespace(**{**record, **changes})


def fake_program(*kernels: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(
        report=SimpleNamespace(kernels=kernels), constant_bytes=98_765_432, peak_bytes=1_000
    )
