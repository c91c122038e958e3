"""Products, lookups, norms and attention against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from evaluating import of, value

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch, PhoticError, ShapeMismatch
from photic.forms.eval import evaluate
from photic.ir.graph import Graph

# float32 sums of at most 64 products near 1
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((7, 1, 3, 4), (2, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((3, 0), (0, 2)),
    ((0, 4), (4, 2)),
    ((1, 1), (1, 1)),
]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_a_matrix_product_is_numpys(
    left: tuple[int, ...], right: tuple[int, ...], rng: np.random.Generator
) -> None:
    a, b = normal(rng, *left), normal(rng, *right)
    got = value(lambda x, y: x @ y, a, b)
    assert got.shape == (a @ b).shape
    np.testing.assert_allclose(got, a @ b, **CLOSE)


def test_integer_products_wrap_and_halves_are_summed_in_float32(rng: np.random.Generator) -> None:
    a = rng.integers(-128, 128, (5, 9)).astype(np.int8)
    np.testing.assert_array_equal(value(lambda x, y: x @ y, a, a.T.copy()), a @ a.T)
    h = rng.normal(size=(4, 512)).astype(np.float16)
    wide = h.astype(np.float32)
    got = value(lambda x: x @ x.T, h)
    np.testing.assert_allclose(got, (wide @ wide.T).astype(np.float16), rtol=2e-3, atol=2e-2)
    assert got.dtype == np.float16


# of each operand's own axis, wherever broadcasting puts it
OWN_AXES = [
    ((3,), (3, 3), 0),
    ((3, 3), (3,), 0),
    ((3,), (3, 5), 0),
    ((2, 3, 4), (3, 4), -2),
    ((4, 3, 2), (1, 3, 2), 1),
    ((3, 0), (3, 1), 0),
    ((2, 3), (3,), -1),
]


@pytest.mark.parametrize("name", ["cross", "vecdot"])
@pytest.mark.parametrize(("left", "right", "axis"), OWN_AXES, ids=str)
def test_an_axis_of_vectors_is_counted_in_each_operand(
    name: str, left: tuple[int, ...], right: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    a, b = normal(rng, *left), normal(rng, *right)
    got = value(lambda x, y: getattr(ph, name)(x, y, axis=axis), a, b)
    want = getattr(np, name)(a, b, axis=axis)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, **CLOSE)


@pytest.mark.parametrize(
    ("shapes", "axis", "code"),
    [
        (((2, 4), (4, 3)), -1, "P104"),
        (((2, 3), (2, 2)), -1, "P104"),
        (((3, 4), (4,)), 0, "P104"),
        (((3,), (3,)), 1, "P103"),
        (((2, 3), (4, 3)), -1, "P101"),
    ],
    ids=str,
)
def test_cross_says_which_axis_is_not_of_size_3(
    shapes: tuple[tuple[int, ...], ...], axis: int, code: str
) -> None:
    x, y = (ph.input(name, shape) for name, shape in zip("xy", shapes, strict=True))
    with pytest.raises(PhoticError, match=f"{code}] cross"):
        ph.cross(x, y, axis)


TENSORDOTS = [0, 1, ((-1,), (-3,)), ((0, -1), (1, -3)), (0, 1), ([0], [1]), ([], [])]


@pytest.mark.parametrize("axes", TENSORDOTS, ids=str)
def test_tensordot_sums_over_the_axes_that_are_named(
    axes: object, rng: np.random.Generator
) -> None:
    a, b = normal(rng, 3, 4, 3), normal(rng, 3, 3, 4)
    got = value(lambda x, y: ph.tensordot(x, y, axes), a, b)
    want = np.tensordot(a, b, axes)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, **CLOSE)


@pytest.mark.parametrize(
    ("axes", "code"),
    [
        (-1, "P104"),  # NumPy takes it for an outer product
        (4, "P104"),
        (1.5, "P104"),
        (2, "P101"),
        (((0, 0), (0, 1)), "P104"),
        (((0, 1), (1,)), "P104"),
        (((3,), (0,)), "P103"),
        (((0,), (1,), (2,)), "P104"),
    ],
    ids=str,
)
def test_tensordot_refuses_axes_that_it_cannot_pair(axes: object, code: str) -> None:
    x, y = ph.input("x", (3, 4, 3)), ph.input("y", (3, 3, 4))
    with pytest.raises(PhoticError, match=f"{code}] tensordot"):
        ph.tensordot(x, y, axes)


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("bij,bjk", (2, 3, 4), (2, 4, 5)),
    ("ba,cb", (3, 4), (5, 3)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iji->j", (3, 4, 3)),
    ("iii->i", (3, 3, 3)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...ij->...ji", (2, 3, 4)),
    ("i...->...", (4, 3, 2)),
    ("i,j,k->kij", (2,), (3,), (4,)),
    ("ij->", (3, 4)),
    ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 6)),
    ("bhqd,bhkd->bhqk", (1, 2, 3, 4), (1, 2, 5, 4)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("i,->i", (3,), ()),
    ("ij , jk -> ki", (3, 4), (4, 5)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_is_numpys(case: tuple[str, ...], rng: np.random.Generator) -> None:
    subscripts, *shapes = case
    arrays = [normal(rng, *shape) for shape in shapes]
    want = np.einsum(subscripts, *arrays)
    got = value(lambda *x: ph.einsum(subscripts, *x), *arrays)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, **CLOSE)


@pytest.mark.parametrize("bad", ["ij->ik", "i", "ij,jk->ik", "i1->i", "ij->ijj", "ij-k"])
def test_einsum_refuses_what_does_not_fit(bad: str) -> None:
    with pytest.raises(BadArgument, match="einsum"):
        ph.einsum(bad, ph.ones((3, 4)))


def test_other_products_are_numpys(rng: np.random.Generator) -> None:
    a, b = normal(rng, 2, 3, 4), normal(rng, 4, 5)
    u, v = normal(rng, 4), normal(rng, 4)
    np.testing.assert_allclose(value(ph.dot, a, b), np.dot(a, b), **CLOSE)
    np.testing.assert_allclose(value(ph.dot, u, v), np.dot(u, v), **CLOSE)
    np.testing.assert_allclose(value(ph.inner, a, u), np.inner(a, u), **CLOSE)
    np.testing.assert_allclose(value(ph.outer, u, b), np.outer(u, b), **CLOSE)
    got = value(lambda x, y: ph.tensordot(x, y, ((0, 2), (1, 0))), a, normal(rng, 4, 2))
    assert got.shape == (3,)
    c = normal(rng, 3, 4, 6)
    np.testing.assert_allclose(value(ph.tensordot, a, c), np.tensordot(a, c), **CLOSE)


def test_products_hold_for_symbolic_sizes(rng: np.random.Generator) -> None:
    n, k = ph.dim("n", 0, 9), ph.dim("k", 0, 9)
    x, y = ph.input("x", (n, k)), ph.input("y", (k, n))
    for rows, depth in ((0, 3), (3, 0), (2, 5)):
        a, b = normal(rng, rows, depth), normal(rng, depth, rows)
        given = {"x": a, "y": b}
        np.testing.assert_allclose(of(x @ y, given, n=rows, k=depth), a @ b, **CLOSE)
        got = of(ph.einsum("ij,ji->i", x, y), given, n=rows, k=depth)
        np.testing.assert_allclose(got, np.einsum("ij,ji->i", a, b), **CLOSE)
        got = of(ph.einsum("ii->i", x @ y), given, n=rows, k=depth)
        np.testing.assert_allclose(got, np.diagonal(a @ b), **CLOSE)


# --- brackets and lookups -------------------------------------------------------------------

INDICES = [
    np.s_[1],
    np.s_[-1, 2:],
    np.s_[...],
    np.s_[..., ::2],
    np.s_[:, ::-1, 1:-1],
    np.s_[:, 4:1:-2],
    np.s_[None, :, None, 2],
    np.s_[:, 10:],
    np.s_[:, -3:],
    np.s_[:, :, -100:3],
    np.s_[..., 6:2],
    np.s_[:, ::-3],
    np.s_[:, 10:-10:-1],
    np.s_[1, 2, 3],
    np.s_[..., None],
    np.s_[0, ..., 0],
    np.s_[:, np.int64(2)],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_brackets_are_numpys(index: object) -> None:
    x = np.arange(105.0).reshape(3, 5, 7)
    np.testing.assert_array_equal(value(lambda y: y[index], x), x[index])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8])
def test_a_lookup_by_a_tensor_is_numpys(dtype: type, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 5, 7))
    at = rng.integers(0, 3, (2, 4)).astype(dtype)
    np.testing.assert_array_equal(value(lambda y, i: y[i], x, at), x[at])
    np.testing.assert_array_equal(value(lambda y, i: y[:, i], x, at), x[:, at])
    np.testing.assert_array_equal(value(lambda y, i: y[:, i, 2:], x, at), x[:, at, 2:])
    np.testing.assert_array_equal(value(lambda y, i: y[..., i], x, at), x[..., at])
    np.testing.assert_array_equal(value(lambda y: y[[0, 2]], x), x[[0, 2]])
    for axis in (0, 1, -1, None):
        got = value(lambda y, i, k=axis: ph.take(y, i, k), x, at)
        np.testing.assert_array_equal(got, np.take(x, at, axis))
    assert value(lambda y, i: ph.take(y, i, 0), x, np.zeros((0,), dtype)).shape == (0, 5, 7)
    assert value(lambda y, i: ph.take(y, i, 0), x, dtype(1)).shape == (5, 7)


def test_lines_are_looked_up_along_an_axis(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 5, 7))
    for axis in (0, 1, -1):
        shape = list(x.shape)
        shape[axis] = 4
        at = rng.integers(-x.shape[axis], x.shape[axis], shape)
        got = value(lambda y, i, k=axis: ph.take_along_axis(y, i, k), x, at)
        np.testing.assert_array_equal(got, np.take_along_axis(x, at, axis))
    with pytest.raises(ShapeMismatch):
        ph.take_along_axis(ph.ones((2, 3)), ph.zeros(2, "int64"))


def test_lookups_want_integers() -> None:
    with pytest.raises(DtypeMismatch):
        ph.take(ph.ones(3), ph.ones(2), 0)


def test_one_hot_marks_places_inside_only() -> None:
    got = value(lambda i: ph.one_hot(i, 3), np.array([0, 2, 3, -1]))
    assert got.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_an_update_grows_a_state(rng: np.random.Generator) -> None:
    past, n = ph.dim("past", 0, 20), ph.dim("n", 0, 9)
    cache = ph.state("cache", (2, 16, 3))
    graph = Graph(
        (), ((cache.operand.node, ph.update(cache, ph.input("x", (2, n, 3)), past, 1).operand),)
    )
    kept = np.zeros((2, 16, 3), np.float32)
    want = kept.copy()
    at = 0
    for count in (4, 0, 1, 1, 6):
        x = normal(rng, 2, count, 3)
        sizes = {"past": at, "n": count}
        _, states = evaluate(graph, {"x": x}, {"cache": kept}, sizes, widen=False)
        kept = states["cache"]
        want[:, at : at + count] = x
        at += count
        np.testing.assert_array_equal(kept, want)


# --- norms, rotary position, attention ------------------------------------------------------


def test_norms_are_their_definitions(rng: np.random.Generator) -> None:
    x, w, b = normal(rng, 3, 5, 7), normal(rng, 7), normal(rng, 7)
    wide = x.astype(np.float64)
    root = np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(value(ph.rms_norm, x, w), wide / root * w, **CLOSE)
    distance = wide - wide.mean(-1, keepdims=True)
    scaled = distance / np.sqrt((distance**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(value(ph.layer_norm, x, w, b), scaled * w + b, **CLOSE)
    both = wide - wide.mean((1, 2), keepdims=True)
    want = both / np.sqrt((both**2).mean((1, 2), keepdims=True) + 1e-3)
    got = value(lambda y: ph.layer_norm(y, eps=1e-3, axis=(1, 2)), x)
    np.testing.assert_allclose(got, want, **CLOSE)


def test_a_norm_of_halves_is_rounded_once(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 64)).astype(np.float16)
    wide = value(ph.rms_norm, x.astype(np.float32))
    np.testing.assert_array_equal(value(ph.rms_norm, x), wide.astype(np.float16))


def test_rotary_positions_turn_pairs(rng: np.random.Generator) -> None:
    x = normal(rng, 2, 3, 8)
    angle = rng.uniform(0, 6, (3, 4))
    c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    turn = np.exp(1j * angle)
    halves = (x[..., :4] + 1j * x[..., 4:]) * turn
    got = value(ph.rope_halves, x, c, s)
    np.testing.assert_allclose(got, np.concatenate([halves.real, halves.imag], -1), **CLOSE)
    pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turn
    want = np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)
    np.testing.assert_allclose(value(ph.rope_pairs, x, c, s), want, **CLOSE)
    with pytest.raises(BadArgument, match="even"):
        ph.rope_halves(ph.ones((2, 5)), 1.0, 1.0)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """By definition in float64, key heads repeated; each row must see a key."""
    times = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x.astype(np.float64), times, -3) for x in (k, v))
    scores = np.einsum("...id,...jd->...ij", q.astype(np.float64), k) / np.sqrt(q.shape[-1])
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("...ij,...jd->...id", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.parametrize(("heads", "key_heads"), [(4, 4), (4, 2), (6, 2), (6, 1), (6, 3)])
def test_attention_is_its_definition_for_grouped_heads(
    heads: int, key_heads: int, rng: np.random.Generator
) -> None:
    q = normal(rng, 2, heads, 3, 8)
    k, v = normal(rng, 2, key_heads, 5, 8), normal(rng, 2, key_heads, 5, 8)
    every = np.ones((3, 5), bool)
    np.testing.assert_allclose(value(ph.attention, q, k, v), attend(q, k, v, every), **CLOSE)
    for shape in ((3, 5), (1, 5), (heads, 3, 5), (1, 3, 5), (2, 1, 3, 5), (2, heads, 3, 5)):
        mask = rng.random(shape) > 0.4
        mask[..., 0] = True
        got = value(lambda a, b, c, m: ph.attention(a, b, c, m), q, k, v, mask)
        np.testing.assert_allclose(got, attend(q, k, v, mask), **CLOSE)
        added = np.where(mask, 0, -np.inf).astype(np.float32)
        got = value(lambda a, b, c, m: ph.attention(a, b, c, m), q, k, v, added)
        np.testing.assert_allclose(got, attend(q, k, v, mask), **CLOSE)


def test_attention_refuses_heads_that_do_not_divide() -> None:
    q, k = ph.ones((4, 2, 8)), ph.ones((3, 2, 8))
    with pytest.raises(BadArgument, match="multiple"):
        ph.attention(q, k, k)


def test_causal_attention_in_chunks_equals_one_pass(rng: np.random.Generator) -> None:
    q, k, v = (normal(rng, 2, 10, 8) for _ in range(3))

    def causal(a: ph.Tensor, b: ph.Tensor, c: ph.Tensor) -> ph.Tensor:
        return ph.attention(a, b, c, causal=True)

    whole = value(causal, q, k, v)
    for start, end in ((0, 4), (4, 7), (7, 10), (9, 10)):
        part = value(causal, q[:, start:end], k[:, :end], v[:, :end])
        np.testing.assert_allclose(part, whole[:, start:end], rtol=1e-5, atol=1e-6)


@pytest.mark.peers
def test_attention_and_activations_equal_torch(rng: np.random.Generator) -> None:
    import torch
    import torch.nn.functional as F

    q, k, v = (normal(rng, 1, 2, 5, 8) for _ in range(3))
    want = F.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=True)
    got = value(lambda a, b, c: ph.attention(a, b, c, causal=True), q, k, v)
    np.testing.assert_allclose(got, want.numpy(), **CLOSE)
    x = np.linspace(-10, 10, 2001).astype(np.float32)
    pairs = [
        (ph.gelu, F.gelu),
        (lambda y: ph.gelu(y, "tanh"), lambda y: F.gelu(y, approximate="tanh")),
        (ph.silu, F.silu),
        (ph.softplus, lambda y: F.softplus(y, threshold=100)),
        (ph.relu, F.relu),
        (ph.sigmoid, torch.sigmoid),
        (ph.erf, torch.erf),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(
            value(ours, x), theirs(torch.tensor(x)).numpy(), rtol=2e-6, atol=1e-6
        )
