"""What the dialects of GPUs share: C++ in which Clang's vectors are objects (``lanes.h``).

The functions of the prelude are those of the c target wherever their text is C++ too. The compiler
unrolls the objects' loops.
"""

from __future__ import annotations

import re
from pathlib import Path

from photic.codegen.words import Need
from photic.targets.c.numerics import prelude_with

LANES = Path(__file__).with_name("lanes.h").read_text(encoding="utf-8")

_VECTOR = re.compile(r"^typedef (.+) (\w+) __attribute__\(\(ext_vector_type\((\d+)\)\)\);$", re.M)


def prelude_of(packages: str, needs: frozenset[Need]) -> str:
    """The functions that a program calls, the sections of these packages first."""
    return _VECTOR.sub(r"typedef lanes<\1, \3> \2;", prelude_with(packages, needs))
