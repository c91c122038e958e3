"""How often each rule fired on random small values, what was judged, and what was wrong.

The same sampler as in the tests, with as many firings as asked for (`--firings`, `--misses`).
"""

from __future__ import annotations

import time

import common
from rules.sampler import FIRINGS, NEAR_MISSES, sample_known

from photic.search.rules import TOPICS


def main() -> None:
    parser = common.parser(__doc__.splitlines()[0])
    parser.add_argument("--firings", type=int, default=FIRINGS)
    parser.add_argument("--misses", type=int, default=NEAR_MISSES)
    options = parser.parse_args()
    figures: list[common.Figure] = []
    for topic, rules in TOPICS.items():
        for rule in rules:
            start = time.perf_counter()
            found = sample_known(rule, options.firings, options.misses)
            figures.append(
                {
                    "name": rule.name,
                    "topic": topic,
                    "kind": rule.kind,
                    "firings": found.firings,
                    "classes judged": found.judged,
                    "wrong": len(found.wrong),
                    "near misses": found.misses,
                    "fired on them": found.fired_on_misses,
                    "seconds": round(time.perf_counter() - start, 1),
                }
            )
    common.report(figures, options.json)


if __name__ == "__main__":
    main()
