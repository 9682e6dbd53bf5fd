"""The tiles of the tiled backend: which there are, what they hold, what they give as gradients.

Its memory and its precision are in test_tiled_memory.py, what every backend must do in
test_suite_*.
"""

import itertools
import math

import pytest
import torch
from support_tiled import qkv
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.kernels import tiled_schedule
from course_utils.kernels.reference import attend_reference
from course_utils.kernels.tiled import attend_tiled, backward_tiles, forward_tiles
from course_utils.kernels.tiled_schedule import TileSchedule

# float64: sums of a few dozen terms, a few units in the sixteenth digit.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}
causal_or_not = pytest.mark.parametrize("causal", [False, True])


@pytest.fixture
def small_tiles(monkeypatch):
    """Blocks of 2 queries and 3 keys, and few heads in a tile, so that small sizes have many."""
    sizes = {"_ROWS": 2, "_KEYS": 3, "_FEWEST_ROWS": 2, "_MOST_KEYS": 3, "_TILE": 2 * 3 * 3}
    for name, value in sizes.items():
        monkeypatch.setattr(tiled_schedule, name, value)


def tiles_of(q, k, v, *, causal, scale=0.3, block_m=2, block_n=3):
    tiles = []
    results = forward_tiles(
        q,
        k,
        v,
        causal=causal,
        scale=scale,
        block_m=block_m,
        block_n=block_n,
        watch=tiles.append,
    )
    return tiles, results


# Gradients


@pytest.mark.parametrize(
    ("sizes", "causal"),
    [
        ({"T": 3, "S": 5, "H": 4}, False),
        ({"T": 3, "S": 5, "H": 4}, True),
        ({"T": 5, "S": 5, "H": 2}, True),
        ({"T": 3, "S": 7, "H": 3, "G": 1}, True),
        ({"T": 5, "S": 4, "H": 2}, False),
    ],
)
def test_gradcheck(small_tiles, sizes, causal):
    inputs = qkv(**sizes, B=1, D=2, grad=True)
    assert len(tiles_of(*inputs, causal=causal, block_m=None, block_n=None)[0]) >= 4
    attend = lambda *tensors: attend_tiled(*tensors, causal=causal, scale=0.3)  # noqa: E731
    assert torch.autograd.gradcheck(attend, inputs)


def test_gradients_with_queries_without_keys(small_tiles):
    inputs = qkv(T=5, S=3, B=1, H=2, D=2, grad=True)
    attend = lambda *tensors: attend_tiled(*tensors, causal=True, scale=0.3)  # noqa: E731
    # Their lse is -inf whatever the inputs, which finite differences cannot take.
    assert torch.autograd.gradcheck(lambda *x: (attend(*x)[0], attend(*x)[1][..., 2:]), inputs)
    out, lse = attend(*inputs)
    gradients = torch.autograd.grad(out.sum() + lse[..., 2:].sum(), inputs)
    assert (gradients[0][:, :, :2] == 0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)


@causal_or_not
def test_the_gradient_through_lse_is_needed(causal):
    """Leaving dlse out of delta gives another gradient, so the checks above would see it."""
    inputs = qkv(grad=True)
    out, lse = attend_tiled(*inputs, causal=causal, scale=0.3)
    right = torch.autograd.grad(lse.sum(), inputs)
    saved = [x.detach() for x in (*inputs, out, lse / math.log(2))]
    zero, one = torch.zeros_like(out), torch.ones_like(lse)
    same = backward_tiles(*saved, zero, one, causal=causal, scale=0.3)
    wrong = backward_tiles(*saved, zero, 0 * one, causal=causal, scale=0.3)
    assert all(torch.allclose(a, b, **CLOSE) for a, b in zip(right, same, strict=True))
    assert not torch.allclose(wrong[0], right[0], atol=1e-2)


def test_what_is_kept_for_backward():
    inputs, kept = qkv(grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        results = attend_tiled(*inputs, causal=True, scale=0.3)
    pointers = [x.untyped_storage().data_ptr() for x in (*inputs, results[0])]
    *same, lse_log2 = kept
    assert [x.untyped_storage().data_ptr() for x in same] == pointers
    assert torch.allclose(lse_log2 * math.log(2), results[1], **CLOSE)


# Tiles

PAIRS = [(5, 7), (7, 5), (6, 6), (1, 11), (11, 1), (3, 17)]


@pytest.mark.parametrize(("T", "S"), PAIRS)
def test_only_tiles_on_the_diagonal_are_masked(T, S):
    class Masked(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.count += function is torch.ops.aten.masked_fill_.Scalar
            return function(*args, **(kwargs or {}))

    q, k, v = qkv(T, S, B=1, H=2, G=1)
    with Masked() as masked:
        tiles, _ = tiles_of(q, k, v, causal=True)
    diagonal = [tile for tile in tiles if tile.keys[-1] > tile.rows[0] + S - T]
    assert masked.count == len(diagonal)


@pytest.mark.parametrize("numbers", [1, 18, 40, 90, 10**6])
def test_each_head_is_computed_once(monkeypatch, numbers):
    monkeypatch.setattr(tiled_schedule, "_TILE", numbers)
    q, k, v = qkv(2, 3, B=5, H=6, G=3)
    tiles, (out, _) = tiles_of(q, k, v, causal=False)
    heads = [pair for tile in tiles for pair in itertools.product(tile.batch, tile.heads)]
    assert sorted(heads) == list(itertools.product(range(5), range(6)))
    assert torch.allclose(out, attend_reference(q, k, v, causal=False, scale=0.3)[0], **CLOSE)


@causal_or_not
@pytest.mark.parametrize(("T", "S"), [(29, 37), (37, 29)])
def test_block_sizes_change_only_rounding(causal, T, S):
    q, k, v = qkv(T, S)
    options = {"causal": causal, "scale": 0.3}
    one = forward_tiles(q, k, v, **options)
    given = torch.randn_like(one[0]), torch.randn_like(one[1])
    gradients = backward_tiles(q, k, v, *one, *given, **options)
    for block_m, block_n in [(1, 1), (2, 3), (7, 5), (64, 4), (3, 64)]:
        blocks = {"block_m": block_m, "block_n": block_n}
        for other, expected in (
            (forward_tiles(q, k, v, **options, **blocks), one),
            (backward_tiles(q, k, v, *one, *given, **options, **blocks), gradients),
        ):
            for a, b in zip(other, expected, strict=True):
                assert torch.allclose(a, b, **CLOSE)


@pytest.mark.parametrize(
    ("sizes", "most_rows", "fewest_keys"),
    [
        ({"T": 1, "S": 8191, "H": 32, "G": 8, "D": 64}, 4, 4096),  # decoding
        ({"T": 4099, "S": 4099, "H": 31, "G": 1, "D": 64}, 2048, 512),  # one key/value head
        ({"T": 509, "S": 521, "H": 8, "G": 8, "D": 64}, 256, 512),
        ({"T": 3, "S": 2, "H": 8, "G": 8, "D": 128}, 3, 2),
    ],
)
def test_the_tiles_fit_the_sizes(sizes, most_rows, fewest_keys):
    q, k, _ = qkv(**sizes, B=3, dtype=torch.float32)
    schedule = TileSchedule(q, k, causal=True)
    rows = schedule.group * schedule.block_m
    assert rows <= most_rows
    assert schedule.block_n >= fewest_keys
    for heads, _ in schedule.blocks_of_queries():
        at_once = len(heads.batch) * len(heads.kv)
        assert at_once * max(rows, q.shape[-1]) * schedule.block_n <= tiled_schedule._TILE


@pytest.mark.parametrize("name", ["block_m", "block_n"])
@pytest.mark.parametrize(("wrong", "error"), [(0, ValueError), (-3, ValueError), (2.0, TypeError)])
def test_bad_block_sizes_are_refused(name, wrong, error):
    with pytest.raises(error, match=f"{name} must be"):
        forward_tiles(*qkv(), causal=True, scale=1.0, **{name: wrong})


# Values at the edges of tiles


def test_a_tile_of_minus_infinity():
    """Keys whose scores are -inf by data fill the first tiles, and later ones are finite."""
    q, k, v = qkv(B=1, H=1, G=1)
    q.abs_()
    k[:, :, :4] = -torch.inf
    out, lse = forward_tiles(q, k, v, causal=False, scale=1.0, block_m=2, block_n=2)
    expected = forward_tiles(q, k[:, :, 4:], v[:, :, 4:], causal=False, scale=1.0)
    assert torch.allclose(out, expected[0], **CLOSE)
    assert torch.allclose(lse, expected[1], **CLOSE)
    out, lse = forward_tiles(q, k[:, :, :4], v[:, :, :4], causal=False, scale=1.0, block_n=2)
    assert out.isnan().all()
    assert (lse == -torch.inf).all()


def test_no_weight_exceeds_one():
    """As where the processor's products depend on which operand comes first."""
    q, k, v = (1e9 * x.float() for x in qkv())
    options = {"causal": True, "scale": 1.0}
    out, lse_log2 = forward_tiles(q, k, v, **options)
    rounded_down = torch.nextafter(lse_log2, torch.full_like(lse_log2, -torch.inf))
    assert (lse_log2 - rounded_down).max() > 2**16
    given = torch.ones_like(out), torch.zeros_like(lse_log2)
    for gradient in backward_tiles(q, k, v, out, rounded_down, *given, **options):
        assert gradient.isfinite().all()


@causal_or_not
def test_nan_in_a_hidden_score(causal):
    q, k, v = qkv(4, 4, B=1, H=1, G=1)
    k[:, :, 2] = torch.nan
    out, lse = forward_tiles(q, k, v, causal=causal, scale=1.0, block_m=4, block_n=4)
    rows = [False, False, True, True] if causal else [True] * 4
    assert lse.isnan().flatten().tolist() == rows
    assert out.isnan().all(dim=-1).flatten().tolist() == rows
