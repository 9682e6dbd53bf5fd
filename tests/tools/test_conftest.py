"""What the root conftest.py promises: seeds, order, enforced annotations."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import support_order


@pytest.mark.parametrize("time", ["first", "second"])
def test_every_test_starts_from_the_same_seeds(time):
    assert random.random() == random.Random(0).random()
    assert np.random.random() == np.random.RandomState(0).random()
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("start", support_order.SLOWEST_FIRST)
def test_every_slow_file_is_there(start, pytestconfig):
    assert list(Path(pytestconfig.rootpath).glob(f"{start}*"))


def test_annotations_of_the_course_are_enforced():
    from course_utils import attention

    assert hasattr(attention.attend, "__wrapped__")
