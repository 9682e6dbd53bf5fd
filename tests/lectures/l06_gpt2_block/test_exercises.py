"""Lecture 06's exercises: answers that must pass, references."""

import math

import pytest
import torch
from torch import nn

from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from lectures.l06_gpt2_block.exercises.block import BLOCK
from lectures.l06_gpt2_block.exercises.count import COUNT
from lectures.l06_gpt2_block.exercises.fault import (
    FAULT,
    FAULTS,
    faulty_gpt,
    trace,
)
from lectures.l06_gpt2_block.exercises.my_gpt import MyGPT, with_steps
from lectures.l06_gpt2_block.exercises.my_gpt_start import LEARNS, MY_GPT, UNTRAINED


def block_step_by_step(x, norm_1, attention, norm_2, feedforward):
    h = norm_1(x)
    x = attention(h) + x
    h = norm_2(x)
    return feedforward(h) + x


def test_another_right_block_passes():
    assert BLOCK.check(block_step_by_step).passed


def test_a_block_that_passes_no_gradient_is_refused():
    def block(x, norm_1, attention, norm_2, feedforward):
        with torch.no_grad():
            return BLOCK.reference(x, norm_1, attention, norm_2, feedforward)

    assert not BLOCK.check(block).passed


def test_the_block_is_gpt2s():
    ours = GPT2Block(GPT2Config(width=6, num_heads=3, feedforward_width=11))
    norms, layers = (ours.attention_norm, ours.feedforward_norm), (ours.attention, ours.feedforward)
    for shift, norm in enumerate(norms):  # fresh norms are alike, and could be exchanged
        nn.init.constant_(norm.bias, 0.3 * shift)
    x = torch.randn(2, 5, 6)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()

    def attention(x):
        return layers[0](x, may_attend=causal)[0]

    expected = BLOCK.reference(x, norms[0], attention, norms[1], layers[1])
    torch.testing.assert_close(expected, ours(x)[0])


def count_by_shapes(V, P, C, L, F):
    """The numbers in every tensor of the model, from its shape."""
    norm = [(C,), (C,)]
    layers = [(C, C), (C,)] * 4 + [(F, C), (F,), (C, F), (C,)] + 2 * norm
    shapes = [(V, C), (P, C), *norm, *(L * layers)]
    return sum(math.prod(shape) for shape in shapes)


def count_a_model(V, P, C, L, F):
    with torch.device("meta"):
        model = GPT2(GPT2Config(V, P, C, L, num_heads=1, feedforward_width=F))
    return torch.tensor(sum(p.numel() for p in model.parameters()))


@pytest.mark.parametrize("answer", [count_by_shapes, count_a_model])
def test_other_right_counts_pass(answer):
    assert COUNT.check(answer).passed


def test_the_praise_states_gpt2s_numbers():
    assert f"{GPT2Config().parameters:,}" in COUNT.praise
    assert f"{GPT2Config().block_parameters:,}" in COUNT.praise
    assert 0.3 < (50257 + 1024) * 768 / GPT2Config().parameters < 1 / 3


def fault_by_hand(model, reference, token_ids):
    """Block by block, each part on the right model's stream: no part before it can be to blame."""
    mine, theirs = trace(model, token_ids), trace(reference, token_ids)
    wrong = {name for name in mine if (mine[name] - theirs[name]).abs().max() > 1e-4}
    for name in mine:  # all that finished earlier agree
        if name in wrong:
            return name


def test_another_way_to_find_the_fault_passes():
    assert FAULT.check(fault_by_hand).passed


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_fault_is_where_it_was_planted_and_hides_in_weights_and_shapes(number):
    wrong, right = faulty_gpt(number)
    ids = FAULT.probes[number]["token_ids"]
    place, _, first = FAULTS[number]
    assert FAULT.reference(wrong, right, ids) == first and first.startswith(place)
    torch.testing.assert_close(wrong.state_dict(), right.state_dict(), rtol=0, atol=0)
    mine, theirs = trace(wrong, ids), trace(right, ids)
    gaps = [(mine[name] - theirs[name]).abs().max().item() for name in mine]
    at = [*mine].index(first)
    assert max(gaps[:at]) < 0.3 * 1e-4 and gaps[at] > 2 * 1e-4  # no rounding decides
    assert mine[""].shape == theirs[""].shape and gaps[-1] > 3 * max(gaps[:at])


def test_who_finds_no_part_is_not_told_about_a_stub():
    def nothing_is_large(model, reference, token_ids):
        return next((name for name in trace(model, token_ids) if len(name) > 99), None)

    def stub(model, reference, token_ids): ...

    assert FAULT.check(nothing_is_large).started
    assert not FAULT.check(stub).started


# A whole GPT


def positions_from_zero(self):
    nn.init.normal_(self.tokens.weight, std=0.02)
    nn.init.zeros_(self.positions.weight)


def as_gpt2_starts(self):
    for name, parameter in self.named_parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.01 if "positions" in name else 0.02)


@pytest.mark.parametrize("start", [positions_from_zero, as_gpt2_starts])
def test_other_starts_pass(start):
    assert MY_GPT.check(with_steps(start=start)).passed


def last_gain_small(self):
    nn.init.constant_(self.norm.weight, 0.02)


def words_almost_alike(self):
    MyGPT.start(self)
    nn.init.normal_(self.tokens.weight, std=1e-9)


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ({"start": last_gain_small}, "small gains"),
        ({"start": words_almost_alike}, "words alike"),
        (
            {"places": lambda self, ids: self.positions.weight[: ids.shape[1]].detach()},
            "no gradient",
        ),
    ],
)
def test_a_model_that_learns_badly_is_told_so(steps, name):
    wrong = with_steps(**steps)
    assert LEARNS.recognise(wrong).name == name
    assert not MY_GPT.check(wrong).passed


def test_the_mean_given_for_the_spread_is_a_large_start():
    wrong = with_steps(start=lambda self: nn.init.normal_(self.tokens.weight, 0.02))
    assert UNTRAINED.recognise(wrong).name == "large embeddings"


class _Renamed(MyGPT):
    """Tied, under another name."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.wte = self.tokens
        del self.tokens

    def __getattr__(self, name):
        return super().__getattr__("wte" if name == "tokens" else name)


class _TwoNames(MyGPT):
    """Tied, and PyTorch has two names for the one matrix."""

    def __init__(self, V, P, C, L, H):
        super().__init__(V, P, C, L, H)
        self.head = nn.Linear(C, V, bias=False)
        self.head.weight = self.tokens.weight


@pytest.mark.parametrize("answer", [_Renamed, _TwoNames])
def test_a_tied_model_is_not_called_untied(answer):
    verdict = MY_GPT.check(answer)
    assert not verdict.passed and MY_GPT.recognise(answer) is None
    assert "output matrix of its own" not in verdict.message
