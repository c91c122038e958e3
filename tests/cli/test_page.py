"""The page of ``photic explain --html``: every section, escaped text, no network, right numbers."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.fakes import fake_kernel, fake_program
from typer.testing import CliRunner

from photic.cli import explain
from photic.cli.main import app
from photic.cli.page import SECTIONS
from photic.cli.roofs import Roofs, at_most, limit, roofs_of
from photic.loops.target import Machine

EVIL = "<script>alert('x')</script>&\""
LOADS = frozenset({"src", "href", "srcset", "action", "data", "poster"})


class Reader(HTMLParser):
    """What is in a page: tags, attributes, sections and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.sections: list[str | None] = []
        self.cells: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.sections += [value for name, value in attrs if name == "data-section"]
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.cells:
            self.cells[-1] += data


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    made = fake_program(
        fake_kernel("k1", predicted_seconds=1e-6, source=EVIL, nest=EVIL),
        fake_kernel("k2", calls=3, seconds=1.25e-5, rules=("fold", EVIL)),
    )
    made.artifact = SimpleNamespace(
        target="c", sizes=(), buffer_bytes=4000, arena_bytes=3000, least_bytes=2000, scratch_bytes=0
    )
    monkeypatch.setattr(explain, "programs_of", lambda what: {EVIL: made})
    file = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["explain", "m", "--html", str(file)])
    assert result.exit_code == 0, result.output
    return file.read_text()


def test_every_section_is_there_once(written: str) -> None:
    assert Reader(written).sections == [name for name, _, _ in SECTIONS]


def test_text_of_the_program_is_never_markup(written: str) -> None:
    found = Reader(written)
    assert EVIL not in written and found.text.count(EVIL) >= 4
    assert found.tags.count("script") == 1


def test_the_page_loads_nothing(written: str) -> None:
    found = Reader(written)
    assert not LOADS & found.names and not {"link", "img", "iframe"} & set(found.tags)
    assert "://" not in written and "url(" not in written and "@import" not in written


def test_the_numbers_are_those_of_the_report(written: str) -> None:
    cells = Reader(written).cells
    assert cells[:5] == ["k2", "3", "75.0%", "12.5 us", "1 us"]
    assert cells[9:14] == ["k1", "1", "25.0%", "-", "1 us"]
    assert cells[5:8] == cells[14:17] == ["2.0 M", "3.5 kB", "arithmetic"]


def test_arithmetic_limits_above_the_ridge_and_memory_below() -> None:
    roofs = Roofs(flops=1e11, bytes=1e10)
    assert limit(fake_kernel("k", flops=1001, bytes=100), roofs) == "arithmetic"
    assert limit(fake_kernel("k", flops=1000, bytes=100), roofs) == "memory"
    assert limit(fake_kernel("k", flops=0, bytes=0), roofs) == "-"


def test_the_ridge_does_not_depend_on_the_number_of_cores() -> None:
    one, many = (roofs_of(Machine(32, 16, cores, 1 << 20)) for cores in (1, 8))
    assert one.ridge == pytest.approx(many.ridge)
    assert many.flops == 8 * one.flops


def test_where_no_speed_is_known_a_kernel_lies_on_the_roof() -> None:
    roofs = Roofs(flops=1e11, bytes=1e10)
    assert at_most(fake_kernel("k", flops=200, bytes=100), roofs) == (2.0, 2e10)
    assert at_most(fake_kernel("k", flops=9000, bytes=100), roofs) == (90.0, 1e11)
    assert at_most(fake_kernel("k", flops=0, bytes=100), roofs) is None
