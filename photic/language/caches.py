"""How keys and values are kept: as what, and how many rows of a layer that sees a window only.

The precision of products is named here too, because it says what "auto" is.

A layer with a window needs no more rows than the window and one call's tokens: it keeps a ring of
them, in which the token at place p has row ``p % rows``. A call writes its rows in one piece, so
that it must not pass a ring's end; and rows that the ring has used again are lost for a shorter
text.
"""

from __future__ import annotations

CACHES = ("float32", "float16", "bfloat16", "int8")
"""Keys and values as one of these; int8 has a float32 scale for each head of each token."""
DEFAULT_CACHE = "float32"
AUTOMATIC = "auto"
"""As the precision of products says: float32 with ``"exact"``, else bfloat16."""
PRECISIONS = ("bf16", "int8", "int16", "exact")
"""``"exact"``: float32 throughout. ``"bf16"``: both factors of a product of matrices are rounded to
bfloat16 (half a unit is 2^-9 of a number); sums stay float32. ``"int8"``: what quantised weights
are multiplied with is rounded to a 127th of the largest number of its 32, and multiplied as
integers; other products are as with ``"bf16"``. ``"int16"``: as with ``"int8"``, in two bytes, to a
32,258th. Calls of fewer than 16 tokens are as with ``"int16"`` where a processor multiplies bytes,
whichever of these it is; elsewhere ``"bf16"`` rounds nothing in them."""
DEFAULT_PRECISION, EXACT, FINE = "bf16", "exact", "int16"
ROUNDED = ("bf16", "int8")  # in calls of many tokens; a few are better off with FINE


def kept_as(cache: str, precision: str) -> str:
    """What a cache that is chosen by the precision of products is kept as."""
    if cache != AUTOMATIC:
        return cache
    return DEFAULT_CACHE if precision == "exact" else "bfloat16"


def ring_rows(window: int, context: int, chunk: int) -> int:
    """Rows of the ring, a multiple of ``chunk``; 0 where all of the context takes no more.

    Window and ``chunk``, the most tokens of a call, are below them together.
    """
    rows = -(-(window + chunk) // chunk) * chunk
    return rows if window and rows < context else 0
