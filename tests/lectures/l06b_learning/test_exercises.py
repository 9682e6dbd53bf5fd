"""Lecture 06b's exercises: answers that must pass, references."""

import pytest
import torch

from course_utils.sampling import with_top_p
from lectures.l06b_learning.exercises import check_find_settings, mystery_sampler
from lectures.l06b_learning.exercises.nucleus import NUCLEUS
from lectures.l06b_learning.exercises.sampler import SAMPLER
from lectures.l06b_learning.exercises.settled import SETTLED
from lectures.l06b_learning.exercises.silence import SILENCE


def nucleus_counted(probabilities, p):
    kept, total = torch.zeros(len(probabilities)), 0.0
    for token in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
        if total >= p - 1e-6:
            break
        kept[token] = probabilities[token]
        total += probabilities[token].item()
    return kept / total


def nucleus_of_the_library(probabilities, p):
    return with_top_p(probabilities.log(), p)


@pytest.mark.parametrize("answer", [nucleus_counted, nucleus_of_the_library])
def test_other_right_nuclei_pass(answer):
    assert NUCLEUS.check(answer).passed


def test_the_library_keeps_the_same():
    probabilities = torch.randn(7, 23).mul(2).softmax(dim=-1)
    for row, p in zip(probabilities, (0.05, 0.3, 0.5, 0.8, 0.9, 0.99, 1.0), strict=True):
        torch.testing.assert_close(NUCLEUS.reference(row, p), with_top_p(row.log(), p))


# The sampler


def by_doubling(sampler):
    """Another way: the logits of three words, and 2 ** n equal ones."""
    p = sampler(torch.tensor([0.0, 0.02, -5.0], dtype=torch.float64)).log()
    kept = [int(sampler(torch.zeros(2**n)).count_nonzero()) for n in (7, 12)]
    cut = ("top-k", kept[0]) if kept[0] == kept[1] else ("top-p", kept[1] / 2**12)
    return (0.02 / (p[1] - p[0])).item(), *cut


def test_another_way_finds_the_settings():
    assert check_find_settings(by_doubling).passed


@pytest.mark.parametrize("settings", [{"k": 2}, {"p": 0.75, "temperature": 3.0}])
def test_settings_of_other_boxes(settings):
    temperature, cut, size = SAMPLER.reference(mystery_sampler(**settings))
    assert temperature == pytest.approx(settings.get("temperature", 0.7), rel=1e-4)
    assert {cut.removeprefix("top-"): size}.items() <= settings.items()


# Since when, and a head away


def settled_as_a_list(streams, norm, embedding):
    return SETTLED.reference(streams, norm, embedding).tolist()


def test_a_list_of_depths_passes():
    assert SETTLED.check(settled_as_a_list).passed


def test_what_changes_the_model_itself_is_refused():
    def silence(weight, head, num_heads):
        D = weight.shape[1] // num_heads
        weight[:, head * D : (head + 1) * D] = 0
        return weight

    assert not SILENCE.check(silence).passed
