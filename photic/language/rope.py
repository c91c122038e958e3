"""How fast each pair of a head turns with a token's place, by what the file says of it.

Angles are ``place * rates[pair]``; cos and sin are multiplied by ``gain``. Scaling is of the kinds
``none``, ``linear`` and ``yarn``; any other kind is refused by name.
Factors in a tensor of the file (``rope_freqs.weight``) are the architecture's to apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from photic.frontends.gguf.metadata import shown
from photic.frontends.model_file import ModelFile
from photic.tensor.rope_scalings import (
    DEFAULT_BASE,
    RopeFixed,
    RopeLinear,
    RopePlain,
    RopeYarn,
    fixed_rates,
)

Rates = tuple[tuple[float, ...], float]
"""Of each pair, and the gain."""

DEFAULT_KIND = "linear"  # where a file names a factor and no kind
# YaRN (Peng et al. 2023, section 3.2): pairs that turn more often than the first number in the
# trained context keep their rate, pairs that turn less often than the second are slowed wholly.
YARN_FAST_TURNS = 32.0
YARN_SLOW_TURNS = 1.0

# What is read here, below ``ARCHITECTURE.rope.``.
KEYS = (
    "freq_base",
    "scale_linear",
    "scaling.type",
    "scaling.factor",
    "scaling.attn_factor",
    "scaling.original_context_length",
    "scaling.yarn_beta_fast",
    "scaling.yarn_beta_slow",
)


@dataclass(frozen=True, slots=True)
class Rope:
    """Radians by which each pair turns from one token to the next, and the gain of cos and sin.

    ``trained``: the tokens that the model was trained with; factors by length look at it.
    """

    rates: tuple[float, ...]
    gain: float
    trained: float


@dataclass(frozen=True, slots=True)
class _Source:
    """What the file says of the rotation of ``width`` values of a head.

    ``context``: the tokens that it may be used for.
    """

    file: ModelFile
    prefix: str
    width: int
    context: int

    def positive(self, key: str, default: float) -> float:
        """A finite number above 0; GgufCorrupt naming the key."""
        value = self.file.number(self.prefix + key, default)
        if not (math.isfinite(value) and value > 0):
            self.file.corrupt(self.prefix + key, value, "a finite number above 0")
        return value

    @property
    def base(self) -> float:
        return self.positive("freq_base", DEFAULT_BASE)

    @property
    def trained(self) -> float:
        return self.positive("scaling.original_context_length", self.context)

    @property
    def factor(self) -> float:
        """How much further than trained the places reach; files may say 0 for "not at all"."""
        new, old = "scaling.factor", "scale_linear"
        key = new if self.prefix + new in self.file.types else old
        if self.file.number(self.prefix + key, 1.0) == 0:
            return 1.0
        return self.positive(key, 1.0)


def read_rope(file: ModelFile, architecture: str, turned: int, context: int) -> Rope:
    """The rotation of heads of which ``turned`` values turn (an even number).

    Raises GgufUnsupported for another kind of scaling, GgufCorrupt for numbers without sense.
    """
    source = _Source(file, f"{architecture}.rope.", turned, context)
    key = source.prefix + "scaling.type"
    kind = file.text(key, DEFAULT_KIND)
    if kind not in _KINDS:
        file.unsupported(key, shown(kind), ", ".join(_KINDS))
    rates, gain = _fixed(_KINDS[kind](source))
    return Rope(rates, gain * source.positive("scaling.attn_factor", 1.0), source.trained)


def read_local_rope(
    file: ModelFile, architecture: str, turned: int, context: int, base: float
) -> Rope:
    """The rotation in layers with a window: of another base, and never scaled.

    A base of 0 means that those layers turn as the others do.
    """
    if base == 0:
        return read_rope(file, architecture, turned, context)
    source = _Source(file, f"{architecture}.rope.", turned, context)
    rates, gain = _fixed(RopePlain(source.width, source.positive("freq_base_swa", base)))
    return Rope(rates, gain, source.trained)


def _fixed(scaling: RopeFixed) -> Rates:
    rates, gain = fixed_rates(scaling)
    return tuple(rates.tolist()), gain


def _unscaled(source: _Source) -> RopeFixed:
    return RopePlain(source.width, source.base)


def _linear(source: _Source) -> RopeFixed:
    return RopeLinear(source.width, source.base, source.factor)


def _yarn(source: _Source) -> RopeFixed:
    """With a base of 1 all pairs turn alike, and none is faster than others."""
    if source.base == 1:
        source.file.corrupt(source.prefix + "freq_base", 1, "another number than 1 for yarn")
    return RopeYarn(
        source.width,
        source.base,
        source.factor,
        source.trained,
        source.positive("scaling.yarn_beta_fast", YARN_FAST_TURNS),
        source.positive("scaling.yarn_beta_slow", YARN_SLOW_TURNS),
    )


_KINDS: dict[str, Callable[[_Source], RopeFixed]] = {
    "none": _unscaled,
    "linear": _linear,
    "yarn": _yarn,
}
