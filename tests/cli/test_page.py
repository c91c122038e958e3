"""The page of ``photic explain --html``: every section, escaped text, no network, right numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.fakes import fake_kernel, fake_program
from typer.testing import CliRunner

from photic.cli import explain
from photic.cli.ceilings import measured_roofs
from photic.cli.main import app
from photic.cli.page import SECTIONS
from photic.cli.roofs import Level, Roofs, least_seconds, limit, reached, roofs_of, speed
from photic.loops.target import Machine
from photic.storage.making import GraphNode, Grown, Making, Placed, Tried

EVIL = "<script>alert('x')</script>&\""
ROOFS = Roofs(1e11, (Level("L1", 1000, 1e11), Level("memory", math.inf, 1e10)), True)
MADE = Making(
    (GraphNode("input", "float32[4]", EVIL, ()), GraphNode("exp2", EVIL, "", (0,))),
    ((EVIL, 1),),
    ("k1", EVIL),
    (Placed(EVIL, 0, 2000, 0, 1), Placed("t1", 2000, 1000, 1, 1)),
    (("k1", EVIL, "values 0"),),
    (
        Tried(EVIL, 0, 0.5, 2e-6, "as written", 2, "first", ""),
        Tried(EVIL, 1, 0.75, None, "values 0", 1, "failed", EVIL),
        Tried(EVIL, 2, 1.0, 1e-6, "values 0", 1, "won", ""),
        Tried(EVIL, 3, 1.0, 3e-6, "values 0", 1, "slower", EVIL),
    ),
    (Grown(EVIL, 1, 12, "steps", ((EVIL, 2),)), Grown(EVIL, 2, 15, "saturated", (("fold", 1),))),
    ((EVIL, 2), ("fold", 1)),
    3,
    2.5,
    "out of time",
)
LOADS = frozenset({"src", "srcset", "action", "data", "poster"})


class Reader(HTMLParser):
    """What is in a page: tags, attributes, sections and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.sections: list[str | None] = []
        self.cells: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
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
        target="c",
        sizes=(),
        buffer_bytes=4000,
        arena_bytes=3000,
        least_bytes=2000,
        scratch_bytes=0,
        making=MADE,
    )
    monkeypatch.setattr(explain, "programs_of", lambda what, precision: {EVIL: made})
    monkeypatch.setattr(explain, "roofs_here", lambda program: ROOFS)
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
    assert all(one.startswith("#") for one in found.links)
    assert "://" not in written and "url(" not in written and "@import" not in written


def test_the_numbers_are_those_of_the_report(written: str) -> None:
    cells = Reader(written).cells
    assert cells[:5] == ["k2", "3", "75.0%", "12.5 us", "1 us"]
    assert cells[10:15] == ["k1", "1", "25.0%", "-", "1 us"]
    assert cells[5:7] == cells[15:17] == ["0.002", "0.0035"]
    # 2e6 flops at 1e11 a second take 20 us; k2 was faster, since its figures are made up
    assert (cells[7:9], cells[17:19]) == (["160%", "arithmetic"], ["-", "arithmetic"])
    assert cells[19].startswith("values 0, rules not looked for in time")


def test_every_candidate_is_a_point_or_a_cross(written: str) -> None:
    plot = written.split('aria-label="Candidates over time"')[1].split("</svg>")[0]
    assert plot.count("<circle") == 3 and plot.count('<path class="wrong"') == 1
    assert plot.count('class="roof best"') == 1


def test_the_memory_plan_has_a_rectangle_a_buffer(written: str) -> None:
    plan = written.split('aria-label="Memory plan"')[1].split("</svg>")[0]
    assert plan.count("<rect") == len(MADE.placed)
    assert "t1: 1.0 kB at 2.0 kB" in plan and "from step 1" in plan


def test_growth_is_told_by_rule_and_step(written: str) -> None:
    cells = Reader(written.split('class="heat"')[1].split("</table>")[0]).cells
    assert [one.strip() for one in cells[:4]] == ["2", "", "", "1"] or cells[0].startswith("2")
    assert "operations after it" in written


def test_lines_of_sources_are_numbered_by_the_page_and_not_in_the_text(written: str) -> None:
    assert written.count('<pre class="code">') == 4
    assert "counter-increment" in written


def test_a_program_of_an_older_version_says_what_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = fake_program(fake_kernel("k1", timed=None))
    sizes = dict.fromkeys(("buffer_bytes", "arena_bytes", "least_bytes", "scratch_bytes"), 0)
    made.artifact = SimpleNamespace(target="c", sizes=(), making=None, **sizes)
    monkeypatch.setattr(explain, "programs_of", lambda what, precision: {"m": made})
    monkeypatch.setattr(explain, "roofs_here", lambda program: ROOFS)
    file = tmp_path / "page.html"
    assert CliRunner().invoke(app, ["explain", "m", "--html", str(file)]).exit_code == 0
    assert file.read_text().count("Not kept in files of this older version") == 3


# --- roofs ----------------------------------------------------------------------------------


def test_arithmetic_limits_above_the_ridge_and_a_level_of_memory_below() -> None:
    assert limit(fake_kernel("k", flops=1001, bytes=1000), ROOFS) == "arithmetic"
    assert limit(fake_kernel("k", flops=1000, bytes=1000), ROOFS) == "L1"
    assert limit(fake_kernel("k", flops=10_000, bytes=1001), ROOFS) == "memory"
    assert limit(fake_kernel("k", flops=0, bytes=0), ROOFS) == "-"
    assert least_seconds(1e11, 1e10, ROOFS) == (1.0, "memory")


def test_a_share_of_the_ceiling_needs_a_measured_time_and_a_measured_ceiling() -> None:
    timed = {"timed": (1e6, 1.0)}  # 10 us of arithmetic
    assert reached(fake_kernel("k", seconds=2e-5, **timed), ROOFS) == pytest.approx(0.5)
    assert reached(fake_kernel("k", seconds=None, **timed), ROOFS) is None
    assert reached(fake_kernel("k", seconds=2e-5, timed=None), ROOFS) is None
    assert (
        reached(fake_kernel("k", seconds=2e-5, **timed), replace(ROOFS, is_measured=False)) is None
    )


def test_the_cost_models_ridge_does_not_depend_on_the_number_of_cores() -> None:
    one, many = (roofs_of(Machine(32, 16, cores, 1 << 20)) for cores in (1, 8))
    assert one.flops / one.levels[0].rate == pytest.approx(many.flops / many.levels[0].rate)
    assert many.flops == 8 * one.flops and not one.is_measured


def test_a_speed_is_of_the_sizes_that_were_timed() -> None:
    assert speed(fake_kernel("k", seconds=2.0, timed=(8.0, 4.0))) == (2.0, 4.0)
    assert speed(fake_kernel("k", predicted_seconds=4.0, timed=(8.0, 4.0))) == (2.0, 2.0)
    assert speed(fake_kernel("k", timed=(0.0, 4.0))) is None
    assert speed(fake_kernel("k", timed=None)) is None


def test_the_measured_ceilings_are_those_of_a_working_machine() -> None:
    found = measured_roofs()
    assert found.is_measured and found.flops > 1e8  # a hundred million: slower is no processor
    assert all(one.rate > 1e8 for one in found.levels)
    assert [one.name for one in found.levels][-1] == "memory"
    assert found.level(math.inf).name == "memory" and found.level(1).name == found.levels[0].name
