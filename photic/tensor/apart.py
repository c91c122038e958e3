"""What a call is given that lies on the program's device already, told apart from all else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from photic.forms.errors import InputUnreadable
from photic.tensor.ports import UNSHARED

if TYPE_CHECKING:
    from photic.targets.arrays import Lent, Place


def lent_inputs(place: Place, given: Mapping[str, object]) -> dict[str, Lent]:
    """The values on the device, by name. Raises InputUnreadable for one that cannot be used."""
    from photic.targets.arrays import lent  # of no use to programs of other targets

    found = {}
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            continue
        try:
            one = lent(place, value)
        except UNSHARED as error:
            kind = type(value).__name__
            raise InputUnreadable(name=name, given=kind, problem=error) from None
        if one is not None:
            found[name] = one
    return found
