"""Lecture 00's static figures: what is on the axes, and that the words say what is drawn."""

import numpy as np
import pytest

from course_utils.lectures.l00_start_here.figures import (
    draw_context_shift,
    draw_maps,
    draw_three_roles,
    draw_three_words,
)
from tests.support_figures import overhang

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]])
TOKENS = ["I", "love", "Transformers"]
MAPS = {"fixed": [WEIGHTS, WEIGHTS], "moving": [WEIGHTS, WEIGHTS[::-1]]}
SAME = np.array([[0.0, 10.0, 19.0], [0.0, 12.0, 17.0]])
OTHER = np.array([[0.0, 16.0, 27.0], [0.0, 17.0, 29.0], [0.0, 18.0, 31.0]])
KEYS = np.array([[0.9, 0.1], [-0.8, 0.1], [0.1, 0.9]])
ROLES = draw_three_roles(
    ["cat", "milk", "it"], KEYS, KEYS / 2, KEYS[0] * 3, KEYS[0] / 3, asking="it"
)


@pytest.mark.parametrize(
    "picture",
    [
        draw_three_words(WEIGHTS, TOKENS),
        draw_maps(MAPS, [TOKENS, TOKENS], row=2),
        draw_context_shift(SAME, OTHER, control=(SAME, SAME)),
        ROLES,
    ],
    ids=["words", "maps", "shift", "roles"],
)
def test_nothing_is_cut_off(picture):
    assert overhang(picture.figure) <= 1  # a pixel: half a line's width at the frame


def test_three_words():
    picture = draw_three_words(WEIGHTS, TOKENS)
    for axes, row in zip(picture.figure.axes, WEIGHTS, strict=True):
        assert [bar.get_height() for bar in axes.patches] == row.tolist()
        assert [text.get_text() for text in axes.texts][:3] == [f"{each:.2f}" for each in row]
        assert axes.lines[0].get_ydata()[0] == pytest.approx(1 / 3)
        assert axes.get_ylim()[0] == 0, "bars are compared from 0"
    assert "I 0.50, love 0.70, Transformers 0.90" in picture.words
    assert "smallest weight is 0.00, the largest 0.90" in picture.words


def test_roles_are_arrows_from_the_origin():
    for axes, vectors in zip(
        ROLES.figure.axes,
        ([*KEYS, KEYS[0]], [*KEYS / 2, KEYS[0] / 3]),
        strict=True,
    ):
        arrows = [text for text in axes.texts if text.arrow_patch]
        np.testing.assert_allclose([arrow.xy for arrow in arrows], vectors)
        assert {arrow.get_position() for arrow in arrows} == {(0, 0)}
    assert "1/3" in ROLES.figure.axes[0].texts[-1].get_text(), "it is three times as long"
    assert "query of “it” is (2.7, 0.3); its output, (0.3, 0.0)" in ROLES.words


def test_maps_say_whose_row_is_framed():
    words = draw_maps(MAPS, [TOKENS, TOKENS], row=2).words
    assert "the row of “Transformers”" in words and "fixed: nothing changes" in words
    assert "moving: Transformers 0.90 → 0.25, I 0.00 → 0.50, love 0.10 → 0.25" in words
    # The middle row is the same in the mirrored table.
    words = draw_maps(MAPS, [TOKENS, TOKENS], row=1).words
    assert "moving: nothing changes" in words and "the row of “love”" in words


def test_shift_draws_group_means_and_both_gaps():
    control = SAME, SAME + np.array([0.0, 0.5, -0.25])
    picture = draw_context_shift(SAME, OTHER, control=control)
    left, right = (
        [np.asarray(line.get_ydata()).tolist() for line in axes.lines]
        for axes in picture.figure.axes
    )
    assert left == [OTHER.mean(0).tolist(), SAME.mean(0).tolist()]
    assert right[:2] == [[0, 6, 11], [0, 0.5, -0.25]]
    assert "of one meaning the gap is at most 0.5 degrees" in picture.words
    assert "two meanings go from 0 to 29" in picture.words
    assert "one meaning from 0 to 18" in picture.words
    assert "below 6 degrees, and the bands never overlap" in picture.words
    touching = draw_context_shift(SAME, OTHER - np.array([0, 5, 0]), control=control)
    assert "but the bands overlap" in touching.words
