"""What the loop holds after every tile, against the same numbers computed from the keys so far."""

import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels.trace import trace_tiles
from course_utils.masks import causal_mask

LENGTHS = [(7, 11), (11, 7), (13, 13), (1, 5), (5, 1)]
BLOCKS = [(3, 2), (2, 5), (1, 1), (17, 19)]
# Each two of lengths, blocks, and causal or not.
CASES = [
    (*lengths, *blocks, (row + column) % 2 == 1)
    for row, lengths in enumerate(LENGTHS)
    for column, blocks in enumerate(BLOCKS)
]
D = 3
every_case = pytest.mark.parametrize(("T", "S", "block_m", "block_n", "causal"), CASES)


def tensors(T, S, dtype=torch.float64):
    q, k, v = torch.randn(T, D), torch.randn(S, D), torch.randn(S, D)
    return tuple((2 * x).to(dtype) for x in (q, k, v))


def mask_of(T, S, causal):
    return causal_mask(T, S) if causal else torch.ones(T, S, dtype=torch.bool)


def held_after(q, k, v, mask, keys, scale):
    """m, l and acc of each query over these keys, from the definition."""
    scores = (scale * q @ k[:keys].mT).masked_fill(~mask[:, :keys], -torch.inf)
    m = scores.amax(-1)
    weights = (scores - m[:, None]).exp().nan_to_num(0.0)  # of a query without a key: none
    return m, weights.sum(-1), weights @ v[:keys]


def check_invariant(frames, q, k, v, mask, scale):
    """Whether every frame holds what its queries have seen, and the others are left alone."""
    seen = torch.zeros(len(q), dtype=torch.long)
    before = torch.full((len(q),), -torch.inf, dtype=q.dtype)
    for frame in frames:
        rows = list(frame.rows)
        assert list(frame.keys) == list(range(int(seen[rows[0]]), frame.keys.stop)), "in order"
        seen[rows] = frame.keys.stop
        for keys in seen.unique().tolist():
            here = seen == keys
            held = (frame.m[here], frame.l[here], frame.acc[here])
            if keys == 0:
                assert bool((held[0] == -torch.inf).all() and (held[1] == 0).all())
                assert bool((held[2] == 0).all())
                continue
            wanted = held_after(q, k, v, mask, keys, scale)
            for name, is_there, should in zip(["m", "l", "acc"], held, wanted, strict=True):
                torch.testing.assert_close(is_there, should[here], msg=lambda t, n=name: n + t)
        alpha = torch.ones_like(before)
        alpha[rows] = (before[rows] - frame.m[rows]).exp()
        torch.testing.assert_close(frame.alpha, alpha)
        before = frame.m
    return seen


@every_case
def test_numbers_after_every_tile(T, S, block_m, block_n, causal):
    q, k, v = tensors(T, S)
    mask = mask_of(T, S, causal)
    for scale in (None, -1.3):
        frames = trace_tiles(q, k, v, causal=causal, scale=scale, block_m=block_m, block_n=block_n)
        used = D**-0.5 if scale is None else scale
        check_invariant(frames, q, k, v, mask, used)
        reads = mask.any(-1)
        out = attend(q, k, v, may_attend=mask, scale=used)[0]
        last = frames[-1]
        torch.testing.assert_close(last.acc[reads] / last.l[reads, None], out[reads])
        assert bool((last.l[~reads] == 0).all() and (last.acc[~reads] == 0).all())


@every_case
def test_visible_scores_are_visited_once(T, S, block_m, block_n, causal):
    mask = mask_of(T, S, causal)
    frames = trace_tiles(*tensors(T, S), causal=causal, block_m=block_m, block_n=block_n)
    visits = torch.zeros(T, S)
    for frame in frames:
        tile = (slice(frame.rows.start, frame.rows.stop), slice(frame.keys.start, frame.keys.stop))
        visits[tile] += 1
        assert mask[tile].any(), "a dead tile"
        assert len(frame.rows) <= block_m and len(frame.keys) <= block_n
    assert visits.max() == 1 and bool((visits[mask] == 1).all())
    blocks = len({frame.rows for frame in frames})
    assert len(frames) + frames[-1].skipped == blocks * -(-S // block_n)
    assert sum(frame.ends_block for frame in frames) == blocks and frames[-1].ends_block


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_bytes_are_those_of_the_tensors_cut_out(T, S, causal, dtype):
    q, k, v = tensors(T, S, dtype)
    statistic = 8 if dtype == torch.float64 else 4
    read, blocks = 0, set()
    for frame in trace_tiles(q, k, v, causal=causal, block_m=3, block_n=2):
        if frame.rows not in blocks:
            blocks.add(frame.rows)
            read += q[frame.rows.start : frame.rows.stop].nbytes
        for each in (k, v):
            read += each[frame.keys.start : frame.keys.stop].nbytes
        assert frame.bytes_read == read
        hidden = max(0, T - S) if causal else 0
        done = hidden + sum(map(len, blocks)) - (0 if frame.ends_block else len(frame.rows))
        assert frame.bytes_written == done * (D * q.element_size() + statistic)
        assert frame.bytes_moved == frame.bytes_read + frame.bytes_written
    assert frame.bytes_written == q.nbytes + T * statistic


Q, K, V = torch.zeros(5, 3), torch.zeros(7, 3), torch.zeros(7, 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("q", Q[0]),
        ("q", Q / 0),
        ("k", K[:, :2]),
        ("v", V[:5]),
        ("v", V.double()),
        ("scale", float("nan")),
        ("block_m", 0),
        ("block_n", 2.0),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    given = {"q": Q, "k": K, "v": V, "block_m": 2, "block_n": 2, name: value}
    with pytest.raises((TypeError, ValueError), match=f"^{name} "):
        trace_tiles(**given)
