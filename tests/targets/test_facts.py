"""Facts about the processor: found once, true, and in every cache key."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from photic.base.errors import BadArgument
from photic.targets.c import facts as module
from photic.targets.c import toolchain
from photic.targets.c.facts import Facts, facts, facts_key, usable_cores
from photic.targets.c.toolchain import build_kernels, load_library, predefined_macros

LINUX_WORDS = {  # a fact, and Linux's word for the instruction set
    "fma": "fma",
    "f16c": "f16c",
    "avx512_bf16": "avx512_bf16",
    "amx_bf16": "amx_bf16",
    "amx_int8": "amx_int8",
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As in a new process: nothing is remembered but what lies on disk."""
    module._recorded.cache_clear()
    yield
    module._recorded.cache_clear()


def processor_words() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        pytest.skip("needs /proc/cpuinfo to compare with")
    line = next((one for one in text.splitlines() if one.startswith("flags")), "")
    if not line:
        pytest.skip("needs an x86 processor's flags to compare with")
    return set(line.split(":")[1].split())


@pytest.mark.parametrize("name", LINUX_WORDS)
def test_a_fact_is_what_linux_says_of_the_processor(name: str) -> None:
    claimed = getattr(facts(), name)
    assert not claimed or LINUX_WORDS[name] in processor_words()


def test_vectors_are_as_wide_as_the_compiler_and_the_processor_allow() -> None:
    words = processor_words()
    expected = 512 if "avx512vl" in words else 256 if "avx2" in words else 128
    assert facts().vector_bits == expected
    assert facts().avx512 == (expected == 512)


def test_numbers_are_sane() -> None:
    found = facts()
    assert found.arch in ("x86_64", "aarch64", "")
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.line_bytes in (32, 64, 128, 256)
    assert 0 < found.l1d_bytes < found.l2_bytes <= found.l3_bytes


def test_a_warm_start_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = facts()
    module._recorded.cache_clear()
    toolchain.compiler_identity.cache_clear()

    def none(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", none)
    assert facts() == first


def test_a_record_of_another_shape_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    first = facts()
    for blob in (b"{}", b'{"arch": "x"}', b"[]", b"not json", b"1"):
        module._recorded.cache_clear()
        monkeypatch.setattr(module, "read_checked", lambda _, blob=blob: blob)
        assert facts() == first


@pytest.mark.parametrize("cpu", ["native", ""])
def test_native_is_the_default(monkeypatch: pytest.MonkeyPatch, cpu: str) -> None:
    first = facts()
    monkeypatch.setenv("PHOTIC_CPU", cpu)
    assert facts() == first


def test_a_named_processor_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    if facts().arch != "x86_64":
        pytest.skip("needs an x86-64 processor to compile for an older one")
    key = facts_key()
    monkeypatch.setenv("PHOTIC_CPU", "x86-64-v2")
    assert (facts().vector_bits, facts().fma, facts().vnni) == (128, False, False)
    assert facts_key() != key
    assert load_library(build_kernels("int f(int x) { return x + 1; }")).f(1) == 2


def test_a_processor_with_more_instructions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    native = dict(predefined_macros("native"))

    def macros(cpu: str) -> dict[str, str]:
        return native if cpu == "native" else native | {"__AVX1024__": "1", "__SGX__": "1"}

    monkeypatch.setattr(module, "predefined_macros", macros)
    monkeypatch.setenv("PHOTIC_CPU", "tomorrow")
    with pytest.raises(BadArgument, match=r"PHOTIC_CPU.*lacking: __AVX1024__\)"):
        facts()


def test_an_unknown_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTIC_CPU", "no-such-cpu")
    with pytest.raises(BadArgument, match="PHOTIC_CPU"):
        facts()


@pytest.mark.parametrize("name", [one.name for one in fields(Facts) if one.name != "cores"])
def test_every_fact_changes_the_key(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = facts()
    key = facts_key()
    old = getattr(found, name)
    new = not old if isinstance(old, bool) else f"{old}x" if isinstance(old, str) else old + 1
    monkeypatch.setattr(module, "facts", lambda: replace(found, **{name: new}))
    assert facts_key() != key


def test_the_number_of_cores_does_not_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = facts_key()
    monkeypatch.setattr(module, "usable_cores", lambda: 77)
    assert facts().cores == 77
    assert facts_key() == key


def test_the_compiler_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = facts_key()
    monkeypatch.setattr(module, "compiler_identity", lambda: "another compiler")
    assert facts_key() != key


def test_without_permission_there_are_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "tiles_granted", lambda: False)
    assert not facts().amx_bf16
    assert not facts().amx_int8


def test_a_tile_instruction_runs_where_the_facts_say_so() -> None:
    if not facts().amx_int8:
        pytest.skip("needs a processor with AMX, and Linux's leave to use it")
    source = """
    int f(void) {
      _Alignas(64) char setup[64] = {1};
      setup[16] = 64; setup[48] = 16;
      _Alignas(64) int out[16 * 16];
      for (int i = 0; i < 256; i++) out[i] = 7;
      __asm__ volatile("ldtilecfg %0\\n tilezero %%tmm0" : : "m"(setup));
      __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\\n tilerelease"
                       : : "r"(out), "r"(64L) : "memory");
      int sum = 0; for (int i = 0; i < 256; i++) sum += out[i];
      return sum; }"""
    assert load_library(build_kernels(source)).f() == 0


# --- cores ----------------------------------------------------------------------------------


def test_cores_follow_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_read", lambda path: "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 8}, raising=False)
    assert usable_cores() == 3


def test_two_hyper_threads_are_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> str:
        if path.name == "active":
            return "1"
        if path.name == "thread_siblings_list":
            one = int(path.parent.parent.name.removeprefix("cpu")) % 4
            return f"{one},{one + 4}"
        return ""

    monkeypatch.setattr(module, "_read", read)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 4, 5}, raising=False)
    assert usable_cores() == 3


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("150000 100000", 2), ("50000 100000", 1), ("max 100000", 8), ("", 8), ("1 0", 8), ("x", 8)],
)
def test_a_containers_quota_is_rounded_up(
    monkeypatch: pytest.MonkeyPatch, quota: str, cores: int
) -> None:
    monkeypatch.setattr(module, "_read", lambda path: quota if path == module.CGROUP_QUOTA else "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert usable_cores() == cores


# --- caches ---------------------------------------------------------------------------------


def test_caches_are_read_from_linux_and_guessed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CPU_FOLDER", tmp_path)
    assert module._caches()["l2_bytes"] == module.DEFAULT_L2_BYTES
    lines = (
        ("1", "Data", "48K"),
        ("1", "Instruction", "32K"),
        ("2", "Unified", "2M"),
        ("3", "", "?"),
    )
    for index, (level, kind, size) in enumerate(lines):
        folder = tmp_path / "cpu0" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
        (folder / "coherency_line_size").write_text("128\n")
    found = module._caches()
    assert (found["l1d_bytes"], found["l2_bytes"]) == (48 * 1024, 2 * 1024 * 1024)
    assert (found["l3_bytes"], found["line_bytes"]) == (module.DEFAULT_L3_BYTES, 128)
