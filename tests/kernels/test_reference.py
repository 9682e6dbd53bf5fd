"""attend_reference: what the user gets who asks for the formula itself."""

import pytest
import torch
from support_oracle import exact, may_read, row_by_row, solve
from support_problems import make_problem
from torch.nn.functional import scaled_dot_product_attention

from course_utils.kernels import flash_attend
from course_utils.kernels.reference import attend_reference

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def by_torch(q, k, v, *, causal, scale):
    """PyTorch's attention, with zeros for a row without a key, and lse from the scores."""
    mask = may_read(q.shape[2], k.shape[2], causal)
    # PyTorch gives NaN or 0 to a row without a key, by version: give it one, then take it out.
    reads = mask.any(dim=-1, keepdim=True)
    out = scaled_dot_product_attention(
        q, k, v, attn_mask=mask | ~reads, scale=scale, enable_gqa=True
    )
    scores = scale * q @ k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT
    lse = scores.masked_fill(~mask, -1e30).logsumexp(dim=-1)
    return out * reads, lse.where(reads[:, 0], -torch.inf)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(5, 7), (7, 5), (13, 13), (1, 11), (11, 1), (5, 0), (0, 5)])
@pytest.mark.parametrize("scale", [None, -0.7, 0.0])
def test_it_is_the_formula(causal, lengths, scale):
    """By PyTorch, by the suite's two oracles: whole matrices, and row by row."""
    problem = make_problem(lengths, (2, 6, 3), 13, dtype=torch.float64, causal=causal, scale=scale)
    found = solve(attend_reference, problem)
    oracles = [exact(problem)]
    if all(lengths):
        oracles += [solve(row_by_row, problem), solve(by_torch, problem)]
    for oracle in oracles:
        for name, true in oracle.items():
            assert torch.allclose(getattr(found, name), true, **CLOSE), name


def test_causal_is_aligned_bottom_right():
    assert may_read(2, 4, causal=True).tolist() == [[True, True, True, False], [True] * 4]
    assert may_read(3, 2, causal=True).tolist() == [[False, False], [True, False], [True, True]]


def test_it_can_be_differentiated_twice():
    problem = make_problem((3, 5), (1, 2, 1), 2, dtype=torch.float64, causal=True)
    inputs = [x.requires_grad_() for x in (problem.q, problem.k, problem.v)]

    def attend(q, k, v):
        return flash_attend(q, k, v, causal=True, backend="reference", return_lse=True)

    assert torch.autograd.gradcheck(attend, inputs)
    assert torch.autograd.gradgradcheck(attend, inputs)
