"""ATT-01 to ATT-04: causal masks with a cache, rows that see nothing, rope scaling, head order.

Attention alone is tested through ``ph.attention``, compiled; what a model's file decides is tested
with tiny llama files. Oracles: NumPy in float64, and transformers for whole models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from language.tiny_llama import (
    CONTEXT,
    Arrays,
    Changes,
    Float,
    Sizes,
    Turning,
    feed,
    program_of,
    random_tensors,
    reference,
    write,
)

import photic as ph

# Float32 against float64: sums of at most a few hundred terms near 1.
ATTENTION = 1e-5
LOGITS = 1e-4
IDS = [int(one) for one in np.random.default_rng(9).integers(0, Sizes().vocabulary, 10)]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compiled(call: Callable[..., ph.Tensor], **arrays: np.ndarray) -> np.ndarray:
    """``call`` of inputs that hold these arrays, compiled and run."""
    inputs = {name: ph.input(name, one.shape, one.dtype) for name, one in arrays.items()}
    return ph.compile({"y": call(**inputs)})(**arrays)["y"]


def attended(q: Float, k: Float, v: Float, seen: np.ndarray) -> Float:
    """Attention of one head by its definition; rows that see nothing come out nan."""
    scores = np.where(
        seen, q.astype(np.float64) @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf
    )
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


# --- ATT-01 ---------------------------------------------------------------------------------


def causal(query: ph.Tensor, key: ph.Tensor, value: ph.Tensor) -> ph.Tensor:
    return ph.attention(query, key, value, causal=True)


def test_att_01_one_step_sees_every_cached_key() -> None:
    q, k, v = random(1, 1, 1, 8), random(1, 1, 6, 8, seed=1), random(1, 1, 6, 8, seed=2)
    got = compiled(causal, query=q, key=k, value=v)
    assert np.allclose(got, attended(q, k, v, np.ones((1, 6), bool)), atol=ATTENTION)


def test_att_01_one_step_is_the_last_row_of_the_whole() -> None:
    q, k, v = (random(1, 1, 6, 8, seed=seed) for seed in range(3))
    whole = compiled(causal, query=q, key=k, value=v)
    step = compiled(causal, query=q[:, :, -1:], key=k, value=v)
    assert np.allclose(whole[:, :, -1:], step, atol=ATTENTION)
    assert np.allclose(whole, attended(q, k, v, np.tri(6, dtype=bool)), atol=ATTENTION)


def test_att_01_more_queries_than_keys_leave_the_first_rows_with_none() -> None:
    q, k, v = random(1, 1, 5, 8), random(1, 1, 2, 8, seed=1), random(1, 1, 2, 8, seed=2)
    got = compiled(causal, query=q, key=k, value=v)
    expected = attended(q, k, v, np.tri(5, 2, -3, dtype=bool))
    assert (got[0, 0, :3] == 0).all()
    assert np.allclose(got[0, 0, 3:], expected[0, 0, 3:], atol=ATTENTION)


@pytest.mark.parametrize("parts", [[4, 3, 3], [1] * 10, [9, 1], [1, 9]])
def test_att_01_a_prompt_in_chunks_is_the_prompt_in_one_pass(tiny: Path, parts: list[int]) -> None:
    program = program_of(tiny)
    whole = feed(program, IDS, [10])[-1]
    ends = np.cumsum(parts) - 1
    got = feed(program, IDS, parts)
    assert np.allclose(got[-1], whole, atol=ATTENTION)
    expected = reference(Sizes(), random_tensors(Sizes()), IDS).logits[ends]
    assert np.allclose(got, expected, atol=LOGITS)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("att") / "tiny.gguf"
    write(path, Sizes(), random_tensors(Sizes()))
    return path


# --- ATT-02: the written rule is docs/numbers.md's attention.no-key -------------------------


SEEN = np.zeros((8, 8), bool)
SEEN[:4, :4] = True
AS_FLOATS = np.where(SEEN, np.float32(0), np.float32(-np.inf))


def masked(query: ph.Tensor, key: ph.Tensor, value: ph.Tensor, mask: ph.Tensor) -> ph.Tensor:
    return ph.attention(query, key, value, mask=mask)


@pytest.mark.parametrize("mask", [SEEN, AS_FLOATS], ids=["bool", "floats"])
def test_att_02_rows_that_see_nothing_are_0_and_others_do_not_notice(mask: np.ndarray) -> None:
    q, k, v = (random(1, 1, 8, 8, seed=seed) for seed in range(3))
    got = compiled(masked, query=q, key=k, value=v, mask=mask)
    small = attended(q[..., :4, :], k[..., :4, :], v[..., :4, :], np.ones((4, 4), bool))
    assert np.allclose(got[..., :4, :], small, atol=ATTENTION)
    assert (got[..., 4:, :] == 0).all()


@pytest.mark.parametrize("mask", [SEEN, AS_FLOATS], ids=["bool", "floats"])
def test_att_02_dropped_rows_leave_no_nan_behind(mask: np.ndarray) -> None:
    def normed_sum(
        query: ph.Tensor, key: ph.Tensor, value: ph.Tensor, mask: ph.Tensor
    ) -> ph.Tensor:
        mixed = ph.layer_norm(masked(query, key, value, mask), ph.ones(8), ph.zeros(8))
        kept = ph.where(ph.arange(8)[:, None] < 4, mixed, 0.0)
        return ph.sum(kept, axis=(0, 1, 2))

    q, k, v = (random(1, 1, 8, 8, seed=seed) for seed in range(3))
    got = compiled(normed_sum, query=q, key=k, value=v, mask=mask)
    small = attended(q[..., :4, :], k[..., :4, :], v[..., :4, :], np.ones((4, 4), bool))[0, 0]
    centred = small - small.mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    assert np.allclose(got, normed.sum(axis=0), atol=ATTENTION)


# --- ATT-03 ---------------------------------------------------------------------------------


def llama_3_factors(head: int, base: float, trained: int) -> Float:
    """Llama 3.1's divisors of the rates, from Meta's reference code: factor 8, low 1, high 4."""
    waves = 2 * np.pi * base ** (np.arange(0, head, 2) / head)
    smooth = (trained / waves - 1) / (4 - 1)
    between = 1 / ((1 - smooth) / 8 + smooth)
    return np.where(waves < trained / 4, 1.0, np.where(waves > trained, 8.0, between))


def test_att_03_the_oracle_has_the_published_factors() -> None:
    factors = llama_3_factors(128, 5e5, 8192)[[0, 28, 29, 32, 34, 35, 63]]
    assert np.allclose(factors, [1, 1, 1.20748, 2.69453, 5.25733, 8, 8], atol=1e-5)


def test_att_03_factors_in_the_file_reach_the_logits(tmp_path: Path) -> None:
    sizes, tensors = Sizes(), random_tensors(Sizes())
    factors = llama_3_factors(sizes.head, sizes.base, 64)
    assert {1.0, 8.0} < set(factors)
    ids = (IDS * 6)[:60]
    path = tmp_path / "tiny.gguf"
    write(path, sizes, tensors, Changes(tensors={"rope_freqs.weight": factors.astype(np.float32)}))
    got = feed(program_of(path), ids, [16, 16, 16, 12])[-1]
    expected = reference(sizes, tensors, ids, Turning(factors)).logits[-1]
    assert np.allclose(got, expected, atol=LOGITS)
    removed = reference(sizes, tensors, ids).logits[-1]
    assert np.abs(removed - expected).max() > 100 * LOGITS


def test_att_03_a_short_prompt_has_the_same_logits_in_any_context(tiny: Path) -> None:
    short, long = (feed(program_of(tiny, size), IDS, [6, 4]) for size in (16, CONTEXT))
    assert np.array_equal(short, long)


def test_att_03_pairs_are_neighbours_or_halves_by_the_functions_name() -> None:
    q = np.arange(1, 9, dtype=np.float32)[None]
    angles = 3 * 10000.0 ** (-np.arange(4) / 4)
    cos, sin = (f(angles)[None].astype(np.float32) for f in (np.cos, np.sin))
    for rope, order in (
        (ph.rope_pairs, [0, 1, 2, 3, 4, 5, 6, 7]),
        (ph.rope_halves, [0, 4, 1, 5, 2, 6, 3, 7]),
    ):
        turned = (q[0, order[0::2]] + 1j * q[0, order[1::2]]) * np.exp(1j * angles)
        expected = np.empty(8)
        expected[order[0::2]], expected[order[1::2]] = turned.real, turned.imag
        assert np.allclose(compiled(rope, x=q, cos=cos, sin=sin)[0], expected, atol=ATTENTION)


# --- ATT-04 ---------------------------------------------------------------------------------


HEADS = [
    Sizes(heads=8, kv_heads=8),
    Sizes(heads=8, kv_heads=4),
    Sizes(heads=8, kv_heads=2),
    Sizes(heads=8, kv_heads=1),
    Sizes(heads=6, kv_heads=3, width=48),
]
every_pair = pytest.mark.parametrize("sizes", HEADS, ids=lambda one: f"{one.heads}-{one.kv_heads}")


@every_pair
def test_att_04_grouped_heads_give_the_reference_keys_and_logits(
    tmp_path: Path, sizes: Sizes
) -> None:
    path, tensors = tmp_path / "tiny.gguf", random_tensors(sizes)
    write(path, sizes, tensors)
    program = program_of(path)
    got = feed(program, IDS[:5], [5])[0]
    expected = reference(sizes, tensors, IDS[:5])
    cached = program.states["blk.0.keys"][:, :5]
    assert np.allclose(cached, expected.turned_keys, atol=ATTENTION)
    assert np.allclose(got, expected.logits[-1], atol=LOGITS)


NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def converted(sizes: Sizes, held: Mapping[str, np.ndarray]) -> Arrays:
    """The tensors of a transformers model under GGUF's names, rows of q and k as neighbours."""
    found: Arrays = {}
    for name, values in held.items():
        plain = name.removesuffix(".weight")
        layer, _, inner = plain.removeprefix("model.layers.").partition(".")
        new = f"blk.{layer}.{NAMES[inner]}" if inner in NAMES else NAMES[plain]
        count = {"attn_q": sizes.heads, "attn_k": sizes.kv_heads}.get(NAMES.get(inner, ""))
        if count is not None:  # each head: from (half, pair) to (pair, half)
            rows = values.reshape(count, 2, sizes.head // 2, -1).swapaxes(1, 2)
            values = rows.reshape(values.shape)
        found[f"{new}.weight"] = np.ascontiguousarray(values)
    return found


@pytest.mark.peers
@every_pair
def test_att_04_a_converted_model_gives_the_logits_of_transformers(
    tmp_path: Path, sizes: Sizes
) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=sizes.vocabulary,
            hidden_size=sizes.width,
            intermediate_size=sizes.hidden,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            num_key_value_heads=sizes.kv_heads,
            rms_norm_eps=sizes.epsilon,
            max_position_embeddings=CONTEXT,
            initializer_range=0.2,  # large enough that attention is not uniform
        )
    ).eval()
    held = {name: one.detach().numpy() for name, one in model.state_dict().items()}
    path = tmp_path / "tiny.gguf"
    write(path, sizes, converted(sizes, held))
    with torch.no_grad():
        expected = model(torch.tensor([IDS[:5]])).logits[0].numpy()
    program = program_of(path)
    assert np.allclose(feed(program, IDS[:5], [1] * 5), expected, atol=LOGITS)
