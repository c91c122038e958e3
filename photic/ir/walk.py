"""The one walk over hash-consed values: each once, what it is made of first.

It is iterative, so that a long chain of values needs no deep stack. It knows no kind of value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def parts_first(
    roots: Iterable[T], parts: Callable[[T], Iterable[T]], known: Collection[T]
) -> Iterator[T]:
    """Every value under the roots, without what is known and what only that needs.

    Of several roots, as of several parts, the last comes first.
    """
    done = set(known)
    stack = [(one, False) for one in roots]
    while stack:
        one, is_expanded = stack.pop()
        if one in done:
            continue
        if is_expanded:
            done.add(one)
            yield one
        else:
            stack.append((one, True))
            stack += [(part, False) for part in parts(one) if part not in done]
