"""A small GPT trained on a text in half a minute, and the table of pairs that it has to beat."""

import dataclasses

import torch
from torch import Tensor

from course_utils.language_modeling import next_token_loss, text_batch
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import SMALL_GPT
from course_utils.seeds import own_random_numbers
from course_utils.shapes import Float, Int
from course_utils.training import rate_factor, with_bar
from lectures.l06b_learning.experiments.sizes import drawn_for_width

LIVE_GPT = dataclasses.replace(SMALL_GPT, num_layers=2)  # in half a minute a third does not pay


def train_gpt(
    ids: Int[Tensor, " N"], *, seed: int = 0, steps: int = 600
) -> tuple[GPT2, Float[Tensor, " steps"]]:
    """Train a small GPT on windows of a text; return it, and the loss of each step."""
    with own_random_numbers(seed):
        model = drawn_for_width(LIVE_GPT)
    draw, generator = text_batch(ids, length=64, batch_size=8), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    highest = 0.003 * rate_factor()
    losses = torch.zeros(steps)
    for step in with_bar(range(steps), "small GPT"):
        loss = next_token_loss(model, *draw(generator))
        optimizer.zero_grad()
        loss.backward()
        # The rate rises for a tenth of the steps, then falls to nearly 0.
        optimizer.param_groups[0]["lr"] = highest * min(10 * (step + 1), steps - step) / steps
        optimizer.step()
        losses[step] = loss.detach()
    return model.eval(), losses


def bigram_loss(ids: Int[Tensor, " N"], unseen: Int[Tensor, " M"], vocab_size: int) -> float:
    """Return what a table of pairs pays on unseen text, in nats per token.

    It says w p(next | this) + (1 - w) p(next). The share w of the pairs is the best of nine, chosen
    on the unseen text itself, in favour of the table.
    """
    single = (ids.bincount(minlength=vocab_size) + 1).double()  # 1: no token is impossible
    pairs = torch.zeros(vocab_size, vocab_size, dtype=torch.double)
    pairs.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1).double(), accumulate=True)
    alone = (single / single.sum())[unseen[1:]]
    after = (pairs / pairs.sum(dim=1, keepdim=True).clamp(min=1))[unseen[:-1], unseen[1:]]
    return min(
        -(w * after + (1 - w) * alone).log().mean().item() for w in torch.arange(0.1, 1, 0.1)
    )
