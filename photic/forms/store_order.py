"""The order that stores of one region must keep."""

from __future__ import annotations

from collections.abc import Sequence

from photic.ir import index as form
from photic.ir.index import Store


def check_order(stores: Sequence[Store]) -> None:
    """An assertion that an element has one value wherever the region reads it."""
    reads = [{one.buffer for one in form.loads(store.value)} for store in stores]
    own = {store.buffer for store, read in zip(stores, reads, strict=True) if store.buffer in read}
    for number, store in enumerate(stores):
        read = reads[number] - {store.buffer}
        assert not read & own, "a buffer that its own store reads is read by another one"
        assert all(one.buffer not in read for one in stores[number + 1 :]), "a write after a read"
