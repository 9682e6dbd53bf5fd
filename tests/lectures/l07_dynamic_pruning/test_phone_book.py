"""The telephone books of the picture: what is packed, what it costs, what the lecture says."""

from itertools import product

import pytest
import torch

from course_utils.layers import FeedForward
from course_utils.layers.moe import MixtureOfExperts
from lectures.l07_dynamic_pruning.experiments.phone_books import (
    EXPERTS,
    NAMES,
    UNITS,
    VISITS,
    WIDTH,
    known_by_layer,
    multiplications,
    parameters,
    phone_book,
)
from lectures.l07_dynamic_pruning.explorers.phone_book import PhoneBook
from tests.support_flops import counted_flops
from tools.claims.cells import run_cells
from tools.notebook_file import LECTURES


def layer_of(units, experts, visits):
    if experts == 1:
        return FeedForward(WIDTH, units)
    return MixtureOfExperts(WIDTH, units // experts, experts, visits)


def known(units, experts, visits):
    return (phone_book(units, experts, visits) % 2).float().mean().item()


@pytest.mark.parametrize("units, experts, visits", [(16, 1, 2), (64, 4, 1), (128, 8, 2)])
def test_costs_are_those_of_the_course_s_layers(units, experts, visits):
    layer, x = layer_of(units, experts, visits), torch.randn(1, 7, WIDTH)
    assert counted_flops(lambda: layer(x)) == 2 * 7 * multiplications(units, experts, visits)
    stored, read = parameters(units, experts, visits)
    assert stored == sum(each.numel() for each in layer.parameters())
    assert read == getattr(layer, "active_parameters", stored)


def test_experts_of_a_name_are_different_and_all_are_used():
    for units, experts, visits in product(UNITS, EXPERTS, VISITS):
        book = phone_book(units, experts, visits)
        first, second = book // 2 % 8, book // 16
        assert book.shape == (NAMES, NAMES) and book.max() < 128
        assert ((first == second) == (min(visits, experts) == 1)).all()
        assert {*first.unique().tolist(), *second.unique().tolist()} == {*range(experts)}


def test_what_is_known_depends_on_the_units_and_hardly_on_the_cut():
    for units in UNITS:
        shares = [known(units, *cut) for cut in product(EXPERTS, VISITS)]
        assert max(shares) - min(shares) < 0.1, (units, shares)
    assert known(32, 1, 1) < 0.45 and known(128, 8, 2) > 0.95


def test_the_table_has_every_layer_of_the_file_once():
    rows = known_by_layer()
    cuts = [(row["units"], row["experts"], row["visits"]) for row in rows]
    assert len(cuts) == len(set(cuts)) == len(UNITS) * (1 + 2 + 2)
    for row, cut in zip(rows, cuts, strict=True):
        assert row["known"] == round(known(*cut) * NAMES**2)
        assert row["parameters"] == parameters(*cut)[0]
        assert row["multiplications"] == multiplications(*cut)


def test_the_picture_counts_names():
    state = PhoneBook().compute(units=128, experts=8, visits=2)
    assert state.known * NAMES**2 == pytest.approx(
        sum(n % 2 for n in state.names.flatten().tolist())
    )
    assert f"[b:{round(state.known * 4096):,}] of 4,096" in PhoneBook().caption(state)
    assert PhoneBook().compute(units=8, experts=1, visits=2).visits == 1


def test_dispatch_by_hand_where_rounding_chooses():
    """Trained for longer, two experts can be so equally probable that rounding chooses."""
    cells = "setup", "book", "steps", "learn", "run-experts", "experts-class", "experts"
    same = "library.router, library.experts = layer.router, layer.experts"
    nearly = {same: f"{same}; nn.init.normal_(layer.router.weight, std=1e-6)"}
    left = run_cells(LECTURES / "07_dynamic_pruning.ipynb", cells, {"STEPS": lambda _: 2}, nearly)
    assert 0 < left.clear.sum() < len(left.clear)
