"""Norm, feed-forward and the two blocks against PyTorch's own, and under vmap."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

from course_utils.layers import (
    Alibi,
    DecoderBlock,
    DecoderCache,
    EncoderBlock,
    KVCache,
    LayerNorm,
    Rotary,
)
from course_utils.masks import causal_mask, padding_mask
from course_utils.positions import alibi_bias
from tests.core.support_layers import (
    CLOSE,
    torch_decoder_layer,
    torch_encoder_layer,
    with_random_norms,
)
from tests.core.support_refused import each_refused

B, T, S, C, H, HIDDEN = 2, 7, 11, 15, 3, 23
WIDE = 18  # heads of width 6, which is even


# LayerNorm


@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.1])
def test_norm_agrees_with_torch(eps):
    ours, theirs = with_random_norms(LayerNorm(C, eps)), nn.LayerNorm(C, eps)
    theirs.load_state_dict(ours.state_dict())
    x = 3 * torch.randn(B, T, C) + 2
    assert torch.allclose(ours(x), theirs(x), **CLOSE)
    assert torch.allclose(ours(x[0, 0]), theirs(x[0, 0]), **CLOSE)


@pytest.mark.parametrize(
    ("dtype", "scale", "offset"),
    [
        (torch.float64, 1, 0),
        *[(torch.bfloat16, *moved) for moved in ((1, 0), (1000, 0), (1, 200))],
        *[(torch.float16, *moved) for moved in ((1, 0), (1000, 0), (1, 200))],
    ],
)
def test_norm_in_other_precisions(dtype, scale, offset):
    """The square of 1000 is beyond float16; a mean near 200 is off by half a unit in bfloat16."""
    x = (scale * torch.randn(B, T, C) + offset).to(dtype)
    # Torch computes 16-bit numbers in 32: up to a few units in the last place apart.
    out, close = LayerNorm(C).to(dtype)(x), 4 * torch.finfo(dtype).eps
    assert out.dtype == dtype
    assert torch.allclose(out, nn.LayerNorm(C, dtype=dtype)(x), rtol=close, atol=close)


def test_norm_of_equal_numbers():
    assert torch.equal(LayerNorm(C)(torch.full((1, C), 7.0)), torch.zeros(1, C))


# Blocks


FORMS = [
    pytest.param({"norm_first": first, "activation": name}, id=f"{where}, {name}")
    for first, where in ((False, "post-LN"), (True, "pre-LN"))
    for name in ("relu", "gelu")
]


@pytest.mark.parametrize("options", FORMS)
def test_encoder_block_agrees_with_torch(options):
    block = with_random_norms(EncoderBlock(C, H, HIDDEN, **options))
    x = torch.randn(B, T, C)
    theirs = torch_encoder_layer(block)
    assert torch.allclose(block(x)[0], theirs(x), **CLOSE)
    masked = theirs(
        x, src_mask=~causal_mask(T), src_key_padding_mask=~padding_mask([4, T], T)[:, 0, 0]
    )
    both = causal_mask(T) & padding_mask([4, T], T)
    assert torch.allclose(block(x, both)[0], masked, **CLOSE)
    other = torch_encoder_layer(block, norm_first=not block.norm_first)
    assert not torch.allclose(block(x)[0], other(x), atol=1e-2)


@pytest.mark.parametrize("options", FORMS)
def test_decoder_block_agrees_with_torch(options):
    block = with_random_norms(DecoderBlock(C, H, HIDDEN, **options))
    x, memory = torch.randn(B, T, C), torch.randn(B, S, C)
    theirs = torch_decoder_layer(block)
    causal = theirs(x, memory, tgt_mask=~causal_mask(T))
    assert torch.allclose(block(x, memory)[0], causal, **CLOSE)
    padding = padding_mask([4, S], S)
    hidden = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=~padding[:, 0, 0])
    assert torch.allclose(block(x, memory, memory_may_attend=padding)[0], hidden, **CLOSE)
    everything = torch.ones(1, 1, dtype=torch.bool)
    assert torch.allclose(block(x, memory, may_attend=everything)[0], theirs(x, memory), **CLOSE)
    assert not torch.allclose(block(x, memory)[0], theirs(x, memory), atol=1e-2)


@pytest.mark.parametrize(("kind", "norms"), [(EncoderBlock, 2), (DecoderBlock, 3)])
def test_eps_reaches_the_norms(kind, norms):
    block = kind(C, H, HIDDEN, eps=0.5)
    assert [m.eps for m in block.modules() if isinstance(m, LayerNorm)] == [0.5] * norms


def test_decoder_positions():
    options = {"norm_first": True, "eps": 0.1}
    block = with_random_norms(DecoderBlock(C, H, HIDDEN, position=Alibi(), **options))
    x, memory = torch.randn(B, T, C), torch.randn(B, S, C)
    hidden = nn.Transformer.generate_square_subsequent_mask(T)  # 0 and -inf, to be added
    biased = (hidden + alibi_bias(H, T, T)).repeat(B, 1, 1)
    expected = torch_decoder_layer(block)(x, memory, tgt_mask=biased)
    assert torch.allclose(block(x, memory)[0], expected, **CLOSE)
    plain = torch_decoder_layer(block)(x, memory, tgt_mask=hidden)
    assert not torch.allclose(expected, plain, atol=1e-2)


def test_blocks_say_what_their_heads_did():
    x, memory = torch.randn(B, T, C), torch.randn(B, S, C)
    _, (own, cross) = DecoderBlock(C, H, HIDDEN)(x, memory)
    assert own.weights.shape == (B, H, T, T) and cross.weights.shape == (B, H, T, S)
    assert own.weights.triu(1).abs().max() == 0
    assert torch.allclose(cross.weights.sum(-1), torch.ones(B, H, T))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_blocks_in_other_precisions(dtype):
    block, x = EncoderBlock(WIDE, H, HIDDEN, position=Rotary()), torch.randn(B, T, WIDE)
    expected = block(x)[0]
    out = block.to(dtype)(x.to(dtype))[0]
    assert out.dtype == dtype
    # 1e-5 is float32's own error; bfloat16 has 8 bits, and loses some through the block.
    assert torch.allclose(out.float(), expected, rtol=0, atol={torch.float64: 1e-5}.get(dtype, 0.1))


# Many at once: training runs its seeds side by side under vmap.


SCHEMES = {"none": None, "rotary": Rotary(), "alibi": Alibi()}


class Loss(nn.Module):
    """A block with a number at its end."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, *inputs):
        return self.block(*inputs)[0].square().mean()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_blocks_under_vmap(kind, norm_first, scheme):
    blocks = [
        Loss(kind(WIDE, H, HIDDEN, norm_first=norm_first, position=SCHEMES[scheme]))
        for _ in range(3)
    ]
    inputs = (torch.randn(3, B, T, WIDE),)
    if kind is DecoderBlock:
        inputs += (torch.randn(3, B, S, WIDE),)
    stacked, _ = stack_module_state(blocks)

    def loss(parameters, *inputs):
        return functional_call(blocks[0], parameters, inputs)

    gradients = vmap(grad(loss))(stacked, *inputs)
    for run, block in enumerate(blocks):
        block.zero_grad()
        block(*(part[run] for part in inputs)).backward()
        for name, parameter in block.named_parameters():
            assert torch.allclose(gradients[name][run], parameter.grad, **CLOSE), name


def test_cached_block_under_vmap():
    blocks = [EncoderBlock(WIDE, H, HIDDEN, position=Rotary()) for _ in range(3)]
    x = torch.randn(3, B, T, WIDE)
    stacked, _ = stack_module_state(blocks)

    def step_by_step(parameters, x):
        cache = KVCache()
        return torch.cat(
            [
                functional_call(blocks[0], parameters, (token, None, cache))[0]
                for token in x.split(1, 1)
            ],
            1,
        )

    for recording in (True, False):
        with torch.set_grad_enabled(recording):
            out = vmap(step_by_step)(stacked, x)
        for run, block in enumerate(blocks):
            assert torch.allclose(out[run], block(x[run], causal_mask(T))[0], **CLOSE)


# What is refused


BLOCK, X, MEMORY = DecoderBlock(C, H, HIDDEN), torch.zeros(B, T, C), torch.zeros(B, S, C)


def test_a_refused_call_changes_no_cache():
    cache = DecoderCache()
    with pytest.raises(ValueError):
        BLOCK(X, MEMORY, memory_may_attend=causal_mask(T), cache=cache)
    assert cache.bytes == 0


test_refused = each_refused(
    (lambda: LayerNorm(0), "ValueError: width must be at least 1, got 0"),
    (lambda: LayerNorm(C, eps=0), "ValueError: eps must be positive, got 0"),
    (lambda: LayerNorm(C)(X[..., :13]), "ValueError: x must have the model width, C (15)"),
    (lambda: LayerNorm(C)(X.double()),
     "TypeError: x must have the dtype of the layer's weights (torch.float32), got torch.float64"),
    (lambda: EncoderBlock(C, H, HIDDEN, activation="swish"),
     "ValueError: activation must be one of relu, gelu, gelu_tanh, got 'swish'"),
    (lambda: EncoderBlock(C, H, HIDDEN, norm_first=1),
     "TypeError: norm_first must be True or False, got 1 (int)"),
    (lambda: DecoderBlock(C, H, HIDDEN, norm_first=1),
     "TypeError: norm_first must be True or False, got 1 (int)"),
    (lambda: BLOCK(X, MEMORY[:1]),
     "ValueError: memory must have x's batch size (2), got shape (1, 11, 15)"),
    (lambda: BLOCK(X, MEMORY, may_attend=causal_mask(T, S)),
     "ValueError: may_attend must broadcast to the scores (..., T, S) = (2, 3, 7, 7)"),
    (lambda: BLOCK(X, MEMORY, memory_may_attend=causal_mask(T)),
     "ValueError: memory_may_attend must broadcast to the scores (..., T, S) = (2, 3, 7, 11)"),
    (lambda: BLOCK(X, MEMORY, memory_may_attend=causal_mask(T, S).long()),
     "TypeError: memory_may_attend must be boolean, True = may attend"),
    (lambda: BLOCK(X, MEMORY, cache={}), "TypeError: cache must be a DecoderCache, got {} (dict)"),
)  # fmt: skip
