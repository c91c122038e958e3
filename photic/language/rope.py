"""How fast each pair of a head turns with a token's place: the base, and scaling from the file.

Angles are ``place * rates[pair]``; cos and sin are multiplied by ``gain``. Scaling of the kinds
``none``, ``linear`` and ``yarn`` is done as llama.cpp does it; any other kind is refused by name.
Factors in a tensor of the file (``rope_freqs.weight``) are the architecture's to apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from photic.frontends.gguf.metadata import shown
from photic.frontends.model_file import ModelFile

DEFAULT_BASE = 10000.0
DEFAULT_KIND = "linear"  # where a file names a factor and no kind
# YaRN (Peng et al. 2023, section 3.2): pairs that turn more often than the first number in the
# trained context keep their rate, pairs that turn less often than the second are slowed wholly.
YARN_FAST_TURNS = 32.0
YARN_SLOW_TURNS = 1.0
YARN_LEAST_RAMP = 0.001
YARN_GAIN = 0.1  # section 3.4: cos and sin grow by 0.1 ln(factor)

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
    """What the file says of its rotation; ``context``: the tokens that it may be used for."""

    file: ModelFile
    prefix: str
    pairs: int
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


@dataclass(frozen=True, slots=True)
class _Scaled:
    """What one kind of scaling comes to."""

    rates: tuple[float, ...]
    gain: float


def read_rope(file: ModelFile, architecture: str, turned: int, context: int) -> Rope:
    """The rotation of heads of which ``turned`` values turn (an even number).

    Raises GgufUnsupported for another kind of scaling, GgufCorrupt for numbers without sense.
    """
    source = _Source(file, f"{architecture}.rope.", turned // 2, context)
    key = source.prefix + "scaling.type"
    kind = file.text(key, DEFAULT_KIND)
    if kind not in _KINDS:
        file.unsupported(key, shown(kind), ", ".join(_KINDS))
    found = _KINDS[kind](source)
    gain = found.gain * source.positive("scaling.attn_factor", 1.0)
    return Rope(found.rates, gain, source.trained)


def read_local_rope(
    file: ModelFile, architecture: str, turned: int, context: int, base: float
) -> Rope:
    """The rotation in layers with a window: of another base, and never scaled.

    A base of 0 means that those layers turn as the others do.
    """
    if base == 0:
        return read_rope(file, architecture, turned, context)
    source = _Source(file, f"{architecture}.rope.", turned // 2, context)
    rates = _rates(source.positive("freq_base_swa", base), source.pairs)
    return Rope(rates, 1.0, source.trained)


def _rates(base: float, pairs: int) -> tuple[float, ...]:
    return tuple(base ** (-pair / pairs) for pair in range(pairs))


def _unscaled(source: _Source) -> _Scaled:
    return _Scaled(_rates(source.base, source.pairs), 1.0)


def _linear(source: _Source) -> _Scaled:
    factor = source.factor
    return _Scaled(tuple(rate / factor for rate in _unscaled(source).rates), 1.0)


def _yarn(source: _Source) -> _Scaled:
    """Fast pairs keep their rate, slow ones are divided by the factor, between them a ramp."""
    factor = source.factor
    trained = source.trained
    fast = source.positive("scaling.yarn_beta_fast", YARN_FAST_TURNS)
    slow = source.positive("scaling.yarn_beta_slow", YARN_SLOW_TURNS)
    first = max(0, math.floor(_pair_turning(source, fast, trained)))
    last = min(2 * source.pairs - 1, math.ceil(_pair_turning(source, slow, trained)))
    rates = []
    for pair, rate in enumerate(_unscaled(source).rates):
        ramp = (pair - first) / max(YARN_LEAST_RAMP, last - first)
        slowed = min(1.0, max(0.0, ramp))
        rates.append(rate / factor * slowed + rate * (1 - slowed))
    return _Scaled(tuple(rates), 1 + YARN_GAIN * max(0.0, math.log(factor)))


def _pair_turning(source: _Source, turns: float, trained: float) -> float:
    """The pair, a real number, that turns so many times in ``trained`` tokens.

    base ** (-pair / pairs) * trained = 2 pi turns, solved for the pair.
    """
    base = source.base
    if base == 1:  # all pairs turn alike
        return 0.0
    return source.pairs * math.log(trained / (turns * 2 * math.pi)) / math.log(base)


_KINDS: dict[str, Callable[[_Source], _Scaled]] = {
    "none": _unscaled,
    "linear": _linear,
    "yarn": _yarn,
}
