"""Lecture 05's exercises: answers that must pass, references, models."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import attend
from course_utils.masks import causal_mask, prefix_mask, sliding_window_mask
from lectures.l05_causal_mask.exercises.causal_mask import CAUSAL_MASK
from lectures.l05_causal_mask.exercises.leak import LEAK
from lectures.l05_causal_mask.exercises.leak_models import (
    KINDS,
    LEAKS,
    Suspect,
    reach,
    tokens,
)
from lectures.l05_causal_mask.exercises.step import STEP


def mask_in_loops(T, S=None, window=None, prefix=0):
    S = S or T

    def may_attend(place, key):
        seen = key <= place and (window is None or place - key < window)
        return seen or key < prefix

    return torch.tensor([[may_attend(t + S - T, s) for s in range(S)] for t in range(T)])


def mask_from_the_library(T, S=None, window=None, prefix=0):
    S = S or T
    mask = causal_mask(T, S)
    if window is not None:
        mask = sliding_window_mask(S, window)[-T:]
    return mask | (torch.arange(S) < prefix)


def mask_of_an_earlier_edition(T, S=None, window=None, prefix=0, document=None, lengths=None):
    """What readers have in their file who built all options that there once were."""
    return mask_in_loops(T, S, window, prefix)


@pytest.mark.parametrize(
    "answer", [mask_in_loops, mask_from_the_library, mask_of_an_earlier_edition]
)
def test_other_right_masks_pass(answer):
    assert CAUSAL_MASK.judge(answer).passed


def window_lost_in_the_prefix(T, S=None, window=None, prefix=0):
    """The library's prefix mask is causal too: joined with it, a window hides nothing."""
    mask = mask_from_the_library(T, S, window)
    return mask | prefix_mask(S or T, prefix)[-T:] if prefix else mask


def test_options_are_tried_together():
    assert not CAUSAL_MASK.judge(window_lost_in_the_prefix).passed


OPTIONS = ("window", "prefix")


@pytest.mark.parametrize("count", range(2))
def test_options_may_be_filled_in_one_by_one(count):
    """A reader who checks after each option is told of the next one, and never passes early."""

    def so_far(T, S=None, *options):
        return mask_in_loops(T, S, *options[:count])

    verdict = CAUSAL_MASK.judge(so_far)
    assert not verdict.passed and verdict.started
    assert f"`{OPTIONS[count]}`" in verdict.message
    assert "changes nothing" in verdict.message or "TypeError" in verdict.message


def test_it_builds_the_masks_of_the_picture():
    pairs = [
        (causal_mask(6), (6,)),
        (sliding_window_mask(6, 3), (6, None, 3)),
        (prefix_mask(6, 2), (6, None, None, 2)),
        (causal_mask(3, 6), (3, 6)),
    ]
    for mask, asked in pairs:
        assert torch.equal(CAUSAL_MASK.reference(*asked), mask)


def copied_into_place(q, k, v, keys, values):
    before, T = keys.shape[2], q.shape[2]

    def append(old, new):
        grown = old.new_empty(*old.shape[:2], before + T, old.shape[3])
        grown[:, :, :before], grown[:, :, before:] = old, new
        return grown

    keys, values = append(keys, k), append(values, v)
    mask = causal_mask(T, before + T)
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask), keys, values


def through_the_library(q, k, v, keys, values):
    keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
    mask = causal_mask(q.shape[2], keys.shape[2])
    return [attend(q, keys, values, may_attend=mask)[0], keys, values]


@pytest.mark.parametrize("answer", [copied_into_place, through_the_library])
def test_other_right_steps_pass(answer):
    assert STEP.judge(answer).passed


@pytest.mark.parametrize("parts", [(1,) * 7, (7,), (3, 1, 1, 2)])
def test_step_by_step_it_is_the_full_pass(parts):
    q, k, v = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 11)
    keys, values, rows = k[:, :, :0], v[:, :, :0], []
    for new in zip(*(x.split(parts, dim=2) for x in (q, k, v)), strict=True):
        out, keys, values = STEP.reference(*new, keys, values)
        rows.append(out)
    full = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(torch.cat(rows, dim=2), full)
    assert torch.equal(keys, k) and torch.equal(values, v)


def leak_by_perturbation(models, x):
    ahead = {}
    for name, model in models.items():
        ahead[name] = 0
        for s in range(len(x)):
            changed = x.clone()
            changed[s] += 1
            moved = (model(changed) != model(x)).any(dim=1).nonzero().flatten().tolist()
            ahead[name] = max(ahead[name], s - min(moved))
    best = max(ahead, key=ahead.get)
    return best, ahead[best]


def test_a_leak_found_by_perturbation_passes():
    assert LEAK.check(leak_by_perturbation).passed


def first_above(limit):
    """Return the first model with a dependence above ``limit``, and none if there is none."""

    def find_leak(models, x):
        for name, model in models.items():
            t, s = (reach(model).triu(1) > limit).nonzero(as_tuple=True)
            if len(t):
                return name, int((s - t).max())

    return find_leak


def test_a_limit_that_is_too_coarse_is_called_so():
    assert LEAK.judge(first_above(0)).passed
    assert LEAK.recognise(first_above(1e-2)).name == "nothing passes the limit"


def test_models_depend_on_what_their_kind_says():
    T = len(tokens())
    past = torch.ones(T, T, dtype=torch.bool).tril()
    expected = {
        "causal": past,
        "recurrent": past,
        "earlier": past,
        "window": past.triu(-4),
        "token by token": torch.eye(T, dtype=torch.bool),
    }
    assert {*expected, "leak"} == set(KINDS)
    for kind, grid in expected.items():
        assert torch.equal(reach(Suspect("", kind, 0)) > 0, grid)


def test_leaks_reach_as_far_as_they_say():
    grids = [reach(Suspect("", "leak", index)) for index in range(len(LEAKS))]
    for grid, (_, ahead, _) in zip(grids, LEAKS, strict=True):
        t, s = grid.nonzero(as_tuple=True)
        assert (s - t).max() == ahead
    faint = grids.pop(2).triu(1).max()
    assert 1e-3 < faint < 0.01 and all(grid.triu(1).max() > 0.3 for grid in grids)


def test_the_probes_hold_every_leak_once():
    kinds = [tuple(m.kind for m in probe["models"].values()) for probe in LEAK.probes]
    leaks = [{m.leak for m in probe["models"].values()} for probe in LEAK.probes]
    assert len(set(kinds)) == len(kinds)
    assert leaks == [{0}, {1}, {2}, {3}]
