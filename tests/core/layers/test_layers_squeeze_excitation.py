"""Squeeze and excitation against the one in transformers' RegNet."""

import pytest
import torch
from transformers.models.regnet.modeling_regnet import RegNetSELayer

from course_utils.layers.squeeze_excitation import SqueezeExcitation

B, CHANNELS, REDUCTION, ROWS, COLUMNS = 3, 10, 5, 7, 11


def test_agrees_with_regnets_layer():
    ours = SqueezeExcitation(CHANNELS, REDUCTION)
    theirs = RegNetSELayer(CHANNELS, CHANNELS // REDUCTION)
    with torch.no_grad():
        for linear, convolution in ((ours.narrow, 0), (ours.widen, 2)):
            theirs.attention[convolution].weight.copy_(linear.weight[..., None, None])
            theirs.attention[convolution].bias.copy_(linear.bias)
    x = torch.randn(B, CHANNELS, ROWS, COLUMNS)
    out, scales = ours(x)
    # Means of 77 numbers of size 1 in another order of summation.
    torch.testing.assert_close(out, theirs(x), rtol=0, atol=1e-6)
    torch.testing.assert_close(scales[..., None, None] * x, out)
    assert ((scales > 0) & (scales < 1)).all() and scales.std() > 0


@pytest.mark.parametrize("space", [(COLUMNS,), (2, 3, 5)])
def test_any_number_of_places(space):
    layer, x = SqueezeExcitation(CHANNELS, REDUCTION), torch.randn(B, CHANNELS, *space)
    flat, _ = layer(x.flatten(2))
    assert torch.equal(layer(x)[0], flat.view_as(x))
