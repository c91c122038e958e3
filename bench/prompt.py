"""Tokens a second while SmolLM2 reads a prompt, for several lengths.

A prompt goes through the program in chunks of at most CHUNK_TOKENS. Needs the model (fetched on
first use).
"""

from __future__ import annotations

import common
import numpy as np
import smollm2

from photic.language.session import CHUNK_TOKENS, Session

LENGTHS = (16, 64, CHUNK_TOKENS, 4 * CHUNK_TOKENS)
REPEATS = 5


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = smollm2.parser(__doc__ or "")
    parser.set_defaults(repeats=REPEATS)
    arguments = parser.parse_args()
    session = smollm2.opened(arguments)
    rng = np.random.default_rng(0)
    ids = rng.integers(0, session.config.vocabulary, max(LENGTHS))
    contestants = {
        str(length): lambda length=length: read(session, ids[:length]) for length in LENGTHS
    }
    timings = common.race(contestants, repeats=arguments.repeats, calls_per_sample=1)
    figures = [
        {
            **one.figure(),
            "name": f"{one.name} tokens",
            "tokens_per_second": int(one.name) / one.median,
        }
        for one in timings.values()
    ]
    common.report(figures, arguments.json)


def read(session: Session, ids: np.ndarray) -> None:
    """The prompt from an empty cache; a session's own ``logits`` would reuse whole chunks."""
    for start in range(0, len(ids), CHUNK_TOKENS):
        part = ids[start : start + CHUNK_TOKENS]
        session.program(ids=part, past=start, answers=int(start + len(part) == len(ids)))


if __name__ == "__main__":
    main()
