"""Every exercise of every lecture, from what it declares: mistakes, reference, stub, solution."""

import re

import pytest
import torch

from course_utils.teaching import Exercise
from lectures import COURSE, find_lecture
from tests.teaching.support_exercises import defined, solution, stub
from tools.notebook_file import SOLUTION

EXERCISES = [
    pytest.param(lecture, exercise, id=f"{lecture.number}-{exercise.function}")
    for lecture in COURSE
    for exercise in getattr(lecture.module("exercises"), "EXERCISES", ())
]
STAGES = [
    pytest.param(stage, id=f"{param.id}-{number}")
    for param in EXERCISES
    for number, stage in enumerate(param.values[1].stages, start=1)
]
MISTAKES = [
    pytest.param(param.values[0], mistake, id=f"{param.id}-{mistake.name}".replace(" ", "_"))
    for param in STAGES
    for mistake in param.values[0].mistakes
]
# What is no answer to any exercise, whether it counts as begun, and what the check then says.
BROKEN = {
    "dots": (lambda *inputs: ..., False, "untouched"),
    "empty": (lambda *inputs: None, False, "untouched"),
    "crash": (lambda *inputs: 1 / 0, True, "ZeroDivisionError: division by zero"),
    "parameters": (lambda: 1, True, "TypeError"),
    "type": (lambda *inputs: "a word", True, "you gave 'a word'"),
    "shape": (lambda *inputs: torch.ones(11, 13), True, "shape (11, 13)"),
    "result": (torch.ones(2), True, "needs the function itself, without a call"),
}


@pytest.fixture(scope="module", autouse=True)
def outcomes_once():
    """Run each answer once: every check compares with all mistakes of its stage."""
    outcomes, found = Exercise._outcomes, {}

    def once(stage, answer):
        key = id(stage), answer
        if key not in found:
            found[key] = outcomes(stage, answer)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exercise, "_outcomes", once)
        yield


@pytest.mark.parametrize(("stage", "mistake"), MISTAKES)
def test_a_mistake_gets_its_own_diagnosis(stage, mistake):
    verdict = stage.check(mistake.answer)
    assert (verdict.passed, verdict.started) == (False, True)
    assert stage.recognise(mistake.answer) is mistake
    assert "{" not in verdict.message, "a field was not filled"
    assert "cannot be read" not in verdict.message, "the diagnosis itself has failed"
    assert mistake.message.count("`") % 2 == 0


@pytest.mark.parametrize("stage", STAGES)
def test_the_probes_tell_all_mistakes_apart(stage):
    assert stage.probes
    assert stage.confusions() == []
    assert len({mistake.message for mistake in stage.mistakes}) == len(stage.mistakes)


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_every_reference_passes_every_stage(lecture, exercise):
    for stage in exercise.stages:
        assert exercise.check(stage.reference).message == exercise.stages[-1].praise


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_no_answer_at_all(lecture, exercise, broken):
    answer, started, says = BROKEN[broken]
    verdict = exercise.check(answer)
    assert (verdict.passed, verdict.started) == (False, started)
    assert says in verdict.message


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_the_stub_is_untouched(lecture, exercise):
    source = stub(lecture.stem, exercise.function).source
    verdict = exercise.check(defined(lecture.stem, source, exercise.function))
    is_code = exercise.function == "MyGPT"  # 06's class is whole, and diagnosed as it is
    assert (verdict.passed, verdict.started) == (False, is_code)


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_the_solution_passes(lecture, exercise):
    source, heading = solution(lecture.stem, exercise.function)
    assert exercise.check(defined(lecture.stem, source, exercise.function)).passed
    level, minutes = SOLUTION.fullmatch(heading).groups()
    assert exercise.heading == f"{exercise.title} ({level}, {minutes} min)"


def _attend(line):
    return f"""
def attend(q, k, v, may_attend=None):
    scores = ({line}) / q.shape[-1] ** 0.5
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights
"""


def _dispatch(line):
    return f"""
def dispatch(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = torch.where(chosen == number)
        token, place = token[:room], place[:room]
        if len(token):
            out.index_add_(0, token, {line} * expert(x[token]))
    return out
"""


@pytest.mark.parametrize(
    ("number", "function", "name", "follow"),
    [
        ("00", "attend", "keys not transposed", _attend),
        ("07", "dispatch", "no gates", _dispatch),
    ],
)
def test_who_follows_the_advice_passes(number, function, name, follow):
    (exercise,) = (
        e for e in find_lecture(number).module("exercises").EXERCISES if e.function == function
    )
    (mistake,) = (mistake for mistake in exercise.mistakes if mistake.name == name)
    advice = re.findall("`(.+?)`", mistake.message)[-1]
    verdict = exercise.judge(defined(number, follow(advice), function))
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_each_check_is_of_an_exercise(lecture):
    module = lecture.module("exercises")
    checks = [getattr(module, name) for name in dir(module) if name.startswith("check_")]
    assert {id(check.__self__) for check in checks} == {id(each) for each in module.EXERCISES}
