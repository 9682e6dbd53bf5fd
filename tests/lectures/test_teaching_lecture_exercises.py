"""The exercises of the lectures: each named wrong idea gets its own diagnosis."""

import math

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import attend
from course_utils.lectures.l00_start_here.exercises import (
    ATTENTION,
    CROSSOVER,
    check_attention,
    check_crossover,
)
from course_utils.lectures.l01_scaling.exercises import (
    SCORE_VARIANCE,
    SUSPECT,
    UNIT_NORM_SCALE,
    check_score_variance,
    check_suspect,
    check_unit_norm_scale,
)
from course_utils.lectures.l01_scaling.mystery_models import D_MODEL, suspects
from course_utils.measure.costs import attention_flops, crossover_length, recurrent_flops
from tests.lectures.support_wrong_answers import (
    WRONG_ATTENTION,
    WRONG_CROSSOVER,
    WRONG_SCORE_VARIANCE,
    WRONG_SUSPECT,
    WRONG_UNIT_NORM_SCALE,
    attention_with,
    divisors,
    nearest,
)
from tests.support_errors import raises_saying
from tests.teaching.support_exercises import (
    NOTEBOOKS,
    defined,
    solution_cell,
    solution_source,
    stub_source,
)

EXERCISES = {
    check_attention: ATTENTION,
    check_crossover: CROSSOVER,
    check_score_variance: SCORE_VARIANCE,
    check_unit_norm_scale: UNIT_NORM_SCALE,
    check_suspect: SUSPECT,
}

PUBLISHED = [
    ("00_start_here.ipynb", "attention", check_attention),
    ("00_start_here.ipynb", "crossover_length", check_crossover),
    ("01_scaling.ipynb", "score_variance", check_score_variance),
    ("01_scaling.ipynb", "unit_norm_scale", check_unit_norm_scale),
    ("01_scaling.ipynb", "find_suspect", check_suspect),
]


WRONG = {
    check_attention: WRONG_ATTENTION,
    check_crossover: WRONG_CROSSOVER,
    check_score_variance: WRONG_SCORE_VARIANCE,
    check_unit_norm_scale: WRONG_UNIT_NORM_SCALE,
    check_suspect: WRONG_SUSPECT,
}

CASES = [
    pytest.param(check, name, id=f"{check.__name__}-{name}".replace(" ", "_"))
    for check, answers in WRONG.items()
    for name in answers
]


@pytest.mark.parametrize(("check", "name"), CASES)
def test_each_wrong_idea_gets_its_own_diagnosis(check, name):
    answer, quoted = WRONG[check][name]
    verdict = check(answer)
    assert (verdict.passed, verdict.started) == (False, True)
    assert quoted in verdict.message
    assert "{" not in verdict.message


@pytest.mark.parametrize("check", WRONG, ids=lambda check: check.__name__)
def test_no_two_wrong_ideas_get_the_same_message(check):
    messages = [check(answer).message for answer, _ in WRONG[check].values()]
    assert len(set(messages)) == len(messages) >= 5


@pytest.mark.parametrize("check", WRONG, ids=lambda check: check.__name__)
def test_every_named_mistake_is_tried_here(check):
    assert set(WRONG[check]) == {mistake.name for mistake in EXERCISES[check].mistakes}


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.title)
def test_the_probes_tell_all_answers_apart(exercise):
    assert exercise.confusions() == []


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.title)
def test_code_in_the_messages_is_between_backticks(exercise):
    for mistake in exercise.mistakes:
        assert mistake.message.count("`") % 2 == 0


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_attention, lambda q, k, v: attention_with(q, k, v)),
        (check_attention, lambda a, b, c: [*attend(a, b, c)]),
        (check_crossover, lambda C: (16 * C**2 - 8 * C**2) / (4 * C)),
        (check_score_variance, lambda d, a, b: sum(a * b for _ in range(d))),
        (check_unit_norm_scale, math.sqrt),
        (check_suspect, nearest(512**0.5)),
        (check_suspect, lambda models: (nearest(512**0.5)(models)[0], 22.6)),
    ],
)
def test_right_answers_pass(check, answer):
    assert check(answer).passed


@pytest.mark.parametrize("check", WRONG, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("answer", "started", "quoted"),
    [
        (..., False, "untouched"),
        (lambda *inputs: ..., False, "untouched"),
        (lambda *inputs: 1 / 0, True, "ZeroDivisionError: division by zero"),
        (lambda *inputs: None, False, "untouched"),
        (lambda: 1, True, "TypeError"),
        (lambda *inputs: "a word", True, "you gave 'a word'"),
        (lambda *inputs: torch.ones(11, 13), True, "shape (11, 13)"),
    ],
    ids=["stub", "dots", "crash", "empty", "parameters", "type", "shape"],
)
def test_broken_answers_get_a_sentence(check, answer, started, quoted):
    verdict = check(answer)
    assert (verdict.passed, verdict.started) == (False, started)
    assert quoted in verdict.message


@pytest.mark.parametrize(
    ("check", "answer", "quoted"),
    [
        (check_attention, lambda q, k, v: [x * torch.nan for x in attend(q, k, v)], "`out` is NaN"),
        (check_crossover, lambda C: float("nan"), "`length` is NaN"),
        (check_score_variance, lambda d, a, b: float("nan"), "`variance` is NaN"),
        (check_unit_norm_scale, lambda d: float("inf"), "`scale` is infinite"),
        (check_suspect, lambda models: (nearest(512**0.5)(models)[0], float("nan")), "is NaN"),
        (
            check_attention,
            lambda q, k, v: (attend(q, k, v)[0].T, attend(q, k, v)[1]),
            "`out` has shape (2, 5), expected (5, 2)",
        ),
        (
            check_attention,
            lambda q, k, v: (attend(q, k, v)[0], attend(q, k, v)[1].T),
            "`weights` has shape (7, 5), expected (5, 7)",
        ),
        (check_suspect, lambda models: (3, 22.6), "`name` should be a text, you gave 3"),
        (check_suspect, lambda models: "amber", "2 results, `name`, `divisor`; you gave 'amber'"),
    ],
)
def test_values_that_are_not_finite_or_not_of_the_shape_are_said(check, answer, quoted):
    assert quoted in check(answer).message


@pytest.mark.parametrize(
    ("check", "answer", "quoted"),
    [
        (check_score_variance, lambda d, a, b: 5 * d * a * b, "you gave 1920"),
        (check_unit_norm_scale, lambda d: 3 * d**0.5, "expected about 8; ratio 3."),
        (check_crossover, lambda C: 2 * C + 5, "you gave 19 for `length`, expected about 14"),
    ],
)
def test_other_wrong_answers_hear_where_and_how_far(check, answer, quoted):
    assert quoted in check(answer).message


class TestReferences:
    """The references themselves, against measurements and other implementations."""

    def test_score_variance_is_what_samples_show(self):
        generator = torch.Generator().manual_seed(0)
        for probe in SCORE_VARIANCE.probes:
            n, d = 20_000, probe["d_k"]
            q, k = (torch.randn(n, d, generator=generator) for _ in range(2))
            products = (q * k).sum(-1) * math.sqrt(probe["var_q"] * probe["var_k"])
            # The relative error of a sample variance is √((κ − 1)/n), and κ ≤ 9 for a product
            # of two normals: 2 % here. Five of these.
            expected = SCORE_VARIANCE.reference(**probe)
            assert products.var().item() == pytest.approx(expected, rel=0.1)

    def test_unit_norm_scale_gives_variance_one(self):
        generator = torch.Generator().manual_seed(0)
        for probe in UNIT_NORM_SCALE.probes:
            d = probe["d_k"]
            q, k = (F.normalize(torch.randn(20_000, d, generator=generator)) for _ in range(2))
            scores = (q * k).sum(-1) * UNIT_NORM_SCALE.reference(d)
            # κ ≤ 3, so a relative error of √(2/n) = 1 %; five of these.
            assert scores.var().item() == pytest.approx(1.0, rel=0.05)

    @pytest.mark.parametrize("C", [7, 13])
    def test_crossover_is_where_the_flops_meet(self, C):
        meet = CROSSOVER.reference(C)
        below, at, above = (
            attention_flops(N, C) - recurrent_flops(N, C, cell="lstm")
            for N in (meet - 1, meet, meet + 1)
        )
        assert below < 0 == at < above
        assert meet == crossover_length(C, cell="lstm", count_projections=True)

    @pytest.mark.parametrize("seed", [0, 1, 7])
    def test_exactly_one_suspect_divides_by_the_root_of_the_model_width(self, seed):
        found = divisors(suspects(seed), keys=7)
        near = [d for d in found.values() if d == pytest.approx(math.sqrt(D_MODEL), rel=1e-5)]
        assert len(near) == 1
        expected = [1 / 8, 1, 7**0.5, 8, 512**0.5, 64]
        assert sorted(found.values()) == pytest.approx(expected, rel=1e-5)

    def test_another_seed_gives_other_roles_and_the_same_seed_the_same(self):
        roles = [tuple(divisors(suspects(seed), 7).values()) for seed in range(5)]
        assert len(set(roles)) > 1
        assert divisors(suspects(3), 7) == divisors(suspects(3), 7)

    def test_a_suspect_does_not_give_itself_away(self):
        assert all("kind" not in repr(model) for model in suspects().values())

    @pytest.mark.parametrize("name", ["q", "k"])
    @pytest.mark.parametrize("shape", [(64,), (3, 63), (3, 512)])
    def test_a_suspect_refuses_what_is_no_head(self, name, shape):
        inputs = {"q": torch.ones(3, 64), "k": torch.ones(5, 64), name: torch.ones(shape)}
        message = (
            f"{name} must have shape (..., tokens, 64), got {shape}: "
            "the model's width 512 is split into 8 heads"
        )
        with raises_saying(ValueError, message):
            suspects()["amber"](**inputs)


@pytest.mark.parametrize(("notebook", "function", "check"), PUBLISHED)
class TestPublished:
    def test_the_published_solution_passes(self, notebook, function, check):
        source = solution_source(NOTEBOOKS / notebook, function)
        assert check(defined(source, function)).passed

    def test_the_published_stub_is_untouched(self, notebook, function, check):
        source = stub_source(NOTEBOOKS / notebook, function)
        verdict = check(defined(source, function))
        assert (verdict.passed, verdict.started) == (False, False)

    def test_the_solution_says_the_difficulty_and_minutes_of_the_check(
        self, notebook, function, check
    ):
        exercise = EXERCISES[check]
        stated = exercise.heading.removeprefix(exercise.title).strip()
        cell = solution_cell(NOTEBOOKS / notebook, function)
        assert f"<summary>Solution {stated}</summary>" in cell
