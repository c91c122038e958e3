"""Whether SmolLM2 writes what transformers writes: 200 likeliest tokens after each of ten prompts.

Both compute in float32 (photic unless ``--precision`` says otherwise), transformers with the file's
weights unpacked. Where two answers part, the
gap between the two likeliest logits is shown: a gap near 1e-4 is a tie that rounding decides. Needs
the model (fetched on first use), torch, transformers and gguf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import common
import smollm2
from model.peer import llama_of

from photic.language.sampling import Sampler, SamplingOptions
from photic.language.session import Session

if TYPE_CHECKING:
    import transformers

TOKENS = 200
PROMPTS = (
    "The capital of France is",
    "Once upon a time there was a",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "Water boils at",
    "Dear Sir or Madam,\n\n",
    "The three laws of thermodynamics say that",
    "1, 2, 3, 4, 5, 6,",
    "Größe 12345 — ça va?",
    "In 1905 Albert Einstein",
    "Q: Why is the sky blue?\nA:",
)


def main() -> None:
    """Compare, print, write JSON where asked."""
    parser = smollm2.parser(__doc__ or "", "exact")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of each answer")
    arguments = parser.parse_args()
    session = smollm2.opened(arguments)
    peer = llama_of(session.path)
    figures = [compared(session, peer, text, arguments.tokens) for text in PROMPTS]
    common.report(figures, arguments.json)


def compared(
    session: Session, peer: transformers.LlamaForCausalLM, text: str, count: int
) -> common.Figure:
    """How many tokens of two answers agree, and how sure the peer was where they part."""
    ids = session.tokens(text, system=None, raw=True)
    ours = list(session.following(ids, Sampler(SamplingOptions()), count))
    theirs, gaps = answer_of(peer, ids, count)
    same = next((at for at, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), count)
    return {
        "name": repr(text[:30]),
        "tokens": count,
        "equal": same,
        "gap_where_they_part": gaps[same] if same < count else "",
        "smallest_gap": min(gaps),
    }


def answer_of(
    peer: transformers.LlamaForCausalLM, ids: Sequence[int], count: int
) -> tuple[list[int], list[float]]:
    """The peer's likeliest tokens, and by how much each was the likeliest."""
    import torch

    tokens: list[int] = []
    gaps: list[float] = []
    given, past = torch.tensor([list(ids)]), None
    with torch.no_grad():
        for _ in range(count):
            out = peer(given, past_key_values=past, use_cache=True)
            best = torch.topk(out.logits[0, -1], 2)
            tokens.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
            given, past = best.indices[:1][None], out.past_key_values
    return tokens, gaps


if __name__ == "__main__":
    main()
