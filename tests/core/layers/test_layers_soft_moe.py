"""The soft mixture of experts: its formula in one line, and what it can not be used for."""

import pytest
import torch

from course_utils.layers.soft_moe import SoftMixtureOfExperts
from course_utils.measure.dependence import gradient_reach

B, T, C, HIDDEN, EXPERTS, SLOTS = 2, 7, 5, 13, 3, 2
# Two float32 paths through two small products: numbers of size 1, some ten roundings of 6e-8.
CLOSE = {"rtol": 0, "atol": 1e-5}


def soft(slots=SLOTS, **options):
    return SoftMixtureOfExperts(C, HIDDEN, EXPERTS, slots, **options)


def by_formula(layer, x, dispatch_axis=1, combine_axis=(2, 3)):
    """One sequence, expert and slot at a time; phi with an axis for the experts."""
    phi = layer.phi.view(C, EXPERTS, layer.slots)
    powers = torch.einsum("btc,cns->btns", x, phi).exp()
    dispatch = powers / powers.sum(dim=dispatch_axis, keepdim=True)
    combine = powers / powers.sum(dim=combine_axis, keepdim=True)
    slots = torch.einsum("btns,btc->bnsc", dispatch, x)
    outputs = torch.stack([layer.experts[n](slots[:, n]) for n in range(EXPERTS)], dim=1)
    return torch.einsum("btns,bnsc->btc", combine, outputs)


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_it_is_its_formula(slots, activation):
    layer, x = soft(slots, activation=activation), torch.randn(B, T, C)
    out, routing = layer(x)
    torch.testing.assert_close(out, by_formula(layer, x), **CLOSE)
    torch.testing.assert_close(routing.dispatch.sum(dim=1), torch.ones(B, EXPERTS * slots))
    torch.testing.assert_close(routing.combine.sum(dim=2), torch.ones(B, T))


def test_depends_on_the_future():
    layer = soft()
    reach = gradient_reach(lambda x: layer(x[None])[0][0], torch.randn(T, C))
    assert (reach > 0).all()
