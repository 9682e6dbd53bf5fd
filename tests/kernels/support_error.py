"""The error rule: a kernel may be so much less exact than plain torch, and no more."""

import torch
from support_oracle import FORWARD, Attend, Problem, Results, exact, plain, solve
from torch import Tensor

# Times the error of plain torch in the same precision. A gradient passes through more roundings.
FORWARD_FACTOR, GRADIENT_FACTOR = 2.0, 3.0
# Plain torch happens to be exact where there is little to add (one key, one query). Results of
# ordinary size still hold a few roundings of their own precision, and the largest of many normally
# distributed numbers is four times an ordinary one.
FLOOR_ROUNDINGS = {"mean": 4.0, "largest": 16.0}


def check_error(attend: Attend, problem: Problem) -> None:
    """Hold out, lse, dq, dk and dv of a backend against float64, in the mean and at the worst."""
    ours = solve(attend, problem)
    for name, mine in ours.items():
        check_kind(name, mine, problem)
        assert not mine.isnan().any(), f"{name} has NaN"
    true = exact(problem)
    assert torch.equal(ours.lse.isfinite(), true.lse.isfinite()), "-inf at the wrong rows of lse"
    compare(ours, plain(problem), true, ordinary_sizes(problem))


def compare(ours: Results, naive: Results, true: Results, sizes: dict[str, float]) -> None:
    """The rule itself, wherever all three results are numbers."""
    complaints = []
    for name, mine in ours.items():
        factor = FORWARD_FACTOR if name in FORWARD else GRADIENT_FACTOR
        rounding = torch.finfo(mine.dtype).eps * sizes[name]
        theirs, wanted = getattr(naive, name), getattr(true, name)
        shared = mine.isfinite() & theirs.isfinite() & wanted.isfinite()
        apart, naive_apart = ((x.double() - wanted).abs()[shared] for x in (mine, theirs))
        for kind, measure in (("largest", largest), ("mean", root_mean_square)):
            error = measure(apart)
            allowed = factor * measure(naive_apart) + FLOOR_ROUNDINGS[kind] * rounding
            if error > allowed:
                complaints.append(f"{name}: {kind} error {error:.2e}, allowed {allowed:.2e}")
    assert not complaints, "; ".join(complaints)


def check_kind(name: str, mine: Tensor, problem: Problem) -> None:
    """Shape, dtype and device of one result."""
    model = {"out": problem.q, "lse": problem.dlse, "dq": problem.q, "dk": problem.k}
    model = model.get(name, problem.v)
    assert mine.shape == model.shape, f"{name} has shape {tuple(mine.shape)}"
    assert mine.dtype == model.dtype, f"{name} has dtype {mine.dtype}"
    assert mine.device == model.device, f"{name} is on {mine.device}"


def largest(numbers: Tensor) -> float:
    return numbers.max().item() if numbers.numel() else 0.0


def root_mean_square(numbers: Tensor) -> float:
    """Of the finite numbers among them."""
    finite = numbers[numbers.isfinite()].double()
    return finite.square().mean().sqrt().item() if finite.numel() else 0.0


def ordinary_sizes(problem: Problem) -> dict[str, float]:
    """What each result would measure if one key took all of the weight."""
    q, k, v, dout = map(root_mean_square, (problem.q, problem.k, problem.v, problem.dout))
    width = problem.q.shape[-1]
    score = abs(problem.scale) * q * k * width**0.5
    dscore = abs(problem.scale) * (dout * v * width**0.5 + root_mean_square(problem.dlse))
    return {
        "out": v,
        "lse": max(score, 1.0),
        "dq": dscore * k,
        "dk": dscore * q,
        "dv": dout,
    }


def check_agreement(one: Results, other: Results, problem: Problem) -> None:
    """Two backends that both keep the rule: their distance, in roundings of the inputs' dtype."""
    sizes = ordinary_sizes(problem)
    for (name, mine), (_, theirs) in zip(one.items(), other.items(), strict=True):
        assert torch.equal(mine.isfinite(), theirs.isfinite()), name
        shared = mine.isfinite()
        apart = largest((mine.double() - theirs.double()).abs()[shared])
        # Sums of some hundred terms in two orders, of weights that were rounded or were not.
        most = max(sizes[name], largest(theirs.abs()[shared]))
        allowed = 30 * torch.finfo(problem.q.dtype).eps * most
        assert apart <= allowed, f"{name}: {apart:.2e} apart, allowed {allowed:.2e}"
