"""What the backends do with unusual values: nothing to read, huge numbers, NaN and infinity."""

import pytest
import torch
from support_checks import (
    LENGTHS,
    WIDTH,
    check_deterministic,
    check_hidden_rows,
    check_large,
    check_nobody_reads,
    check_nothing_to_read,
    check_scores_of_minus_infinity,
    check_spoilt,
    sized,
)
from support_oracle import whole_matrix
from support_problems import DTYPES, make_problem

NAN, INF = float("nan"), float("inf")
causal_or_not = pytest.mark.parametrize("causal", [False, True])
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.mark.parametrize(
    ("lengths", "dtype"),
    [
        ((131, 7), torch.float32),
        ((131, 7), torch.bfloat16),
        ((303, 149), torch.float32),
        ((303, 149), torch.float16),
        ((257, 256), torch.bfloat16),
        ((3, 1), torch.float32),
        ((3, 1), torch.float16),
    ],
)
def test_queries_without_keys(attend, device, lengths, dtype):
    problem = sized(lengths, device, causal=True, dtype=dtype)
    check_hidden_rows(attend, problem)


@causal_or_not
@every_dtype
def test_without_keys_every_query_gets_zeros(attend, device, causal, dtype):
    problem = sized((13, 0), device, causal=causal, dtype=dtype)
    check_nothing_to_read(attend, problem)


@causal_or_not
@pytest.mark.parametrize(("lengths", "B"), [((0, 13), 2), ((0, 0), 2), ((5, 7), 0), ((0, 0), 0)])
def test_no_queries_or_no_batch(attend, device, causal, lengths, B):
    problem = make_problem(lengths, (B, 2, 1), WIDTH, device=device, causal=causal)
    check_nobody_reads(attend, problem)


LARGE = {torch.float32: 1e9, torch.bfloat16: 1e9, torch.float16: 3e2}


@causal_or_not
@every_dtype
def test_huge_scores_stay_finite(attend, backend, device, causal, dtype):
    if backend == "reference" and dtype == torch.float16:
        pytest.skip("the formula in float16 overflows; that is what it is there to show")
    problem = sized(LENGTHS[backend], device, causal=causal, dtype=dtype)
    problem.q.mul_(LARGE[dtype])
    problem.k.mul_(LARGE[dtype])
    check_large(attend, problem)


def spoil_q(problem, bad):
    problem.q[0, 1, -7, 5] = bad


def spoil_k(problem, bad):
    problem.k[0, 0, -11, 5] = bad


def spoil_first_k(problem, bad):
    problem.k[0, 0, 0, 5] = bad


def spoil_v(problem, bad):
    problem.v[0, 0, -11, 5] = bad


@causal_or_not
@pytest.mark.parametrize(
    ("spoil", "bad", "dtype"),
    [
        (spoil_q, NAN, torch.float32),
        (spoil_q, NAN, torch.float16),
        (spoil_q, NAN, torch.bfloat16),
        (spoil_q, INF, torch.float32),
        (spoil_k, NAN, torch.float32),
        (spoil_k, NAN, torch.float16),
        (spoil_k, NAN, torch.bfloat16),
        (spoil_k, INF, torch.float32),
        (spoil_k, -INF, torch.float16),
        (spoil_first_k, NAN, torch.bfloat16),
        (spoil_first_k, INF, torch.float32),
        (spoil_v, NAN, torch.float32),
        (spoil_v, INF, torch.bfloat16),
    ],
)
def test_nan_and_infinity_show_where_read(attend, backend, device, causal, spoil, bad, dtype):
    problem = sized(LENGTHS[backend], device, causal=causal, dtype=dtype)
    spoil(problem, bad)
    check_spoilt(attend, problem, alone=spoil is not spoil_v)


@causal_or_not
def test_nan_in_the_upstream_gradient(attend, backend, device, causal):
    problem = sized(LENGTHS[backend], device, causal=causal)
    problem.dout[0, 1, -7, 5] = NAN
    check_spoilt(attend, problem, alone=True)


@causal_or_not
@every_dtype
@pytest.mark.parametrize("short", [False, True])
def test_scores_of_minus_infinity(attend, backend, device, causal, dtype, short):
    problem = sized((67, 13) if short else LENGTHS[backend], device, causal=causal, dtype=dtype)
    check_scores_of_minus_infinity(attend, problem)


@causal_or_not
@every_dtype
def test_first_tile_of_minus_infinity(attend, backend, device, causal, dtype):
    """All keys but the last few give -inf by their data; the backend's first tile is filled."""
    problem = sized(LENGTHS[backend], device, causal=causal, dtype=dtype)
    problem.q.abs_()
    problem.k[:, :, :-7, 0] = -INF
    check_spoilt(attend, problem, alone=True)  # the formula itself has NaN in dq: 0 times -inf
    options = {"causal": causal, "scale": problem.scale}
    out, lse = attend(problem.q, problem.k, problem.v, **options)
    true_out, true_lse = whole_matrix(problem.q, problem.k, problem.v, **options)
    assert true_out[:, :, -1].isfinite().all()
    assert torch.equal(out.isfinite(), true_out.isfinite())
    assert torch.equal(lse == -torch.inf, true_lse == -torch.inf)


@pytest.mark.parametrize(
    ("causal", "dtype"),
    [(True, torch.float32), (False, torch.float16), (True, torch.bfloat16)],
)
def test_the_same_input_gives_the_same_bits(attend, device, causal, dtype):
    problem = sized((149, 211), device, causal=causal, dtype=dtype)
    check_deterministic(attend, problem)
