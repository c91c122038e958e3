"""Token ids in, text out: whole characters only, and nothing of a stop string.

Promises: the pieces joined are the text of all bytes decoded at once (invalid bytes become U+FFFD
as ``bytes.decode(errors="replace")`` makes them), cut before the stop that is complete first;
where the tokens are cut changes nothing. Every piece is valid Unicode.

Does not count tokens, and does not know when a model ends its turn.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from photic.language.errors import BadSampling


class TextStream:
    """One answer's text, piece by piece.

    ``token_bytes`` gives the UTF-8 bytes of a token, ``b""`` for one without text. ``stops`` are
    non-empty texts; an empty one raises BadSampling. Where several are found, the one whose end
    comes first wins, and of those with one end the longest.
    """

    __slots__ = ("_decoder", "_held", "_stops", "_token_bytes", "stop")

    def __init__(self, token_bytes: Callable[[int], bytes], stops: Sequence[str]) -> None:
        if "" in stops:
            raise BadSampling(option="stop", given="an empty text", expected="at least a character")
        self._token_bytes = token_bytes
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self.stop: str | None = None
        """The stop text that ended the stream; None while there was none."""

    def feed(self, token: int) -> str:
        """The text that ``token`` completes; "" while it may yet be part of a stop."""
        return self._pass_on(self._decoder.decode(self._token_bytes(token)))

    def finish(self) -> str:
        """The text still held back; an unfinished character becomes U+FFFD."""
        rest = self._pass_on(self._decoder.decode(b"", final=True)) + self._held
        self._held = ""
        return rest

    def _pass_on(self, text: str) -> str:
        if self.stop is not None or not text:
            return ""
        held = self._held + text
        found = self._first_stop(held)
        if found is None:
            kept = self._possible_start(held)
            self._held = held[kept:]
            return held[:kept]
        start, self.stop = found
        self._held = ""
        return held[:start]

    def _first_stop(self, text: str) -> tuple[int, str] | None:
        """Start and text of the stop whose end comes first."""
        found = [(start, stop) for stop in self._stops if (start := text.find(stop)) >= 0]
        return min(found, key=lambda one: (one[0] + len(one[1]), one[0]), default=None)

    def _possible_start(self, text: str) -> int:
        """Where the longest ending of ``text`` that begins a stop starts; its length if none."""
        longest = max((len(stop) for stop in self._stops), default=0) - 1
        for start in range(max(0, len(text) - longest), len(text)):
            if any(stop.startswith(text[start:]) for stop in self._stops):
                return start
        return len(text)
