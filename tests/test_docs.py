"""The docs name what exists: every file on the map, every setting, every decision, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from photic.base.settings import SETTINGS
from photic.compiler.passes import PASSES

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
ENDINGS = ("py", "pyi", "c", "h", "egg", "toml")


def mapped() -> list[str]:
    """The paths in the first column of the map's tables, each below its heading's folder."""
    paths: list[str] = []
    folder = ""
    for line in (DOCS / "map.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#+ `(photic/.*)`", line):
            folder = heading[1]
        elif line.startswith("## "):
            folder = ""
        elif folder and (row := re.match(r"\| `([^`]+)` \|", line)):
            paths.append(folder + row[1])
    return paths


def test_the_map_names_every_file_of_the_package() -> None:
    files = [file for ending in ENDINGS for file in TOP.glob(f"photic/**/*.{ending}")]
    paths = {file.relative_to(TOP).as_posix() for file in files if file.name != "__init__.py"}
    unmapped = paths - set(mapped())
    assert not unmapped, f"docs/map.md lacks {sorted(unmapped)}"


def test_every_file_on_the_map_exists() -> None:
    gone = [path for path in mapped() if not (TOP / path).exists()]
    assert not gone, f"docs/map.md names {gone}"


def test_the_table_of_settings_is_the_one_in_the_code() -> None:
    text = (DOCS / "debug.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `PHOTIC_(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(documented) == sorted(setting.name for setting in SETTINGS)


def test_the_files_of_a_dump_are_those_of_the_passes() -> None:
    text = (DOCS / "debug.md").read_text(encoding="utf-8")
    named = sorted(re.findall(r"`(\d\d-\w+\.txt)`", text))
    assert named == [f"{number:02d}-{one.name}.txt" for number, one in enumerate(PASSES)]


def test_the_readme_lists_every_bench_script() -> None:
    text = (TOP / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(bench/\w+\.py)`", text))
    assert listed == {f"bench/{file.name}" for file in TOP.glob("bench/*.py")}


def test_every_link_in_the_docs_leads_somewhere() -> None:
    pages = [*TOP.glob("*.md"), *DOCS.glob("**/*.md")]
    gone = [
        f"{page.name}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert not gone


def test_every_path_that_the_docs_name_exists() -> None:
    named: set[str] = set()
    for page in [TOP / "README.md", *DOCS.glob("**/*.md")]:
        text = page.read_text(encoding="utf-8")
        named.update(re.findall(r"`((?:photic|docs|tests|bench)/[\w./-]+)`", text))
    gone = sorted(path for path in named if not (TOP / path).exists())
    assert not gone


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(page.name[:4]) for page in DOCS.glob("decisions/*.md"))
    assert numbers == list(range(1, len(numbers) + 1))
