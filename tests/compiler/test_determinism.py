"""The same graph gives the same source in every process, or the kernel cache would miss."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent

CODE = """
import hashlib
from fuzz.agreement import MACHINES
from fuzz.compiled import compiled
from fuzz.graphs import random_graph
from photic.targets.registry import target_named

found, target = hashlib.sha256(), target_named("c")
for seed in (*range(60), 281):
    graph = random_graph(seed).graph
    state = compiled(graph, target, MACHINES[0], False, lambda state: None)
    found.update(state.text.encode())
print(found.hexdigest())
"""


def digest(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout


def test_sources_do_not_depend_on_the_order_of_sets() -> None:
    assert len({digest(seed) for seed in ("1", "2")}) == 1
