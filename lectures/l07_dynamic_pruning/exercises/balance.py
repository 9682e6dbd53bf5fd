"""Exercise 2: the loss that keeps experts equally busy.

It is ``E * sum_e f_e P_e`` with the share f_e of all N·k choices that went to expert e and the mean
P_e of its probability (Fedus, Zoph, Shazeer 2021, equations 4 to 6). The same as
``layers.moe_routing.balance_loss``. Judged are the value and the gradient by the probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.teaching.closeness import as_array
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.watched import watched


def _with_gradient(loss: Any, probabilities: Tensor, chosen: Tensor) -> tuple[Any, Tensor]:
    """The loss, and its gradient by the probabilities; zeros where there is none."""
    gradient = torch.zeros_like(probabilities)
    if isinstance(loss, Tensor) and loss.requires_grad and loss.ndim == 0:
        (found,) = torch.autograd.grad(loss, probabilities, allow_unused=True)
        gradient = gradient if found is None else found
    return loss.detach() if isinstance(loss, Tensor) else loss, gradient.detach()


def _shares(probabilities: Tensor, chosen: Tensor) -> Tensor:
    """Each expert's share of all choices, f (E,)."""
    counts = torch.bincount(chosen.flatten(), minlength=probabilities.shape[1])
    return counts / chosen.numel()


def _loss(p: Tensor, f: Tensor, P: Tensor) -> Tensor:
    """The loss ``E * sum_e f_e P_e`` of any f and P."""
    return p.shape[1] * (f * P).sum()


def _balance(p, chosen):
    return _loss(p, _shares(p, chosen), p.mean(dim=0))


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    p, chosen = inputs["probabilities"].detach(), inputs["chosen"]
    (N, E), k = p.shape, chosen.shape[1]
    f, P = _shares(p, chosen), p.mean(dim=0)
    busiest = int(f.argmax())
    facts: dict[str, Any] = {"N": N, "E": E, "k": k, "choices": N * k, "busiest": busiest}
    facts |= {"want": float(E * (f * P).sum()), "slope": float(E * f[busiest] / N), "last": E - 1}
    if isinstance(got, tuple) and (loss := as_array(got[0], "loss")).size == 1:
        facts["gave"] = loss.item()
    return facts


def _probe(N: int, E: int, k: int, phase: float, *, unused_last: bool) -> Mapping[str, Tensor]:
    """A router that prefers some experts; the choice was moved by a bias, so it is not its top."""
    logits = 2 * torch.sin(torch.arange(N * E) * 1.9 + phase).reshape(N, E)
    logits = logits + torch.linspace(1.5, -1.5, E)
    moved = logits + torch.linspace(-1.0, 0.8, E)
    if unused_last:
        moved[:, -1] = -torch.inf
    return {
        "probabilities": logits.softmax(dim=1).requires_grad_(),
        "chosen": moved.topk(k, dim=1).indices,
    }


_GAVE = "You gave {gave}, expected {want}. "

BALANCE = Exercise(
    title="The balance loss",
    difficulty=2,
    minutes=10,
    function="balance_loss",
    reference=_balance,
    watch=partial(watched, look=_with_gradient),
    probes=(
        _probe(11, 5, 2, 0.3, unused_last=True),
        _probe(7, 3, 1, 1.2, unused_last=False),
        _probe(13, 7, 3, 2.5, unused_last=False),
    ),
    parts=("loss", "gradient"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
    praise="A count has no gradient, a probability has: f says which experts are busy, and P is "
    "pushed down for those. With equal shares the loss is 1, whatever E is.",
)


@BALANCE.mistake(begins=_GAVE)
def no_factor_E(p, chosen):
    """The factor E = {E} is missing (or you take the mean over the experts where the sum is meant).
    With it, equal shares give 1 for every number of experts."""
    return (_shares(p, chosen) * p.mean(dim=0)).sum()


@BALANCE.mistake(begins=_GAVE)
def shares_twice(p, chosen):
    """You multiply f by itself. A count has no gradient, so the router would learn nothing: the
    other factor is P, the mean probability."""
    return _loss(p, _shares(p, chosen), _shares(p, chosen))


@BALANCE.mistake(begins=_GAVE)
def probabilities_twice(p, chosen):
    """You multiply P by itself. It says what the router would like, not which experts were chosen;
    f counts `chosen`."""
    return _loss(p, p.mean(dim=0), p.mean(dim=0))


@BALANCE.mistake(begins=_GAVE)
def P_over_the_chosen_alone(p, chosen):
    """Your P counts a probability only where its expert was chosen. P is the mean over all tokens:
    also those that went elsewhere shall be pushed away from a busy expert."""
    of_the_chosen = torch.zeros_like(p).scatter(1, chosen, 1.0) * p
    return _loss(p, _shares(p, chosen), of_the_chosen.mean(dim=0))


@BALANCE.mistake(begins=_GAVE)
def shares_of_the_tokens(p, chosen):
    """Your f is a share of the {N} tokens, so that the f of all experts sum to k = {k}. As shares
    of the {choices} choices they sum to 1. (Both are in use; transformers counts for Mixtral as you
    do.)"""
    return _loss(p, _shares(p, chosen) * chosen.shape[1], p.mean(dim=0))


@BALANCE.mistake(begins=_GAVE)
def the_largest_probability_counted(p, chosen):
    """Your f counts where each token's probability is largest. Count `chosen`: a token may take
    several experts, and a bias or a full expert may have moved it."""
    return _loss(p, _shares(p, p.argmax(dim=1)), p.mean(dim=0))


@BALANCE.mistake(begins=_GAVE)
def counts_without_a_division(p, chosen):
    """Your loss is {choices} times too large, the number of all N·k choices. Both f and P sum to 1:
    f are counts divided by {choices}, and P is a mean over the tokens."""
    return _loss(p, _shares(p, chosen) * chosen.numel(), p.mean(dim=0))


@BALANCE.mistake(begins=_GAVE)
def P_summed(p, chosen):
    """You sum the probabilities over the tokens. P is their mean: divide by N = {N}."""
    return _loss(p, _shares(p, chosen), p.sum(dim=0))


@BALANCE.mistake(begins=_GAVE)
def as_many_experts_as_tokens(p, chosen):
    """Your factor is {N}, the number of tokens. `probabilities` is (N, E): `len` gives its first
    axis, and E = {E} is its second."""
    return len(p) * (_shares(p, chosen) * p.mean(dim=0)).sum()


@BALANCE.mistake(begins=_GAVE)
def first_choices_counted(p, chosen):
    """Your f counts the first column of `chosen` alone. Each token has k = {k} choices, and all of
    them count."""
    return _loss(p, _shares(p, chosen[:, :1]), p.mean(dim=0))


@BALANCE.mistake()
def no_gradient(p, chosen):
    """The value is right, {want}, and it has no gradient: `.item()`, `.detach()`, `float` or
    `no_grad` cut it off. Through P each token's probability of expert {busiest} should get
    {slope}."""
    return _loss(p, _shares(p, chosen), p.detach().mean(dim=0))


@BALANCE.mistake()
def mean_over_the_experts(p, chosen):
    """Your P has {N} numbers, one for each token: the mean over the experts, and that is 1/{E} for
    every token. Take it over the tokens, `dim=0`."""
    return _loss(p, _shares(p, chosen), p.mean(dim=1))


@BALANCE.mistake()
def counts_that_end_early(p, chosen):
    """Expert {last} was chosen by no token, and counting ends at the last one chosen: your f is
    too short. Say how many there are, `bincount(…, minlength={E})`."""
    return _loss(p, torch.bincount(chosen.flatten()) / chosen.numel(), p.mean(dim=0))


@BALANCE.mistake(part=0)
def an_axis_left(p, chosen):
    """The value is right, {want}, and your tensor has one axis too many, of length 1. A loss has
    none: `sum` without `keepdim`."""
    return _balance(p, chosen)[None]


@BALANCE.mistake(part=0)
def one_number_for_each_expert(p, chosen):
    """You return {E} numbers, one for each expert. The loss is their sum."""
    return p.shape[1] * _shares(p, chosen) * p.mean(dim=0)
