"""Faults of other compilers that must not be ours: each has its number, and a test that bears it.

The tests stand where what they test stands; the number in a test's name (``test_num_01_...``) says
which fault it is about. Here is only the list, so that none is lost.
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CASES = {
    "num_01": "a scale before softmax makes finite rows nan",
    "num_03": "a maximum drops nan, or is -inf over many -0.0",
    "num_04": "floor division is the floor of a rounded quotient",
    "num_05": "small integers are kept wide before a cast or a comparison",
    "num_06": "unused lanes of a vector divide by zero",
    "num_07": "division truncates in one place and floors in another",
    "num_11": "a tiled reduction stores past its row",
    "rew_02": "times zero hides nan and infinity",
    "rew_03": "a narrowing cast is folded away",
    "rew_05": "padding moves before a function that does not keep 0",
    "rew_06": "a pattern for convolution forgets dilation and padding",
    "spa_03": "windows at the edge: divisors, shapes, windows of padding alone",
    "spa_04": "nearest places at ties and before the first",
    "spa_05": "reflections wider than the axis, pads of both signs",
    "idx_03": "a scatter that adds overwrites; gradients of lookups differ from run to run",
    "idx_04": "a later one of equal maxima; the order of nan",
    "siz_01": "reductions over an axis of size 0",
    "att_01": "a causal mask aligned to the first key",
    "att_02": "a row with every key masked spreads nan",
    "att_03": "scalings of rope that are read and not applied",
    "att_04": "the order of heads in converted weights",
    "dyn_02": "the bound of a size is used for its value",
    "dyn_03": "two results of one program share memory",
    "ali_03": "a slice reads what was written after it",
    "ali_04": "inputs of a later call overlap",
    "cra_01": "integer division traps",
    "cra_02": "places past 2**31",
    "cra_04": "nan in the compiler's own arithmetic",
    "tim_01": "rules that grow a graph without bound",
    "tim_03": "a scatter rewritten for ever",
    "aut_01": "a branch that is not taken makes the gradient nan",
    "aut_02": "ties that a half cannot count",
}


def test_every_case_has_a_test_of_its_number() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py"))
    named = set(re.findall(r"^def test_([a-z]{3}_\d\d)_", text, re.MULTILINE))
    assert sorted(CASES.keys() - named) == []
