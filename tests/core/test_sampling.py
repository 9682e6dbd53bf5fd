"""Temperature, top-k and top-p: against transformers, by their definitions, and at their ends."""

import pytest
import torch
from transformers.generation.logits_process import (
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from course_utils.sampling import (
    next_token_probabilities,
    with_temperature,
    with_top_k,
    with_top_p,
)

B, T, V = 3, 5, 17
TIED = torch.tensor([1.0, 3.0, 3.0, 0.0, 3.0])


def random_logits(*shape, dtype=torch.float32, seed=0):
    """Logits without ties: a normal sample, spread widely enough to be sharp in places."""
    return (3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))).to(dtype)


@pytest.mark.parametrize("temperature", [0.3, 1, 2.5])
@pytest.mark.parametrize("k", [1, 4, V])
@pytest.mark.parametrize("p", [0.2, 0.7, 0.95, 1])
def test_all_three_as_transformers(temperature, k, p):
    logits = random_logits(B, V)
    theirs = logits
    for warp in (
        TemperatureLogitsWarper(float(temperature)),
        TopKLogitsWarper(k),
        TopPLogitsWarper(p),
    ):
        theirs = warp(None, theirs)
    ours = next_token_probabilities(logits, temperature=temperature, k=k, p=p)
    # Theirs is float32 throughout, ours rounds once: two or three roundings apart.
    torch.testing.assert_close(ours, theirs.softmax(-1), rtol=1e-5, atol=1e-7)


def test_each_alone_as_together():
    logits = random_logits(B, T, V)
    joint = next_token_probabilities
    assert torch.equal(with_temperature(logits, 0.7), joint(logits, temperature=0.7))
    assert torch.equal(with_top_k(logits, 5), joint(logits, k=5))
    assert torch.equal(with_top_p(logits, 0.6), joint(logits, p=0.6))
    torch.testing.assert_close(joint(logits), logits.softmax(-1))


# Temperature


def test_temperature_zero_and_tiny():
    assert with_temperature(TIED, 0).tolist() == [0, 1, 0, 0, 0]
    third = pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert with_temperature(TIED, 1e-3).tolist() == third
    assert with_temperature(TIED, 5e-324).tolist() == third  # the smallest number above 0


def test_greedy_ignores_k_and_p():
    logits = random_logits(B, V)
    greedy = with_temperature(logits, 0)
    assert torch.equal(greedy.argmax(-1), logits.argmax(-1))
    assert torch.equal(next_token_probabilities(logits, temperature=0, k=3, p=0.1), greedy)


def test_huge_logits_do_not_overflow():
    huge = torch.tensor([3e38, -3e38, 0.0])
    for temperature in (1e-30, 1, 1e30):
        assert with_temperature(huge, temperature).isfinite().all()


# Top-k


def test_top_k_of_equal_logits():
    assert with_top_k(TIED, 1).tolist() == [0, 1, 0, 0, 0]
    assert with_top_k(TIED, 2).tolist() == [0, 0.5, 0.5, 0, 0]


# Top-p


def test_small_p_and_ties():
    assert with_top_p(TIED, 1e-9).tolist() == [0, 1, 0, 0, 0]
    assert with_top_p(TIED, 0.5).tolist() == [0, 0.5, 0.5, 0, 0]


def test_p_of_one_keeps_all():
    logits = torch.tensor([0.0, -40.0, -80.0])
    assert with_top_p(logits, 1).count_nonzero() == 3


@pytest.mark.parametrize("count", [3, 7, 10, 16, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_at_p(count, dtype):
    # Nine tenths of ten equal shares are nine; 9 * 0.1 in float64 is 0.8999999999999999.
    flat = torch.zeros(count, dtype=dtype)
    for part in range(1, count):
        assert with_top_p(flat, part / count).count_nonzero() == part


# All of them


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype_shape_and_sums(dtype):
    logits = random_logits(B, T, V, dtype=dtype)
    before = logits.clone()
    given = next_token_probabilities(logits, temperature=0.8, k=7, p=0.9)
    assert given.dtype == dtype and given.shape == (B, T, V)
    # Rounded once: each of at most 7 numbers is off by half a unit in its last place.
    assert ((given.double().sum(-1) - 1).abs() <= 4 * torch.finfo(dtype).eps).all()
    assert torch.equal(logits, before), "the logits stay as they were"


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize(
    "draw", [{"temperature": 0}, {}, {"k": 2}, {"p": 0.6}, {"temperature": 0, "k": 3, "p": 0.2}]
)
def test_scores_that_name_no_token(bad, draw):
    """One row of several; for -inf, a row of nothing else."""
    logits = random_logits(B, V)
    logits[1, 5:] = -torch.inf
    assert next_token_probabilities(logits, **draw)[1, 5:].sum() == 0
    logits[1] = logits[1].masked_fill(torch.arange(V) != 2, -torch.inf)
    logits[1, 2] = bad
    with pytest.raises(ValueError, match=f"finite maximum.*got {bad}"):
        next_token_probabilities(logits, **draw)
    for alone in (with_temperature, with_top_k, with_top_p):
        with pytest.raises(ValueError, match="finite maximum"):
            alone(logits, 1)
