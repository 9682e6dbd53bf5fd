"""Lecture 03's exercises: right answers in other words, and what the quiz states in numbers."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.layers import merge_heads, split_heads
from course_utils.lectures.l03_heads.exercises import (
    check_cross_attention,
    check_merge_heads,
    check_previous_token_head,
    check_split_heads,
)
from course_utils.lectures.l03_heads.experiments import REFERENTS, offset_weights


def through_torch(x, memory, may_attend, w_q, w_k, w_v):
    q, k, v, mask = x @ w_q, memory @ w_k, memory @ w_v, may_attend.unsqueeze(1)
    rows = torch.eye(k.size(1)).expand(len(k), -1, -1)
    weights = F.scaled_dot_product_attention(q, k, rows, mask)
    return F.scaled_dot_product_attention(q, k, v, mask), weights


def one_sentence_at_a_time(x, memory, may_attend, w_q, w_k, w_v):
    outs, tables = [], []
    for own, other, real in zip(x, memory, may_attend, strict=True):
        weights = torch.zeros(len(own), len(other))
        scores = own @ w_q @ (other[real] @ w_k).T / w_q.size(1) ** 0.5
        weights[:, real] = scores.softmax(1)
        outs.append(weights @ (other @ w_v))
        tables.append(weights)
    return torch.stack(outs), torch.stack(tables)


def with_a_low_number(x, memory, may_attend, w_q, w_k, w_v):
    scores = torch.einsum("btd,bsd->bts", x @ w_q, memory @ w_k) / w_q.size(1) ** 0.5
    weights = (scores + (1 - may_attend.float()).unsqueeze(1) * -1e9).softmax(-1)
    return [torch.bmm(weights, memory @ w_v), weights]


def previous_by_a_loop(weights):
    L, H, T, _ = weights.shape
    sums = {
        (layer, head): sum(weights[layer, head, t, t - 1].item() for t in range(1, T))
        for layer in range(L)
        for head in range(H)
    }
    return max(sums, key=sums.get)


def previous_by_a_slice(weights):
    below = torch.einsum("lhtt->lh", weights[:, :, 1:, :-1])
    return torch.unravel_index(below.argmax(), below.shape)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_split_heads, split_heads),
        (check_split_heads, lambda x, H: torch.stack(x.chunk(H, -1), 1)),
        (check_split_heads, lambda x, H: x.mT.reshape(len(x), H, -1, x.size(1)).mT),
        (check_merge_heads, merge_heads),
        (check_merge_heads, lambda heads: torch.cat(list(heads.unbind(1)), dim=-1)),
        (check_cross_attention, through_torch),
        (check_cross_attention, one_sentence_at_a_time),
        (check_cross_attention, with_a_low_number),
        (check_previous_token_head, previous_by_a_loop),
        (check_previous_token_head, previous_by_a_slice),
    ],
)
def test_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("pair", REFERENTS[:6:2], ids=lambda pair: pair.read)
def test_the_solution_in_minilm(minilm, pair):
    assert previous_by_a_loop(torch.stack(minilm.read(pair.text).attentions)) == (0, 2)
    assert f"{offset_weights([pair.text], -1)[0, 0, 2].item():.2f}" == "1.00"


class TestQuizFacts:
    """The numbers that the quiz states, computed."""

    def test_wrong_view(self):
        tokens = torch.arange(2 * 11).repeat_interleave(512).view(2, 11, 512)
        head = tokens.view(2, 8, 11, 64)[0, 0]
        assert (head == head[:, :1]).all()
        assert head[:, 0].tolist() == [0] * 8 + [1] * 3
        assert (tokens.view(2, 8, 11, 64)[1] >= 11).all()

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_rank_of_scores_and_weights(self, seed):
        draw = torch.Generator().manual_seed(seed)
        q, k = torch.randn(2, 101, 4, generator=draw, dtype=torch.float64)
        scores = q @ k.T / 2
        assert torch.linalg.matrix_rank(scores) == 4
        assert torch.linalg.matrix_rank(scores.softmax(-1)) == 101
