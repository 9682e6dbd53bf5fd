"""Lecture 06's block, number by number: as the core's, and made of what is shown."""

import math

import pytest
import torch
import torch.nn.functional as F

from lectures.l06_gpt2_block.explorers.number import LAST, MATRICES, Number, small_block
from tests.explorers.support_browser import InBrowser

MADE = {  # tensor → the part of the core's block that gives it
    "LN₁": "attention_norm", "q": "attention.query", "k": "attention.key", "v": "attention.value",
    "attention": "attention.output", "LN₂": "feedforward_norm", "hidden": "feedforward.expand",
    "feed-forward": "feedforward.contract",
}  # fmt: skip


@pytest.fixture(scope="module")
def states():
    """The state at every number."""
    with InBrowser(Number()) as browser:
        return browser.states([{"cell": cell} for cell in range(LAST + 1)])


@torch.no_grad()
def core_numbers(block, x):
    """Tensor → its numbers in the core's block, heads first; what is masked is left out."""
    found = {"x": x[0]}
    hooks = [
        block.get_submodule(path).register_forward_hook(
            lambda _, __, out, name=name: found.update({name: out[0]})
        )
        for name, path in MADE.items()
    ]
    out, trace = block(x)
    for each in hooks:
        each.remove()
    weights = trace.weights[0]
    values = found["v"].view(4, 2, 2).transpose(0, 1)
    scores = trace.queries[0] @ trace.keys[0].mT / math.sqrt(2)
    return found | {
        "weight": weights,
        "score": scores.masked_fill(torch.ones(4, 4).triu(1).bool(), 0),
        "mix": (weights @ values).transpose(0, 1),
        "x + attention": x[0] + found["attention"],
        "GELU": F.gelu(found["hidden"], approximate="tanh"),
        "output": out[0],
    }


def differing(states, block, x):
    """The tensors in which the page's numbers are not the block's."""
    known, numbers, first, found = core_numbers(block, x), states[0].numbers, 0, []
    for name in dict.fromkeys(state.name for state in states):
        count = known[name].numel()
        if not torch.allclose(
            torch.tensor(numbers[first : first + count]).float(), known[name].flatten(), atol=1e-5
        ):
            found.append(name)
        first += count
    assert first == LAST + 1
    return found


def test_every_number_is_the_cores(states):
    assert differing(states, *small_block()) == []


@pytest.mark.parametrize("matrix", MATRICES.values())
def test_a_matrix_with_other_rows_is_noticed(states, matrix):
    block, x = small_block()
    weight = block.get_parameter(f"{matrix}.weight")
    with torch.no_grad():
        weight.copy_(weight.flip(0))
    assert differing(states, block, x) != []


def test_every_number_is_made_of_what_is_shown(states):
    numbers = torch.tensor(states[0].numbers, dtype=torch.float64)
    for state in states:
        if not len(state.terms):
            assert state.name == "x" or state.result == 0
            continue
        one, other, factor = torch.tensor(state.terms, dtype=torch.float64).unbind(1)
        sources = numbers[one.long()]
        both = torch.where(other < 0, 1, numbers[other.long()])
        column = state.place[2]
        made = {
            "sum": (sources * both * factor).sum(),
            "norm": F.layer_norm(sources, sources.shape)[min(column, len(sources) - 1)],
            "softmax": sources.softmax(0)[min(column, len(sources) - 1)],
            "gelu": F.gelu(sources[0], approximate="tanh"),
        }[state.kind]
        assert made.item() == pytest.approx(state.result, abs=1e-6), state.words


def test_a_number_is_made_of_what_it_depends_on(states):
    """By gradient: of the first token's block nothing later, of the last one everything."""
    back = [set(map(int, state.terms[:, :2].ravel())) - {-1} if len(state.terms) else set()
            for state in states]  # fmt: skip
    for cell, token in ((288, 0), (303, 3)):
        reached, seen = {cell}, set()
        while reached:
            seen |= reached
            reached = set().union(*(back[each] for each in reached)) - seen
        assert {each // 4 for each in seen if each < 16} == set(range(token + 1))


def test_the_shortest_way_to_x_has_two_steps_and_the_longest_twelve(states):
    shortest, longest = {}, {}
    for state in states:  # in the order of the computation
        if state.name == "x":
            shortest[state.cell] = longest[state.cell] = 0
        elif len(state.terms):
            back = set(map(int, state.terms[:, :2].ravel())) - {-1}
            shortest[state.cell] = 1 + min(shortest[each] for each in back)
            longest[state.cell] = 1 + max(longest[each] for each in back)
    ends = [state.cell for state in states if state.name == "output"]
    assert {shortest[each] for each in ends} == {2}
    assert {longest[each] for each in ends} == {12}
