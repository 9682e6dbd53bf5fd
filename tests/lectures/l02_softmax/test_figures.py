"""Lecture 02's static figures: what is on the axes, and that the words say what is drawn."""

import numpy as np
import pytest
import torch

from course_utils.lectures.l02_softmax.explorers.softmax import jacobian_norm
from course_utils.lectures.l02_softmax.figures import (
    draw_head_tokens,
    draw_jacobian_fall,
    draw_largest_weights,
)
from tests.support_figures import overhang


def weights_of(spread, seed):
    scores = torch.randn(400, 64, generator=torch.Generator().manual_seed(seed))
    return (spread * scores).double().softmax(-1).numpy()


UNSCALED = {d: weights_of(d**0.5, seed=d) for d in (4, 16, 64, 512)}
SCALED = {d: weights_of(1, seed=d) for d in UNSCALED}
TOKENS = np.linspace(1, 12.3, 72).reshape(6, 12)
LARGEST = {"divided": np.array([0.2, 0.4, 0.5, 0.9]), "not divided": np.array([0.9, 1, 1, 1.0])}
PRINTED = {"divided": 0.3452, "not divided": 0.9987}


@pytest.mark.parametrize(
    "picture",
    [
        draw_jacobian_fall(UNSCALED, SCALED),
        draw_head_tokens(TOKENS, 15.5),
        draw_largest_weights(LARGEST, PRINTED),
    ],
    ids=["fall", "heads", "largest"],
)
def test_nothing_is_cut_off(picture):
    assert overhang(picture.figure) <= 1  # a pixel: half a line's width at the frame


def test_fall_draws_norms_and_medians():
    picture = draw_jacobian_fall(UNSCALED, SCALED)
    left, right = picture.figure.axes
    dots = left.lines[0]
    assert np.allclose(dots.get_xdata(), UNSCALED[4][:300].max(-1))
    norm = np.linalg.norm(np.diag(UNSCALED[4][0]) - np.outer(UNSCALED[4][0], UNSCALED[4][0]))
    assert dots.get_ydata()[0] == pytest.approx(norm)
    named = ("divided by √d_k", "not divided")
    middle = {name: line.get_ydata() for name, line in zip(named, right.lines, strict=True)}
    for name, tables in (("not divided", UNSCALED), ("divided by √d_k", SCALED)):
        medians = [np.median(jacobian_norm(rows)) for rows in tables.values()]
        assert np.allclose(middle[name], medians)
    assert middle["not divided"][-1] < 0.1 * middle["divided by √d_k"][-1]
    dead = (UNSCALED[512].max(-1) > 0.99).mean()
    assert f"{dead:.0%} of the rows have a weight above 0.99" in picture.words


def test_dots_lie_below_two_keys_curve():
    for rows in UNSCALED.values():
        sharp = rows[rows.max(-1) > 0.5]
        largest = sharp.max(-1)
        assert (jacobian_norm(sharp) <= 2 * largest * (1 - largest) + 1e-12).all()


def test_each_head_has_its_number():
    picture = draw_head_tokens(TOKENS, 15.5)
    written = [text.get_text() for text in picture.figure.axes[0].texts]
    assert written == [f"{value:.1f}" for value in TOKENS.ravel()]
    assert "from 1.0 (layer 0, head 0) to 12.3 (layer 5, head 11)" in picture.words


def test_histograms_say_what_lies_below():
    picture = draw_largest_weights(LARGEST, PRINTED)
    (axes,) = picture.figure.axes
    assert "mean 0.500" in axes.texts[0].get_text()
    assert "25% are below" in axes.texts[0].get_text()
    places = [line.get_xdata()[0] for line in axes.lines]
    assert places == pytest.approx([-np.log10(1 - each) for each in PRINTED.values()])
    for bars, values in zip(axes.patches, LARGEST.values(), strict=True):
        heights, edges, _ = bars.get_data()
        counts = heights * len(values) / heights.sum()
        beyond = counts[edges[:-1] >= -np.log10(1 - 0.6)].sum()
        assert round(float(beyond)) == (values > 0.6).sum(), "an axis of nines loses no weight"
    assert "25.0% lie below the text's 0.3452" in picture.words
    assert "4 random matrices" in picture.words
