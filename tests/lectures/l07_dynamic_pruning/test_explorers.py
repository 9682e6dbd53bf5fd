"""The points of the plane: what is drawn is what plain loops and packaged runs give."""

import re

import numpy as np
import pytest
import torch

from lectures.l07_dynamic_pruning.experiments.expert_runs import (
    EXPERTS,
    SHARED,
    STEPS,
    expert_run,
    load_trained_experts,
    unseen_points,
)
from lectures.l07_dynamic_pruning.experiments.experts import COMMON
from lectures.l07_dynamic_pruning.explorers.experts import (
    BALANCED,
    CAPACITY,
    EXTENT,
    SIDE,
    Experts,
)


def chosen(explorer, **values):
    return explorer.compute(**{**explorer.values, **values})


# Experts


def best_expert(shared, balance, at, point):
    """Which expert takes one point after a step, by the formula."""
    run = expert_run(shared, balance)
    token = torch.tensor([*point, SHARED[shared].get("common", COMMON)])
    probabilities = torch.softmax(run.routers[at].double() @ token.double(), dim=0)
    return int((probabilities + run.biases[at]).argmax())


@pytest.fixture(scope="module")
def experts():
    return Experts()


@pytest.fixture(scope="module")
def given(experts):
    return experts.given()


@pytest.mark.parametrize(
    ("shared", "balance"), [("5", "nothing"), ("nothing", "a loss"), ("2", "a bias")]
)
def test_points_against_a_loop(experts, given, shared, balance):
    points = unseen_points()[0].tolist()
    for step in (0, 140, 3000):
        state = chosen(experts, step=step, shared=shared, balance=balance)
        taken = [best_expert(shared, BALANCED[balance], STEPS.index(step), each) for each in points]
        assert given["chosen"][state.frame] == "".join(map(str, taken))
        assert state.assigned.tolist() == [taken.count(expert) for expert in range(EXPERTS)]
        assert state.lost == 0
        limited = chosen(experts, step=step, shared=shared, balance=balance, limited=True)
        assert limited.lost == sum(max(taken.count(each) - CAPACITY, 0) for each in range(EXPERTS))


def inside(path, place):
    """Whether a place lies in a path of closed polygons, by the crossings of a ray."""
    crossings = 0
    for start, steps in re.findall(r"M([^l]*)l([^Z]*)Z", path):
        moves = [int(each) for each in re.findall(r"-?\d+", f"{start} {steps}")]
        corners = np.reshape(moves, (-1, 2)).cumsum(axis=0).tolist()
        for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
            if (y1 > place[1]) != (y2 > place[1]):
                crossings += place[0] < x1 + (place[1] - y1) * (x2 - x1) / (y2 - y1)
    return crossings % 2 == 1


@pytest.mark.parametrize("balance", BALANCED)
def test_the_ground_is_each_experts_own(experts, given, balance):
    places = np.random.default_rng(5).uniform(-EXTENT, EXTENT, (120, 2))
    right = several = 0
    for shared in SHARED:
        state = chosen(experts, step=300, shared=shared, balance=balance)
        parts = given["ground"][state.frame]
        several += sum(bool(part) for part in parts) > 1
        for x, y in places:
            expert = best_expert(shared, BALANCED[balance], STEPS.index(300), (x, y))
            place = SIDE * (x / EXTENT + 1) / 2, SIDE * (1 - y / EXTENT) / 2
            found = [index for index in range(EXPERTS) if inside(parts[index], place)]
            right += found == [expert]
    assert several >= 3
    # A boundary is drawn to a three-hundredth of the plane: few places fall into that.
    assert right > 0.975 * len(places) * len(SHARED)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("balance", BALANCED)
def test_errors_of_the_trained_models(experts, balance, limited):
    points, targets = unseen_points()
    for shared in SHARED:
        model = load_trained_experts(shared, BALANCED[balance], capacity=1.0 if limited else None)
        with torch.no_grad():
            predicted, routing = model(points)
        state = chosen(experts, step=3000, shared=shared, balance=balance, limited=limited)
        expected = (predicted - targets).square().mean().item()
        assert state.error == pytest.approx(expected, rel=1e-4)
        assert state.lost == int((~routing.kept).sum())
