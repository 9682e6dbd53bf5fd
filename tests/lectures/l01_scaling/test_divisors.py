"""What the lecture's own cells say of 1, √d and d, against an optimiser and a proof."""

import pytest
import torch

from lectures import find_lecture
from tests.lectures.support_estimates import estimate_mean
from tests.lectures.support_notebooks import notebook_of
from tools.claims.cells import run_cells


@pytest.fixture(scope="module")
def ran():
    def run(*ids, **edits):
        return run_cells(notebook_of(find_lecture("01")), ("setup", *ids), **edits)

    return run


def moved_by(optimizer, token, key, **how):
    """How far a score moves in one step of an optimiser that is to raise it."""
    W_Q = torch.zeros(len(token), len(key), requires_grad=True)
    optimizer = optimizer([W_Q], **how)
    (-(token @ W_Q @ key)).backward()
    optimizer.step()
    return (token @ W_Q @ key).item()


def test_the_step_is_adams_first(ran):
    cell = ran("divisor")
    moves = [
        moved_by(torch.optim.Adam, token, key, lr=cell.rate)
        for token, key in zip(cell.x, cell.keys, strict=True)
    ]
    assert cell.moved.item() == pytest.approx(sum(moves) / len(moves), rel=1e-4)
    by_gradient = moved_by(torch.optim.SGD, cell.x[0], cell.keys[0], lr=cell.rate)
    assert by_gradient != pytest.approx(moves[0], rel=0.1)


def test_spread_grows_like_the_root_and_a_step_like_the_width(ran):
    widths = "(16, 64, 256, 1024)"
    narrow, wide = (ran("divisor", edits={widths: f"({d},)"}) for d in (31, 31 * 16))
    assert (wide.spread / narrow.spread).item() == pytest.approx(4, rel=0.2)
    assert (wide.moved / narrow.moved).item() == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize("c", [2, 8, 13])
def test_a_divisor_in_the_matrix_is_the_same_head_with_another_step(c):
    x, W, keys, wish = (torch.randn(*shape) for shape in ((5, 7), (7, 11), (3, 11), (5, 3)))
    found = {}
    for divisor, matrix in ((c, W), (1, W / c)):
        matrix = matrix.clone().requires_grad_()
        weights = (x @ matrix @ keys.T / divisor).softmax(dim=-1)
        (weights * wish).sum().backward()
        found[divisor] = weights.detach(), matrix.grad.norm() / matrix.detach().norm()
    torch.testing.assert_close(found[c][0], found[1][0])
    assert (found[1][1] / found[c][1]).item() == pytest.approx(c**2, rel=1e-4)


def test_the_absorbed_divisor_takes_a_larger_step(ran):
    """Of the cell itself: the last of its two heads is the undivided one."""
    cell = ran("absorb")
    torch.testing.assert_close(cell.before, (cell.x @ cell.W_Q @ cell.keys.T / 8).softmax(-1))
    divided = ran("absorb", edits={"{8: W_Q, 1: W_Q / 8}": "{8: W_Q}"})
    far, near = ((each.after - each.before).abs().max().item() for each in (cell, divided))
    assert far / near == pytest.approx(64, rel=0.1)


def test_a_sure_query_stays_where_the_root_lets_it_go(ran):
    """Beyond what the cell prints: most of the surest keep the key that they began with."""
    cell = ran("stuck", edits={'"divided by √d": WIDTH**0.5': ""})
    began, ended = ((q @ cell.k.T)[cell.surest].argmax(dim=-1) for q in (cell.start, cell.q))
    assert (began == ended).float().mean() > 0.8
    assert cell.found["not divided"][1] < cell.found["not divided"][0] < 0.3


# By Isserlis' theorem for normal numbers: Σ_ij E[q_i q_j] E[k_i k_j], and E[q⁴] = 3.
VARIANCES = {
    "normal": lambda d: d,
    "coin flips": lambda d: d,
    "uniform": lambda d: d,
    "q all equal, k all equal": lambda d: d**2,
    "q all equal, k normal": lambda d: d,
    "k_i is q_i or −q_i, by a coin": lambda d: 3 * d,
}


def test_variances_of_the_cases(ran):
    cell = ran("score-draw", "estimate", "coins")
    assert [*cell.cases] == [*VARIANCES]
    for name, terms in cell.cases.items():
        assert VARIANCES[name](cell.d) in estimate_mean(terms.sum(dim=1) ** 2), name
    for one in cell.q[:5]:
        assert (cell.k @ one).var().item() == pytest.approx((one @ one).item(), rel=0.05)


def test_the_coin_leaves_them_uncorrelated(ran):
    cell = ran("score-draw", "estimate", "coins")
    products = cell.cases["k_i is q_i or −q_i, by a coin"]
    assert 0 in estimate_mean(products[:, 0])
    assert 0 not in estimate_mean(products[:, 0].square() - 1)  # and yet not independent
