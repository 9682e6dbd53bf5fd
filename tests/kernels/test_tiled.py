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


# Values at the edges of tiles


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
