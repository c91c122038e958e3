"""C to a loaded library: what decides its name, what it computes, what is refused."""

from __future__ import annotations

import ctypes
import os
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from photic.base.errors import BadArgument
from photic.base.settings import clean_environment
from photic.base.trace import Event, listening
from photic.storage import files
from photic.targets.c import toolchain
from photic.targets.c.toolchain import build_kernels, build_runtime, load_library
from photic.targets.errors import CompileFailed, CompilerMissing, LoadRefused

DOUBLE = "long twice(long x) { return 2 * x; }"
ANOTHER_USER = 54321


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this module's own: what it builds was not there before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PHOTIC_CACHE", str(tmp_path_factory.mktemp("toolchain")))
        yield


def no_process(*_: object, **__: object) -> None:
    raise AssertionError("a process was started")


def value(source: str, argument: int, *, flags: tuple[str, ...] = ()) -> int:
    return int(load_library(build_kernels(source, flags=flags)).twice(argument))


def test_a_kernel_computes() -> None:
    assert value(DOUBLE, 21) == 42


def test_a_warm_start_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build_kernels(DOUBLE)
    toolchain.compiler_identity.cache_clear()
    monkeypatch.setattr(subprocess, "Popen", no_process)
    assert build_kernels(DOUBLE) == first


def test_compiling_is_told_to_who_listens() -> None:
    heard: list[Event] = []
    with listening(heard.append):
        build_kernels("int only_here;")
        build_kernels("int only_here;")
    assert [event.name for event in heard if event.stage == "source"] == ["compiled"]


def test_every_ingredient_changes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        build_kernels(DOUBLE),
        build_kernels(DOUBLE + " "),
        build_kernels(DOUBLE, flags=("-DA",)),
    }
    monkeypatch.setenv("PHOTIC_CPU", "x86-64-v2")
    keys.add(build_kernels(DOUBLE))
    monkeypatch.delenv("PHOTIC_CPU")
    for name, other in (
        ("TOOLCHAIN_VERSION", "test"),
        ("compiler_identity", lambda: "another compiler"),
        ("processor_text", lambda: "another processor"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(toolchain, name, other)
            keys.add(build_kernels(DOUBLE))
    assert len(keys) == 7


def test_a_users_compiler_variables_do_not_reach_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CPATH", "/planted")
    monkeypatch.setenv("ZIG_LIB_DIR", "/planted")
    assert "CPATH" not in clean_environment(toolchain.KEPT_VARIABLES)
    assert value("long twice(long x) { return x + x + 0; }", 4) == 8


# --- what the flags mean --------------------------------------------------------------------


def floats(source: str, restype: type = ctypes.c_float) -> Callable[..., float]:
    function = load_library(build_kernels(source)).f
    function.restype = restype
    return lambda *values: function(*map(restype, values))  # type: ignore[no-any-return]


def test_a_product_and_a_sum_are_rounded_one_by_one() -> None:
    f = floats("float f(float a, float b, float c) { return a * b - c; }")
    a = np.float32(1.0000001)
    assert f(a, a, a * a) == 0.0  # fused: the rounding error of the product


def test_a_signed_sum_wraps() -> None:
    f = load_library(build_kernels("int f(int x) { return x + 1 < x; }")).f
    assert f(2**31 - 1) == 1


def test_nan_infinity_and_signed_zero_are_kept() -> None:
    f = floats("float f(float x) { return x - x + (0.0f * x) + -0.0f; }")
    assert np.isnan(f(np.inf))
    g = floats("float f(float x) { return 0.0f - x; }")
    assert not np.signbit(g(0.0))  # -x would give -0.0
    h = floats("float f(float x) { return (x + 1e30f) - 1e30f; }")
    assert h(1.0) == 0.0  # reassociated: 1.0


def test_subnormals_are_kept() -> None:
    f = floats("float f(float x) { return x * 0.5f; }")
    tiny = np.finfo(np.float32).smallest_subnormal
    assert f(tiny * 4) == tiny * 2


def test_a_square_root_is_one_instruction_without_errno() -> None:
    f = floats("float f(float x) { return __builtin_sqrtf(x); }")
    assert f(2.0) == np.sqrt(np.float32(2.0))
    assert np.isnan(f(-1.0))


def test_the_flags_ask_for_nothing_that_changes_results() -> None:
    every = " ".join(toolchain.KERNEL_FLAGS + toolchain.COMMON_FLAGS)
    assert not any(one in every for one in ("fast-math", "reciprocal", "associative", "Ofast"))


# --- runtime libraries ----------------------------------------------------------------------

THREADED = """
#include <pthread.h>
#include <stdlib.h>
static void *one(void *x) { return (char *)x + 1; }
long run(void) { pthread_t t; void *r = malloc(8); free(r); pthread_create(&t, 0, one, (void *)41);
                 pthread_join(t, &r); return (long)r; }
"""


def test_a_runtime_library_uses_threads() -> None:
    assert load_library(build_runtime(THREADED)).run() == 42


def test_a_runtime_library_links_without_a_mapped_c_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolchain, "MAPS", Path("/nonexistent"))
    assert load_library(build_runtime(THREADED + "/* the slow way */")).run() == 42


# --- refusals -------------------------------------------------------------------------------


def test_a_refused_source_is_kept_and_named(tmp_path: Path) -> None:
    source = "int f(void) { return absent; }"
    with warnings.catch_warnings(), pytest.raises(CompileFailed, match="absent") as caught:
        warnings.simplefilter("error")  # the fault is the source's: no word about folders
        build_kernels(source)
    path = caught.value.fields["path"]
    assert isinstance(path, Path)
    assert path.read_text() == source
    assert str(path) in str(caught.value)


def test_an_unknown_symbol_is_refused_at_loading() -> None:
    path = build_kernels("int nowhere(void); int f(void) { return nowhere(); }")
    with pytest.raises(LoadRefused, match="nowhere"):
        load_library(path)


@pytest.mark.parametrize("name", ["no-such-cpu", "-x", "a b", "../../x", "é"])
def test_an_unknown_processor_is_the_settings_fault(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PHOTIC_CPU", name)
    with pytest.raises(BadArgument, match="PHOTIC_CPU"):
        build_kernels(DOUBLE)


def test_without_the_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda _: None)
    toolchain.compiler_identity.cache_clear()
    with pytest.raises(CompilerMissing, match="pip install ziglang"):
        build_kernels(DOUBLE)
    toolchain.compiler_identity.cache_clear()


def test_a_compiler_that_cannot_start_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "zig"
    broken.write_bytes(b"not a program")
    monkeypatch.setattr(toolchain, "_compiler", lambda: broken)
    with pytest.raises(CompilerMissing, match="zig"):
        build_kernels("int never_compiled;")


@pytest.mark.parametrize("which", ["file", "folder", "cache"])
def test_a_library_that_others_can_write_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    path = build_kernels(DOUBLE)
    place = {"file": path, "folder": path.parent, "cache": path.parent.parent}[which]
    place.chmod(0o777)
    with pytest.raises(LoadRefused, match="others can write"):
        load_library(path)
    place.chmod(0o755)
    assert load_library(path).twice(1) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_another_users_library_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    path = build_kernels(DOUBLE)
    os.chown(path, ANOTHER_USER, ANOTHER_USER)
    with pytest.raises(LoadRefused, match="another user"):
        load_library(path)


def test_a_library_that_was_changed_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    path = build_kernels(DOUBLE)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(LoadRefused, match="not the one that was built"):
        load_library(path)


def test_a_missing_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match="no such file"):
        load_library(tmp_path / "none.so")
