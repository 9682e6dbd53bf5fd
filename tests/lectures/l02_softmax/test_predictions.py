"""What comes out over the guess that is drawn: the gradient at two scores, by a formula."""

import math

import pytest

from lectures import find_lecture
from tests.lectures.support_notebooks import ROOT, read


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def gradient_at_the_scores(ahead):
    """Two keys and two words: each score hears 16 p (1 − p) times the wrong word's probability."""
    p = sigmoid(ahead)
    wrong_word = sigmoid(8 * (p - (1 - p)))
    return math.sqrt(2) * p * (1 - p) * 16 * wrong_word


def test_wrong_and_sure_is_muffled():
    curve = find_lecture("02").module("exercises").PREDICTIONS["wrong-and-sure"].curve
    for ahead, truth in zip(curve.at, curve.truth, strict=True):
        assert truth == pytest.approx(gradient_at_the_scores(ahead), abs=0.005), ahead
    assert max(curve.truth) < curve.y.domain[1]


@pytest.mark.parametrize("ahead", [0.0, 2.0, 8.0])
def test_the_cell_asks_autograd_for_the_same(ahead):
    notebook = read(ROOT / "notebooks" / "02_softmax.ipynb")
    cells = {cell.id: cell.source for cell in notebook.cells}
    names = {}
    exec(f"{cells['setup']}\n{cells['rescue'].replace('8.0', str(ahead))}", names)  # the last row
    found = names["at_scores"].norm().item()
    assert found == pytest.approx(gradient_at_the_scores(ahead), rel=1e-3)
