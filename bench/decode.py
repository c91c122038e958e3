"""Tokens a second while SmolLM2 answers: one step at several places of the context, one answer.

A step is one call of the program with one token, as ``photic run`` makes it for each token of an
answer; sampling and text are not part of it, but of the answer at the end. Prints the peak of
memory too. Needs the model (fetched on first use).
"""

from __future__ import annotations

import common
import numpy as np
import smollm2

from photic.language.memory import peak_bytes
from photic.language.sampling import SamplingOptions
from photic.language.session import Session

PLACES = (0, 128, 512, 2048)  # tokens already in the cache
REPEATS = 20
TOKEN = 260
ANSWER_TOKENS = 64
MEGABYTE = 1e6


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = smollm2.parser(__doc__ or "")
    parser.set_defaults(repeats=REPEATS)
    arguments = parser.parse_args()
    session = smollm2.opened(arguments)
    figures = [*steps(session, arguments.repeats), *answers(session)]
    common.report(figures, arguments.json)


def steps(session: Session, repeats: int) -> list[common.Figure]:
    """One token after so many others; what the cache holds there does not change the time."""
    token = np.array([TOKEN])

    def step(past: int) -> None:
        session.program(ids=token, past=past, answers=1)

    contestants = {f"step after {past}": lambda past=past: step(past) for past in PLACES}
    timings = common.race(contestants, repeats=repeats, calls_per_sample=1)
    return [
        {**timing.figure(), "tokens_per_second": 1 / timing.median} for timing in timings.values()
    ]


def answers(session: Session) -> list[common.Figure]:
    """A whole answer, as the command line gives it, and the peak of memory after it."""
    pieces = session.generate(
        "Why is the sky blue?",
        system=None,
        raw=False,
        max_tokens=ANSWER_TOKENS,
        sampling=SamplingOptions(),
        stops=(),
    )
    for _ in pieces:
        pass
    stats = session.stats
    return [
        {
            "name": f"answer of {stats.generated_tokens}",
            "median_seconds": stats.generation_seconds,
            "tokens_per_second": stats.generated_tokens / stats.generation_seconds,
        },
        {"name": "peak memory", "megabytes": peak_bytes() / MEGABYTE},
    ]


if __name__ == "__main__":
    main()
