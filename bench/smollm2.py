"""SmolLM2 as the bench scripts open it, in the precision that ``--precision`` names.

Imported by scripts after ``common``, which makes the tests' helpers importable.
"""

from __future__ import annotations

import argparse

import common
from model.sessions import SMOLLM2
from model.sessions import opened as opened_quietly

from photic.language.caches import DEFAULT_PRECISION, PRECISIONS
from photic.language.session import Session


def parser(description: str, precision: str = DEFAULT_PRECISION) -> argparse.ArgumentParser:
    """``common.parser`` with ``--precision``."""
    made = common.parser(description)
    made.add_argument("--precision", default=precision, choices=PRECISIONS)
    return made


def opened(arguments: argparse.Namespace) -> Session:
    """A session at the model's own context; the model is fetched on first use."""
    return opened_quietly(SMOLLM2, precision=arguments.precision)
