"""The memory of SmolLM2's program: the arena beside the sum of its buffers and the lower bound.

All at the largest sizes (the model's own context): for the program of prompts and steps that
``photic run`` uses, and for one that takes single tokens only. Then what a process really holds
after a short and after a long prompt, beside what it may hold: the file, the cache of so many
tokens, and 60 MB. Compiling is part of a peak: run it again. Needs the model (fetched on first
use).
"""

from __future__ import annotations

from pathlib import Path

import common
import smollm2

from photic.frontends.gguf.reader import open_gguf
from photic.language.config import read_config
from photic.language.decoder import build
from photic.language.memory import peak_bytes
from photic.language.session import CHUNK_TOKENS, Session
from photic.tensor.compiling import compile
from photic.tensor.program import Program

MEGABYTE = 1e6
PAGE_BYTES = 4096
STATM = Path("/proc/self/statm")
SHORT, LONG = 36, 2048  # tokens
ALLOWANCE = 60  # megabytes beside file and cache


def main() -> None:
    """Measure, print, write JSON where asked."""
    parser = smollm2.parser(__doc__ or "")
    arguments = parser.parse_args()
    session = smollm2.opened(arguments)
    figures = [planned(f"up to {CHUNK_TOKENS} tokens a call", session.program)]
    figures += [resident(session, 0), after(session, SHORT), after(session, LONG)]
    figures += [planned("one token a call", single(session))]
    common.report(figures, arguments.json)


def planned(name: str, program: Program) -> common.Figure:
    """What the memory plan says, in megabytes."""
    artifact = program.artifact
    return {
        "name": name,
        "arena_megabytes": artifact.arena_bytes / MEGABYTE,
        "all_buffers_megabytes": artifact.buffer_bytes / MEGABYTE,
        "lower_bound_megabytes": artifact.least_bytes / MEGABYTE,
        "constants_megabytes": program.constant_bytes / MEGABYTE,
        "states_megabytes": sum(one.nbytes for one in program.states.values()) / MEGABYTE,
    }


def single(session: Session) -> Program:
    """The program of single tokens, compiled."""
    file = open_gguf(session.path)
    config = read_config(file)
    model = build(file, config, config.context, chunk=1)
    return compile({"logits": model.logits}, model.updates)


def after(session: Session, count: int) -> common.Figure:
    session.logits([1] * count)
    return resident(session, count)


def resident(session: Session, count: int) -> common.Figure:
    """What the process holds now and held at most (mapped weights included), in megabytes."""
    states = sum(one.nbytes for one in session.program.states.values())
    allowed = session.path.stat().st_size + states * count / session.context
    figure = {
        "name": f"after {count} tokens",
        "peak_megabytes": peak_bytes() / MEGABYTE,
        "allowed_megabytes": allowed / MEGABYTE + ALLOWANCE,
    }
    if STATM.exists():
        pages = int(STATM.read_text().split()[1])
        figure["resident_megabytes"] = pages * PAGE_BYTES / MEGABYTE
    return figure


if __name__ == "__main__":
    main()
