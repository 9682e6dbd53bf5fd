"""Every exercise of every lecture, by what it declares: its mistakes, its reference, its stub."""

import pytest

from course_utils.lectures import COURSE

EXERCISES = [
    pytest.param(lecture, exercise, id=f"{lecture.number:02}-{exercise.function}")
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


@pytest.mark.parametrize(("stage", "mistake"), MISTAKES)
def test_a_mistake_gets_its_own_diagnosis(stage, mistake):
    verdict = stage.check(mistake.answer)
    assert (verdict.passed, verdict.started) == (False, True)
    assert stage.recognise(mistake.answer) is mistake
    assert "{" not in verdict.message, "a field was not filled"


@pytest.mark.parametrize("stage", STAGES)
def test_the_probes_tell_all_mistakes_apart(stage):
    assert stage.probes
    assert stage.confusions() == []
    assert len({mistake.name for mistake in stage.mistakes}) == len(stage.mistakes)


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_the_reference_passes_every_stage(lecture, exercise):
    assert exercise.check(exercise.reference).passed


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_the_lecture_asks_for_it_by_its_check(lecture, exercise):
    module = lecture.module("exercises")
    checks = [getattr(module, name) for name in dir(module) if name.startswith("check_")]
    assert exercise.check in checks
    assert exercise.check(...).started is False
