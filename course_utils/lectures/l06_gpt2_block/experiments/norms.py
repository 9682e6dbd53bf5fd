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

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import (
    check_choice,
    check_flag,
    check_ids,
    check_int,
    check_seeds,
    check_sequence,
)
from course_utils.copying import BACK, LENGTH, TOKENS, copy_batch, copy_loss
from course_utils.layers import EncoderBlock, Heads, LayerNorm
from course_utils.masks import causal_mask
from course_utils.shapes import Float, Int
from course_utils.training import Training, train, with_bar

__all__ = ["INITS", "DeepCopier", "gradient_norms", "train_with_warmup"]

INITS = ("torch", "xavier")


class DeepCopier(nn.Module):
    """Blocks under a causal mask, and a linear readout for the two answers of ``copy_batch``.

    Args:
        num_layers: number of blocks, L.
        norm_first: True for pre-LN, which has one more norm after the last block; False for
            post-LN.
        width: model width, C.
        num_heads: heads in each block, H; they divide the width.
        init: ``"torch"`` leaves the weights as ``nn.Linear`` draws them, of variance 1 / (3 n)
            for n inputs. ``"xavier"`` draws those of n inputs and m outputs with variance
            2 / (n + m), and sets the biases to 0, as the theory has it.

    Raises:
        TypeError: if a size is not an integer, or norm_first no flag.
        ValueError: if a size is less than 1, the heads do not divide the width, or init is unknown.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010, equation 16, for Xavier's.

    >>> model = DeepCopier(3, norm_first=True)
    >>> logits, heads = model(copy_batch(torch.Generator(), batch=5)[0])
    >>> tuple(logits.shape), len(heads)
    ((5, 13, 2, 11), 3)
    """

    def __init__(
        self,
        num_layers: int,
        *,
        norm_first: bool,
        width: int = 32,
        num_heads: int = 4,
        init: str = "torch",
    ) -> None:
        check_int("num_layers", num_layers)
        check_int("width", width)
        check_flag("norm_first", norm_first)
        check_choice("init", init, INITS)
        blocks = [
            EncoderBlock(width, num_heads, 4 * width, activation="relu", norm_first=norm_first)
            for _ in range(num_layers)
        ]
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList(blocks)
        self.norm = LayerNorm(width) if norm_first else nn.Identity()
        self.readout = nn.Linear(width, len(BACK) * TOKENS)
        if init == "xavier":
            self.apply(_draw_as_xavier)

    def forward(
        self, token_ids: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B asked 2 V"], tuple[Heads, ...]]:
        """Return the scores of both answers from the fourth place on, and what the heads did.

        Raises:
            TypeError: if the ids are not int64.
            ValueError: if one is not in 0 to 10, or a row has fewer than 4 tokens or more than 16.
        """
        check_ids("token_ids", token_ids, "B T", TOKENS)
        T, first = token_ids.shape[1], max(BACK)
        check_int("the length of token_ids, T,", T, minimum=first + 1, maximum=LENGTH)
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
    width: int = 32,
    seeds: Iterable[int] = range(5),
    init: str = "xavier",
    one_token: bool = False,
) -> dict[int, Float[Tensor, "seeds layers"]]:
    """Return the size of the loss's gradient for each block's weights, before any training.

    The size is the root of the sum of squares over the block's six matrices. Row s comes from the
    weights and the one batch of 32 sequences that the s-th seed draws.

    The theory is about the loss at one token. In a batch, the gradients of unlike tokens partly
    cancel, and those of tokens that depth has made alike add up.

    Args:
        depths: numbers of blocks; one table for each.
        norm_first: True for pre-LN, False for post-LN.
        width: model width, C; the four heads divide it.
        seeds: one row for each.
        init: as in ``DeepCopier``.
        one_token: whether the loss is that of the last token of one sequence alone.

    Raises:
        TypeError: if one_token is no flag.
        TypeError, ValueError: as ``DeepCopier`` does, or if there is no depth or no seed, a seed is
            not an integer in 0 to 2^63 - 1, or two are alike.

    Source: Xiong et al., "On layer normalization in the transformer architecture", 2020, theorem 1
    and figure 3.

    >>> of_pre, of_post = (gradient_norms([12], norm_first=first)[12] for first in (True, False))
    >>> of_pre.shape, bool(of_post[:, -1].mean() > 3 * of_pre[:, -1].mean())
    (torch.Size([5, 12]), True)
    """
    depths, seeds = check_sequence("depths", depths), check_seeds(seeds)
    for index, depth in enumerate(depths):
        check_int(f"depths[{index}]", depth)
    check_flag("one_token", one_token)
    options = {"norm_first": norm_first, "width": width, "init": init}
    return {
        depth: torch.stack([_norms_of_blocks(depth, seed, one_token, options) for seed in seeds])
        for depth in with_bar(depths, "pre-LN" if norm_first else "post-LN")
    }


def _norms_of_blocks(depth: int, seed: int, one_token: bool, options: dict) -> Tensor:
    with torch.random.fork_rng(devices=[]):  # the reader's own random numbers stay as they are
        torch.manual_seed(seed)
        model = DeepCopier(depth, **options)
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
    init: str = "torch",
) -> dict[tuple[str, int], Training]:
    """Train pre-LN and post-LN stacks with Adam, once for each length of the warm-up.

    A guess costs log 11 = 2.40 nats: a run whose loss stays there has learned nothing.

    Args:
        warmups: steps over which the learning rate rises; 0 for none. All different.
        num_layers: number of blocks, L.
        seeds: the runs of each training.
        steps: how many updates each run makes, of 16 sequences each.
        learning_rate: of Adam, after the warm-up.
        init: as in ``DeepCopier``.

    Returns:
        A training for each pair of a norm's place, ``"pre-LN"`` or ``"post-LN"``, and a warm-up.

    Raises:
        TypeError, ValueError: as ``DeepCopier`` and ``train`` do, or if there is no warm-up.

    Source: Xiong et al., 2020, figure 2 and section 3.1, for translation.

    >>> done = train_with_warmup([3], num_layers=1, seeds=[0], steps=2)
    >>> list(done), done["pre-LN", 3].losses.shape
    ([('pre-LN', 3), ('post-LN', 3)], torch.Size([1, 2]))
    """
    warmups = check_sequence("warmups", warmups)
    for index, warmup in enumerate(warmups):
        check_int(f"warmups[{index}]", warmup, minimum=0)
    return {
        (name, warmup): train(
            lambda norm_first=norm_first: DeepCopier(num_layers, norm_first=norm_first, init=init),
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
