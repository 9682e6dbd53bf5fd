"""Caches and products of the kinds of layers that have no keys and values of each head."""

import dataclasses

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from lectures.l09_since_gpt2.experiments.model_costs import (
    Latent,
    State,
    flops_per_token,
    kept_numbers,
    stack_of,
)
from lectures.l09_since_gpt2.experiments.published_models import MODELS

TOKENS = 17
TINY = {"vocab_size": 11, "hidden_size": 24, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2}  # fmt: skip
THIN = {"kv_lora_rank": 13, "qk_rope_head_dim": 2, "qk_nope_head_dim": 7, "v_head_dim": 5}
LATENT = Latent(width=13, rope=2, query=11, key=7, value=5)
CASES = {
    "gpt-oss 120B": (
        "gpt_oss",
        {"num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 2,
         "head_dim": 4, "intermediate_size": 7, "sliding_window": 5, "num_local_experts": 3,
         "num_experts_per_tok": 2},
        # transformers keeps the window - 1 tokens that a next query needs besides its own.
        {"layers": 4, "kv_heads": 2, "head_width": 4, "window": 4},
        {"pattern": ("full",)},  # windows that never stop growing
    ),
    "DeepSeek-V3": (
        "deepseek_v3",
        {**THIN, "num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 3,
         "intermediate_size": 7, "moe_intermediate_size": 5, "q_lora_rank": 11,
         "n_routed_experts": 4, "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2,
         "first_k_dense_replace": 1},
        {"layers": 3, "latent": LATENT},
        {"latent": dataclasses.replace(LATENT, rope=0)},  # no key with RoPE
    ),
    "Qwen3-Next 80B": (
        "qwen3_next",
        {"num_hidden_layers": 4, "num_attention_heads": 3, "num_key_value_heads": 1,
         "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
         "linear_key_head_dim": 5, "linear_value_head_dim": 5, "moe_intermediate_size": 7,
         "shared_expert_intermediate_size": 7, "num_experts": 5, "num_experts_per_tok": 2},
        {"layers": 4, "kv_heads": 1, "head_width": 8,
         "state": State(heads=4, key_heads=2, width=5)},
        {"state": State(heads=2, key_heads=2, width=5)},  # a matrix for each key head
    ),
    "Kimi Linear 48B": (
        "kimi_linear",
        {**THIN, "num_hidden_layers": 4, "num_attention_heads": 3, "num_key_value_heads": 3,
         "intermediate_size": 7, "moe_intermediate_size": 5, "num_experts": 4,
         "num_experts_per_token": 2, "linear_num_heads": 4, "linear_head_dim": 5,
         "layer_types": ["linear_attention"] * 3 + ["full_attention"]},
        {"layers": 4, "latent": LATENT, "state": State(heads=4, key_heads=4, width=5)},
        {"pattern": ("state",) * 4 + ("latent",)},  # transformers' default, not the checkpoint's
    ),
}  # fmt: skip


def numbers_kept(layer):
    """Numbers of a layer of transformers' cache, its convolution's last tokens left out."""
    if hasattr(layer, "recurrent_states"):
        kept = layer.recurrent_states
        kept = kept.values() if isinstance(kept, dict) else kept
        return sum(state.numel() for state in kept)
    return layer.keys.numel() + layer.values.numel()


@pytest.mark.parametrize("name", CASES)
def test_transformers_keeps_as_much(name):
    kind, theirs, ours, wrong = CASES[name]
    config = transformers.AutoConfig.for_model(kind, **TINY, **theirs)
    config._attn_implementation = config._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        cache = model(torch.arange(TOKENS)[None] % 11, use_cache=True).past_key_values
    kept = [numbers_kept(layer) for layer in cache.layers]
    tiny = dataclasses.replace(MODELS[name], **ours)
    assert kept == [kept_numbers(tiny, each, TOKENS) for each in stack_of(tiny)]
    other = dataclasses.replace(tiny, **wrong)
    assert kept != [kept_numbers(other, each, TOKENS) for each in stack_of(other)]


def test_products_of_absorbed_latents():
    """Three heads: scores with R numbers and with RoPE's, and a mixture of R numbers."""
    model = dataclasses.replace(MODELS["DeepSeek-V3"], layers=1, heads=3, latent=LATENT)
    thin, rope = torch.randn(TOKENS, 13), torch.randn(TOKENS, 2)
    absorbed, turned = torch.randn(3, 13), torch.randn(3, 2)
    with FlopCounterMode(display=False) as counter:
        (absorbed @ thin.mT + turned @ rope.mT) @ thin
    assert flops_per_token(model, TOKENS)[1] == counter.get_total_flops()


@pytest.mark.parametrize(
    ("name", "far"),
    [
        # Layers of linear_attn_config in the checkpoint's config.json, which counts them from 1.
        ("Kimi Linear 48B", [4, 8, 12, 16, 20, 24, 27]),
        ("Qwen3-Next 80B", list(range(4, 49, 4))),
        ("Gemma 3 27B", list(range(6, 61, 6))),  # 5 : 1 from the bottom; two windows are left
        ("gpt-oss 120B", list(range(2, 37, 2))),
    ],
)
def test_which_layers_see_everything(name, far):
    stack = enumerate(stack_of(MODELS[name]), 1)
    assert [layer for layer, kind in stack if kind in ("full", "latent")] == far
