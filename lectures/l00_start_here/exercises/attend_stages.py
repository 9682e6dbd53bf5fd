"""The later stages of exercise 1: many texts and heads, a mask, and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.masks import sliding_window_mask
from course_utils.teaching.outcomes import NanAlike, UnfitError
from course_utils.teaching.rows import wave
from course_utils.teaching.watched import watched
from lectures.l00_start_here.exercises.attend import ATTEND, mixed, scaled

__all__ = ["ATTEND"]


def _many(*leading: int, T: int, S: int, D: int, E: int) -> dict[str, Any]:
    """Queries, keys and values with leading axes: sentences, heads."""
    return {
        "q": wave(*leading, T, D, phase=0.3),
        "k": wave(*leading, S, D, phase=1.1),
        "v": wave(*leading, S, E, phase=2.2),
    }


def _many_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The shape of the probe."""
    return {"shape": str(tuple(inputs["q"].shape)), "D": inputs["q"].shape[-1]}


def _masked_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """How much weight the first query gives to what it may not see, and its whole weight."""
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if not isinstance(weights, torch.Tensor):
        return {}
    row, seen = weights.reshape(-1, weights.shape[-1])[0], inputs["may_attend"][0]
    return {"hidden": row[~seen].sum().item(), "whole": row.sum().item()}


BEGINS = "One sentence works, and q of shape {shape} does not: "
MANY = ATTEND.stage(
    probes=(_many(2, 3, T=5, S=7, D=4, E=2), _many(3, T=5, S=5, D=4, E=2)),
    facts=_many_facts,
    praise="Right for one sentence and for many.",
)


@MANY.mistake(begins=BEGINS)
def all_axes_transposed(q, k, v, may_attend=None):
    """`k.T` reverses all axes. Only the last two should change places: `k.mT`."""
    return mixed(
        torch.softmax(q @ k.permute(*reversed(range(k.ndim))) / q.shape[-1] ** 0.5, dim=-1), v
    )


@MANY.mistake(begins=BEGINS)
def width_from_the_second_axis(q, k, v, may_attend=None):
    """you take the width from `q.shape[1]`, which is another axis here. The width {D} is the last:
    `q.shape[-1]`."""
    return mixed(torch.softmax(q @ k.mT / q.shape[1] ** 0.5, dim=-1), v)


@MANY.mistake(begins=BEGINS)
def softmax_over_the_second_axis(q, k, v, may_attend=None):
    """your softmax runs over the second axis. The keys are the last: `dim=-1`."""
    return mixed((q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=1), v)


@MANY.mistake(begins=BEGINS)
def two_names_for_the_shape(q, k, v, may_attend=None):
    """it has more sizes than `T, D = q.shape` has names. You need only the width, the last:
    `q.shape[-1]`."""
    _, D = q.shape
    return mixed(torch.softmax(q @ k.mT / D**0.5, dim=-1), v)


@MANY.mistake(begins=BEGINS)
def first_two_axes_transposed(q, k, v, may_attend=None):
    """`transpose(0, 1)` swaps the *first* two axes. Swap the last two: `k.mT`, or
    `k.transpose(-2, -1)`."""
    return mixed(torch.softmax(q @ k.transpose(0, 1) / q.shape[-1] ** 0.5, dim=-1), v)


WINDOW = sliding_window_mask(5, 3)
MASKED = ATTEND.stage(
    probes=(
        {**_many(T=5, S=5, D=3, E=2), "may_attend": WINDOW},
        {**_many(2, 3, T=5, S=5, D=4, E=2), "may_attend": WINDOW},
    ),
    facts=_masked_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Right with a mask, too.",
)


@MASKED.mistake()
def no_mask(q, k, v, may_attend):
    """Without a mask all is right; with one nothing changes. The first query gives {hidden} of its
    weight to keys that it may not attend to. Set their scores to −∞ before the exponential."""
    return mixed(scaled(q, k).softmax(dim=-1), v)


@MASKED.mistake()
def mask_upside_down(q, k, v, may_attend):
    """Your mask is upside down: True means that the query *may* attend to the key. `masked_fill`
    fills where its mask is True, so give it `~may_attend`."""
    return mixed(scaled(q, k).masked_fill(may_attend, -torch.inf).softmax(dim=-1), v)


@MASKED.mistake()
def hidden_scores_of_zero(q, k, v, may_attend):
    """You set hidden scores to 0, and exp(0) is 1: the first query still gives {hidden} of its
    weight to them. Only −∞ has the exponential 0."""
    return mixed(scaled(q, k).masked_fill(~may_attend, 0.0).softmax(dim=-1), v)


@MASKED.mistake()
def hidden_weights_set_to_zero(q, k, v, may_attend):
    """You hide keys after the softmax, so the weights of the first query sum to {whole}. Hide them
    before: then what they would have got goes to the others."""
    return mixed(scaled(q, k).softmax(dim=-1).masked_fill(~may_attend, 0.0), v)


@MASKED.mistake()
def the_mask_added(q, k, v, may_attend):
    """You add the mask to the scores, which gives allowed keys 1 more, and the first query still
    gives {hidden} of its weight to hidden ones. Replace hidden scores by −∞."""
    return mixed((scaled(q, k) + may_attend).softmax(dim=-1), v)


@MASKED.mistake()
def minus_infinity_times_the_mask(q, k, v, may_attend):
    """All your weights are NaN. Do you multiply −∞ by the mask? Where a key is allowed, that is
    −∞ · 0, which is NaN. Use `masked_fill` or `torch.where`."""
    return mixed((scaled(q, k) + -torch.inf * ~may_attend).softmax(dim=-1), v)


@MASKED.mistake()
def weights_of_minus_infinity(q, k, v, may_attend):
    """You write −∞ into the weights. Write it into the scores, before the softmax: the exponential
    of −∞ is 0."""
    return mixed(scaled(q, k).softmax(dim=-1).masked_fill(~may_attend, -torch.inf), v)


@MASKED.mistake()
def a_table_as_a_condition(q, k, v, may_attend):
    """The mask is a table of booleans, so Python cannot use it as one yes or no. Ask
    `if may_attend is not None`, and swap True and False with `~may_attend`, not with `not`."""
    return mixed(scaled(q, k).masked_fill(not may_attend, -torch.inf).softmax(dim=-1), v)


@MASKED.mistake()
def one_minus_the_mask(q, k, v, may_attend):
    """PyTorch does not subtract booleans: write `~may_attend` for `1 - may_attend`."""
    return mixed(scaled(q, k).masked_fill(1 - may_attend, -torch.inf).softmax(dim=-1), v)


def _gradients(value: Any, q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor) -> Any:
    """Those of a sum over the output; 0 where nothing arrives."""
    out = value[0]
    if not out.requires_grad:
        return tuple(map(torch.zeros_like, (q, k, v)))
    try:
        found = torch.autograd.grad(out.square().sum(), (q, k, v), allow_unused=True)
    except RuntimeError as error:
        raise UnfitError(
            "the numbers are right, but PyTorch cannot compute gradients through your function, so "
            "no model could be trained with it. `/=`, `-=` and the like overwrite a tensor that "
            "the gradient still needs: write `x = x / y` for `x /= y`"
        ) from error
    return tuple(
        torch.zeros_like(x) if gradient is None else gradient
        for x, gradient in zip((q, k, v), found, strict=True)
    )


LEARNING = ATTEND.stage(
    probes=(
        {
            **{name: x.requires_grad_() for name, x in _many(2, T=5, S=5, D=3, E=2).items()},
            "may_attend": WINDOW,
        },
    ),
    parts=("gradient of q", "gradient of k", "gradient of v"),
    facts=lambda inputs, got: {},
    watch=lambda answer: watched(answer, _gradients),
    praise="Scores, mask, softmax over the keys, mixture of the values: all agree with the "
    "course's `attend`.",
)


@LEARNING.mistake()
def weights_that_cannot_learn(q, k, v, may_attend):
    """The numbers are right, but no gradient reaches q and k: a model could not learn where to
    look. Something cuts them off, such as `.detach()`, `.item()`, `torch.tensor(…)` or numpy."""
    return mixed(scaled(q, k).detach().masked_fill(~may_attend, -torch.inf).softmax(dim=-1), v)


@LEARNING.mistake()
def nothing_can_learn(q, k, v, may_attend):
    """The numbers are right, but no gradient reaches q, k and v: a model with this function could
    not learn. Something cuts them off, such as `.detach()`, `.item()`, `torch.tensor(…)` or
    numpy."""
    weights = scaled(q, k).masked_fill(~may_attend, -torch.inf).softmax(dim=-1)
    return mixed(weights.detach(), v.detach())


@LEARNING.mistake()
def through_numpy(q, k, v, may_attend):
    """The numbers are right, but you compute them with numpy, which knows no gradients: a model
    with this function could not learn. Use PyTorch's functions instead."""
    return mixed(torch.tensor(q.numpy()) @ k.mT, v)
