"""``photic rules``: every rule by topic, one in full, and names near an unknown one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from photic.cli.main import app
from photic.cli.rules import KINDS
from photic.search.planning import PLANS
from photic.search.rules import TOPICS
from photic.storage.record import Record, record_key
from photic.storage.records import Records
from photic.tuning import tune

runner = CliRunner()


def shown(*arguments: str) -> list[str]:
    result = runner.invoke(app, ["rules", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_every_rule_is_listed_under_its_topic_with_kind_and_reason() -> None:
    lines = shown()
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
    for line, rule in zip(shown("algebra")[1:], rules, strict=True):
        assert line[kinds:reasons].strip() == rule.kind
        assert line[reasons:] == rule.why


@pytest.mark.parametrize("rule", ["fold", "factors out of a sum", "cut"])
def test_a_rule_is_shown_in_full(rule: str) -> None:
    lines = shown(*rule.split())
    assert lines == shown(rule)
    assert lines[0] == rule
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "topic",
        "kind",
        "why",
        "used",
        "guard",
        "text",
    ]
    assert f':name "{rule}"' in lines[-1]


def test_the_guard_and_the_text_are_those_of_the_record() -> None:
    (rule,) = (one for one in TOPICS["algebra"] if one.name == "positive factor out of a maximum")
    lines = shown(rule.name)
    assert lines[5] == f"  guard: {rule.when}"
    assert lines[6] == f"  text:  {' '.join(rule.text().split())}"


def test_a_winner_that_is_kept_under_two_keys_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records(None, lambda _: None)
    one = Record((("kernels", "values 1"),), 1e-6, (1e-6,), 8, "best so far", ("fold",))
    for key, record in zip("abc", (one, one, replace(one, rules=())), strict=True):
        records.add(record_key(key, "", ""), record)
    monkeypatch.setattr(tune, "open_records", lambda seconds: records)
    assert shown("fold")[4] == "  used:  by 1 of 2 remembered winners"
    assert shown("cut")[4] == "  used:  by 0 of 2 remembered winners"


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
