"""What depth does to a stack of blocks, by where its norms stand: gradients, and a first training.

After a post-LN block, the stream is normalised: the last block's gradient does not know how many
blocks lie below. In a pre-LN stack the stream is a sum that grows with each block, and the last
norm divides by its size, which is about the square root of the depth: so do the gradients. Xiong et
al. prove it for the last feed-forward matrix W2 of a stack of L blocks before training:
``|dloss / dW2|`` is of order ``C sqrt(ln C)`` in post-LN, and ``C sqrt(ln C / L)`` in pre-LN.

Their second claim is about training: with Adam, a post-LN stack needs a warm-up, and a pre-LN stack
needs none. ``train_with_warmup`` puts it to the test on the task of ``copying``, to say at each
place which tokens stood one and three places back.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.layers import AttentionTrace, EncoderBlock, LayerNorm
from course_utils.masks import causal_mask
from course_utils.seeds import own_random_numbers
from course_utils.shapes import Float, Int
from course_utils.training import Training, train, with_bar
from course_utils.two_heads_task import BACK, LENGTH, TOKENS, copy_batch, copy_loss

WIDTH, NUM_HEADS = 32, 4


class DeepCopier(nn.Module):
    """Blocks under a causal mask, and a linear readout for the two answers of ``copy_batch``.

    Args:
        num_layers: number of blocks, L.
        norm_first: True for pre-LN, which has one more norm after the last block; False for
            post-LN.
        xavier: draw the weights of a layer of n inputs and m outputs with variance 2 / (n + m),
            and set its bias to 0, as the theory has it. ``nn.Linear`` by itself draws them with
            variance 1 / (3 n).
        width: of the stream, C.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010, equation 16, for Xavier's.
    """

    def __init__(
        self, num_layers: int, *, norm_first: bool, xavier: bool = False, width: int = WIDTH
    ) -> None:
        blocks = [
            EncoderBlock(width, NUM_HEADS, 4 * width, activation="relu", norm_first=norm_first)
            for _ in range(num_layers)
        ]
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList(blocks)
        self.norm = LayerNorm(width) if norm_first else nn.Identity()
        self.readout = nn.Linear(width, len(BACK) * TOKENS)
        if xavier:
            self.apply(_draw_as_xavier)

    def forward(
        self, token_ids: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B asked 2 V"], tuple[AttentionTrace, ...]]:
        """Return the scores of both answers from the fourth place on, and what the heads did."""
        T, first = token_ids.shape[1], max(BACK)
        x, seen = self.tokens(token_ids) + self.positions[:T], []  # (B, T, C)
        for block in self.blocks:
            x, heads = block(x, causal_mask(T))
            seen.append(heads)
        scores = self.readout(self.norm(x)[:, first:])
        return scores.unflatten(-1, (len(BACK), TOKENS)), tuple(seen)


def _draw_as_xavier(part: nn.Module) -> None:
    if isinstance(part, nn.Linear):
        nn.init.xavier_uniform_(part.weight)
        nn.init.zeros_(part.bias)


def gradient_norms(
    depths: Iterable[int] = (2, 6, 12, 24, 48),
    *,
    norm_first: bool,
    seeds: Iterable[int] = range(5),
    one_token: bool = False,
    xavier: bool = True,
    width: int = WIDTH,
) -> dict[int, Float[Tensor, "seeds layers"]]:
    """Return the size of the loss's gradient for each block's weights, before any training.

    The size is the root of the sum of squares over the block's six matrices. Row s comes from the
    weights and the one batch of 32 sequences that the s-th seed draws.

    The theory is about the loss at one token. In a batch, the gradients of unlike tokens partly
    cancel, and those of tokens that depth has made alike add up.

    Args:
        depths: numbers of blocks; one table for each.
        norm_first: True for pre-LN, False for post-LN.
        seeds: one row for each.
        one_token: whether the loss is that of the last token of one sequence alone.
        xavier: whether weights are drawn as the theory has it, or by ``nn.Linear`` itself.
        width: of the stream, C.

    Source: Xiong et al., "On layer normalization in the transformer architecture", 2020, theorem 1
    and figure 3.
    """
    kind = {"norm_first": norm_first, "xavier": xavier, "width": width}
    return {
        depth: torch.stack(
            [_norms_of_blocks(depth, seed, one_token=one_token, **kind) for seed in seeds]
        )
        for depth in with_bar(list(depths), "pre-LN" if norm_first else "post-LN")
    }


def _norms_of_blocks(depth: int, seed: int, *, one_token: bool, **kind: Any) -> Tensor:
    with own_random_numbers(seed):
        model = DeepCopier(depth, **kind)
    token_ids, answers = copy_batch(
        torch.Generator().manual_seed(seed), batch=1 if one_token else 32
    )
    asked = slice(-1, None) if one_token else slice(None)
    logits, _ = model(token_ids)
    cross_entropy(logits[:, asked].flatten(0, 2), answers[:, asked].flatten()).backward()
    matrices = [[p for p in block.parameters() if p.dim() == 2] for block in model.blocks]
    return torch.stack([_gradient_norm(of_block) for of_block in matrices])


def _gradient_norm(parameters: list[nn.Parameter]) -> Tensor:
    return nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])


def train_with_warmup(
    warmups: Iterable[int] = (0, 30),
    *,
    num_layers: int = 6,
    seeds: Iterable[int] = range(3),
    steps: int = 60,
    learning_rate: float = 0.015,
) -> dict[tuple[str, int], Training]:
    """Train pre-LN and post-LN stacks with Adam, once for each length of the warm-up.

    A guess costs log 11 = 2.40 nats: a run whose loss stays there has learned nothing.

    Args:
        warmups: steps over which the learning rate rises; 0 for none. All different.
        num_layers: number of blocks, L.
        seeds: the runs of each training.
        steps: how many updates each run makes, of 16 sequences each.
        learning_rate: of Adam, after the warm-up.

    Returns:
        A training for each pair of a norm's place, ``"pre-LN"`` or ``"post-LN"``, and a warm-up.

    Source: Xiong et al., 2020, figure 2 and section 3.1, for translation.
    """
    return {
        (name, warmup): train(
            lambda norm_first=norm_first: DeepCopier(num_layers, norm_first=norm_first),
            lambda generator: copy_batch(generator, batch=16),
            copy_loss,
            seeds=seeds,
            steps=steps,
            learning_rate=learning_rate,
            warmup=warmup,
            label=f"{name}, {f'warm-up of {warmup}' if warmup else 'no warm-up'}",
        )
        for name, norm_first in (("pre-LN", True), ("post-LN", False))
        for warmup in warmups
    }
