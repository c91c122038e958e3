"""The metal target's worker, for ``photic.targets.process``: trials by Metal's own compiler."""

from __future__ import annotations

from functools import partial

from photic.targets.metal.device import loaded
from photic.targets.metal.errors import MetalFailed, MetalLacks, MetalRefused
from photic.targets.trials import Trials

Worker = partial(Trials, loaded, (MetalRefused, MetalFailed, MetalLacks))
