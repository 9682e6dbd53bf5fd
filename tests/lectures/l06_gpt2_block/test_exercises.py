"""Lecture 06's exercises: diagnoses, and the references against the course's own GPT-2."""

import math

import pytest
import torch
from torch import nn

from course_utils.lectures.l06_gpt2_block.exercises.block import BLOCK, check_block, pieces
from course_utils.lectures.l06_gpt2_block.exercises.count import COUNT, check_count
from course_utils.lectures.l06_gpt2_block.exercises.nucleus import NUCLEUS, check_nucleus
from course_utils.lectures.l06_gpt2_block.exercises.tie import TIE, Untied, check_tie
from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from course_utils.sampling import with_temperature, with_top_p
from course_utils.teaching.watched import Watched, watched
from tests.lectures.l06_gpt2_block.support_count_06 import WRONG_COUNT, count_of
from tests.lectures.l06_gpt2_block.support_wrong_answers_06 import (
    FIRST,
    SECOND,
    WRONG_BLOCK,
    WRONG_NUCLEUS,
    WRONG_TIE,
    block_of,
    nucleus_of,
    one_memory,
    returned,
    right_nucleus,
)
from tests.teaching.support_diagnoses import diagnoses, published

LECTURE = "06_gpt2_block.ipynb"

STAGES = {
    check_block: (BLOCK,),
    check_count: (COUNT,),
    check_tie: (TIE,),
    check_nucleus: (NUCLEUS,),
}


def by_shapes(V, P, C, L, F):
    """The numbers in every tensor of the model, from its shape."""
    norm = [(C,), (C,)]
    layers = [(C, C), (C,)] * 4 + [(F, C), (F,), (C, F), (C,)] + 2 * norm
    shapes = [(V, C), (P, C), *norm, *(L * layers)]
    return sum(math.prod(shape) for shape in shapes)


def share(model):
    model.head.weight = model.embedding.weight
    return model


def tie_a_new_head(model):
    V, C = model.embedding.weight.shape
    model.head = nn.Linear(C, V, bias=False)
    model.head.weight = model.embedding.weight
    return model


TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_block: WRONG_BLOCK,
        check_count: WRONG_COUNT,
        check_tie: WRONG_TIE,
        check_nucleus: WRONG_NUCLEUS,
    },
    right={
        check_block: {
            "two lines": block_of(FIRST, SECOND),
            "in place": block_of("x += att(n1(x))", "x += ff(n2(x))"),
            "a copy by name": block_of("h = n1(x)", "x = att(h) + x", "h = n2(x)", "x = ff(h) + x"),
        },
        check_count: {
            "one formula": count_of(),
            "shapes": by_shapes,
            "a float": lambda *sizes: float(by_shapes(*sizes)),
        },
        check_tie: {
            "assignment": share,
            "a new head": tie_a_new_head,
        },
        check_nucleus: {
            "counted": right_nucleus,
            "the library's": lambda probabilities, p: with_top_p(probabilities.log(), p),
        },
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {
        check_block: "block",
        check_count: "count_parameters",
        check_tie: "tie",
        check_nucleus: "nucleus",
    },
)


class TestBlock:
    def test_it_is_the_block_of_our_gpt_2(self):
        C, H, F = 6, 3, 11
        made = pieces(C, H, F)
        ours = GPT2Block(GPT2Config(width=C, num_heads=H, feedforward_width=F))
        ours.attention_norm.load_state_dict(made["norm_1"].state_dict())
        ours.feedforward_norm.load_state_dict(made["norm_2"].state_dict())
        ours.attention.load_state_dict(made["attention"].state_dict())
        ours.feedforward.expand, _, ours.feedforward.contract = made["feedforward"]
        x = torch.randn(2, 5, C)
        torch.testing.assert_close(BLOCK.reference(x, *made.values()), ours(x)[0])

    def test_the_pieces_differ_and_attention_does_not_see_ahead(self):
        made = pieces(6, 3, 11)
        assert not torch.equal(made["norm_1"].weight, made["norm_2"].weight)
        x = torch.randn(1, 5, 6)
        changed = x.clone()
        changed[:, 3:] = 7.0
        same = torch.isclose(made["attention"](x), made["attention"](changed)).all(dim=-1)[0]
        assert same.tolist() == [True, True, True, False, False]

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (block_of("x = 3 * x"), "you gave"),
            (block_of(FIRST, SECOND, "x = x * float('nan')"), "`out` is NaN"),
            (block_of(FIRST, SECOND, "x = x[:, -1:]"), "`out` has shape (2, 1, 6)"),
            (block_of(FIRST, SECOND, "x = x, None"), "should be a torch tensor, you gave a tuple"),
        ],
        ids=["thrice", "nan", "last token", "two results"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_block(answer).message


class TestCount:
    @pytest.mark.parametrize("probe", COUNT.probes, ids=["gpt-2", "wide", "narrow"])
    def test_the_library_has_as_many(self, probe):
        V, P, C, L, F = probe.values()
        config = GPT2Config(V, P, C, L, num_heads=1, feedforward_width=F)
        assert COUNT.reference(**probe) == config.parameters == by_shapes(**probe)

    @pytest.mark.parametrize("probe", COUNT.probes[1:], ids=["wide", "narrow"])
    def test_a_model_has_as_many(self, probe):
        V, P, C, L, F = probe.values()
        model = GPT2(GPT2Config(V, P, C, L, num_heads=1, feedforward_width=F))
        assert COUNT.reference(**probe) == sum(p.numel() for p in model.parameters())

    def test_the_praise_states_gpt_2s_numbers(self):
        assert GPT2Config().parameters == 124_439_808 and "124,439,808" in COUNT.praise
        assert GPT2Config().block_parameters == 7_087_872 and "7,087,872" in COUNT.praise
        assert 0.3 < (50257 + 1024) * 768 / 124_439_808 < 1 / 3

    def test_one_number_off_does_not_pass(self):
        verdict = check_count(count_of(last="2*C + 1"))
        assert "you gave 124439809 for `count`, expected about 124439808" in verdict.message

    def test_a_count_as_a_tensor_is_read_as_well(self):
        verdict = check_count(lambda *sizes: torch.tensor(WRONG_COUNT["bytes"][0](*sizes)))
        assert "you gave 497,759,232" in verdict.message


class TestTie:
    def test_the_gradient_is_the_sum_of_both_uses(self):
        ids, targets = torch.tensor([[2, 5, 3, 5]]), torch.tensor([[5, 3, 5, 7]])

        def gradients(model):
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
            loss.backward()
            return model.embedding.weight.grad, model.head.weight.grad

        untied = Untied(11, 5)
        untied.head.weight.data = untied.embedding.weight.data.clone()
        read, scored = gradients(untied)
        tied, _ = gradients(share(Untied(11, 5)))
        torch.testing.assert_close(tied, read + scored)
        assert torch.equal(read.abs().sum(dim=1).nonzero()[:, 0], ids.unique())
        assert (scored.abs().sum(dim=1) > 0).all()

    def test_adam_steps_otherwise_on_two_parameters_over_one_memory(self):
        stepped = {}
        for name in ("tied", "one memory"):
            model = Untied(11, 5)
            (share if name == "tied" else one_memory)(model)
            optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
            model(torch.tensor([[2, 5, 3]])).square().mean().backward()
            optimiser.step()
            stepped[name] = model.embedding.weight.detach().clone()
        assert (stepped["tied"] - stepped["one memory"]).abs().max() > 0.05

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (lambda model: model.embedding.weight, "`tie` should return the model; you gave a te"),
            (lambda model: model.embedding, "`tie` should return the model; you gave an Embedding"),
            (returned(lambda model: model.body.weight.data.zero_()), "for `logits` at (0, 0, 0)"),
            (returned(lambda model: setattr(model, "head", len)), "cannot assign"),
        ],
        ids=["matrix", "layer", "another layer", "function"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_tie(answer).message


class TestNucleus:
    def test_the_library_keeps_the_same(self):
        probabilities = torch.randn(7, 23).mul(2).softmax(dim=-1)
        for row, p in zip(probabilities, (0.05, 0.3, 0.5, 0.8, 0.9, 0.99, 1.0), strict=True):
            torch.testing.assert_close(NUCLEUS.reference(row, p), with_top_p(row.log(), p))

    def test_the_probes_hold_what_they_are_for(self):
        sizes = [int((NUCLEUS.reference(**probe) > 0).sum()) for probe in NUCLEUS.probes]
        assert sizes == [2, 1, 2, 6]
        assert all(probe["probabilities"].sum() == pytest.approx(1.0) for probe in NUCLEUS.probes)
        largest = NUCLEUS.probes[2]["probabilities"].sort(descending=True).values
        assert largest[:2].sum().item() == NUCLEUS.probes[2]["p"]

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (nucleus_of("return torch.full((V,), torch.nan)"), "`result` is NaN"),
            (nucleus_of("return s[:2] / s[:2].sum()"), "`result` has shape (2,), expected (5,)"),
            (nucleus_of("return probabilities"), "you gave 0.4 for `result` at (3,)"),
        ],
        ids=["nan", "cut", "unchanged"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_nucleus(answer).message


class TestWatched:
    def test_stubs_and_what_is_no_function_stay_what_they_are(self):
        look = pytest.fail
        assert watched(..., look) is ... and watched(7, look) == 7
        assert Watched(lambda x: None, look)(3) is None
        assert Watched(lambda x: ..., look)(3) is ...

    def test_it_sees_the_inputs_after_the_call(self):
        def drop_last(numbers):
            return numbers.pop()

        seen = watched(drop_last, lambda value, numbers: (value, numbers))([5, 7, 11])
        assert seen == (11, [5, 7])


class TestQuiz:
    """What the explanations of the quiz state in numbers."""

    def test_the_stream_is_the_sum_of_what_the_sublayers_gave(self):
        model, given = GPT2(GPT2Config(23, 11, 12, 12, 3)), []
        for block in model.blocks:
            block.attention.register_forward_hook(lambda *call: given.append(call[-1][0]))
            block.feedforward.register_forward_hook(lambda *call: given.append(call[-1]))
        states = model.trace(torch.tensor([[5, 7, 2]])).hidden_states
        assert len(given) == 24
        torch.testing.assert_close(states[12] - states[0], sum(given))

    def test_temperature_0_is_greedy_and_a_high_one_uniform(self):
        logits = torch.tensor([1.0, 3.0, 2.9])
        assert with_temperature(logits, 0).tolist() == [0, 1, 0]
        torch.testing.assert_close(with_temperature(logits, 1e6), torch.full((3,), 1 / 3))

    def test_kaplans_exponent(self):
        assert round(10**-0.076, 2) == 0.84
        halving, one_percent_more, tenfold = 2 ** (1 / 0.076), 1 - 1.01**-0.076, 10**-0.30
        assert halving == pytest.approx(9_000, rel=0.02)
        assert one_percent_more == pytest.approx(0.00076, rel=0.01)
        assert tenfold == pytest.approx(0.5, rel=0.01)
