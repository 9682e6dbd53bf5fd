"""The judge of refusals notices a message that says what came by luck only."""

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from tests.core.support_bad_input import Bad, Case, Said, complaint

GOOD = [
    (ValueError, 5, "width must be at most 3, got 5"),
    (ValueError, 0, "width must be positive; got 0.0"),
    (ValueError, "x", "width must be a word; got the one text 'x'"),
    (ValueError, [], "width must not be empty; got 0 numbers"),
    (ValueError, torch.zeros(2, 3), "width must have 1 axis, got shape (2, 3)"),
    (TypeError, "x", "width must be an int, got str"),
    (TypeError, np.ones(3), "width must be whole, got float64"),
    (ValueError, 7, "width (7) must divide length (15)"),
    (ValueError, 7, "width (7) must be at most the number of keys, S (5)"),
    (ValueError, "cat", "width must be a token; 'cat' is not in 'The bat.'"),
    (ValueError, Said([7], "(7) must"), "width[0] (7) must be at most S (5)"),
    (ValueError, Said(5, "e+39"), "width must leave the sum finite; got 2.9e+39"),
]
BAD = [
    (ValueError, "x", "width is wrong: 5 or x"),
    (ValueError, "x", "width must be a word, got 5 or x"),
    (ValueError, "x", "width must be a word, got str"),
    (ValueError, 5, "width must be at most 3"),
    (ValueError, 5, "width 5 must be at most 3"),
    (ValueError, 5, "width must be at most 5, got another"),
    (ValueError, 5, "width must be at most 3, got -5"),
    (ValueError, 5, "width must be at most 3, got 15"),
    (ValueError, 5, "width must be at most 3, got 5.3"),
    (ValueError, 5, "width (7) must divide length (5)"),
    (ValueError, "bat", "width must be a token; 'cat' is not in 'bat'"),
    (ValueError, Said([7], "7"), "width must be at most 7"),
    (ValueError, Said([7], "7"), "width must be at most 3, got 17"),
    (TypeError, None, "width must be an int, got NoneTypes"),
]


def judged(error, given, message):
    def call(width):
        raise error(message)

    return complaint(Case("planted", call, {"width": 3}, {"width": Bad()}), "width", error, given)


@pytest.mark.parametrize(("error", "given", "message"), GOOD)
def test_a_refusal_that_says_what_came_is_enough(error, given, message):
    assert judged(error, given, message) is None


@pytest.mark.parametrize(("error", "given", "message"), BAD)
def test_a_refusal_that_says_it_by_luck_is_noticed(error, given, message):
    assert judged(error, given, message) == f"does not say what came: {message}"


def test_annotations_which_only_the_tests_enforce_are_no_refusal():
    found = judged(TypeCheckError, None, "width: Any, got None")
    assert found == "was accepted, and stopped by its annotations alone: width: Any, got None"
