"""What the root conftest.py promises: seeds, order, enforced annotations."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float, jaxtyped
from jaxtyping import TypeCheckError as AnnotationBroken
from torch import Tensor

from tests import support_annotations, support_order


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


def annotated(body):
    """Return f(x: Float[Tensor, "T D"]) -> Float[Tensor, "D"] with this body, checked."""

    def f(x: Float[Tensor, "T D"]) -> Float[Tensor, "D"]:  # noqa: F821
        return body(x)

    return jaxtyped(f, typechecker=support_annotations.check_after)


def test_annotations_stop_results_and_arguments_of_wrong_shape():
    assert annotated(lambda x: x.sum(0))(torch.ones(3, 5)).tolist() == [3.0] * 5
    with pytest.raises(AnnotationBroken):
        annotated(lambda x: x.sum(1))(torch.ones(3, 5))
    with pytest.raises(AnnotationBroken):
        annotated(lambda x: x)(torch.ones(5))


def test_a_function_speaks_before_its_annotations_do():
    def body(x):
        raise ValueError(f"x must have two axes, got {x.ndim}")

    with pytest.raises(ValueError, match="two axes, got 1"):
        annotated(body)(torch.ones(5))
