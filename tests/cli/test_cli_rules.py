"""``photic rules``: every rule by topic, one in full, and names near an unknown one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rules import sampler
from typer.testing import CliRunner

from photic.cli.main import app
from photic.cli.rules import FIRINGS, KINDS, NEAR_MISSES
from photic.search.planning import PLANS
from photic.search.rules import TOPICS
from photic.storage.record import Record, record_key
from photic.storage.records import Records
from photic.storage.searches import Searched, remember_search
from photic.tuning import tune

runner = CliRunner()


def shown(*arguments: str) -> list[str]:
    result = runner.invoke(app, ["rules", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def blocks(*arguments: str) -> dict[str, dict[str, str]]:
    """What is told of each rule: its words by their names."""
    found: dict[str, dict[str, str]] = {}
    name = ""
    for line in shown(*arguments):
        if line and not line.startswith(" "):
            name = line
        elif line:
            key, _, words = line.partition(":")
            found.setdefault(name, {})[key.strip()] = words.strip()
    return found


def test_every_rule_is_told_with_law_guard_kind_samples_and_use() -> None:
    found = blocks()
    every = [rule for rules in (*TOPICS.values(), PLANS) for rule in rules]
    assert list(found) == [rule.name for rule in every]
    for rule in every:
        words = found[rule.name]
        assert list(words) == ["law", "guard", "kind", "why", "samples", "fired", "used"]
        assert words["guard"] == (" ".join(rule.when.split()) or "none")
        assert words["kind"].startswith(rule.kind) and words["why"] == rule.why


def test_a_law_is_what_the_record_says() -> None:
    (rule,) = (one for one in TOPICS["algebra"] if one.name == "sum of two addends")
    law = blocks("algebra")[rule.name]["law"]
    assert law == " ".join(f"{rule.left} = {rule.right}".split())
    (fact,) = (one for one in PLANS if one.name == "share")
    assert blocks("plans")["share"]["law"] == " ".join(f"{fact.left} => {fact.right}".split())


def test_the_samples_are_those_of_the_tests() -> None:
    assert (FIRINGS, NEAR_MISSES) == (sampler.FIRINGS, sampler.NEAR_MISSES)
    assert blocks("folds")["fold"]["samples"].startswith(f"{FIRINGS} programs")


def test_in_short_every_rule_has_a_line_under_its_topic() -> None:
    lines = shown("--short")
    for topic, rules in TOPICS.items():
        start = lines.index(f"{topic}: {len(rules)} rules") + 1
        for line, rule in zip(lines[start : start + len(rules)], rules, strict=True):
            assert line.split("  ")[1] == rule.name
            assert f"  {rule.kind} " in line and line.endswith(rule.why)
    assert len(lines) == len(TOPICS) + 1 + sum(map(len, TOPICS.values())) + len(PLANS)


def test_the_columns_of_a_topic_are_aligned() -> None:
    rules = TOPICS["algebra"]
    kinds = 2 + max(len(rule.name) for rule in rules) + 2
    reasons = kinds + max(len(rule.kind) for rule in rules) + 2
    for line, rule in zip(shown("algebra", "--short")[1:], rules, strict=True):
        assert line[kinds:reasons].strip() == rule.kind
        assert line[reasons:] == rule.why


@pytest.mark.parametrize("rule", ["fold", "factors out of a sum", "cut"])
def test_a_rule_is_shown_in_full(rule: str) -> None:
    lines = shown(*rule.split())
    assert lines == shown(rule)
    assert lines[0] == rule
    names = ["topic", "law", "guard", "kind", "why", "samples", "fired", "used", "text"]
    assert [line.split(":")[0].strip() for line in lines[1:]] == names
    assert f':name "{rule}"' in lines[-1]


def test_a_winner_that_is_kept_under_two_keys_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records(None, lambda _: None)
    one = Record((("kernels", "values 1"),), 1e-6, (1e-6,), 8, "best so far", ("fold",))
    for key, record in zip("abc", (one, one, replace(one, rules=())), strict=True):
        records.add(record_key(key, "", ""), record)
    monkeypatch.setattr(tune, "open_records", lambda seconds: records)
    assert blocks("fold")["fold"]["used"] == "by 1 of 2 remembered winners"
    assert blocks("cut")["cut"]["used"] == "by 0 of 2 remembered winners"


def test_firings_are_counted_over_the_last_searches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))
    assert blocks("fold")["fold"]["fired"] == "not known: no search is remembered"
    for count in (3, 4):
        remember_search(Searched(1.0, 2.0, 8, {"fold": count}))
    assert blocks("fold")["fold"]["fired"] == "7 times in the last 2 searches"
    assert blocks("cut")["cut"]["fired"] == "not counted"


def test_every_kind_is_explained() -> None:
    assert {rule.kind for rules in TOPICS.values() for rule in rules} < set(KINDS)


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("factor out of a sum", "'factors out of a sum'"),
        ("fodl", "'fold' or 'folds'"),
        ("maximum", "'positive factor out of a maximum'"),
        ("zzzzzz", "a name that `photic rules` lists"),
    ],
)
def test_an_unknown_name_lists_near_ones(given: str, near: str) -> None:
    result = runner.invoke(app, ["rules", given])
    assert result.exit_code == 1
    assert "[P104]" in result.stderr and repr(given) in result.stderr
    assert near in result.stderr
    assert not result.stdout
