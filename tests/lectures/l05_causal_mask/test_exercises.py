"""Lecture 05's exercises: answers that must pass, references, models, what the quiz states."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import attend
from course_utils.lectures.l05_causal_mask.exercises.cached_step import CACHED_STEP
from course_utils.lectures.l05_causal_mask.exercises.leak import LEAK
from course_utils.lectures.l05_causal_mask.exercises.leak_models import (
    KINDS,
    LEAKS,
    Suspect,
    reach,
    tokens,
)
from course_utils.lectures.l05_causal_mask.exercises.masks import MASKS, PARTS
from course_utils.masks import causal_mask, padding_mask, prefix_mask, sliding_window_mask


def masks_in_loops(T, S, window, prefix, lengths, document):
    def grid(may_attend):
        return torch.tensor([[may_attend(t + S - T, s) for s in range(S)] for t in range(T)])

    lengths, document = lengths.tolist(), document.tolist()
    return [
        grid(lambda p, s: p >= s),
        grid(lambda p, s: s in range(p - window + 1, p + 1)),
        grid(lambda p, s: s < max(prefix, p + 1)),
        torch.tensor([[[s < n for s in range(S)]] for n in lengths]),
        grid(lambda p, s: s <= p and document[s] == document[p]),
    ]


def masks_from_the_library(T, S, window, prefix, lengths, document):
    same = torch.tensor([[a == b for a in document] for b in document])
    return (
        causal_mask(T, S),
        sliding_window_mask(S, window)[-T:],
        prefix_mask(S, prefix)[-T:],
        padding_mask(lengths, S)[:, 0],
        (same & causal_mask(S))[-T:],
    )


@pytest.mark.parametrize("answer", [masks_in_loops, masks_from_the_library])
def test_other_right_masks_pass(answer):
    assert MASKS.check(answer).passed


def first_ones(count):
    """A student who fills them in one by one."""
    return lambda *inputs: (*masks_in_loops(*inputs)[:count], *[...] * (5 - count))


def test_nothing_filled_in_is_not_started():
    assert not MASKS.check(first_ones(0)).started


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_masks_may_be_filled_in_one_by_one(count):
    so_far = "; ".join(f"`{name}`, right" for name in PARTS[:count])
    message = f"`{PARTS[count]}` is still `...`. Filled in so far: {so_far}."
    assert MASKS.check(first_ones(count)).message == message


def test_a_mistake_is_told_before_what_is_open():
    def one_ahead(T, S, *_):
        return torch.ones(T, S).tril(S - T + 1) == 1, ..., ..., ..., ...

    assert "one key too many, and it is the future" in MASKS.check(one_ahead).message

    def unknown(T, S, *_):
        return torch.zeros(T, S, dtype=torch.bool), ..., ..., ..., ...

    message = MASKS.check(unknown).message
    assert message == "`sliding` is still `...`. Filled in so far: `causal`, wrong."


def copied_into_place(q, k, v, keys, values):
    def append(old, new):
        grown = old.new_empty(*old.shape[:2], old.shape[2] + 1, old.shape[3])
        grown[:, :, :-1], grown[:, :, -1:] = old, new
        return grown

    keys, values = append(keys, k), append(values, v)
    return F.scaled_dot_product_attention(q, keys, values), keys, values


def through_the_library(q, k, v, keys, values):
    keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
    return [attend(q, keys, values)[0], keys, values]


@pytest.mark.parametrize("answer", [copied_into_place, through_the_library])
def test_other_right_steps_pass(answer):
    assert CACHED_STEP.check(answer).passed


def test_step_by_step_it_is_the_full_pass():
    q, k, v = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 11)
    keys, values, rows = k[:, :, :0], v[:, :, :0], []
    for t in range(7):
        new = (x[:, :, t : t + 1] for x in (q, k, v))
        out, keys, values = CACHED_STEP.reference(*new, keys, values)
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


# What the explanations of the quiz state in numbers.


def test_four_windows_of_three_reach_eight_back():
    window = sliding_window_mask(17, 3).float()
    through = torch.linalg.matrix_power(window, 4) > 0
    assert through[16].nonzero().min() == 16 - 8


def test_bytes_of_the_cache():
    keys = torch.empty(32, 8, 8192, 128, dtype=torch.bfloat16, device="meta")
    assert 2 * keys.nbytes == 131_072 * 8192 == 1_073_741_824
    assert round(2 * keys.nbytes / 32 / 1e6) == 34
