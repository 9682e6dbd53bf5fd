"""Lecture 01's first picture: the weights of 64 random keys, while their vectors grow longer."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps
from lectures.l01_scaling.explorers.score_width import QUERIES, TYPICAL, WIDTHS


class LargestWeight(Explorer):
    """How many numbers a vector has, and which query → the weights of its keys."""

    title = "How much of the weight does one key take?"
    inputs = {
        "width": Steps("numbers in a vector, d", WIDTHS, 4),
        "query": Slider("which random query", 1, QUERIES, TYPICAL),
    }
    presets = {
        "d = 4": {"width": 4, "query": TYPICAL},
        "d = 64": {"width": 64, "query": TYPICAL},
        "d = 512": {"width": 512, "query": TYPICAL},
        "a close race": {"width": 512, "query": 2},
    }
    view = "largest_weight.js"
    reading = (
        "Left: each bar is the weight that one query gives to one of its 64 keys; the dashed line "
        "is 1/64, an equal share. Choose a bar to read it. Right: the largest weight of each of "
        "12 queries, and their mean; choose a query to see its bars. All vectors are random, and "
        "the scores are not divided by anything."
    )
