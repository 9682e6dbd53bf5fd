"""Every exercise of every lecture, from what it declares: mistakes, reference, stub, solution."""

import ast
import functools
import math
import re

import nbformat
import pytest
import torch

from course_utils.lectures import COURSE
from tools.notebook_file import find_lecture

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


@functools.cache
def sources(stem):
    """The code of a lecture's stubs with their tags, of its solutions with their headings."""
    cells = nbformat.read(find_lecture(stem), as_version=4).cells
    tagged = [(cell.source, cell.metadata.get("tags", [])) for cell in cells]
    stubs = [(source, tags) for source, tags in tagged if "exercise" in tags]
    solutions = [
        (block, re.search(r"<summary>(.*?)</summary>", cell.source)[1])
        for cell in cells
        if "<summary>Solution" in cell.source
        for block in re.findall(r"```python\n(.*?)```", cell.source, re.S)
    ]
    return stubs, solutions


def the_one_that_defines(name, pairs):
    def defines(source):
        body = ast.parse(source).body
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in body)

    (found,) = [pair for pair in pairs if defines(pair[0])]
    return found


def run(source, name):
    names = {"torch": torch, "math": math}
    exec(compile(source, f"<{name}>", "exec"), names)
    return names[name]


@pytest.mark.parametrize(("stage", "mistake"), MISTAKES)
def test_a_mistake_gets_its_own_diagnosis(stage, mistake):
    verdict = stage.check(mistake.answer)
    assert (verdict.passed, verdict.started) == (False, True)
    assert stage.recognise(mistake.answer) is mistake
    assert "{" not in verdict.message, "a field was not filled"
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
    source, _ = the_one_that_defines(exercise.function, sources(lecture.stem)[0])
    verdict = exercise.check(run(source, exercise.function))
    assert (verdict.passed, verdict.started) == (False, False)


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_the_solution_passes(lecture, exercise):
    source, heading = the_one_that_defines(exercise.function, sources(lecture.stem)[1])
    assert exercise.check(run(source, exercise.function)).passed
    assert exercise.heading == exercise.title + heading.removeprefix("Solution")


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_each_check_is_of_an_exercise(lecture):
    module = lecture.module("exercises")
    checks = [getattr(module, name) for name in dir(module) if name.startswith("check_")]
    assert {id(check.__self__) for check in checks} == {id(each) for each in module.EXERCISES}
