"""The hip target's worker, for ``photic.targets.process``: trials by Clang and the driver."""

from __future__ import annotations

from functools import partial

from photic.targets.hip.device import loaded
from photic.targets.hip.errors import HipFailed, HipRefused
from photic.targets.trials import Trials

Worker = partial(Trials, loaded, (HipRefused, HipFailed))
