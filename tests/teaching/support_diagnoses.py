"""What every exercise of a lecture is held to, as a test class made from its tables.

An exercise may have stages: a tuple of `Exercise`s that its check asks one after the other.
"""

import functools

import pytest
import torch

from tests.teaching.support_exercises import (
    NOTEBOOKS,
    defined,
    solution_cell,
    solution_source,
    stub_source,
)

# What no exercise's answer may be, and what the check then says.
BROKEN = {
    "stub": (..., False, "untouched"),
    "dots": (lambda *inputs: ..., False, "untouched"),
    "empty": (lambda *inputs: None, False, "untouched"),
    "crash": (lambda *inputs: 1 / 0, True, "ZeroDivisionError: division by zero"),
    "parameters": (lambda: 1, True, "TypeError"),
    "type": (lambda *inputs: "a word", True, "you gave 'a word'"),
    "shape": (lambda *inputs: torch.ones(11, 13), True, "shape (11, 13)"),
    "result": (torch.ones(2), True, "needs the function itself, without a call"),
}


def _ids(value):
    return getattr(value, "__name__", value) if callable(value) else str(value).replace(" ", "_")


def _rows(check_to_answers):
    return [(check, name) for check, answers in check_to_answers.items() for name in answers]


def diagnoses(stages, wrong, right):
    """A test class; each table goes by check function, and has rows by name.

    `stages` has exercises, `right` has answers, `wrong` has answers beside words of the diagnosis:
    a row for every mistake of every stage, under the mistake's own name.
    """
    every_stage = [exercise for exercises in stages.values() for exercise in exercises]

    @functools.cache
    def judged(check, name):
        return check(wrong[check][name][0])

    class Diagnoses:
        @pytest.mark.parametrize(("check", "name"), _rows(wrong), ids=_ids)
        def test_each_wrong_idea_gets_its_own_diagnosis(self, check, name):
            verdict = judged(check, name)
            assert (verdict.passed, verdict.started) == (False, True)
            assert wrong[check][name][1] in verdict.message
            assert "{" not in verdict.message

        @pytest.mark.parametrize("check", wrong, ids=_ids)
        def test_no_two_wrong_ideas_get_the_same_message(self, check):
            messages = [judged(check, name).message for name in wrong[check]]
            assert len(set(messages)) == len(messages) >= 5

        @pytest.mark.parametrize("check", wrong, ids=_ids)
        def test_every_named_mistake_is_tried_here(self, check):
            named = [mistake.name for stage in stages[check] for mistake in stage.mistakes]
            assert sorted(wrong[check]) == sorted(named)

        @pytest.mark.parametrize("check", stages, ids=_ids)
        def test_the_probes_tell_all_answers_apart(self, check):
            assert [stage.confusions() for stage in stages[check]] == [[] for _ in stages[check]]

        @pytest.mark.parametrize("check", stages, ids=_ids)
        def test_a_stage_accepts_the_reference_of_another(self, check):
            for stage in stages[check]:
                assert all(stage.check(other.reference).passed for other in stages[check])

        @pytest.mark.parametrize("exercise", every_stage, ids=lambda exercise: exercise.parts[0])
        def test_code_in_the_messages_is_between_backticks(self, exercise):
            assert all(mistake.message.count("`") % 2 == 0 for mistake in exercise.mistakes)

        @pytest.mark.parametrize(("check", "name"), _rows(right), ids=_ids)
        def test_right_answers_pass(self, check, name):
            verdict = check(right[check][name])
            assert verdict.passed, verdict.message
            assert verdict.message == stages[check][-1].praise

        @pytest.mark.parametrize("check", wrong, ids=_ids)
        @pytest.mark.parametrize("name", BROKEN)
        def test_broken_answers_get_a_sentence(self, check, name):
            answer, started, quoted = BROKEN[name]
            verdict = check(answer)
            assert (verdict.passed, verdict.started) == (False, started)
            assert quoted in verdict.message

    return Diagnoses


def published(lecture, stages, functions):
    """A test class about the cells of a lecture: `functions` has the name that a check judges."""

    @pytest.mark.parametrize(("check", "function"), functions.items(), ids=_ids)
    class Published:
        def test_the_published_solution_passes(self, check, function):
            source = solution_source(NOTEBOOKS / lecture, function)
            assert check(defined(source, function)).passed

        def test_the_published_stub_is_untouched(self, check, function):
            verdict = check(defined(stub_source(NOTEBOOKS / lecture, function), function))
            assert (verdict.passed, verdict.started) == (False, False)

        def test_the_solution_says_difficulty_and_minutes(self, check, function):
            exercise = stages[check][0]
            stated = exercise.heading.removeprefix(exercise.title).strip()
            cell = solution_cell(NOTEBOOKS / lecture, function)
            assert f"<summary>Solution {stated}</summary>" in cell

    return Published
