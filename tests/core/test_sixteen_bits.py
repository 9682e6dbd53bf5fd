"""Every layer and model in 16 bits: under autocast and in bfloat16, forward and backward."""

import pytest
import torch

from course_utils.attention import unit_vectors
from course_utils.layers import MixtureOfDepths
from course_utils.layers.lora import add_lora
from course_utils.models import (
    GPT2,
    CausalLM,
    CausalLMConfig,
    Encoder,
    EncoderConfig,
    EncoderOutput,
    GPT2Config,
    generate,
)
from course_utils.models.causal_lm import POSITIONS
from tests.core.layers.test_every_layer import LAYERS, B, C, F, H, T, run, weighted_sum

V, P, DEPTH = 31, 13, 2
SIZES = GPT2Config(V, P, C, DEPTH, H)
MODELS = {
    "GPT-2, whole": lambda: GPT2(SIZES),
    "GPT-2, grouped": lambda: GPT2(GPT2Config(V, P, C, DEPTH, H, num_kv_heads=1)),
    "GPT-2, LoRA": lambda: add_lora(GPT2(SIZES), 2),
    "encoder": lambda: Encoder(EncoderConfig(V, C, DEPTH, H, F, P)),
    **{
        f"positions: {kind}": lambda kind=kind: CausalLM(CausalLMConfig(V, C, DEPTH, H, P, kind))
        for kind in POSITIONS
    },
}
# Three factors of 16 bits and some sums: 2^-8 each. What a router chooses may differ altogether.
CLOSE = 0.05
ROUTED = ("experts", "depths, weighted", "depths")


def compute(module, x):
    """A module's vectors, or a model's scores for the same ids in every precision."""
    if not isinstance(module, GPT2 | CausalLM | Encoder):
        return run(module, x)
    out = module(torch.arange(B * T).view(B, T) % V)
    return out.hidden_states[-1] if isinstance(out, EncoderOutput) else out


@pytest.mark.parametrize("autocast", [True, False], ids=["autocast", "bfloat16"])
@pytest.mark.parametrize("name", [*LAYERS, *MODELS])
def test_forward_and_backward(name, autocast):
    module = (LAYERS | MODELS)[name]()
    x = torch.randn(B, T, C)
    wide = compute(module, x).detach()
    if not autocast:
        module, x = module.bfloat16(), x.bfloat16()
    x.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = compute(module, x)
    weighted_sum(out.float()).backward()
    assert out.dtype in ((torch.float32, torch.bfloat16) if autocast else (torch.bfloat16,))
    assert all(
        weight.grad.dtype == weight.dtype and weight.grad.isfinite().all()
        for weight in module.parameters() if weight.grad is not None
    )  # fmt: skip
    if name not in ROUTED:
        assert (out.float() - wide).norm() < CLOSE * wide.norm()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "encoder"])
@pytest.mark.parametrize("autocast", [True, False], ids=["autocast", "bfloat16"])
def test_with_caches(name, autocast):
    ids = torch.arange(B * T).view(B, T) % V
    model = MODELS[name]() if autocast else MODELS[name]().bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast), torch.no_grad():
        caches = model.new_caches()
        stepped = [model(part, caches=caches) for part in ids.split((3, 1, 2, 1), dim=1)]
        whole = model(ids)
        if isinstance(model, GPT2):
            assert generate(model, ids, P - T, temperature=0.7, p=0.9).shape == (B, P)
    off = torch.cat(stepped, dim=1).float() - whole.float()
    assert off.norm() < CLOSE * whole.float().norm()


@pytest.mark.parametrize("gate", ["one", "weight"])
def test_weights_of_another_dtype(gate):
    """Those given in place of the router's, here random ones in float32."""
    layer = MixtureOfDepths(LAYERS["GPT-2"](), 0.4, C, gate=gate).bfloat16()
    x, weights = torch.randn(B, T, C).bfloat16(), torch.rand(B, T, requires_grad=True)
    out, kept = layer(x, weights=weights)
    weighted_sum(out.float()).backward()
    assert out.dtype == torch.bfloat16 and kept.mask.sum(dim=1).tolist() == [3] * B
    assert (weights.grad != 0)[kept.mask].all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_unit_vectors_keep_their_dtype(dtype):
    assert unit_vectors(torch.randn(T, C, dtype=dtype)).dtype == dtype
