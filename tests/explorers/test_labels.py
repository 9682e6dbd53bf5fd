"""Names at the ends of curves: far enough apart, in order, and no further off than needed."""

import numpy as np
import pytest

from course_utils.explorers.labels import spread_out
from tests.core.support_properties import given, st


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_labels_keep_order_and_distance(places):
    places = np.array(places)
    spread = spread_out(places, 0.1)
    order = np.argsort(places, kind="stable")
    if len(places) > 1:
        assert np.diff(spread[order]).min() >= 0.1 - 1e-9
    assert spread.min() >= -1e-9 and spread.max() <= 1 + 1e-9
    # Where there is room from the start, nothing moves.
    apart = np.linspace(0.0, 1.0, len(places)) if len(places) > 1 else np.array([0.3])
    assert np.allclose(spread_out(apart, 0.1), apart)


def test_labels_move_as_little_as_possible():
    assert spread_out(np.array([0.5, 0.5]), 0.2) == pytest.approx([0.4, 0.6])
    assert spread_out(np.array([0.0, 0.02]), 0.1) == pytest.approx([0.0, 0.1])
    # A pair that spreads meets the third, and the three spread about their mean.
    spread = spread_out(np.array([0.62, 0.5, 0.5]), 0.1)
    assert spread == pytest.approx([0.64, 0.44, 0.54])
