"""The post-LN encoder on random weights: against PyTorch's own layer."""

import pytest
import torch
from torch import nn

from course_utils.masks import padding_mask
from course_utils.models import Encoder, EncoderConfig
from tests.core.support_layers import torch_encoder_layer, with_random_norms

B, T, C, H, V = 2, 7, 15, 3, 31
CONFIG = EncoderConfig(
    vocab_size=V, width=C, num_layers=2, num_heads=H, feedforward_width=23, max_positions=11
)
# float64 through two layers.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture
def encoder():
    return Encoder(CONFIG).double().eval()


@pytest.fixture
def token_ids():
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(1))


def test_layer_as_torch(encoder):
    layer, x = encoder.layers[0], torch.randn(B, T, C, dtype=torch.float64)
    out, _ = with_random_norms(layer)(x)
    reference = torch_encoder_layer(layer, layer_norm_eps=1e-12, activation="gelu")
    assert torch.allclose(out, reference(x), **CLOSE)
    pre_ln = torch_encoder_layer(layer, norm_first=True)
    assert not torch.allclose(out, pre_ln(x), atol=1e-2)
    tanh_gelu = torch_encoder_layer(layer, activation=nn.GELU(approximate="tanh"))
    assert not torch.allclose(out, tanh_gelu(x), **CLOSE)
    common_eps = torch_encoder_layer(layer, layer_norm_eps=1e-5)
    assert not torch.allclose(out, common_eps(x), **CLOSE)


def test_padded_stack_as_torch(encoder, token_ids):
    may_attend = padding_mask([4, T], T)
    x = encoder.embeddings(token_ids)
    for layer in encoder.layers:
        x = torch_encoder_layer(layer)(x, src_key_padding_mask=~may_attend[:, 0, 0])
    output = encoder(token_ids, may_attend)
    assert torch.allclose(output.hidden_states[-1], x, **CLOSE)
    assert not torch.allclose(encoder(token_ids).hidden_states[-1], x, atol=1e-2)


def test_weights_from_queries_and_keys(encoder, token_ids):
    output = encoder(token_ids)
    for q, k, weights in zip(output.queries, output.keys, output.attentions, strict=True):
        again = (q @ k.mT / (C // H) ** 0.5).softmax(-1)
        assert torch.allclose(again, weights, **CLOSE)
        assert not torch.allclose((q @ k.mT / C**0.5).softmax(-1), weights, **CLOSE)
