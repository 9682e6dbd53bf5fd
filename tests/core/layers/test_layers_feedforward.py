"""The feed-forward layers: plain against torch's functions, gated against the MLP of Llama."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP

from course_utils.layers.feedforward import ACTIVATIONS, FeedForward, SwiGLU

B, T, C, F = 2, 7, 5, 11


@pytest.fixture
def x():
    return torch.randn(B, T, C)


def llama(ours):
    """The MLP of Llama with the weights of ours."""
    width, hidden = ours.gate.in_features, ours.gate.out_features
    sizes = {"hidden_size": width, "intermediate_size": hidden, "num_attention_heads": 1}
    sizes["head_dim"] = 2  # of the attention, which is not used; its rotation needs pairs
    theirs = LlamaMLP(LlamaConfig(**sizes))
    names = {"gate_proj": ours.gate, "up_proj": ours.expand, "down_proj": ours.contract}
    theirs.load_state_dict({f"{name}.weight": layer.weight for name, layer in names.items()})
    return theirs


def test_swiglu_as_llama(x):
    ours = SwiGLU(C, F)
    reference = llama(ours)
    torch.testing.assert_close(ours(x), reference(x))
    found, expected = (layer(x).square().sum() for layer in (ours, reference))
    for layer, total in ((ours, found), (reference, expected)):
        total.backward()
        assert all(weight.grad is not None for weight in layer.parameters())
    torch.testing.assert_close(ours.gate.weight.grad, reference.gate_proj.weight.grad)
    torch.testing.assert_close(ours.expand.weight.grad, reference.up_proj.weight.grad)
    torch.testing.assert_close(ours.contract.weight.grad, reference.down_proj.weight.grad)


@pytest.mark.parametrize(("width", "hidden"), [(3, 8), (768, 2048), (5, 13), (7, 19), (1, 3)])
def test_hidden_width_of_swiglu(width, hidden):
    with torch.device("meta"):
        gated, plain = SwiGLU(width), FeedForward(width, 4 * width)
    assert gated.hidden == gated.gate.out_features == hidden
    ours = sum(weight.numel() for weight in gated.parameters())
    matrices = sum(weight.numel() for weight in plain.parameters() if weight.dim() == 2)
    # The nearest whole number: a half of a hidden number's 3 C, at most.
    assert abs(ours - matrices) <= 1.5 * width
    assert len(list(gated.parameters())) == 3


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_plain_layer_is_its_formula(activation, x):
    ours, bend = FeedForward(C, F, activation), {
        "relu": nn.ReLU(),
        "gelu": lambda z: z * torch.distributions.Normal(0, 1).cdf(z),
        "gelu_tanh": nn.GELU("tanh"),
    }[activation]  # fmt: skip
    expand, contract = ours.expand, ours.contract
    hidden = bend(functional.linear(x, expand.weight, expand.bias))
    expected = functional.linear(hidden, contract.weight, contract.bias)
    torch.testing.assert_close(ours(x), expected)
