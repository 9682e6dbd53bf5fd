"""A small GPT whose trained heads must share keys and values: what it loses, and what heals.

Each group's heads are averaged to one. No two of them were trained to be alike, so their mean is
neither, and the model reads worse at once. A little more training on the same text lets the query
heads find their way in what is left. The model with all its heads gets the same training, as the
yardstick: a model that is trained on may gain by that alone.

Source: Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
checkpoints", 2023, section 2.1 and figure 5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.language_modeling import next_token_loss, text_batch, text_loss
from course_utils.models.gpt2 import GPT2
from course_utils.models.grouped import with_grouped_attention
from course_utils.models.small_gpt import load_small_gpt
from course_utils.shapes import Float
from course_utils.training import train
from lectures.l07b_sharing.experiments.adapting import (
    BATCH,
    LENGTH,
    course_tokens,
)

# The model has read this text many times: a larger one soon costs more on unseen prose than it
# heals.
LEARNING_RATE = 3e-4


@dataclass(frozen=True)
class Shared:
    """What the small GPT is worth with G heads of keys and values in a block.

    Attributes:
        cache_bytes: of all blocks' caches after ``LENGTH`` tokens, as measured, in float32.
        pooled_loss: on prose that it has not seen, in nats per token, just after averaging.
        healed_losses: the same after the steps of training, for each run.
    """

    cache_bytes: int
    pooled_loss: float
    healed_losses: Float[Tensor, " runs"]


def share_heads(
    numbers_of_kv_heads: Iterable[int] = (4, 2, 1),  # each divides 4, and 4 averages nothing
    *,
    steps: int = 30,  # on the prose that the small GPT was trained on
    seeds: Sequence[int] = (0,),  # of the windows that are read
) -> dict[int, Shared]:
    """Average the small GPT's keys and values to fewer heads, and train each model a little."""
    return {G: _shared(G, steps, seeds) for G in numbers_of_kv_heads}


def _shared(G: int, steps: int, seeds: Sequence[int]) -> Shared:
    tokens, model = course_tokens(), with_grouped_attention(load_small_gpt(), G)
    done = train(
        lambda: with_grouped_attention(load_small_gpt(), G),
        text_batch(tokens.prose, LENGTH, BATCH),
        next_token_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=LEARNING_RATE,
        label=f"{G} {'head' if G == 1 else 'heads'} of keys and values",
    )
    unseen = tokens.prose_unseen
    healed = [text_loss(each, unseen, length=LENGTH) for each in done.models]
    return Shared(
        cache_bytes=_cache_bytes(model, unseen[None, :LENGTH]),
        pooled_loss=text_loss(model, unseen, length=LENGTH),
        healed_losses=torch.tensor(healed),
    )


@torch.no_grad()
def _cache_bytes(model: GPT2, token_ids: Tensor) -> int:
    caches = model.new_caches()
    model(token_ids, caches=caches)
    return sum(cache.bytes for cache in caches)
