"""Lecture 01: scores spread as heads grow wider, and one key takes all of the weight."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider, Steps, Toggle

# Between two powers of two lies one width more, so that a dragged spread follows the hand.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
QUERIES = 12
TYPICAL = 7  # its largest weight at widths 4, 16, 64 and 512 is nearest to the mean over queries
COINS, UNIFORM, CAUCHY = "±1 (coin flips)", "uniform", "Cauchy (infinite variance)"
# One normal number for all coordinates of q, another for those of k: not independent.
ALL_EQUAL = "normal, all equal"
DISTRIBUTIONS = ("normal", COINS, UNIFORM, CAUCHY, ALL_EQUAL)
AS_TAUGHT = {
    "width": 64,
    "coordinates": "normal",
    "correlation": 0.0,
    "variance": 1.0,
    "mean": 0.0,
}


class ScoreWidth(Explorer):
    """Head width, division, distribution, correlation, size, mean → scores and weights."""

    title = "What happens to the weights when heads grow wider?"
    inputs = {
        "width": Steps("head width d_k", WIDTHS, 4),
        "divided": Toggle("divide by √d_k"),
        "coordinates": Choice("coordinates are", DISTRIBUTIONS, "normal"),
        "correlation": Slider("correlation ρ of q and k", -1.0, 1.0, 0.0, 0.05),
        "variance": Slider("variance σ² of each", 0.25, 4.0, 1.0, 0.25),
        "mean": Slider("mean μ of each", -1.0, 1.0, 0.0, 0.1),
        "query": Slider("which random query", 1, QUERIES, TYPICAL),
    }
    presets = {
        "d_k = 4": {**AS_TAUGHT, "width": 4},
        "d_k = 64": AS_TAUGHT,
        "d_k = 512": {**AS_TAUGHT, "width": 512},
        "coin flips": {**AS_TAUGHT, "coordinates": COINS},
        "variance 2": {**AS_TAUGHT, "variance": 2.0},
        "q and k correlated": {**AS_TAUGHT, "correlation": 0.3},
        "mean not 0": {**AS_TAUGHT, "mean": 0.5},
        "all equal": {**AS_TAUGHT, "coordinates": ALL_EQUAL},
        "infinite variance": {**AS_TAUGHT, "coordinates": CAUCHY},
    }
    view = "score_width.js"
    reading = (
        "Above: 2,000 scores of random queries and keys; the band is one standard deviation (their "
        "spread) on each side of the mean, as the proof predicts it, and the line is the normal "
        "density with that mean and spread. Drag the band's edge, or move the slider. The orange "
        "strokes are the scores of one query with its 64 keys. Below: the weights that softmax "
        "makes of these. Choose a key to find its score."
    )
