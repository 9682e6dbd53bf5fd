"""Lecture 02's explorer and figures: what is drawn is what the definitions say."""

import math

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_utils.explorers.style import new_figure
from course_utils.lectures.l02_softmax import figures as figures_02
from course_utils.lectures.l02_softmax.explorers import (
    DIVIDED,
    DRAWS,
    KEYS,
    PLAIN,
    TEMPERATURES,
    TYPICAL,
    WIDTHS,
    SoftmaxSaturation,
    jacobian_norm,
)
from tests.explorers.support_explorers import press

CHANCE = math.log(8)


def weights_of(*shape, spread=3.0, seed=0):
    scores = np.random.default_rng(seed).normal(size=shape) * spread
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


# The norm


def test_the_norm_is_that_of_the_matrix():
    for row in weights_of(50, 7):
        matrix = np.diag(row) - np.outer(row, row)
        assert jacobian_norm(row) == pytest.approx(np.linalg.norm(matrix), rel=1e-12)


def test_the_norm_next_to_a_vertex_is_not_lost():
    # All but 1e-30 on one key, the rest on another: 2 * 1e-30. diag(p) - p p^T gives 0 there,
    # for 1 - 1e-30 is 1.
    row = np.array([1.0, 1e-30])
    assert jacobian_norm(row) == pytest.approx(2e-30)
    assert np.square(row).sum() - 2 * (row**3).sum() + np.square(row).sum() ** 2 == 0


def test_no_row_has_a_larger_norm_than_two_equal_weights():
    assert jacobian_norm(np.array([0.5, 0.5, 0.0])) == 0.5
    for spread in (0.3, 1, 3, 10):
        for keys in (2, 3, 5, 64):
            assert jacobian_norm(weights_of(500, keys, spread=spread)).max() <= 0.5 + 1e-12


# The explorer


@pytest.fixture(scope="module")
def explorer():
    made = SoftmaxSaturation()
    made.widget()
    return made


def scores_of(width, draw):
    """The scores of one draw, made anew: as many coordinates as the head is wide."""
    random = torch.Generator().manual_seed(2)
    q = torch.randn((DRAWS, 1, 512), generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, 512), generator=random, dtype=torch.float64)
    return k[draw - 1, :, :width] @ q[draw - 1, 0, :width]


@pytest.mark.parametrize("width", [1, 16, 64, 512])
@pytest.mark.parametrize("division", [DIVIDED, PLAIN])
@pytest.mark.parametrize("temperature", [0.125, 1, 16])
def test_the_state_is_softmax_and_its_derivative(explorer, width, division, temperature):
    state = explorer.compute(width=width, division=division, temperature=temperature, draw_number=3)
    scores = scores_of(width, 3) / temperature
    scores = scores / math.sqrt(width) if division == DIVIDED else scores
    weights = torch.softmax(scores, dim=0)
    torch.testing.assert_close(torch.from_numpy(state.weights), weights)
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), scores)
    torch.testing.assert_close(torch.from_numpy(state.jacobian), jacobian, atol=1e-12, rtol=1e-9)
    assert state.norm == pytest.approx(jacobian.norm().item(), rel=1e-6, abs=1e-12)
    entropy = torch.distributions.Categorical(probs=weights).entropy().item()
    assert state.effective == pytest.approx(math.exp(entropy), rel=1e-6)
    assert state.spread == pytest.approx(scores.std(correction=0).item())
    assert state.largest + state.others == pytest.approx(1)


def test_the_mean_over_the_draws_is_that_of_their_largest_weights(explorer):
    values = {"width": 64, "division": PLAIN, "temperature": 2}
    largest = [
        explorer.compute(**values, draw_number=number).largest for number in range(1, DRAWS + 1)
    ]
    assert explorer.compute(**values, draw_number=7).mean_largest == pytest.approx(np.mean(largest))


def test_the_path_runs_from_all_equal_to_a_vertex_through_the_dot(explorer):
    state = explorer.compute(width=64, division=PLAIN, temperature=1, draw_number=TYPICAL)
    largest, norm = state.path
    assert largest[0] == pytest.approx(1 / KEYS, abs=0.01)
    assert norm[0] == pytest.approx(math.sqrt(KEYS - 1) / KEYS, abs=0.01)
    assert largest[-1] > 1 - 1e-12 and norm[-1] < 1e-12
    assert (np.diff(largest) >= 0).all()
    near = np.argmin(np.abs(largest - state.largest))
    assert largest[near] == pytest.approx(state.largest) and norm[near] == pytest.approx(state.norm)
    # It rises before it falls: sharper weights do not always let less through.
    assert norm.max() > 1.3 * norm[0] and 0 < norm.argmax() < len(norm) - 1


def test_a_division_is_a_temperature(explorer):
    divided = explorer.compute(width=64, division=DIVIDED, temperature=1, draw_number=5)
    warm = explorer.compute(width=64, division=PLAIN, temperature=8, draw_number=5)
    assert np.allclose(divided.weights, warm.weights) and divided.norm == pytest.approx(warm.norm)


def test_the_typical_draw_is_nearest_to_the_medians_of_many_rows(explorer):
    off = np.zeros(DRAWS)
    for width in (16, 64, 512):
        random = torch.Generator().manual_seed(0)
        q, k = (torch.randn(n, width, generator=random) for n in (10_000, 16))
        median = np.median(jacobian_norm((q @ k.T).double().softmax(-1).numpy()))
        norms = [
            explorer.compute(width=width, division=PLAIN, temperature=1, draw_number=n + 1).norm
            for n in range(DRAWS)
        ]
        # Ratios, not differences: at 512 the norms span ten powers of ten.
        off += np.abs(np.log(norms) - np.log(median))
    assert off.argmin() == TYPICAL - 1


def test_the_drawing_is_the_state(explorer):
    explorer.set(width=16, division=PLAIN, temperature=1, draw_number=TYPICAL)
    state = explorer.state
    _, heights = explorer._bars.get_data()
    assert np.allclose(heights.reshape(-1, 3)[:, 1], state.weights)
    assert (heights.reshape(-1, 3)[:, 0] == 0).all()
    assert explorer._dot.get_data() == ([state.largest], [state.norm])
    levels = explorer._heat._levels.astype(int)
    middle = levels[np.abs(state.jacobian) < 1e-9]
    assert np.ptp(middle) <= 1 and abs(middle.mean() - 127) <= 1, "nothing is the map's middle"
    assert (levels[state.jacobian > 1e-3] > 128).all() and (levels == levels.T).all()
    assert (levels[state.jacobian < -1e-3] < 126).all()


def test_the_words_hold_at_both_ends(explorer):
    explorer.set(width=512, division=PLAIN, temperature=0.125, draw_number=20)
    assert "The largest weight is 1 − 9e-17" in explorer.words
    assert "less than 0.01% of the most there can be" in explorer.words
    explorer.set(width=1, division=DIVIDED, temperature=16, draw_number=20)
    assert "effectively reads 16.0 of 16 keys" in explorer.words
    assert "d_k = 1, divided by √d_k, temperature 16:" in explorer.words


def test_the_scenes_show_what_they_say(explorer):
    states = []
    for label in explorer.scenes:
        press(explorer, label)
        states.append(explorer.state)
    narrow, middle, wide, divided, warm = states
    assert narrow.norm > middle.norm > wide.norm and wide.norm < 0.01
    assert divided.norm > 0.2 and warm.norm > 0.2 and divided.effective > 8
    assert all(set(scene) == set(explorer.inputs) for scene in explorer.scenes.values())


def test_every_entry_is_inside_the_scales(explorer):
    for width in WIDTHS:
        for temperature in TEMPERATURES:
            state = explorer.compute(width, PLAIN, temperature, 1)
            assert np.abs(state.jacobian).max() <= 0.25 and state.norm <= 0.5
            assert state.path[1].max() < 0.55


# Static figures

STEPS = np.linspace(CHANCE, 0.0, 40)
RUNS = np.stack([STEPS, STEPS * 0.9, STEPS * 0.5])
PANELS = {
    "Adam, d_k = 4": {"scaled": RUNS * 0.1, "unscaled": RUNS},
    "SGD, d_k = 64": {"scaled": RUNS * 0.2, "unscaled": RUNS * 0.8},
}
UNSCALED = {d: weights_of(400, 64, spread=d**0.5, seed=d) for d in (4, 16, 64, 512)}
SCALED = {d: weights_of(400, 64, spread=1, seed=d) for d in UNSCALED}
TOKENS = np.linspace(1, 12.3, 72).reshape(6, 12)
LARGEST = {"divided": np.array([0.2, 0.4, 0.5, 0.9]), "not divided": np.array([0.9, 1, 1, 1.0])}
PRINTED = {"divided": 0.3452, "not divided": 0.9987}
FIGURES = {
    "two panels": lambda: figures_02.draw_learning_curves(PANELS, CHANCE),
    "eight panels": lambda: figures_02.draw_learning_curves(
        {f"Adam, d_k = {2**n}": PANELS["Adam, d_k = 4"] for n in range(2, 10)}, CHANCE
    ),
    "five panels": lambda: figures_02.draw_learning_curves(
        {f"d_k = {n}": PANELS["Adam, d_k = 4"] for n in range(5)}, CHANCE
    ),
    "fall": lambda: figures_02.draw_jacobian_fall(UNSCALED, SCALED),
    "heads": lambda: figures_02.draw_head_tokens(TOKENS, 15.5),
    "largest": lambda: figures_02.draw_largest_weights(LARGEST, PRINTED),
}


def overhang(figure):
    """How far, in pixels, what is drawn reaches beyond the figure's edge."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    edge = figure.bbox
    boxes = [part.get_tightbbox(canvas.get_renderer()) for part in [*figure.axes, *figure.legends]]
    return max(
        max(edge.x0 - box.x0, box.x1 - edge.x1, edge.y0 - box.y0, box.y1 - edge.y1) for box in boxes
    )


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1


def test_the_explorer_cuts_nothing_off(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "course_utils.explorers.explorer.new_figure",
        lambda *size: drawn.append(new_figure(*size)) or drawn[0],
    )
    SoftmaxSaturation().png()
    for artist in drawn[0].findobj(lambda each: each.get_animated()):
        artist.set_animated(False)
    assert overhang(drawn[0]) <= 1


def test_curves_are_medians_of_runs_and_bands_hold_all_of_them():
    axes = figures_02.draw_learning_curves(PANELS, CHANCE, window=4).axes[0]
    scaled, unscaled = (line for line in axes.lines if not line.get_label().startswith("_"))
    smooth = np.array([[run[i : i + 4].mean() for i in range(37)] for run in RUNS])
    assert unscaled.get_xdata().tolist() == list(range(4, 41))
    assert np.allclose(unscaled.get_ydata(), np.median(smooth, axis=0))
    assert np.allclose(scaled.get_ydata(), 0.1 * np.median(smooth, axis=0))
    band = axes.collections[1].get_paths()[0].vertices
    at_first = band[band[:, 0] == 4][:, 1]
    assert at_first.min() == pytest.approx(smooth[:, 0].min())
    assert at_first.max() == pytest.approx(smooth[:, 0].max())
    words = figures_02.describe_learning_curves(PANELS, CHANCE, window=4)
    ends = smooth[:, -1]
    assert f"unscaled {np.median(ends):.2f} ({ends.min():.2f} to {ends.max():.2f})" in words
    assert "median of 3 runs" in words and "guessing gives 2.08" in words


def test_the_fall_draws_median_and_nine_rows_in_ten():
    left, right = figures_02.draw_jacobian_fall(UNSCALED, SCALED).axes
    dots = left.lines[0]
    assert np.allclose(dots.get_xdata(), UNSCALED[4][:300].max(-1))
    norm = np.linalg.norm(np.diag(UNSCALED[4][0]) - np.outer(UNSCALED[4][0], UNSCALED[4][0]))
    assert dots.get_ydata()[0] == pytest.approx(norm)
    middle = {line.get_label(): line.get_ydata() for line in right.lines}
    assert np.allclose(
        middle["not divided"], [np.median(jacobian_norm(rows)) for rows in UNSCALED.values()]
    )
    assert middle["not divided"][-1] < 0.1 * middle["divided by √d_k"][-1]
    words = figures_02.describe_jacobian_fall(UNSCALED, SCALED)
    dead = (UNSCALED[512].max(-1) > 0.99).mean()
    assert f"{dead:.0%} of the rows have a weight above 0.99" in words


def test_the_dots_lie_below_the_curve_of_two_keys():
    for rows in UNSCALED.values():
        sharp = rows[rows.max(-1) > 0.5]
        largest = sharp.max(-1)
        assert (jacobian_norm(sharp) <= 2 * largest * (1 - largest) + 1e-12).all()


def test_each_head_has_its_number():
    axes = figures_02.draw_head_tokens(TOKENS, 15.5).axes[0]
    written = [text.get_text() for text in axes.texts]
    assert written == [f"{value:.1f}" for value in TOKENS.ravel()]
    words = figures_02.describe_head_tokens(TOKENS, 15.5)
    assert "from 1.0 (layer 0, head 0) to 12.3 (layer 5, head 11)" in words


def test_the_histograms_say_how_many_lie_below_the_text():
    axes = figures_02.draw_largest_weights(LARGEST, PRINTED).axes
    assert "mean 0.500" in axes[0].texts[0].get_text()
    assert "25% are below" in axes[0].texts[0].get_text()
    mean, printed = (line.get_xdata()[0] for line in axes[0].lines)
    assert mean == 0.5 and printed == 0.3452
    words = figures_02.describe_largest_weights(LARGEST, PRINTED)
    assert "25.0% lie below the text's 0.3452" in words and "4 random matrices" in words
