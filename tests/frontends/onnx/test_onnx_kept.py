"""Programs of ONNX files kept between runs: for which files and options, and against damage."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from caches import use_cache
from disks import disk, make_read_only
from frontends.onnx.onnx_models import INT64, graph_proto, model_proto, node, port

from photic.base.errors import BadArgument
from photic.base.settings import child_environment
from photic.frontends.onnx import Session, compile
from photic.frontends.onnx import kept as onnx_kept
from photic.frontends.onnx.errors import OnnxData
from photic.frontends.onnx.importer import import_graph
from photic.frontends.onnx.reader import read_model
from photic.storage import files
from photic.storage.errors import FileUnreadable
from photic.tensor import kept

HANG_SECONDS = 120
PROCESSES = 3
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own, about which this process knows nothing."""
    return use_cache(tmp_path / "cache", monkeypatch)


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A line for each graph that is imported."""
    found: list[str] = []

    def counting(*given: Any, **options: Any) -> Any:
        found.append("import")
        return import_graph(*given, **options)

    for name in ("model", "importer"):
        monkeypatch.setattr(f"photic.frontends.onnx.{name}.import_graph", counting)
    yield found


def scaled(factor: float) -> Any:
    """y = x * factor, of a batch of rows; ``unused`` goes nowhere."""
    return graph_proto(
        [node("Mul", ["x", "w"], ["y"])],
        [port("x", ["n", 3]), port("unused", ["m"], INT64)],
        [port("y", None)],
        w=np.full(3, factor, np.float32),
    )


def write(path: Path, graph: Any) -> Path:
    path.write_bytes(model_proto(graph).SerializeToString())
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "m.onnx", scaled(3))


def answer(path: Path, *given: Any, **options: Any) -> list[float]:
    """The second element of what comes out: the factor."""
    made = compile(path, *given, **options)
    (out,) = made.outputs
    found = made.program(x=ROWS[: 2 if given == () else 1])[out.key]
    return [float(found[0, 1])]


# --- for whom -------------------------------------------------------------------------------


def test_a_second_start_imports_no_graph(model: Path, imports: list[str]) -> None:
    assert answer(model) == answer(model) == [3]
    assert imports == ["import"]


def test_a_kept_program_has_the_ports_that_the_model_had(model: Path) -> None:
    first, second = compile(model, {"n": (2, 8, 2)}), compile(model, {"n": (2, 8, 2)})
    assert (first.inputs, first.outputs) == (second.inputs, second.outputs)
    assert [one.name for one in second.inputs] == ["x", "unused"]


def test_a_second_process_imports_neither_the_importer_nor_onnx(model: Path) -> None:
    code = (
        "import sys, numpy as np; from photic.frontends.onnx import Session;"
        "print(Session(sys.argv[1]).run(None, {'x': np.ones((2, 3), np.float32),"
        "'unused': np.ones(1, np.int64)})[0][0, 0],"
        "{'onnx', 'photic.compiler', 'photic.frontends.onnx.importer'} & set(sys.modules) == set())"
    )
    command = [sys.executable, "-c", code, str(model)]
    said = [
        subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
        for _ in range(2)
    ]
    assert [one.stdout for one in said] == ["3.0 False\n", "3.0 True\n"]


OTHER: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "a size": (({"n": 1},), {}),
    "a range": (({"n": (1, 4)},), {}),
    "a constant": ((None, {"unused": np.array([1])}), {}),
    "another constant": ((None, {"unused": np.array([2])}), {}),
    "a precision": ((), {"precision": "bf16"}),
    "topics": ((), {"without": ["folds"]}),
}


def test_other_sizes_constants_and_options_have_programs_of_their_own(
    model: Path, imports: list[str]
) -> None:
    for _ in range(2):
        assert answer(model) == [3]
        for given, options in OTHER.values():
            assert answer(model, *given, **options) == [3]
    assert len(imports) == 1 + len(OTHER)


def test_a_wrong_option_is_refused_where_a_program_is_kept(model: Path) -> None:
    answer(model)
    for options in ({"search": -1.0}, {"precision": "low"}, {"without": ["nothing"]}):
        with pytest.raises(BadArgument):
            answer(model, **options)


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "photic": lambda patch: patch.setattr(kept, "own_code", lambda: "edited"),
    "a package": lambda patch: patch.setattr(onnx_kept, "version", lambda name: "0"),
    "the processor": lambda patch: patch.setattr(
        "photic.targets.c.facts.processor_text", lambda: "another"
    ),
    "PHOTIC_CPU": lambda patch: patch.setenv("PHOTIC_CPU", "x86_64_v3"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_photic_package_or_machine_has_a_program_of_its_own(
    change: str, model: Path, imports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(model)
    CHANGES[change](monkeypatch)
    assert answer(model) == [3]
    assert len(imports) == 2


# --- files that change ----------------------------------------------------------------------


def rewrite(path: Path, content: bytes) -> None:
    """Other bytes of the same size and time of change."""
    found = path.stat()
    assert found.st_size == len(content)
    path.write_bytes(content)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_file_of_the_same_size_and_time_but_other_bytes_gets_its_own(model: Path) -> None:
    assert answer(model) == [3]
    rewrite(model, model_proto(scaled(5)).SerializeToString())
    assert answer(model) == [5]


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """The model, its factors in a file beside it."""
    path = tmp_path / "apart.onnx"
    proto = model_proto(scaled(3))
    onnx.save_model(proto, str(path), save_as_external_data=True, location="w", size_threshold=0)
    return path


def test_data_beside_the_file_that_change_give_another_program(
    apart: Path, imports: list[str]
) -> None:
    assert answer(apart) == answer(apart) == [3]
    assert len(imports) == 1
    rewrite(apart.parent / "w", np.full(3, 5, np.float32).tobytes())
    assert answer(apart) == [5]


def test_data_beside_the_file_that_are_gone_are_missed(apart: Path) -> None:
    answer(apart)
    (apart.parent / "w").unlink()
    with pytest.raises(OnnxData):
        answer(apart)


@pytest.mark.parametrize("name", ["apart.onnx", "w"])
def test_what_changes_while_it_is_compiled_is_not_kept(
    name: str, apart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(*given: Any, **options: Any) -> Any:
        os.utime(apart.parent / name)
        return import_graph(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr("photic.frontends.onnx.model.import_graph", changing)
        assert answer(apart) == [3]
    assert not list((files.cache_folder("programs")).glob("onnx.*"))


def test_a_session_refuses_a_file_that_changed_since_it_was_opened(model: Path) -> None:
    feeds = {"x": ROWS, "unused": np.ones(1, np.int64)}
    Session(model).run(None, feeds)
    session = Session(model)
    write(model, scaled(5))
    assert session.run(None, feeds)[0][0, 1] == 3
    with pytest.raises(FileUnreadable, match="changed"):
        session.run(None, {**feeds, "x": ROWS[:1]})


# --- damage, races, folders -----------------------------------------------------------------


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
@pytest.mark.parametrize("kind", ["programs", "digests"])
def test_damage_of_what_is_kept_only_costs_time(
    kind: str, damage: Callable[[Path], None], model: Path, cache: Path
) -> None:
    assert answer(model) == [3]
    for path in (cache / kind).rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            damage(path)
    assert answer(model) == answer(model) == [3]


def test_a_cache_that_cannot_be_written_is_read(
    model: Path, tmp_path: Path, imports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path / "small", "size=64m,mode=700") as folder:
        use_cache(folder, monkeypatch)
        assert answer(model) == [3]
        make_read_only(folder)
        use_cache(folder, monkeypatch)
        assert answer(model) == [3]
        assert imports == ["import"]


def test_of_several_processes_at_once_all_answer_and_one_program_stays(
    model: Path, cache: Path
) -> None:
    code = (
        "import sys, numpy as np; from photic.frontends.onnx import compile;"
        "print(compile(sys.argv[1]).program(x=np.ones((2, 3), np.float32))['y'][0, 0])"
    )
    command = [sys.executable, "-c", code, str(model)]
    environment = child_environment()
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    said = [one.communicate(timeout=HANG_SECONDS)[0] for one in started]
    assert said == ["3.0\n"] * PROCESSES
    assert len([one for one in (cache / "programs").glob("onnx.*") if one.is_dir()]) == 1


# --- sessions -------------------------------------------------------------------------------


@pytest.fixture
def chosen(tmp_path: Path) -> Path:
    """The numbers of x that are positive, twice: data decide how many."""
    nodes = [
        node("Add", ["x", "x"], ["twice"]),
        node("Greater", ["x", "zero"], ["mask"]),
        node("Compress", ["twice", "mask"], ["y"], axis=0),
    ]
    graph = graph_proto(nodes, [port("x", ["n"])], [port("y", None)], zero=np.float32(0))
    return write(tmp_path / "chosen.onnx", graph)


def run(path: Path, *numbers: float) -> list[float]:
    (found,) = Session(path).run(None, {"x": np.array(numbers, np.float32)})
    return [float(one) for one in found]


def test_segments_are_kept_by_the_numbers_that_led_to_them(
    chosen: Path, imports: list[str]
) -> None:
    assert run(chosen, 1, -1, 2) == [2, 4]
    count = len(imports)
    assert run(chosen, -1, 3, 4) == [6, 8]
    assert len(imports) == count
    assert run(chosen, 1, 2, 3) == [2, 4, 6]
    assert len(imports) > count


def test_a_session_of_ranges_and_one_of_shapes_have_programs_of_their_own(
    model: Path, imports: list[str]
) -> None:
    feeds = {"x": ROWS, "unused": np.ones(1, np.int64)}
    for _ in range(2):
        for dims in (None, {"n": (1, 4)}, {"n": (1, 8)}):
            assert Session(model, dims).run(None, feeds)[0][0, 1] == 3
    assert len(imports) == 3


def test_sessions_of_different_precision_have_programs_of_their_own(tmp_path: Path) -> None:
    ones = np.full((32, 32), 1 + 2**-9, np.float32)  # which bfloat16 has not
    graph = graph_proto(
        [node("MatMul", ["x", "w"], ["y"])], [port("x", [32, 32])], [port("y", None)], w=ones
    )
    path, feeds = write(tmp_path / "product.onnx", graph), {"x": np.eye(32, dtype=np.float32)}
    expected = {"exact": 1 + 2**-9, "bf16": 1}
    for _ in range(2):  # made, then kept
        for precision, one in expected.items():
            (found,) = Session(path, precision=precision).run(None, feeds)
            assert (found == one).all()
    model = read_model(path)
    (found,) = Session.of(model, precision="bf16").run(None, feeds)
    assert (found == 1).all()
    with pytest.raises(BadArgument, match="'exact' or 'bf16'"):
        Session(path, precision="fp8").run(None, feeds)
