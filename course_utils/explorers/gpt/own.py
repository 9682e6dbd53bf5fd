"""A reader's own GPT for the page: as a GPT-2 where it computes what one does, else asked here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.story_gpt import STORY_GPT, story_batch
from course_utils.stories.words import ALL_WORDS
from course_utils.threads import one_thread

AGREE = 1e-3  # scores of some tens: what 32 bits leave, and a millionth of any wrong line
IDS = {word: number for number, word in enumerate(ALL_WORDS)}


@one_thread()
@torch.no_grad()
def as_gpt2(model: nn.Module) -> GPT2 | None:
    """The GPT-2 with a model's weights, or None where no number of heads gives its scores."""
    longest = _longest(model)
    (ids, _) = story_batch(longest, 1)(torch.Generator().manual_seed(1))
    scores = _scores(model, ids)
    weights = model.state_dict()
    for heads in range(1, STORY_GPT.width + 1):
        gpt = _gpt2_of(weights, heads)
        if gpt is not None and (gpt(ids) - scores).abs().max() < AGREE:
            return gpt
    return None


def _gpt2_of(weights: Mapping[str, Tensor], num_heads: int) -> GPT2 | None:
    """A GPT-2 with so many heads, if the weights have the names and shapes of one."""
    try:
        vocab_size, width = weights["tokens.weight"].shape
        layers = len({name.split(".")[1] for name in weights if name.startswith("blocks.")})
        longest = len(weights["positions.weight"])
        gpt = GPT2(GPT2Config(vocab_size, longest, width, layers, num_heads))
        gpt.load_state_dict(dict(weights))
    except (KeyError, RuntimeError, ValueError):
        return None
    return gpt.eval()


@one_thread()
@torch.no_grad()
def spoken(model: nn.Module, text: str) -> dict[str, Any]:
    """What the page needs where Python computes: the scores after each word that is known."""
    longest = _longest(model)
    known = [IDS[word] for word in re.findall(r"\w+|[^\w\s]", text) if word in IDS]
    ids = torch.tensor([[0, *known][:longest]])
    scores = _scores(model, ids)[0]
    return {"whose": "spoken", "longest": longest, "spoken": {"text": text, "logits": scores}}


def _longest(model: nn.Module) -> int:
    """How many words a model has positions for; one without position vectors reads as ours."""
    positions = model.state_dict().get("positions.weight")
    return STORY_GPT.max_positions if positions is None else len(positions)


def _scores(model: nn.Module, ids: Tensor) -> Tensor:
    scores = model(ids)
    if scores.shape != (*ids.shape, len(ALL_WORDS)):
        raise ValueError(
            f"model must give scores of {len(ALL_WORDS)} words, (B, T, {len(ALL_WORDS)}), "
            f"got {tuple(scores.shape)}"
        )
    return scores.float()
