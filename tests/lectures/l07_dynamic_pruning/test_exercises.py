"""Lecture 07's exercises: diagnoses, and the references against the course's layers."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.layers.lora import LoRALinear
from course_utils.layers.moe import MixtureOfExperts
from course_utils.layers.moe_routing import Routing, balance_loss, expert_capacity
from course_utils.lectures.l07_dynamic_pruning.exercises.balance import BALANCE, check_balance
from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH, check_dispatch
from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch_capacity import ROOM
from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch_experts import Expert
from course_utils.lectures.l07_dynamic_pruning.exercises.grouped_scores import (
    GROUPED_SCORES,
    check_grouped_scores,
)
from course_utils.lectures.l07_dynamic_pruning.exercises.merge_lora import (
    MERGE_LORA,
    check_merge_lora,
)
from course_utils.measure.costs import attention_parameters, kv_cache_bytes
from tests.lectures.l07_dynamic_pruning.support_dispatch_07 import (
    GATE,
    WRONG_DISPATCH,
    WRONG_ROOM,
    dispatch_of,
    right_dispatch,
)
from tests.lectures.l07_dynamic_pruning.support_wrong_answers_07 import (
    WRONG_BALANCE,
    WRONG_GROUPED_SCORES,
    WRONG_MERGE_LORA,
    balance_of,
    merge_by,
    scores_of,
)
from tests.teaching.support_diagnoses import diagnoses, published
from tests.teaching.support_exercises import defined

LECTURE = "07_dynamic_pruning.ipynb"

STAGES = {
    check_dispatch: (DISPATCH, ROOM),
    check_balance: (BALANCE,),
    check_merge_lora: (MERGE_LORA,),
    check_grouped_scores: (GROUPED_SCORES,),
}

IN_EACH_PLACE = """\
def dispatch(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    one_hot = torch.nn.functional.one_hot(chosen, len(experts))  # (N, k, E)
    queue = one_hot.flatten(0, 1).cumsum(0).view_as(one_hot)
    for j in range(chosen.shape[1]):
        for e, expert in enumerate(experts):
            mine = (chosen[:, j] == e) & (queue[:, j, e] <= room)
            out[mine] += gates[mine, j, None] * expert(x[mine])
    return out
"""

BY_LOOP = """\
def balance_loss(probabilities, chosen):
    loss, (N, E) = 0, probabilities.shape
    for e in range(E):
        loss = loss + (chosen == e).float().mean() * probabilities[:, e].mean()
    return loss * E
"""

TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_dispatch: WRONG_DISPATCH | WRONG_ROOM,
        check_balance: WRONG_BALANCE,
        check_merge_lora: WRONG_MERGE_LORA,
        check_grouped_scores: WRONG_GROUPED_SCORES,
    },
    right={
        check_dispatch: {
            "one flat list": right_dispatch,
            "in each place": defined(IN_EACH_PLACE, "dispatch"),
        },
        check_balance: {"one-hot": balance_of(), "a loop": defined(BY_LOOP, "balance_loss")},
        check_merge_lora: {
            "a line": merge_by("alpha / A.shape[0] * B @ A + W"),
            "torch": merge_by("torch.addmm(W, B, A, alpha=alpha / B.shape[1])"),
            "a copy": merge_by("W.clone().add_(B @ A * alpha / len(A))"),
        },
        check_grouped_scores: {
            "folded": scores_of("(folded @ k.transpose(2, 3)).view(B, H, T, S)"),
            "einsum": scores_of(
                "parts = torch.einsum('bgrtd,bgsd->bgrts', q.unflatten(1, (G, R)), k)",
                "parts.flatten(1, 2)",
            ),
            "head by head": scores_of(
                "torch.stack([q[:, h] @ k[:, h // R].mT for h in range(H)], dim=1)"
            ),
        },
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {
        check_dispatch: "dispatch",
        check_balance: "balance_loss",
        check_merge_lora: "merge",
        check_grouped_scores: "grouped_scores",
    },
)


class TestDispatch:
    @pytest.mark.parametrize("probe", DISPATCH.probes, ids=["an unused expert", "three choices"])
    def test_it_is_what_each_token_alone_gives(self, probe):
        x, chosen, gates, experts, room = probe.values()
        fresh = [Expert(number, x.shape[1]) for number in range(len(experts))]
        expected = torch.zeros_like(x)
        for n, j in itertools.product(range(len(x)), range(chosen.shape[1])):
            expected[n] += gates[n, j] * fresh[chosen[n, j]](x[n])
        torch.testing.assert_close(right_dispatch(x, chosen, gates, fresh, room), expected)

    @pytest.mark.parametrize(("capacity", "room"), [(None, 22), (0.5, 4)])
    def test_it_is_what_our_layer_does(self, capacity, room):
        layer = MixtureOfExperts(5, 7, 3, 2, capacity=capacity)
        x = torch.randn(1, 11, 5)
        out, routing = layer(x)
        assert bool(routing.dropped) is (capacity is not None)
        decided = (routing.chosen, routing.gates, list(layer.experts), room)
        torch.testing.assert_close(right_dispatch(x[0], *decided), out[0])

    def test_the_probes_hold_what_they_are_for(self):
        for stage, dropped in ((DISPATCH, [0, 0]), (ROOM, [4, 11])):
            loads = [
                torch.bincount(p["chosen"].flatten(), minlength=len(p["experts"]))
                for p in stage.probes
            ]
            over = [
                int((load - probe["room"]).clamp(min=0).sum())
                for load, probe in zip(loads, stage.probes, strict=True)
            ]
            assert over == dropped
            assert (loads[0] == 0).tolist() == [False, False, True, False, False]
            for probe in stage.probes:
                assert all(len(set(row)) == len(row) for row in probe["chosen"].tolist())
                assert (probe["gates"].sum(dim=1) - 1).abs().max() > 0.3
                assert all(expert.calls == [] for expert in probe["experts"])

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (dispatch_of(GATE, "out[n] += 2 * g * experts[e](x[n])"), "expected about"),
            (lambda x, *others: x.tolist(), "`out` should be a torch tensor"),
            (
                dispatch_of(GATE, "experts[e](x)", "out[n] += g * experts[e](x[n])"),
                "you gave 11 for `rows of each expert` at (0,), expected about 4",
            ),
        ],
        ids=["twice", "list", "computed and thrown away"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_dispatch(answer).message


class TestBalance:
    @pytest.mark.parametrize("probe", BALANCE.probes, ids=["unused", "one", "three"])
    def test_the_library_has_the_same_value_and_gradient(self, probe):
        p, chosen = probe.values()
        gates = p.gather(1, chosen)
        ours = balance_loss(Routing(chosen, gates, torch.ones_like(chosen) > 0, p))
        loss, gradient = BALANCE.reference(p, chosen)
        torch.testing.assert_close(loss, ours.detach())
        torch.testing.assert_close(gradient, torch.autograd.grad(ours, p)[0])

    def test_equal_shares_give_1(self):
        for E in (3, 7):
            chosen = torch.arange(E)[:, None]
            p = torch.full((E, E), 1 / E, requires_grad=True)
            assert BALANCE.reference(p, chosen)[0].item() == pytest.approx(1.0)

    def test_the_probes_hold_what_they_are_for(self):
        p, chosen = BALANCE.probes[0].values()
        assert (chosen == p.shape[1] - 1).sum() == 0
        for p, chosen in (probe.values() for probe in BALANCE.probes):
            assert (p.argmax(dim=1) != chosen[:, 0]).any()

    def test_transformers_counts_a_share_of_the_tokens(self):
        from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

        logits = torch.randn(11, 5)
        p = logits.softmax(dim=1).requires_grad_()
        chosen = p.topk(2, dim=1).indices
        theirs = load_balancing_loss_func((logits,), num_experts=5, top_k=2)
        assert theirs.item() == pytest.approx(2 * BALANCE.reference(p, chosen)[0].item(), rel=1e-5)

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (balance_of("E = float('nan')"), "`loss` is NaN"),
            (balance_of("return (E * f @ P).item()"), "and it has no gradient"),
            (balance_of("E = 3 * E"), "for `loss`, expected about 1.308; ratio 3"),
        ],
        ids=["nan", "a float", "thrice"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_balance(answer).message


class TestMergeLoRA:
    def test_it_is_what_our_layer_becomes(self):
        layer = LoRALinear(torch.nn.Linear(5, 7), rank=3, alpha=6)
        torch.nn.init.normal_(layer.up)
        inputs = [x.detach().clone() for x in (layer.base.weight, layer.down, layer.up)]
        merged, left = MERGE_LORA.reference(*inputs, 6.0)
        x = torch.randn(11, 5)
        torch.testing.assert_close(F.linear(x, merged, layer.base.bias), layer(x))
        assert torch.equal(left, layer.base.weight)
        layer.merge()
        torch.testing.assert_close(merged, layer.base.weight.detach())

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (merge_by("(W + alpha / len(A) * B @ A).T"), "`merged` has shape (5, 7), expected (7,"),
            (merge_by("W.zero_()"), "you gave 0 for `merged`"),
            (merge_by("W + 5 * B @ A"), "for `merged` at"),
        ],
        ids=["transposed result", "zeros", "five times"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_merge_lora(answer).message


class TestGroupedScores:
    @pytest.mark.parametrize("probe", GROUPED_SCORES.probes, ids=["two", "five", "three"])
    def test_it_is_what_repeated_keys_give(self, probe):
        q, k = probe.values()
        repeated = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        torch.testing.assert_close(GROUPED_SCORES.reference(q, k)[0], q @ repeated.mT)

    def test_torch_shares_heads_in_the_same_order(self):
        q, k, v = torch.randn(2, 6, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 7)
        theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        scores = GROUPED_SCORES.reference(q, k)[0] / 7**0.5
        torch.testing.assert_close(scores.softmax(-1) @ v.repeat_interleave(2, dim=1), theirs)

    @pytest.mark.parametrize(
        "line",
        [
            "(q.view(B, G, R, T, D) @ k[:, :, None].mT).view(B, H, T, S)",
            "q @ k.repeat_interleave(R, 1).mT",
            "q @ torch.stack([k] * R, dim=2).flatten(1, 2).mT",
            "q @ k[:, torch.arange(H) // R].mT",
            "torch.einsum('bhtd,bhsd->bhts', q, k.repeat_interleave(R, 1))",
        ],
        ids=["broadcast", "repeat_interleave", "stack", "indexed", "einsum of repeated"],
    )
    def test_every_copy_is_seen(self, line):
        assert "the keys of all 6 heads" in check_grouped_scores(scores_of(line)).message

    def test_the_copy_would_be_the_largest_tensor_by_far(self):
        for q, k in (probe.values() for probe in GROUPED_SCORES.probes):
            repeated = k.numel() * q.shape[1] // k.shape[1]
            scores = q[..., 0].numel() * k.shape[2]
            # Room for a copy of what is there: of the queries, of the G heads of keys.
            assert q.numel() + k.numel() + scores < repeated

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (scores_of("folded @ k.mT * 2"), "`scores` has shape (2, 2, 3, 11), expected (2, 6, 1"),
            (scores_of("(folded @ k.mT).view(B, H, T, S) * math.nan"), "`scores` is NaN"),
            (scores_of("(folded @ k.mT).view(B, H, T, S) * 5"), "ratio 5"),
        ],
        ids=["folded and doubled", "nan", "five times"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_grouped_scores(answer).message


class TestQuiz:
    """What the explanations of the quiz state in numbers."""

    def test_two_of_eight_experts_cost_two_layers(self):
        layer = MixtureOfExperts(width=12, hidden=48, num_experts=8, k=2)
        one = sum(weight.numel() for weight in layer.experts[0].parameters())
        router = layer.router.weight.numel()
        assert layer.active_parameters == 2 * one + router
        assert sum(w.numel() for w in layer.parameters()) == 8 * one + router

    def test_room_in_an_expert(self):
        room = expert_capacity(num_tokens=512, num_experts=8, k=2, factor=1.25)
        assert room == 160 == 2 * expert_capacity(512, 8, 1, factor=1.25)

    def test_a_quarter_of_the_heads_of_keys(self):
        full, grouped = (kv_cache_bytes(1, G, 64, 100) for G in (32, 8))
        assert full == 4 * grouped
        layer = GroupedQueryAttention(128, 32, 8, bias=False)
        matrices = sum(w.numel() for w in layer.parameters()) / 128**2
        assert matrices == 2.5 and attention_parameters(128, bias=False) == 4 * 128**2
        _, heads = layer(torch.randn(1, 3, 128))
        assert heads.weights.shape == (1, 32, 3, 3)

    @pytest.mark.parametrize(("zero", "moves"), [(("up", "down"), 0), (("up",), 2)])
    def test_both_factors_zero_never_move(self, zero, moves):
        layer = LoRALinear(torch.nn.Linear(5, 7), rank=3)
        for name in zero:
            torch.nn.init.zeros_(getattr(layer, name))
        before = [layer.up.detach().clone(), layer.down.detach().clone()]
        x, goal = torch.randn(11, 5), torch.randn(11, 7)
        for step in range(2):
            up, down = torch.autograd.grad(F.mse_loss(layer(x), goal), [layer.up, layer.down])
            assert moves == 0 or step == 1 or (up.any() and not down.any())
            with torch.no_grad():
                layer.up -= 0.1 * up
                layer.down -= 0.1 * down
        after = [layer.up, layer.down]
        assert sum(not torch.equal(a, b) for a, b in zip(after, before, strict=True)) == moves

    def test_a_later_token_pushes_one_out_of_the_upper_half(self):
        scores = torch.tensor([0.3, 0.9, 0.5, 0.1, 0.8, 0.7])
        upper = [set(scores[:T].topk(T // 2).indices.tolist()) for T in (4, 6)]
        assert 2 in upper[0] and 2 not in upper[1]
        assert math.isclose(len(upper[1]) / 6, 0.5)
