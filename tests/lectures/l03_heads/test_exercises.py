"""Lecture 03's exercises: right answers in other words, and what the quiz states in numbers."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils.layers import MultiHeadAttention
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from lectures.l03_heads.exercises import (
    check_find_wrong_split,
    check_MultiHead,
    check_previous_token_head,
    some_tokens,
    split_suspects,
)
from lectures.l03_heads.exercises.wrong_split import WRONG_SPLIT
from lectures.l03_heads.experiments import REFERENTS
from lectures.l03_heads.experiments.head_roles import offset_weights
from tests.teaching.support_exercises import defined, solution


class ThroughTorch(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, x, may_attend=None):
        q, k, v = (torch.stack(part(x).chunk(self.heads, -1), 1) for part in self.projections())
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend)
        return self.output(torch.cat(list(out.unbind(1)), dim=-1))

    def projections(self):
        return self.query, self.key, self.value


class HeadByHead(ThroughTorch):
    def forward(self, x, may_attend=None):
        out, parts = [], (part(x).chunk(self.heads, -1) for part in self.projections())
        for q, k, v in zip(*parts, strict=True):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            if may_attend is not None:
                scores = torch.where(may_attend, scores, torch.tensor(-torch.inf))
            out.append(scores.softmax(-1) @ v)
        return self.output(torch.cat(out, -1))


class FromTheLibrary(MultiHeadAttention):
    def forward(self, x, may_attend=None):
        return super().forward(x, may_attend=may_attend)[0]


def ends_swapped(layers, x):
    order = list(range(len(x)))
    order[0], order[-1] = order[-1], order[0]
    size = {name: layer(x).abs().max() for name, layer in layers.items()}
    change = {n: (layer(x[order]) - layer(x)[order]).abs().max() for n, layer in layers.items()}
    return max(layers, key=lambda name: change[name] / size[name])


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
        (check_MultiHead, ThroughTorch),
        (check_MultiHead, HeadByHead),
        (check_MultiHead, FromTheLibrary),
        (check_find_wrong_split, ends_swapped),
        (check_previous_token_head, previous_by_a_loop),
        (check_previous_token_head, previous_by_a_slice),
    ],
)
def test_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict.passed, verdict.message


class TestMultiHead:
    def test_a_class_begun_is_no_stub(self):
        class Begun(nn.Module):
            def __init__(self, width, num_heads):
                super().__init__()

            def forward(self, x, may_attend=None): ...

        verdict = check_MultiHead(Begun)
        assert verdict.started and "query, key, value and output" in verdict.message

    def test_other_names_are_told(self):
        class Fused(nn.Module):
            def __init__(self, width, num_heads):
                super().__init__()
                self.qkv = nn.Linear(width, 3 * width)

        assert "Yours has qkv.bias, qkv.weight" in check_MultiHead(Fused).message

    def test_the_part_takes_the_weights_of_gpt2s_layers(self):
        part = defined("03_heads", solution("03_heads", "MultiHead")[0], "MultiHead")
        block = GPT2Block(GPT2Config(vocab_size=11, max_positions=7, width=30, num_heads=5))
        mine = part(30, 5)
        mine.load_state_dict(block.attention.state_dict())
        x, mask = torch.randn(2, 7, 30), torch.ones(7, 7, dtype=torch.bool).tril()
        theirs, _ = block.attention(x, may_attend=mask)
        torch.testing.assert_close(mine(x, mask), theirs)

    def test_narrow_layers_are_told_in_one_line(self):
        class Narrow(ThroughTorch):
            def __init__(self, width, num_heads):
                super().__init__(width, num_heads)
                self.query = nn.Linear(width, width // num_heads)

        assert "`query.weight` has shape (2, 6)" in check_MultiHead(Narrow).message

    def test_an_instance_is_not_the_class(self):
        assert "the class itself" in check_MultiHead(ThroughTorch(6, 3)).message

    @pytest.mark.parametrize("cut", ["query", "key", "value"])
    def test_a_layer_without_a_gradient_does_not_pass(self, cut):
        class Detached(ThroughTorch):
            def projections(self):
                parts = [getattr(self, name) for name in ("query", "key", "value")]
                return [
                    (lambda x, part=part: part(x).detach()) if part is getattr(self, cut) else part
                    for part in parts
                ]

        assert f"you gave '{cut}'" in check_MultiHead(Detached).message

    def test_an_empty_class_is_untouched(self):
        class MultiHead(nn.Module): ...

        assert not check_MultiHead(MultiHead).started


def largest(change):
    """Name the layer with the largest change."""
    return lambda layers, x: max(layers, key=lambda n: change(layers[n], x).abs().max().item())


def shuffle_of(count, seed=0):
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def swapped(i, j):
    order = torch.arange(12)
    order[i], order[j] = j, i
    return order


class TestWrongSplit:
    """The names of wrong comparisons, whatever the shuffle."""

    @pytest.mark.parametrize("pair", [(0, 1), (1, 2), (3, 4), (9, 10)])
    def test_a_swap_of_neighbours(self, pair):
        o = swapped(*pair)
        found = WRONG_SPLIT.recognise(largest(lambda layer, x: layer(x[o]) - layer(x)[o]))
        assert found.name == "a shuffle that moves whole stretches"

    @pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])  # order 2 undoes itself
    @pytest.mark.parametrize(
        "change",
        [
            lambda layer, x, o, other: layer(x[o]) - layer(x),
            lambda layer, x, o, other: layer(x[o])[o] - layer(x),
            lambda layer, x, o, other: layer(x[o]) - layer(x)[other],
        ],
        ids=["not shuffled", "shuffled twice", "two orders"],
    )
    def test_different_tokens(self, change, seed):
        orders = shuffle_of(12, seed), shuffle_of(12, seed + 100)
        found = WRONG_SPLIT.recognise(largest(lambda layer, x: change(layer, x, *orders)))
        assert found.name == "different tokens compared"

    @pytest.mark.parametrize("seed", range(5))
    def test_shuffled_columns(self, seed):
        o = shuffle_of(24, seed)
        found = WRONG_SPLIT.recognise(largest(lambda layer, x: layer(x[:, o]) - layer(x)[:, o]))
        assert found.name == "no shuffled tokens"

    def test_exact_comparison(self):
        o = shuffle_of(12)

        def find(layers, x):
            return next(n for n in layers if not torch.allclose(layers[n](x[o]), layers[n](x)[o]))

        assert WRONG_SPLIT.recognise(find).name == "the first that is not exactly equal"


@pytest.mark.parametrize("kind", ["split", "merge", "split and merge"])
def test_one_suspect_in_five_is_not_equivariant(kind):
    layers, x = split_suspects(kind), some_tokens()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    for name, layer in layers.items():
        assert layer(x).shape == x.shape
        change = (layer(x[order]) - layer(x)[order]).abs().max()
        assert (change > 0.01) == (name == "C"), name


@pytest.mark.parametrize("pair", REFERENTS[:6:2], ids=lambda pair: pair.right)
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
