"""Every entry of the catalogue that takes float32, compiled: many cases in one program."""

from __future__ import annotations

import pytest
from catalogue.mixing import with_special_values
from catalogue.running import Job, compiled, floats_and_others, parameters, require_none

FLOATS, _ = floats_and_others()


@pytest.mark.parametrize("part", parameters(FLOATS))
def test_programs_of_float32_give_what_the_oracle_says(part: list[Job]) -> None:
    require_none(compiled(part, symbolic=False, also=with_special_values))
