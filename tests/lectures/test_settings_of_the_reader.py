"""What a reader has set in PyTorch changes no verdict, and the check leaves it as it was."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
import torch

from lectures import COURSE
from tests.teaching.support_exercises import defined, solution

EXERCISES = [
    pytest.param(lecture, exercise, id=f"{lecture.number}-{exercise.function}")
    for lecture in COURSE
    for exercise in getattr(lecture.module("exercises"), "EXERCISES", ())
]


@contextlib.contextmanager
def set_otherwise():
    """Everything that a cell further up may have set."""
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        with torch.inference_mode(), torch.autocast("cpu"), np.errstate(all="raise"):
            yield
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)


def settings():
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        np.geterr()["over"],
        torch.get_rng_state().tolist(),
    )


@pytest.mark.parametrize(("lecture", "exercise"), EXERCISES)
def test_no_verdict_changes(lecture, exercise):
    right = defined(lecture.stem, solution(lecture.stem, exercise.function)[0], exercise.function)
    wrong = exercise.mistakes[0].answer
    usual = exercise.judge(wrong)
    with set_otherwise():
        before = settings()
        assert exercise.judge(right).passed
        assert exercise.judge(wrong) == usual
        assert settings() == before


IMPORTED_LATER = """
import torch
torch.set_default_dtype(torch.float64)
from lectures import COURSE
from tests.teaching.support_exercises import defined, solution
for lecture in COURSE:
    for exercise in lecture.module("exercises").EXERCISES:
        code, _ = solution(lecture.stem, exercise.function)
        right = defined(lecture.stem, code, exercise.function)
        verdict = exercise.judge(right)
        if not verdict.passed:
            print(lecture.stem, exercise.function, verdict)
"""


@pytest.mark.slow
def test_the_exercises_may_be_imported_in_another_dtype():
    done = subprocess.run([sys.executable, "-c", IMPORTED_LATER], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr[-2000:]
