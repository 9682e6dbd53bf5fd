"""The sizes of published models, as far as lectures compare them."""

from typing import NamedTuple

__all__ = ["PUBLISHED", "PublishedModel"]


class PublishedModel(NamedTuple):
    """The sizes of a published model that decide its KV-cache, and its number of parameters.

    Attributes:
        layers: number of blocks.
        heads: query heads, H.
        kv_heads: heads of keys and values, G.
        head_width: width of a head, D.
        context: the longest text that it was made for, in tokens.
        parameters: number of parameters.
    """

    layers: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    parameters: int


# Radford et al., "Language models are unsupervised multitask learners", 2019, and its checkpoints;
# Brown et al., "Language models are few-shot learners", 2020, table 2.1; Touvron et al., "Llama
# 2", 2023, table 1; Jiang et al., "Mistral 7B", 2023, table 1; Llama team, "The Llama 3 herd of
# models", 2024, table 3. Parameters, and sizes not printed there, are those of the checkpoints.
PUBLISHED = {
    "GPT-2": PublishedModel(12, 12, 12, 64, 1024, 124_439_808),
    "GPT-2 medium": PublishedModel(24, 16, 16, 64, 1024, 354_823_168),
    "GPT-3 175B": PublishedModel(96, 96, 96, 128, 2048, 175_000_000_000),
    "Llama 2 7B": PublishedModel(32, 32, 32, 128, 4096, 6_738_415_616),
    "Llama 2 70B": PublishedModel(80, 64, 8, 128, 4096, 68_976_648_192),
    "Llama 3.1 8B": PublishedModel(32, 32, 8, 128, 131_072, 8_030_261_248),
    "Llama 3.1 70B": PublishedModel(80, 64, 8, 128, 131_072, 70_553_706_496),
    "Llama 3.1 405B": PublishedModel(126, 128, 8, 128, 131_072, 405_853_388_800),
    "Mistral 7B": PublishedModel(32, 32, 8, 128, 32_768, 7_241_732_096),
}
