"""Every scaling of rotary position gives the rates and gains of transformers, which reads configs.

transformers computes in float32, this in float64: rates agree to a few roundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from evaluating import of

import photic as ph
from photic.base.errors import BadArgument

ROUNDINGS = 1e-6  # a power, a division and a mixture in float32
WIDTH, BASE, REACH = 64, 5e5, 131072
SHORT = tuple(np.linspace(1, 2, WIDTH // 2))
LONG = tuple(np.linspace(1, 60, WIDTH // 2))


@dataclass(frozen=True, slots=True)
class Known:
    """A scaling, its name and numbers in a config of transformers, and a length."""

    scaling: object
    kind: str
    config: dict[str, object] = field(default_factory=dict)
    length: int | None = None
    reach: int = REACH


YARN = {"factor": 32.0, "original_max_position_embeddings": 4096}
LONGROPE = {
    "short_factor": list(SHORT),
    "long_factor": list(LONG),
    "original_max_position_embeddings": 4096,
}
KNOWN = {
    "linear": Known(ph.RopeLinear(WIDTH, BASE, 4.0), "linear", {"factor": 4.0}),
    "llama3": Known(
        ph.RopeLlama3(WIDTH, BASE, 8.0, 1.0, 4.0, 8192),
        "llama3",
        {
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    "yarn": Known(ph.RopeYarn(WIDTH, BASE, 32.0, 4096), "yarn", YARN),
    "yarn.mscale": Known(
        ph.RopeYarn(WIDTH, BASE, 32.0, 4096, 16.0, 2.0, mscale=1.0, mscale_all=0.8),
        "yarn",
        YARN | {"beta_fast": 16.0, "beta_slow": 2.0, "mscale": 1.0, "mscale_all_dim": 0.8},
    ),
    "yarn.gain": Known(
        ph.RopeYarn(WIDTH, BASE, 32.0, 4096, truncate=False, gain=1.5),
        "yarn",
        YARN | {"truncate": False, "attention_factor": 1.5},
    ),
    **{
        f"dynamic.{length}": Known(
            ph.RopeDynamic(WIDTH, BASE, 2.0, 8192), "dynamic", {"factor": 2.0}, length, 8192
        )
        for length in (5, 8192, 8193, 20000)
    },
    **{
        f"longrope.{length}": Known(
            ph.RopeLong(WIDTH, BASE, SHORT, LONG, 4096, 32.0), "longrope", LONGROPE, length
        )
        for length in (5, 4096, 4097)
    },
    "proportional": Known(
        ph.RopeProportional(WIDTH, BASE, 0.3, 2.0),
        "proportional",
        {"partial_rotary_factor": 0.3, "factor": 2.0},
    ),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", KNOWN)
def test_a_scaling_gives_the_rates_and_the_gain_of_transformers(name: str) -> None:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    known = KNOWN[name]
    config = LlamaConfig(
        hidden_size=4 * WIDTH,
        num_attention_heads=4,
        head_dim=WIDTH,
        max_position_embeddings=known.reach,
        rope_parameters={"rope_theta": BASE, "rope_type": known.kind, **known.config},
    )
    rates, gain = ROPE_INIT_FUNCTIONS[known.kind](config, None, seq_len=known.length)
    rope = ph.rope_rates(known.scaling, known.length)
    np.testing.assert_allclose(of(rope.rates), rates.numpy(), rtol=ROUNDINGS)
    found = rope.gain if isinstance(rope.gain, float) else float(of(rope.gain))
    assert found == pytest.approx(gain, rel=1e-12)


def test_a_long_context_of_phi_moe_has_gains_of_its_own() -> None:
    length = ph.dim("length", 1, 99)
    scaling = ph.RopeLong(4, 1e4, (1.0, 1.0), (2.0, 2.0), 16, 2.0, short_gain=1.25, long_gain=1.5)
    rope = ph.rope_rates(scaling, length)
    assert (float(of(rope.gain, length=16)), float(of(rope.gain, length=17))) == (1.25, 1.5)
    cos, _ = ph.rope_tables(np.array([0]), rope)
    assert of(cos, length=3).tolist() == [[1.25, 1.25]]


def test_the_gain_of_yarn_grows_with_the_logarithm_of_the_factor() -> None:
    assert ph.yarn_gain(1.0) == ph.yarn_gain(0.5) == 1.0
    assert ph.yarn_gain(math.e, 0.5) == pytest.approx(1.05)


REFUSED = {
    "odd width": ph.RopePlain(5),
    "no pair": ph.RopePlain(0),
    "too narrow to stretch": ph.RopeDynamic(2, 1e4, 2.0, 16),
    "no factor": ph.RopeLinear(4, 1e4, 0.0),
    "an infinite base": ph.RopePlain(4, math.inf),
    "one base for all": ph.RopeYarn(4, 1.0, 2.0, 16),
    "too few factors": ph.RopeLong(4, 1e4, (1.0,), (1.0, 2.0), 16, 2.0),
    "a factor of 0": ph.RopeLong(4, 1e4, (1.0, 1.0), (1.0, 0.0), 16, 2.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_without_sense_are_refused(name: str) -> None:
    with pytest.raises(BadArgument):
        ph.rope_rates(REFUSED[name], 3)


@pytest.mark.parametrize(
    "scaling",
    [ph.RopeDynamic(4, 1e4, 2.0, 16), ph.RopeLong(4, 1e4, (1.0, 1.0), (2.0, 2.0), 16, 2.0)],
)
def test_a_scaling_by_length_needs_the_length(scaling: object) -> None:
    with pytest.raises(BadArgument, match="length"):
        ph.rope_rates(scaling)
