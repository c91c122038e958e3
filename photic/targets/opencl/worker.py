"""The opencl target's worker, for ``photic.targets.process``: trials by the driver's compiler."""

from __future__ import annotations

from functools import partial

from photic.targets.opencl.device import loaded
from photic.targets.opencl.errors import OpenclFailed, OpenclLacks
from photic.targets.trials import Trials

Worker = partial(Trials, loaded, (OpenclLacks, OpenclFailed))
