"""What models cost: totals as published, and as transformers counts them."""

import dataclasses

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from lectures.l09_since_gpt2.experiments.model_costs import (
    cache_bytes,
    flops_per_token,
    kept_numbers,
    parameters,
    stack_of,
)
from lectures.l09_since_gpt2.experiments.published_models import MODELS

B = 10**9
# In the source that published_models.py names, rounded as it is there: all, and for each token.
TOTALS = {
    "GPT-2 XL": (1.5576 * B, None),
    "Llama 2 7B": (6.738 * B, None),
    "Mistral 7B": (7.242 * B, None),
    "Mixtral 8x7B": (46.7 * B, 12.9 * B),
    "Llama 3.1 405B": (405.85 * B, None),
    "DeepSeek-V3": (671 * B, 37 * B),
    "Gemma 3 27B": (27.0 * B, None),
    "Qwen3 32B": (32.8 * B, None),
    "Kimi K2": (1000 * B, 32 * B),
    "gpt-oss 120B": (116.83 * B, 5.13 * B),
    "Qwen3-Next 80B": (80 * B, None),
    "MiniMax-M2": (230 * B, 10 * B),
    "Kimi Linear 48B": (48 * B, 3 * B),
    "OLMo 3 32B": (32.2 * B, None),
}
# transformers' classes, and what their defaults leave open.
SIZES = {
    "GPT-2 XL": ("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "Llama 2 7B": ("llama", {}),
    "Mistral 7B": ("mistral", {}),
    "Mixtral 8x7B": ("mixtral", {}),
    "Llama 3.1 405B": (
        "llama",
        {"hidden_size": 16_384, "num_hidden_layers": 126, "num_attention_heads": 128,
         "num_key_value_heads": 8, "intermediate_size": 53_248, "vocab_size": 128_256},
    ),
    "Kimi K2": (
        "deepseek_v3",
        {"num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384,
         "vocab_size": 163_840, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    ),
    "DeepSeek-V3": ("deepseek_v3", {}),
    "gpt-oss 120B": ("gpt_oss", {}),
    "Qwen3-Next 80B": ("qwen3_next", {}),
    "MiniMax-M2": ("minimax_m2", {}),
    "Kimi Linear 48B": ("kimi_linear", {}),
    "Qwen3 32B": (
        "qwen3",
        {"hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64,
         "num_key_value_heads": 8, "intermediate_size": 25_600},
    ),
    "OLMo 3 32B": (
        "olmo3",
        {"hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40,
         "num_key_value_heads": 8, "intermediate_size": 27_648, "vocab_size": 100_278},
    ),
    "Gemma 3 27B": (
        "gemma3_text",
        {"hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
         "num_key_value_heads": 16, "head_dim": 128, "intermediate_size": 21_504,
         "vocab_size": 262_144},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_totals_are_those_published(name):
    """Some are rounded freely: 49.1 is called 48B, 1,026 is called 1T. The next test counts."""
    total, active = TOTALS[name]
    assert parameters(MODELS[name]) == pytest.approx(total, rel=0.03)
    if active is not None:  # some count the table of the input, too
        assert parameters(MODELS[name], active=True) == pytest.approx(active, rel=0.045)


@pytest.mark.parametrize("name", SIZES)
def test_transformers_counts_as_many(name):
    """Norms, biases and convolutions, which are not counted here, are less than 2 in 1,000."""
    kind, changes = SIZES[name]
    config = transformers.AutoConfig.for_model(kind, **changes)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    theirs = sum(p.numel() for p in model.parameters())  # a tied table once
    assert parameters(MODELS[name]) == pytest.approx(theirs, rel=0.002)
    wider = dataclasses.replace(MODELS[name], width=MODELS[name].width + 64)
    assert parameters(wider) != pytest.approx(theirs, rel=0.002)


TINY = {"vocab_size": 11, "hidden_size": 24, "num_hidden_layers": 6, "num_attention_heads": 6,
        "intermediate_size": 7}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "changes", "ours"),
    [
        ("gemma3_text", {"num_key_value_heads": 2, "head_dim": 4, "sliding_window": 5},
         {"kv_heads": 2, "head_width": 4, "window": 5,
          "pattern": ("window",) * 5 + ("full",)}),
        ("olmo3", {"num_key_value_heads": 3, "sliding_window": 7},
         {"kv_heads": 3, "head_width": 4, "window": 7, "pattern": ("window",) * 3 + ("full",)}),
    ],
)  # fmt: skip
def test_a_cache_of_transformers_keeps_as_much(kind, changes, ours):
    """After 17 tokens, more than the window: what is kept, layer by layer, with a token less.

    A query needs the window − 1 tokens before its own, and transformers keeps just these.
    """
    config = transformers.AutoConfig.for_model(kind, **TINY, **changes)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        cache = model(torch.arange(17)[None] % 11, use_cache=True).past_key_values
    theirs = [layer.keys.numel() + layer.values.numel() for layer in cache.layers]
    tiny = dataclasses.replace(MODELS["Gemma 3 27B"], layers=6, **ours)
    less = dataclasses.replace(tiny, window=tiny.window - 1)
    assert theirs == [kept_numbers(less, kind, 17) for kind in stack_of(less)]
    all_full = dataclasses.replace(tiny, pattern=("full",))
    assert theirs != [kept_numbers(all_full, "full", 17) for _ in theirs]


def test_latent_attention_keeps_what_its_paper_says():
    """DeepSeek-V3: 512 + 64 numbers a layer, not 2 · 128 heads · 128."""
    assert cache_bytes(MODELS["DeepSeek-V3"], 1) == 61 * (512 + 64) * 2


def test_a_longer_text_costs_products_with_what_is_kept_alone():
    for model in MODELS.values():
        (weights, short), (same, long) = (flops_per_token(model, n) for n in (64, 131_072))
        assert weights == same
        assert (short == long) == (set(stack_of(model)) == {"state"})
    only_window = MODELS["Mistral 7B"]
    assert flops_per_token(only_window, 5000) == flops_per_token(only_window, 131_072)


def test_products_are_those_of_a_head_written_out():
    """One full layer of two heads of width 3, seven tokens: a score and a mixture for each."""
    model = dataclasses.replace(
        MODELS["Llama 2 7B"], layers=1, heads=2, kv_heads=2, head_width=3, hidden=1
    )
    q, keys, values = torch.randn(2, 1, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 3)
    with FlopCounterMode(display=False) as counter:
        (q @ keys.mT) @ values
    assert flops_per_token(model, 7)[1] == counter.get_total_flops()
