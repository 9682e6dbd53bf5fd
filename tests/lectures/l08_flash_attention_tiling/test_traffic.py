"""Costs of attention against FLOPs that torch counts, passes over tensors, tiles cut by hand."""

import dataclasses

import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels.tiled import forward_tiles
from course_utils.masks import causal_mask
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    Cost,
    naive_backward,
    naive_forward,
    tiled_backward,
    tiled_forward,
)
from tests.support_flops import counted_flops

# Distinct primes; more keys than queries, fewer, and blocks that divide nothing.
LENGTHS = [(7, 11), (11, 7), (13, 13), (2, 17), (17, 2), (1, 1)]
BLOCKS = [(3, 2), (2, 5), (1, 1), (19, 23)]
D = 5


def tensors(T, S, dtype=torch.float32):
    return torch.randn(T, D).to(dtype), torch.randn(S, D).to(dtype), torch.randn(S, D).to(dtype)


class Meter:
    """Runs passes and adds up the bytes of the tensors that go into and come out of each."""

    def __init__(self):
        self.read = self.written = 0

    def run(self, function, *inputs):
        result = function(*inputs)
        self.read += sum(each.nbytes for each in inputs)
        self.written += result.nbytes
        return result


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_naive_bytes_by_passes(T, S, dtype):
    q, k, v = tensors(T, S, dtype)
    meter = Meter()
    scores = meter.run(lambda q, k: q @ k.mT, q, k)
    weights = meter.run(lambda scores: scores.softmax(-1), scores)
    out = meter.run(lambda weights, v: weights @ v, weights, v)
    cost = naive_forward(T, S, D, element_size=dtype.itemsize)
    assert (cost.bytes_read, cost.bytes_written) == (meter.read, meter.written)

    meter, dout = Meter(), torch.randn_like(out)
    meter.run(lambda weights, dout: weights.mT @ dout, weights, dout)
    dweights = meter.run(lambda dout, v: dout @ v.mT, dout, v)
    dscores = meter.run(lambda w, dw: w * (dw - (w * dw).sum(-1, keepdim=True)), weights, dweights)
    meter.run(lambda dscores, k: dscores @ k, dscores, k)
    meter.run(lambda dscores, q: dscores.mT @ q, dscores, q)
    cost = naive_backward(T, S, D, element_size=dtype.itemsize)
    assert (cost.bytes_read, cost.bytes_written) == (meter.read, meter.written)


@pytest.mark.parametrize(("T", "S"), LENGTHS)
def test_naive_products_as_torch_counts(T, S):
    q, k, v = (each.requires_grad_() for each in tensors(T, S))
    assert naive_forward(T, S, D).matmul_flops == counted_flops(lambda: attend(q, k, v))
    out, _ = attend(q, k, v)
    assert naive_backward(T, S, D).matmul_flops == counted_flops(lambda: out.sum().backward())


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize("causal", [False, True])
def test_tiled_costs_of_the_real_loop(T, S, causal):
    q, k, v = (each[None, None] for each in tensors(T, S))
    for block_m, block_n in BLOCKS:
        tiles, seen = {"causal": causal, "block_m": block_m, "block_n": block_n}, []
        out, lse = forward_tiles(q, k, v, scale=1.0, watch=seen.append, **tiles)
        cost = tiled_forward(T, S, D, element_size=4, **tiles)
        assert cost.matmul_flops == sum(4 * len(t.rows) * len(t.keys) * D for t in seen)
        readers = sum(len(rows) for rows in {tile.rows for tile in seen})
        loaded = readers * D * 4 + sum(2 * len(tile.keys) * D * 4 for tile in seen)
        assert (cost.bytes_read, cost.bytes_written) == (loaded, out.nbytes + lse.nbytes)


def visible(T, S, causal):
    return causal_mask(T, S) if causal else torch.ones(T, S, dtype=torch.bool)


def blocks_of(indices, size):
    return [indices[i : i + size] for i in range(0, len(indices), size)]


def live_tiles(T, S, block_m, block_n, causal):
    """Rows and keys of each tile that holds a score which counts, from the mask itself."""
    mask = visible(T, S, causal)
    readers = [t for t in range(T) if mask[t].any()]
    for rows in blocks_of(readers, block_m):
        keys = [s for s in range(S) if mask[rows, s].any()]
        yield from ((rows, part) for part in blocks_of(keys, block_n))


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize(("block_m", "block_n"), BLOCKS)
@pytest.mark.parametrize("causal", [False, True])
def test_tiled_costs_tile_by_tile(T, S, block_m, block_n, causal):
    read = products = other = special = 0
    blocks, seen = set(), set()
    for rows, keys in live_tiles(T, S, block_m, block_n, causal):
        read += 2 * 2 * len(keys) * D  # k and v, 2 bytes a number
        products += 2 * (2 * len(rows) * len(keys) * D)
        other += len(rows) * (4 * len(keys) + D + 4)
        special += len(rows) * (len(keys) + 1)  # alpha too
        blocks.add(tuple(rows))
        seen.update(keys)
    readers = sum(map(len, blocks))
    read += 2 * readers * D
    other += readers * (D + 1)
    special += readers  # log l
    tiles = {"block_m": block_m, "block_n": block_n, "causal": causal}
    expected = Cost(products, other, special, read, T * (2 * D + 4))
    assert tiled_forward(T, S, D, **tiles) == expected
    once = dataclasses.replace(expected, bytes_read=2 * D * (readers + 2 * len(seen)))
    assert tiled_forward(T, S, D, cached=True, **tiles) == once


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize(("block_m", "block_n"), BLOCKS)
@pytest.mark.parametrize("causal", [False, True])
def test_gradient_costs_tile_by_tile(T, S, block_m, block_n, causal):
    delta_read, delta_written = 2 * 2 * T * D, 4 * T
    # dq, by blocks of queries.
    read = written = products = 0
    blocks = set()
    for rows, keys in live_tiles(T, S, block_m, block_n, causal):
        read += 2 * 2 * len(keys) * D
        products += 3 * (2 * len(rows) * len(keys) * D)
        blocks.add(tuple(rows))
    readers = sum(map(len, blocks))
    read += readers * (2 * 2 * D + 8)
    written += readers * 2 * D
    # dk and dv, by blocks of keys: the queries in whole blocks that hold one which reads a key.
    mask = visible(T, S, causal)
    for keys in blocks_of(list(range(S)), block_n):
        rows = [t for block in blocks if mask[list(block)][:, keys].any() for t in block]
        read += 2 * 2 * len(keys) * D + len(rows) * (2 * 2 * D + 8)
        written += 2 * 2 * len(keys) * D
        products += 4 * (2 * len(rows) * len(keys) * D)
    cost = tiled_backward(T, S, D, block_m=block_m, block_n=block_n, causal=causal)
    assert cost.matmul_flops == products
    assert cost.bytes_read == delta_read + read
    assert cost.bytes_written == delta_written + written


def test_intensity_is_products_for_each_byte():
    assert Cost(80, 20, 5, bytes_read=30, bytes_written=10).intensity == 2
    assert Cost(80, 20, 5, bytes_read=0, bytes_written=0).intensity == 0


def test_tiles_compute_more_and_move_less():
    """The claim that it were faster because it computed less is wrong for the same scores."""
    sizes, tiles = (1024, 1024, 64), {"block_m": 128, "block_n": 64}
    naive = naive_forward(*sizes) + naive_backward(*sizes)
    tiled = tiled_forward(*sizes, **tiles) + tiled_backward(*sizes, **tiles)
    assert tiled.matmul_flops * 12 == naive.matmul_flops * 18
    assert tiled.bytes < naive.bytes / 2
    kept = tiled_forward(*sizes, cached=True, **tiles).bytes
    assert kept < tiled_forward(*sizes, **tiles).bytes / 3 < naive_forward(*sizes).bytes / 9
    forward = tiled_forward(*sizes, **tiles).flops / naive_forward(*sizes).flops
    assert forward == pytest.approx(1, abs=0.01)  # the rescaling costs what one division saved


def test_small_tiles_of_keys_rescale_more():
    other = [
        tiled_forward(256, 256, 64, block_m=64, block_n=block_n).vector_flops
        for block_n in (16, 32, 64, 128)
    ]
    assert other == sorted(other, reverse=True)
    assert other[0] > naive_forward(256, 256, 64).vector_flops > other[-1]
