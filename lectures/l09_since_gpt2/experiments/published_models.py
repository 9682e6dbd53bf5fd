"""Configurations of published models, with their sources."""

from __future__ import annotations

from typing import Any

from course_utils.models.published import PUBLISHED
from lectures.l09_since_gpt2.experiments.model_costs import Experts, Latent, Model, State

MIX_5_1 = ("window",) * 5 + ("full",)
MIX_3_1 = ("window",) * 3 + ("full",)
STATES_3_1 = ("state",) * 3 + ("latent",)


def _heads(name: str) -> dict[str, Any]:
    """Layers and heads of a model of which earlier lectures speak."""
    model = PUBLISHED[name]
    return {each: getattr(model, each) for each in ("layers", "heads", "kv_heads", "head_width")}


MODELS = {
    # Radford et al., 2019, table 2; heads and vocabulary: the released checkpoint.
    "GPT-2 XL": Model(
        year=2019, layers=48, width=1600, heads=25, kv_heads=25, head_width=64, hidden=6400,
        vocabulary=50_257, positions=1024, tied=True, gated_hidden=False,
        words="LayerNorm, learned positions",
    ),
    # Touvron et al., arXiv 2307.09288, and the checkpoint.
    "Llama 2 7B": Model(
        year=2023, **_heads("Llama 2 7B"), width=4096, hidden=11_008,
        vocabulary=32_000, words="RMSNorm, RoPE, SwiGLU",
    ),
    # Jiang et al., arXiv 2310.06825, table 1.
    "Mistral 7B": Model(
        year=2023, **_heads("Mistral 7B"), width=4096, hidden=14_336,
        vocabulary=32_000, pattern=("window",), window=4096, words="windows, shared heads",
    ),
    # Jiang et al., arXiv 2401.04088, table 1.
    "Mixtral 8x7B": Model(
        year=2024, layers=32, width=4096, heads=32, kv_heads=8, vocabulary=32_000,
        experts=Experts(count=8, chosen=2, hidden=14_336), words="experts",
    ),
    # Llama team, arXiv 2407.21783, table 3.
    "Llama 3.1 405B": Model(
        year=2024, **_heads("Llama 3.1 405B"), width=16_384, hidden=53_248,
        vocabulary=128_256, words="shared heads",
    ),
    # DeepSeek-AI, arXiv 2412.19437, section 4.2.
    "DeepSeek-V3": Model(
        year=2024, layers=61, width=7168, heads=128, hidden=18_432, vocabulary=129_280,
        pattern=("latent",), latent=Latent(),
        experts=Experts(count=256, chosen=8, hidden=2048, shared=2048, dense_first=3),
        words="latent, experts",
    ),
    # Gemma team, arXiv 2503.19786, and gemma-pytorch's configuration of 27B; text part.
    "Gemma 3 27B": Model(
        year=2025, layers=62, width=5376, heads=32, kv_heads=16, hidden=21_504,
        vocabulary=262_144, tied=True, pattern=MIX_5_1, window=1024,
        words="5 windows : 1 full, QK-norm",
    ),
    # Qwen team, arXiv 2505.09388, table 1, and the checkpoint.
    "Qwen3 32B": Model(
        year=2025, layers=64, width=5120, heads=64, kv_heads=8, hidden=25_600,
        vocabulary=151_936, words="QK-norm",
    ),
    # Kimi team, arXiv 2507.20534, table 2.
    "Kimi K2": Model(
        year=2025, layers=61, width=7168, heads=64, hidden=18_432, vocabulary=163_840,
        pattern=("latent",), latent=Latent(),
        experts=Experts(count=384, chosen=8, hidden=2048, shared=2048, dense_first=1),
        words="latent, experts",
    ),
    # OpenAI, gpt-oss model card, 2025, and transformers' GptOssConfig.
    "gpt-oss 120B": Model(
        year=2025, layers=36, width=2880, heads=64, kv_heads=8, head_width=64,
        vocabulary=201_088, pattern=("window", "full"), window=128,
        experts=Experts(count=128, chosen=4, hidden=2880),
        words="1 window : 1 full, sinks, experts",
    ),
    # Qwen team, Qwen3-Next, 2025: transformers' Qwen3NextConfig.
    "Qwen3-Next 80B": Model(
        year=2025, layers=48, width=2048, heads=16, kv_heads=2, head_width=256,
        vocabulary=151_936, gated_output=True, pattern=("state",) * 3 + ("full",),
        state=State(heads=32, key_heads=16, extra=2 * 32 + 32 * 128),
        experts=Experts(count=512, chosen=10, hidden=512, shared=512),
        words="3 states : 1 full, gates, experts",
    ),
    # MiniMax-M2, 2025: transformers' MiniMaxM2Config.
    "MiniMax-M2": Model(
        year=2025, layers=62, width=3072, heads=48, kv_heads=8, vocabulary=200_064,
        experts=Experts(count=256, chosen=8, hidden=1536), words="QK-norm, experts",
    ),
    # Kimi team, arXiv 2510.26692, and the checkpoint; its last layer is latent, too.
    "Kimi Linear 48B": Model(
        year=2025, layers=27, width=2304, heads=32, hidden=9216, vocabulary=163_840,
        pattern=STATES_3_1 * 6 + STATES_3_1[1:], latent=Latent(query=0),
        state=State(heads=32, key_heads=32, extra=32 + 2 * 128),
        experts=Experts(count=256, chosen=8, hidden=1024, shared=1024, dense_first=1),
        words="3 states : 1 latent, experts",
    ),
    # Olmo team, Olmo 3, 2025, and the checkpoint.
    "OLMo 3 32B": Model(
        year=2025, layers=64, width=5120, heads=40, kv_heads=8, hidden=27_648,
        vocabulary=100_278, pattern=MIX_3_1, window=4096, words="3 windows : 1 full, QK-norm",
    ),
}  # fmt: skip
