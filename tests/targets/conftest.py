"""The C numerics of each instruction set that this processor has, and memory with an end."""

from __future__ import annotations

import ctypes
import mmap

import numerics_library as library
import pytest


@pytest.fixture(scope="module", params=library.MACHINES)
def machine(request):
    if not library.runs(request.param):
        pytest.skip(f"this processor has no {library.MACHINES[request.param][1]}")
    return library.functions_for(request.param)


@pytest.fixture(scope="module")
def fence():
    """The address of a page that may not be touched, right after one that may."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mprotect"):
        pytest.skip("no mprotect here")
    size = mmap.PAGESIZE
    room = mmap.mmap(-1, 2 * size)
    view = ctypes.c_char.from_buffer(room)
    address = ctypes.addressof(view) + size
    assert libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), 0) == 0
    yield address
    libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), 3)
    del view
    room.close()
