"""Attention computed in ways that share nothing with the kernels: what the suite compares with.

Nothing here is tiled, nothing is grouped, and the visible keys are said once more, in words that
no kernel uses. `test_reference.py` holds these oracles against PyTorch.
"""

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

Attend = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Problem:
    """Inputs of attention, and what flows back into its two results."""

    q: Tensor
    k: Tensor
    v: Tensor
    dout: Tensor
    dlse: Tensor
    causal: bool = False
    scale: float = 1.0

    def to(self, dtype: torch.dtype) -> "Problem":
        """The same numbers in another precision; lse is never held in 16 bits."""
        wide = torch.promote_types(dtype, torch.float32)
        inputs = [x.to(dtype) for x in (self.q, self.k, self.v, self.dout)]
        return Problem(*inputs, self.dlse.to(wide), self.causal, self.scale)


@dataclass(frozen=True)
class Results:
    """What a backend has to get right."""

    out: Tensor
    lse: Tensor
    dq: Tensor
    dk: Tensor
    dv: Tensor

    def items(self) -> list[tuple[str, Tensor]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


FORWARD = ("out", "lse")


def solve(attend: Attend, problem: Problem) -> Results:
    """Run a backend forward, and backward through both of its results."""
    inputs = [x.detach().requires_grad_() for x in (problem.q, problem.k, problem.v)]
    results = attend(*inputs, causal=problem.causal, scale=problem.scale)
    gradients = torch.autograd.grad(results, inputs, (problem.dout, problem.dlse))
    return Results(*(x.detach() for x in (*results, *gradients)))


def may_read(T: int, S: int, causal: bool) -> Tensor:
    """Which query may read which key: all of them, or as many fewer as queries are to come."""
    still_to_come = torch.arange(T - 1, -1, -1)[:, None] if causal else torch.zeros(T, 1)
    return torch.arange(S) < S - still_to_come


def whole_matrix(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The formula in the precision of its inputs, with a copy of k and v for every query head."""
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    visible = may_read(q.shape[2], k.shape[2], causal).to(q.device)
    reads = visible.any(dim=-1, keepdim=True)
    scores = (scale * q @ k.mT).where(visible, -torch.inf).where(reads, 0.0)
    out = (scores.softmax(dim=-1) @ v).where(reads, 0.0)
    lse = scores.to(torch.promote_types(q.dtype, torch.float32)).logsumexp(dim=-1)
    return out, lse.where(reads[:, 0], -torch.inf)


def row_by_row(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Each query alone with the keys that it may read: whatever the others hold is not there."""
    T, S = q.shape[2], k.shape[2]
    ends = may_read(T, S, causal).sum(dim=-1).tolist()
    rows = [
        whole_matrix(q[:, :, t : t + 1], k[:, :, :end], v[:, :, :end], causal=False, scale=scale)
        for t, end in enumerate(ends)
    ]
    outs, lses = zip(*rows, strict=True)
    return torch.cat(outs, dim=2), torch.cat(lses, dim=2)


def exact(problem: Problem) -> Results:
    """The formula in float64."""
    return solved_once(whole_matrix, problem.to(torch.float64))


def plain(problem: Problem) -> Results:
    """The formula as plain torch computes it in the precision of the inputs."""
    return solved_once(whole_matrix, problem)


_SOLVED: dict[tuple, Results] = {}


def solved_once(oracle: Attend, problem: Problem) -> Results:
    """What an oracle gives, computed once: every backend gets the same problems."""
    tensors = (problem.q, problem.k, problem.v, problem.dout, problem.dlse)
    key = (oracle, problem.causal, problem.scale, *map(_fingerprint, tensors))
    if key not in _SOLVED:
        _SOLVED[key] = solve(oracle, problem)
    return _SOLVED[key]


def _fingerprint(x: Tensor) -> tuple:
    numbers = x.cpu().contiguous()
    content = hashlib.sha256(ctypes.string_at(numbers.data_ptr(), numbers.nbytes)).digest()
    return x.dtype, x.device, x.shape, x.stride(), content
