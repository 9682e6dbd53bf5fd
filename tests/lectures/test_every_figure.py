"""Every static figure of the course: nothing is cut off, axes are labelled, captions say numbers.

Each figure is drawn from numbers made up here. What the lecture draws from its own numbers is
compared, caption and all, where its notebook runs.
"""

import re

import numpy as np
import pytest
import torch

from course_utils.explorers import charts
from course_utils.explorers.show import folded
from lectures import COURSE, find_lecture
from lectures.l01_scaling.figures import cosine_density
from lectures.l06b_learning.experiments.scaling_law import fit_power_law
from lectures.l06b_learning.figures import line_band
from tests.support_figures import overhang

RANDOM = np.random.default_rng(6)
TOKENS = ["I", "love", "Transformers"]
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]])
SAME = np.array([[0.0, 10.0, 19.0], [0.0, 12.0, 17.0]])
OTHER = np.array([[0.0, 16.0, 27.0], [0.0, 17.0, 29.0], [0.0, 18.0, 31.0]])
CONTROL = SAME, SAME + np.array([0.0, 0.5, -0.25])
CLOUD = RANDOM.normal(size=(11, 3))
CLOUDS = {
    "x": CLOUD,
    "LayerNorm(x)": (CLOUD - CLOUD.mean(1, keepdims=True)) / CLOUD.std(1, keepdims=True),
    "x / |x|": CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True),
}
WALKS = np.random.default_rng(1).normal(size=(100, 67)).cumsum(axis=1)
SPREADS = np.linspace(3.7, 64.0, 72).reshape(6, 12)
COSINES = {d: 2 * RANDOM.beta((d - 1) / 2, (d - 1) / 2, 4000) - 1 for d in (2, 64)}
GRADIENTS = {"divided": np.linspace(0.175, 0.225, 11), "not divided": np.geomspace(1e-5, 10, 11)}
CURVES = [[0.1, 0.2, 0.4], [0.1, 0.3, 0.7], [0.1, 0.2, 0.5]]
ALIGNED = np.eye(8)[[3, 2, 0]]
CHANGES = np.linspace(1, 72, 72).reshape(6, 12) / 1000
WAYS = ("none", "learned", "sinusoidal", "RoPE", "ALiBi", "interpolated", "NTK")
RECALL = {way: [0.95, 0.93, 0.91, 0.90] for way in WAYS}
DISTANCES = np.arange(29)[:, None] - np.arange(29)
SCORES = {"relative": np.cos(0.3 * DISTANCES), "mixed": np.cos(0.3 * DISTANCES[:, ::-1])}
COSINE_CURVES = {"pair 0": np.cos(np.arange(29) / 6), "pair 1": np.ones(29)}
REACHES = {"right": 3.0 * np.tri(7), "off by one": np.tri(7, k=1)}
FALLING = [5.0] * 50 + [1.25] * 50
RIGHT = {"names": [0.0, 0.75, 0.8], "places": [0.0, 0.1, 0.1]}
SIZES = np.array([7_001.0, 31_013.0, 120_011.0, 676_992.0])
LOSSES = 8 * SIZES**-0.08 * RANDOM.normal(1, 0.01, (3, 4))
LAW = fit_power_law(SIZES.astype(int).tolist(), torch.from_numpy(LOSSES))
RULES = {"magnitude": np.array([[0.97, 0.95, 0.9, 0.5, 0.1]]).repeat(3, 0)}
SPARSITIES = np.array([0, 0.5, 0.8, 0.9, 0.98])
BOOKS = [
    {"units": 32, "experts": 1, "visits": 1, "known": 70, "parameters": 4_192,
     "multiplications": 4_096},
    {"units": 32, "experts": 8, "visits": 2, "known": 71, "parameters": 5_152,
     "multiplications": 1_536},
]  # fmt: skip
LENGTHS = np.array([512.0, 1024.0, 2048.0])
TIMES = {"SDPA": np.array([0.040, 0.050, 0.060]), "tiled": np.array([0.020, 0.025, 0.036])}
WITH = np.array([[0.010, 0.010, 0.012], [0.011, 0.010, 0.010], [0.010, 0.011, 0.011]])
WITHOUT = np.array([[0.012, 0.030, 0.220], [0.011, 0.020, 0.240]])
PANEL = {"scaled": np.full((3, 40), 0.2), "unscaled": np.linspace([2.0] * 3, [1.5] * 3, 40).T}
PLACES = np.linspace(1, 12.3, 72).reshape(6, 12)

# Lecture and function: what it is drawn from, and numbers that its caption must have.
FIGURES = {
    ("00", "draw_search"): (
        ({"0 steps": WEIGHTS[0], "300 steps": WEIGHTS[2]}, TOKENS), {"asked": 1}, "3 0.25 0.10"),
    ("00", "draw_maps"): (
        ({"moving": [WEIGHTS, WEIGHTS[::-1]]}, [TOKENS, TOKENS]), {"row": 2}, "0.90 0.25 0.50"),
    ("00", "draw_context_shift"): ((SAME, OTHER), {"control": CONTROL}, "0.5 0 29 18 6"),
    ("01", "draw_walks"): ((WALKS,), {}, f"4 16 64 {WALKS[:, 63].std():.1f} 100 30"),
    ("01", "draw_random_cosines"): ((COSINES,), {}, f"{COSINES[64].std():.3f}"),
    ("01", "draw_norms"): ((CLOUDS,), {}, "1.73 1.00"),
    ("01", "draw_lengths"): (
        ({"same": np.full(3, 3.0), "spread": np.array([1.0, 2.0, 4.0])}, TOKENS), {}, "1.00 4.00"),
    ("01", "draw_head_spreads"): (
        (SPREADS / 32**0.5, SPREADS / 320), {}, "0.65 11.3 5 11 0.01 0.20"),
    ("02", "draw_query_gradients"): ((GRADIENTS,), {}, "11 0.20 0.180 0.22 1.21"),
    ("02", "draw_races"): (({"SGD": PANEL, "Adam": PANEL},), {}, "40 3 0.2 1.6"),
    ("02", "draw_head_tokens"): ((PLACES, 15.5), {}, "1.0 12.3 11"),
    ("03", "draw_heads"): ((12, 384), {}, "12 384 32"),
    ("03", "draw_runs"): (({"one": CURVES[0], "two": CURVES[1]}, 20, {"guess": 0.25}), {},
        "40 0.40 0.70 0.25"),
    ("03", "draw_alignment"): ((ALIGNED, list("12 March"), ["03", "-", "12"]), {}, "1.00"),
    ("03", "draw_pruning"): (
        (CHANGES, [(3, 1)], "1 − cosine"), {}, "0.0365 0.0720 0.0380 35 72"),
    ("04", "draw_extrapolation"): (
        ({"near": RECALL, "away": RECALL}, [32, 64, 128, 256], 64), {}, "0.93 0.90 256"),
    ("04", "draw_cosines"): ((COSINE_CURVES, 12), {}, "12 0.42 1.00"),
    ("04", "draw_relative_scores"): ((SCORES,), {}, "0.001 2"),
    ("05", "draw_reach"): ((REACHES, np.tri(7, dtype=bool)), {}, "28 49 34 6"),
    ("05", "draw_masks"): (
        ({"causal": np.tri(6, dtype=bool), "no": np.eye(6, dtype=bool)},), {}, "21 36 6"),
    ("06b", "draw_training"): (({"ours": FALLING}, {"entropy": 0.523}), {}, "100 1.25 0.52"),
    ("06b", "draw_arrivals"): (
        ((0, 50, 100), RIGHT, {"names": 0.025, "places": 0.0625}), {},
        "100 50 0.80 0.10 0.03 0.06"),
    ("06b", "draw_power_law"): ((SIZES, LOSSES, LAW), {}, f"676,992 {LOSSES[:, -1].mean():.3f}"),
    ("07", "draw_pruning_curves"): ((SPARSITIES, {"as trained": RULES}, 0.1), {}, "0.10 3 50%"),
    ("07", "draw_dispatch"): ((((0, 2), (2, 1)),), {"experts": 4}, "2 4 0"),
    ("07", "draw_known"): ((BOOKS, 100), {}, "100 2 70 4,192 4,096 8 4 71 1,536"),
    ("08", "draw_levels"): (("A100 SXM 80GB",), {}, "17.3 19.5 27.0"),
    ("08", "draw_times"): ((TIMES, "SDPA"), {}, "50 0.50 0.60"),
    ("09", "draw_kept"): ((), {}, "12 4 1"),
    (None, "draw_learning_curves"): (({"SGD": PANEL, "Adam": PANEL}, 2.08), {}, "0.20 3 2.08"),
    (None, "draw_losses"): ((PANEL, 2.4, "ln 11"), {}, "2.400 0.200 3 40"),
    (None, "draw_cache_times"): ((LENGTHS, WITH, WITHOUT), {}, "1.1 21 512 2,048"),
}  # fmt: skip


def module_of(number):
    return charts if number is None else find_lecture(number).module("figures")


def draw(number, name):
    given, named, _ = FIGURES[number, name]
    return getattr(module_of(number), name)(*given, **named)


def test_every_figure_is_here():
    numbers = (None, *(lecture.number for lecture in COURSE))
    modules = {number: module_of(number) for number in numbers}
    found = {
        (number, name)
        for number, module in modules.items() if module
        for name, made in vars(module).items()
        if name.startswith("draw_") and made.__module__ == module.__name__
    }  # fmt: skip
    assert found == set(FIGURES)


@pytest.mark.parametrize(("number", "name"), FIGURES)
def test_figure_and_caption(number, name):
    picture = draw(number, name)
    assert overhang(picture.figure) <= 1  # a pixel: half a line's width at the frame
    numbers = re.findall(r"\d[\d.,]*(?:e[-−]\d+)?%?", picture.caption)
    numbers = {each.rstrip(".,").replace("−", "-") for each in numbers}
    assert set(FIGURES[number, name][2].split()) <= numbers, picture.caption
    first, rest = folded(picture.caption)
    assert 3 <= len(first.split()) <= 25, first
    assert f"{first} {rest}".strip() == picture.caption


# What a figure computes by itself, against its definition.


@pytest.mark.parametrize("width", [2, 3, 4, 8, 64, 512])
def test_density_is_a_shifted_beta(width):
    import scipy.stats

    # (1 + cos) / 2 of random directions is Beta((d - 1) / 2, (d - 1) / 2).
    law = scipy.stats.beta((width - 1) / 2, (width - 1) / 2, loc=-1, scale=2)
    x = np.linspace(-0.99, 0.99, 199)
    assert np.allclose(cosine_density(x, width), law.pdf(x), rtol=1e-9)
    assert not np.allclose(cosine_density(x, width + 1), law.pdf(x), rtol=1e-2)


def test_the_axis_of_gradients_loses_none():
    for axes, values in zip(
        draw("02", "draw_query_gradients").figure.axes, GRADIENTS.values(), strict=True
    ):
        assert sum(bar.get_height() for bar in axes.patches if bar.get_alpha() == 0.5) == 11
        assert axes.lines[0].get_xdata()[0] == pytest.approx(np.median(values))


def test_the_band_has_the_true_line_19_times_in_20():
    """Losses scattered about a known line: at each size its band has the line as often as said."""
    random, x, hits = np.random.default_rng(5), np.array([5e3, 5e4, 2e5]), []
    truth = 8 * x**-0.08
    for _ in range(400):
        losses = 8 * SIZES**-0.08 * np.exp(random.normal(0, 0.03, (3, 4)))
        law = fit_power_law(SIZES.astype(int).tolist(), torch.from_numpy(losses))
        low, high = line_band(x, SIZES, losses.size, law)
        hits.append((low <= truth) & (truth <= high))
    assert np.abs(np.mean(hits, axis=0) - 0.95).max() < 0.035


def test_times_are_medians_of_ratios():
    axes = (
        module_of("08")
        .draw_times({**TIMES, "naive": np.array([0.2, 0.3, 0.24])}, "SDPA")
        .figure.axes[0]
    )
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1, 0.5, 5])


def test_curves_are_runs_and_their_median():
    runs = RANDOM.uniform(0.5, 2, size=(3, 40))
    axes = charts.draw_learning_curves({"SGD": {"a": runs}}, 2.08, window=4).figure.axes[0]
    smooth = np.array([[run[i : i + 4].mean() for i in range(37)] for run in runs])
    *thin, thick = axes.lines[:4]
    assert all(line.get_xdata().tolist() == list(range(4, 41)) for line in axes.lines[:4])
    assert np.allclose([line.get_ydata() for line in thin], smooth)
    assert np.allclose(thick.get_ydata(), np.median(smooth, axis=0))
    assert thick.get_linewidth() > 2 * thin[0].get_linewidth()
