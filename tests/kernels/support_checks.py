"""What a backend must survive, as functions that take the backend: the tests call them with the
real ones, and with broken ones that they have to notice.
"""

import torch
from support_error import compare, ordinary_sizes
from support_oracle import (
    FORWARD,
    Attend,
    Problem,
    Results,
    exact,
    may_read,
    plain,
    row_by_row,
    solve,
    solved_once,
    whole_matrix,
)
from support_problems import make_problem
from torch import Tensor

from course_utils.kernels import flash_attend

# Several tiles of the backend on both axes, none of them full at the end, and grouped heads.
LENGTHS = {"tiled": (149, 211), "triton": (149, 211), "reference": (29, 43)}
HEADS, WIDTH = (1, 2, 1), 24


def through(backend: str) -> Attend:
    """A backend as the user reaches it, with the signature that all of them have inside."""

    def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float):
        return flash_attend(q, k, v, causal=causal, scale=scale, backend=backend, return_lse=True)

    return attend


def sized(lengths: tuple[int, int], device: torch.device, **more) -> Problem:
    return make_problem(lengths, HEADS, WIDTH, device=device, **more)


def check_deterministic(attend: Attend, problem: Problem) -> None:
    """The same input gives the same bits, forward and backward."""
    first, second = solve(attend, problem), solve(attend, problem)
    for (name, one), (_, other) in zip(first.items(), second.items(), strict=True):
        assert torch.equal(one, other), f"{name} differs from one run to the next"


def check_hidden_rows(attend: Attend, problem: Problem) -> None:
    """With T > S the first T - S queries read nothing: zeros, -inf, and no gradient."""
    hidden = problem.q.shape[2] - problem.k.shape[2]
    assert problem.causal and hidden > 0
    found = solve(attend, problem)
    assert (found.out[:, :, :hidden] == 0).all()
    assert (found.lse[:, :, :hidden] == -torch.inf).all()
    assert (found.dq[:, :, :hidden] == 0).all()
    assert found.lse[:, :, hidden:].isfinite().all()
    if problem.k.shape[2] > 1:  # to read one key alone gives no gradient to q either
        assert (found.dq[:, :, hidden + 1 :] != 0).any()
    assert all(gradient.isfinite().all() for gradient in (found.dq, found.dk, found.dv))
    # What flows back into rows that read nothing reaches no key and no value.
    problem.dout[:, :, :hidden] = 1e4
    problem.dlse[:, :, :hidden] = 1e4
    again = solve(attend, problem)
    assert torch.equal(again.dk, found.dk) and torch.equal(again.dv, found.dv)


def check_nothing_to_read(attend: Attend, problem: Problem) -> None:
    """S = 0: every query gets zeros, -inf, and no gradient."""
    assert problem.k.shape[2] == 0 and problem.q.numel() > 0
    found = solve(attend, problem)
    assert (found.out == 0).all() and (found.dq == 0).all()
    assert (found.lse == -torch.inf).all()
    assert found.dk.shape == problem.k.shape and found.dv.shape == problem.v.shape


def check_nobody_reads(attend: Attend, problem: Problem) -> None:
    """T = 0 or B = 0: empty results, and keys and values without a gradient."""
    assert problem.q.numel() == 0
    found = solve(attend, problem)
    assert found.out.shape == found.dq.shape == problem.q.shape
    assert found.lse.shape == problem.q.shape[:3]
    assert found.dk.shape == problem.k.shape and (found.dk == 0).all()
    assert found.dv.shape == problem.v.shape and (found.dv == 0).all()


def check_large(attend: Attend, problem: Problem) -> None:
    """Huge scores: all is finite, and where one key wins by far its value is the output."""
    found = solve(attend, problem)
    for name, numbers in found.items():
        assert numbers.isfinite().all(), f"{name} is not finite"
    exactly = problem.to(torch.float64)
    groups = problem.q.shape[1] // problem.k.shape[1]
    q, k, v = exactly.q, *(x.repeat_interleave(groups, dim=1) for x in (exactly.k, exactly.v))
    visible = may_read(q.shape[2], k.shape[2], problem.causal).to(q.device)
    best = (exactly.scale * q @ k.mT).where(visible, -torch.inf).topk(2, dim=-1)
    # A score may be wrong by a few roundings of its dtype; e**-100 is no weight in any.
    rounding = 4 * torch.finfo(problem.q.dtype).eps
    clear = best.values[..., 0] - best.values[..., 1] > rounding * best.values[..., 0].abs() + 100
    assert clear.sum() > 0.5 * clear.numel()
    winner = v.take_along_dim(best.indices[..., :1], dim=2)
    assert torch.equal(found.out.double()[clear], winner[clear])
    assert torch.allclose(found.lse.double(), best.values[..., 0], rtol=rounding, atol=10)
    check_weights_of_gradients(found, problem)


def check_weights_of_gradients(found: Results, problem: Problem) -> None:
    """A weight is at most 1: then no gradient of v exceeds the sum of what flows back."""
    shape = (*problem.dout.shape[:1], problem.k.shape[1], -1, problem.dout.shape[3])
    most = problem.dout.double().abs().reshape(shape).sum(dim=2, keepdim=True)
    assert (found.dv.double().abs() <= 1.01 * most).all(), "a weight in the backward pass exceeds 1"


def check_spoilt(attend: Attend, problem: Problem, *, alone: bool) -> None:
    """NaN and infinity show wherever they are read, and nowhere that the formula has a number.

    Args:
        attend: the backend.
        problem: with NaN or infinity somewhere.
        alone: whether no other row of out and lse may show it. The formula itself lets NaN in v
            through to rows that do not read it, since 0 × NaN is NaN, and gradients likewise.
    """
    found, naive, most = solve(attend, problem), plain(problem), exact(problem)
    least = solved_once(row_by_row, problem.to(torch.float64))
    assert any(spoilt_rows(numbers).any() for _, numbers in least.items()), "nothing is spoilt"
    lost_keys = spoilt_rows(most.dk) | spoilt_rows(most.dv)
    for name, mine in found.items():
        true = getattr(least, name)
        assert not (spoilt(true) & mine.isfinite()).any(), f"{name} is silently a number"
        may = spoilt_rows(true)
        if name in ("dk", "dv"):  # of a key that is lost to one, both may show it
            may = may | lost_keys
        elif not (alone and name in FORWARD):
            may = may | spoilt_rows(getattr(most, name))
        assert not (spoilt(mine) & ~may).any(), f"{name} is spoilt where the formula has a number"
    compare(found, naive, least, ordinary_sizes(problem))


def spoilt(numbers: Tensor) -> Tensor:
    """Neither a number nor the -inf that is the lse of a row without a key."""
    return ~(numbers.isfinite() | (numbers == -torch.inf))


def spoilt_rows(numbers: Tensor) -> Tensor:
    """Rows with something spoilt, to be compared with any of their numbers."""
    return spoilt(numbers).any(dim=-1, keepdim=True) if numbers.ndim == 4 else spoilt(numbers)


def check_scores_of_minus_infinity(attend: Attend, problem: Problem) -> None:
    """A query whose every score is -inf, by its data, gets NaN as from the formula, not zeros."""
    q, k = problem.q.abs(), problem.k.clone()
    k[..., 0] = -torch.inf
    options = {"causal": problem.causal, "scale": abs(problem.scale)}
    out, lse = attend(q, k, problem.v, **options)
    true, _ = whole_matrix(q, k, problem.v, **options)
    assert true.isnan().any()
    assert torch.equal(out.isnan(), true.isnan())
    assert not lse.isfinite().any()
