"""Lecture 03's exercises: each named wrong idea gets its own diagnosis, and the references hold."""

import pytest
import torch
from torch import nn

from course_utils.layers import merge_heads, split_heads
from course_utils.lectures.l03_heads.exercises.cross_attention import (
    CROSS_ATTENTION,
    CROSS_SIZES,
    check_cross_attention,
)
from course_utils.lectures.l03_heads.exercises.heads import (
    MERGE_HEADS,
    SPLIT_HEADS,
    check_merge_heads,
    check_split_heads,
)
from course_utils.lectures.l03_heads.exercises.previous_token import (
    PREVIOUS_TOKEN,
    check_previous_token_head,
)
from course_utils.lectures.l03_heads.experiments.head_roles import REFERENTS, relation_weights
from tests.lectures.l03_heads.support_wrong_answers_03 import (
    RIGHT_CROSS_ATTENTION,
    RIGHT_MERGE_HEADS,
    RIGHT_PREVIOUS_TOKEN,
    RIGHT_SPLIT_HEADS,
    WRONG_CROSS_ATTENTION,
    WRONG_MERGE_HEADS,
    WRONG_PREVIOUS_TOKEN,
    WRONG_SPLIT_HEADS,
    place,
    reads,
    right_cross_attention,
    with_steps,
)
from tests.teaching.support_diagnoses import diagnoses, published

LECTURE = "03_heads.ipynb"

STAGES = {
    check_split_heads: (SPLIT_HEADS,),
    check_merge_heads: (MERGE_HEADS,),
    check_cross_attention: (CROSS_ATTENTION, CROSS_SIZES),
    check_previous_token_head: (PREVIOUS_TOKEN,),
}

TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_split_heads: WRONG_SPLIT_HEADS,
        check_merge_heads: WRONG_MERGE_HEADS,
        check_cross_attention: WRONG_CROSS_ATTENTION,
        check_previous_token_head: WRONG_PREVIOUS_TOKEN,
    },
    right={
        check_split_heads: RIGHT_SPLIT_HEADS,
        check_merge_heads: RIGHT_MERGE_HEADS,
        check_cross_attention: RIGHT_CROSS_ATTENTION,
        check_previous_token_head: RIGHT_PREVIOUS_TOKEN,
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {
        check_split_heads: "split",
        check_merge_heads: "merge",
        check_cross_attention: "cross_attention",
        check_previous_token_head: "previous_token_head",
    },
)


class TestSplitAndMerge:
    @pytest.mark.parametrize("probe", SPLIT_HEADS.probes)
    def test_the_split_is_the_librarys_and_moves_no_number(self, probe):
        heads = SPLIT_HEADS.reference(**probe)
        assert torch.equal(heads, split_heads(**probe))
        assert heads.data_ptr() == probe["x"].data_ptr()

    @pytest.mark.parametrize("probe", MERGE_HEADS.probes)
    def test_the_merge_is_the_librarys_and_the_inverse_of_the_split(self, probe):
        x = MERGE_HEADS.reference(**probe)
        assert torch.equal(x, merge_heads(probe["heads"]))
        assert torch.equal(SPLIT_HEADS.reference(x, probe["heads"].shape[1]), probe["heads"])

    def test_numbers_say_where_they_come_from(self):
        B, T, C = SPLIT_HEADS.probes[1]["x"].shape
        for b, t, c in ((0, 0, 0), (1, 2, 3), (B - 1, T - 1, C - 1)):
            assert SPLIT_HEADS.probes[1]["x"][b, t, c] == 10_000 * b + 100 * t + c

    def test_a_forgotten_transpose_keeps_a_shape_somewhere(self):
        shapes = [SPLIT_HEADS.reference(**probe).shape for probe in SPLIT_HEADS.probes]
        assert any(shape[1] == shape[2] for shape in shapes)

    def test_the_reference_is_what_multihead_attention_does(self):
        T, C, H = 5, 21, 3
        attention = nn.MultiheadAttention(C, H, bias=False, batch_first=True)
        x = torch.randn(1, T, C)
        with torch.no_grad():
            w_q, w_k, w_v = attention.in_proj_weight.chunk(3)
            q, k, v = (SPLIT_HEADS.reference(x @ w.T, H) for w in (w_q, w_k, w_v))
            weights = (q @ k.mT / (C // H) ** 0.5).softmax(-1)
            out = attention.out_proj(MERGE_HEADS.reference(weights @ v))
            expected, theirs = attention(x, x, x, average_attn_weights=False)
        torch.testing.assert_close((out, weights), (expected, theirs), rtol=0, atol=1e-5)


class TestCrossAttention:
    @pytest.mark.parametrize("stage", STAGES[check_cross_attention], ids=["one", "batch"])
    def test_the_reference_is_torchs_layer_with_key_padding(self, stage):
        for probe in stage.probes:
            x, memory, may_attend, w_q, w_k, w_v = probe.values()
            C, D = w_q.shape
            layer = nn.MultiheadAttention(D, 1, bias=False, kdim=C, vdim=C, batch_first=True)
            with torch.no_grad():
                # Their queries have the layer's width, so x comes projected.
                layer.q_proj_weight.copy_(torch.eye(D))
                layer.k_proj_weight.copy_(w_k.T)
                layer.v_proj_weight.zero_()
                _, weights = layer(x @ w_q, memory, memory, key_padding_mask=~may_attend)
            out, own = stage.reference(*probe.values())
            torch.testing.assert_close(own, weights, rtol=0, atol=1e-5)
            torch.testing.assert_close(out, weights @ (memory @ w_v), rtol=0, atol=1e-5)

    def test_the_probes_hold_what_they_are_for(self):
        for probe in CROSS_ATTENTION.probes:
            assert probe["x"].shape == probe["memory"].shape and len(probe["x"]) == 1
            assert not probe["may_attend"].all()
        queries = [(probe["x"].shape[:2], probe["memory"].shape[1]) for probe in CROSS_SIZES.probes]
        assert any(B == T for (B, T), _ in queries) and any(B != T for (B, T), _ in queries)
        assert all(T != S for (_, T), S in queries)
        assert all(p["may_attend"].any(-1).all() for p in CROSS_ATTENTION.probes)
        assert all(p["may_attend"].any(-1).all() for p in CROSS_SIZES.probes)

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (with_steps(mask_of=lambda m: ~m[:, None]), "Your mask is the other way round"),
            (
                with_steps(weigh=lambda scores, mask: scores.softmax(-1).masked_fill(~mask, 0)),
                "You take padding out after the softmax",
            ),
            (
                lambda *inputs: tuple(part.numpy() for part in right_cross_attention(*inputs)),
                "`out` should be a torch tensor, you gave a numpy array",
            ),
            (
                lambda *inputs: (right_cross_attention(*inputs)[0].mT, None),
                "`out` has shape (1, 2, 5), expected (1, 5, 2)",
            ),
        ],
        ids=["mask negated", "filled with 0", "numpy", "transposed"],
    )
    def test_other_roads_to_a_mistake(self, answer, quoted):
        assert quoted in check_cross_attention(answer).message


class TestPreviousToken:
    @pytest.mark.parametrize("probe", PREVIOUS_TOKEN.probes, ids=["7", "causal", "11"])
    def test_the_probes_are_attention_with_one_clear_winner(self, probe):
        weights = probe["weights"]
        assert weights.min() >= 0
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))
        best, second = reads(weights, -1).flatten().topk(2).values
        assert best > 1.1 * second
        assert PREVIOUS_TOKEN.reference(weights) == place(reads(weights, -1))

    def test_layer_and_head_differ_in_their_numbers(self):
        L, H = PREVIOUS_TOKEN.probes[0]["weights"].shape[:2]
        layer, head = PREVIOUS_TOKEN.reference(PREVIOUS_TOKEN.probes[0]["weights"])
        assert L != H and layer != head

    def test_another_wrong_head_hears_which_is_right(self):
        message = check_previous_token_head(lambda weights: (0, 3)).message
        assert "you gave 0 for `layer`, expected about 2" in message

    @pytest.mark.parametrize("pair", REFERENTS[:6:2], ids=lambda pair: pair.read)
    def test_in_minilm_it_is_layer_0_head_2(self, minilm, pair):
        weights = torch.stack(list(minilm.read(pair.text).attentions))
        assert PREVIOUS_TOKEN.reference(weights) == (0, 2)
        # What the lecture's solution states, rounded.
        assert f"{reads(weights[:1, 2:3], -1).item():.2f}" == "1.00"


class TestQuizFacts:
    """The numbers that the quiz states, computed."""

    def test_the_wrong_view(self):
        tokens = torch.arange(2 * 11).repeat_interleave(512).view(2, 11, 512)
        head = tokens.view(2, 8, 11, 64)[0, 0]
        assert (head == head[:, :1]).all()
        assert head[:, 0].tolist() == [0] * 8 + [1] * 3
        assert (tokens.view(2, 8, 11, 64)[1] >= 11).all()

    @pytest.mark.parametrize("heads", [1, 8, 16, 32])
    def test_parameters_and_scores_do_not_depend_on_the_heads(self, heads):
        layer = nn.MultiheadAttention(512, heads, bias=False)
        assert sum(p.numel() for p in layer.parameters()) == 1_048_576 == 4 * 512**2
        assert heads * (512 // heads) == 512

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_the_rank_of_scores_and_weights(self, seed):
        draw = torch.Generator().manual_seed(seed)
        q, k = torch.randn(2, 101, 4, generator=draw, dtype=torch.float64)
        scores = q @ k.T / 2
        assert torch.linalg.matrix_rank(scores) == 4
        assert torch.linalg.matrix_rank(scores.softmax(-1)) == 101

    def test_the_head_that_reads_the_animal(self, minilm):
        tired, wide = REFERENTS[:2]
        weights = relation_weights(REFERENTS)
        read, other = weights.read[:, 3, 1], weights.other[:, 3, 1]
        assert (tired.read, wide.read) == ("animal", "street")
        assert f"{read[0]:.2f}" == "0.68"
        assert (f"{other[1]:.2f}", f"{read[1]:.2f}") == ("0.28", "0.12")
        right = read > other
        assert len(right) == 10 and right.sum() == 5
        assert (right[0::2] != right[1::2]).all()
        assert len(minilm.read(tired.text).tokens) == 16
