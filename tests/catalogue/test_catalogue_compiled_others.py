"""Every entry of the catalogue compiled for a half, an integer, bools; and with symbolic sizes."""

from __future__ import annotations

import pytest
from catalogue.mixing import with_special_values
from catalogue.running import (
    Job,
    compiled,
    floats_and_others,
    parameters,
    require_none,
    symbolic_jobs,
)

_, OTHERS = floats_and_others()


@pytest.mark.parametrize("part", parameters(OTHERS))
def test_programs_of_other_dtypes_give_what_the_oracle_says(part: list[Job]) -> None:
    require_none(compiled(part, symbolic=False, also=with_special_values))


@pytest.mark.parametrize("part", parameters(symbolic_jobs()))
def test_programs_with_symbolic_sizes_give_what_the_oracle_says(part: list[Job]) -> None:
    require_none(compiled(part, symbolic=True, also=with_special_values))
