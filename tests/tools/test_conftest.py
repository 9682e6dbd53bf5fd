"""What the root conftest.py promises: seeds, order, no pyplot figures, enforced annotations."""

import random
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch
from jaxtyping import Float, jaxtyped
from jaxtyping import TypeCheckError as AnnotationBroken
from torch import Tensor

from tests import support_annotations, support_figures, support_order


@pytest.mark.parametrize("time", ["first", "second"])
def test_every_test_starts_from_the_same_seeds(time):
    assert random.random() == random.Random(0).random()
    assert np.random.random() == np.random.RandomState(0).random()
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0))


def test_the_slowest_files_come_first_and_each_stays_in_order():
    names = [
        "tests/core/test_masks.py::test_b",
        "notebooks/01_scaling.ipynb::Cell 0",
        "notebooks/07_dynamic_pruning.ipynb::Cell 0",
        "notebooks/07_dynamic_pruning.ipynb::Cell 1",
        "tests/lectures/test_every_explorer.py::test_z",
        "tests/lectures/test_every_explorer.py::test_a",
        "course_utils/masks.py::course_utils.masks",
    ]
    found = support_order.slowest_first([SimpleNamespace(nodeid=name) for name in names])
    assert [item.nodeid for item in found] == [names[i] for i in (4, 5, 2, 3, 1, 0, 6)]


@pytest.mark.parametrize("start", support_order.SLOWEST_FIRST)
def test_every_slow_file_is_there(start, pytestconfig):
    assert list(Path(pytestconfig.rootpath).glob(f"{start}*"))


def test_a_pyplot_figure_left_open_is_noticed():
    assert support_figures.left_open() == []
    matplotlib.use("agg")
    from matplotlib import pyplot

    number = pyplot.figure().number
    assert support_figures.left_open() == [number]
    pyplot.close()
    assert support_figures.left_open() == []


def test_annotations_of_the_course_are_enforced_here():
    from course_utils import attention

    assert hasattr(attention.attend, "__wrapped__")


def annotated(body):
    """Return f(x: Float[Tensor, "T D"]) -> Float[Tensor, "D"] with this body, checked."""

    def f(x: Float[Tensor, "T D"]) -> Float[Tensor, "D"]:  # noqa: F821
        return body(x)

    return jaxtyped(f, typechecker=support_annotations.check_after)


def test_annotations_stop_a_result_of_the_wrong_shape():
    assert annotated(lambda x: x.sum(0))(torch.ones(3, 5)).tolist() == [3.0] * 5
    with pytest.raises(AnnotationBroken):
        annotated(lambda x: x.sum(1))(torch.ones(3, 5))


def test_annotations_stop_a_bad_argument_that_the_function_let_pass():
    with pytest.raises(AnnotationBroken):
        annotated(lambda x: x)(torch.ones(5))


def test_annotations_take_an_int_for_a_float_but_no_text():
    def half(x: float) -> float:
        return x if isinstance(x, str) else x / 2

    checked = jaxtyped(half, typechecker=support_annotations.check_after)
    assert checked(3) == 1.5
    with pytest.raises(AnnotationBroken):
        checked("3")


def test_a_function_speaks_for_itself_before_its_annotations_do():
    def body(x):
        raise ValueError(f"x must have two axes, got {x.ndim}")

    with pytest.raises(ValueError, match="two axes, got 1"):
        annotated(body)(torch.ones(5))
