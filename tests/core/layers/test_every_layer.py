"""What holds for every layer from (B, T, C) to (B, T, C): precisions, gradients, batches."""

import pytest
import torch
from torch.func import stack_module_state, vmap

from course_utils.layers import (
    Alibi,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    GroupedQueryAttention,
    LayerNorm,
    LoRALinear,
    MixtureOfDepths,
    MixtureOfExperts,
    MultiHeadAttention,
    Rotary,
    SoftMixtureOfExperts,
    SwiGLU,
)
from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.training import with_weights

B, T, C, H, F = 3, 7, 18, 3, 23  # heads of width 6
GPT2_SIZES = GPT2Config(width=C, num_heads=H)
LAYERS = {
    "norm": lambda: LayerNorm(C),
    "feed-forward": lambda: FeedForward(C, F),
    "SwiGLU": lambda: SwiGLU(C, F),
    "attention": lambda: MultiHeadAttention(C, H),
    "rotary": lambda: MultiHeadAttention(C, H, position=Rotary()),
    "ALiBi": lambda: MultiHeadAttention(C, H, position=Alibi()),
    "grouped": lambda: GroupedQueryAttention(C, H, 1),
    "post-LN": lambda: EncoderBlock(C, H, F),
    "pre-LN": lambda: EncoderBlock(C, H, F, norm_first=True, position=Rotary()),
    "decoder": lambda: DecoderBlock(C, H, F),
    "GPT-2": lambda: GPT2Block(GPT2_SIZES),
    "experts": lambda: MixtureOfExperts(C, F, 5, 2, num_shared=1),
    "soft experts": lambda: SoftMixtureOfExperts(C, F, 3, 2),
    "depths": lambda: MixtureOfDepths(GPT2Block(GPT2_SIZES), 0.5, C),
    "depths, weighted": lambda: MixtureOfDepths(GPT2Block(GPT2_SIZES), 0.5, C, gate="weight"),
    "LoRA": lambda: LoRALinear(torch.nn.Linear(C, C), 2),
}
every_layer = pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS.keys())
# Float32 sums of some twenty numbers of size one, in another order.
CLOSE = {"rtol": 0, "atol": 1e-5}


def run(layer, x, call=None):
    """The layer's vectors. A decoder's memory is the sequence backwards."""
    inputs = (x, x.flip(1)) if isinstance(layer, DecoderBlock) else (x,)
    out = (call or layer)(*inputs)
    return out[0] if isinstance(out, tuple) else out


def weighted_sum(out):
    """A number that feels every entry; the plain sum over a LayerNorm is constant."""
    return (torch.linspace(-1, 1, out.numel()).view_as(out) * out).sum()


@every_layer
def test_shapes_and_precisions(build):
    layer, x = build(), torch.randn(B, T, C)
    out = run(layer, x)
    assert out.shape == x.shape and out.dtype == torch.float32
    precise = run(layer.double(), x.double())
    assert precise.dtype == torch.float64
    torch.testing.assert_close(precise.float(), out, **CLOSE)
    assert run(layer.bfloat16(), x.bfloat16()).dtype == torch.bfloat16


@every_layer
def test_gradients_reach_every_parameter(build):
    layer, x = build(), torch.randn(B, T, C, requires_grad=True)
    if isinstance(layer, LoRALinear):  # with B zero, A gets none
        torch.nn.init.normal_(layer.up)
    weighted_sum(run(layer, x)).backward()
    assert x.grad.abs().sum() > 0
    for name, weight in layer.named_parameters():
        # The predictor of the depths has a loss of its own.
        if weight.requires_grad and not name.startswith("predictor"):
            assert weight.grad.isfinite().all() and weight.grad.abs().sum() > 0, name


@every_layer
def test_sequences_do_not_mix(build):
    layer, x = build(), torch.randn(B, T, C)
    torch.testing.assert_close(run(layer, x)[1:2], run(layer, x[1:2]), **CLOSE)


@every_layer
def test_an_empty_batch(build):
    assert run(build(), torch.zeros(0, T, C)).shape == (0, T, C)


@every_layer
def test_runs_together_under_vmap(build):
    """As training computes its seeds: each run's loss and gradients are those of its own."""
    layers, x = [build() for _ in range(2)], torch.randn(2, B, T, C)
    if isinstance(layers[0], MixtureOfExperts):
        pytest.skip("it dispatches by value, which vmap does not allow")
    stacked, buffers = stack_module_state(layers)

    def loss(parameters, buffers, x):
        return weighted_sum(run(layers[0], x, with_weights(layers[0], parameters, buffers)))

    together = vmap(loss)(stacked, buffers, x)
    names, weights = zip(*stacked.items(), strict=True)
    needed = [weight for weight in weights if weight.requires_grad]
    found = torch.autograd.grad(together.sum(), needed, allow_unused=True)
    for run_number, layer in enumerate(layers):
        alone = weighted_sum(run(layer, x[run_number]))
        torch.testing.assert_close(together[run_number], alone, rtol=1e-5, atol=1e-4)
        own = dict(layer.named_parameters())
        own = [own[name] for name, weight in zip(names, weights, strict=True)
               if weight.requires_grad]  # fmt: skip
        expected = torch.autograd.grad(alone, own, allow_unused=True)
        for ours, theirs in zip(found, expected, strict=True):
            if theirs is not None:
                torch.testing.assert_close(ours[run_number], theirs, rtol=1e-4, atol=1e-4)
