"""A conversation with a session: question after question, of which only what is new is computed.

Promises: a question is answered in the light of all that was said, by the model's own template; a
question that could not be answered at all leaves the conversation as it was; of an answer that was
stopped, what was said so far belongs to it. What the session's caches hold of the conversation is
not computed again; where the template writes what was said in other tokens than it was said in,
that begins at the first which differs.

Does not shorten a conversation that fills the context: that is an error, which names both counts.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from photic.language.chat import encode_chat
from photic.language.sampling import SamplingOptions
from photic.language.session import Session

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who said it (SYSTEM, USER or ASSISTANT), and its text."""

    role: str
    content: str


@dataclass(slots=True)
class Conversation:
    """What was said, questions and answers in turns; without a system message, the model's own."""

    session: Session
    system: str | None = None
    turns: tuple[Said, ...] = ()

    def messages(self) -> tuple[Said, ...]:
        """The system message, if there is one, and all turns."""
        first = () if self.system is None else (Said(SYSTEM, self.system),)
        return first + self.turns

    def replace(self, messages: Sequence[Said]) -> None:
        """Go on from these messages instead; only the first may be the system's."""
        head = messages[0] if messages else None
        self.system = head.content if head is not None and head.role == SYSTEM else None
        self.turns = tuple(messages[self.system is not None :])

    def ask(
        self, text: str, *, max_tokens: int, sampling: SamplingOptions, stops: Sequence[str]
    ) -> Generator[str, None, None]:
        """The answer, piece by piece; close the iterator to stop it. Raises as ``Session.resume``.

        TemplateRejected where the model has no template, or it refuses what was said.
        """
        question = Said(USER, text)
        shown = [{"role": one.role, "content": one.content} for one in self.messages()]
        shown.append({"role": USER, "content": text})
        ids = encode_chat(self.session.tokenizer, shown, add_generation_prompt=True)
        pieces: list[str] = []
        ended = False
        try:
            for piece in self.session.resume(
                ids, max_tokens=max_tokens, sampling=sampling, stops=stops
            ):
                pieces.append(piece)
                yield piece
            ended = True
        finally:
            if pieces or ended:
                self.turns = (*self.turns, question, Said(ASSISTANT, "".join(pieces)))
