"""GPT-2 with mixture of depths around every second block: the second, the fourth, and so on.

It is made from a GPT2 and starts with its weights, so at capacity 1 it is that model. It is trained
with the best tokens of each sequence, and writes by the predictor, which sees no later token.
"""

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.checks import check_flag, check_generator, check_ids, check_int, check_sequence
from course_utils.layers import KVCache
from course_utils.layers.mod import Kept, MixtureOfDepths, check_capacity, predictor_loss
from course_utils.models.checks import check_next_tokens
from course_utils.models.gpt2 import GPT2
from course_utils.sampling import next_token_probabilities
from course_utils.shapes import Float, Int

__all__ = ["DepthLM", "DepthPass", "depth_loss", "write_by_prediction"]


class DepthPass(NamedTuple):
    """What one pass gives.

    Attributes:
        logits: the scores of the token that follows each position.
        kept: what the router of each routed block decided, from the first to the last.
    """

    logits: Float[Tensor, "B T V"]
    kept: tuple[Kept, ...]


class DepthLM(nn.Module):
    """A copy of a GPT2, whose every second block takes only part of the tokens.

    Args:
        model: whose weights it starts with. It is left as it is.
        capacity: the share of tokens that a routed block takes.
        gate: as in ``MixtureOfDepths``.

    Raises:
        TypeError: if model is no GPT2, or capacity no number.
        ValueError: if the model has no second block, the capacity is not above 0 and at most 1, or
            the gate is unknown.

    Source: Raposo et al., "Mixture-of-depths", 2024, section 4.1, for every second block.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> gpt2 = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> token_ids = torch.tensor([[5, 7, 11, 13, 17]])
    >>> logits, kept = DepthLM(gpt2, capacity=1)(token_ids)
    >>> torch.equal(logits, gpt2(token_ids)), len(kept)
    (True, 6)
    """

    def __init__(self, model: GPT2, capacity: float | int, *, gate: str = "one") -> None:
        if not isinstance(model, GPT2):
            raise TypeError(f"model must be a GPT2, got {type(model).__name__}")
        if (layers := model.config.num_layers) < 2:
            raise ValueError(f"model must have two blocks or more, got {layers}")
        super().__init__()
        self.config = model.config
        self.gpt2 = copy.deepcopy(model)
        blocks = self.gpt2.blocks
        for index in range(1, layers, 2):
            blocks[index] = MixtureOfDepths(blocks[index], capacity, self.config.width, gate=gate)

    def forward(
        self,
        token_ids: Int[Tensor, "B T"],
        *,
        routing: str = "top_k",
        caches: Sequence[KVCache] | None = None,
    ) -> DepthPass:
        """Return the scores of the next tokens, and who went through the routed blocks.

        Args:
            token_ids: one sequence per row; with caches the newest tokens of one sequence alone.
            routing: as in ``MixtureOfDepths``.
            caches: from ``new_caches``. Those of routed blocks hold fewer tokens than the others.

        Raises:
            TypeError: if the ids are not int64, or the caches no caches.
            ValueError: if the ids have a wrong rank, length or range, there are more tokens than
                positions, or the caches are not one for each block; as ``MixtureOfDepths`` does.
        """
        gpt2, start = self.gpt2, self._start(token_ids, caches)
        places = torch.arange(start, start + token_ids.shape[1], device=token_ids.device)
        h, kept = gpt2.tokens(token_ids) + gpt2.positions(places), []
        for block, cache in zip(gpt2.blocks, caches or [None] * len(gpt2.blocks), strict=True):
            if isinstance(block, MixtureOfDepths):
                h, decided = block(h, cache, routing=routing)
                kept.append(decided)
            else:
                h, _ = block(h, cache)
        return DepthPass(gpt2.logits(h), tuple(kept))

    def new_caches(self) -> list[KVCache]:
        """Return one empty cache for each block, with room for ``max_positions``."""
        return self.gpt2.new_caches()

    def set_capacity(self, capacity: float | int) -> None:
        """Let the routed blocks take another share of the tokens from now on.

        Raises:
            TypeError, ValueError: if it is no number, or not above 0 and at most 1.
        """
        capacity = check_capacity(capacity)
        for block in self.gpt2.blocks:
            if isinstance(block, MixtureOfDepths):
                block.capacity = capacity

    def _start(self, token_ids: Tensor, caches: Sequence[KVCache] | None) -> int:
        __tracebackhide__ = True
        check_next_tokens(token_ids, None, self.config)
        if caches is None:
            return 0
        caches = check_sequence("caches", caches)
        for index, cache in enumerate(caches):
            if not isinstance(cache, KVCache):
                raise TypeError(f"caches[{index}] must be a KVCache, got {type(cache).__name__}")
        if len(caches) != self.config.num_layers:
            raise ValueError(
                f"caches must be one for each block ({self.config.num_layers}), got {len(caches)}"
            )
        # The first block takes every token, so its cache knows how many there have been.
        caches[0].check_room("token_ids", token_ids.shape[1])
        return caches[0].length


def depth_loss(
    model: Callable[[Tensor], tuple[Tensor, Sequence[Kept]]],
    inputs: Int[Tensor, "B T"],
    targets: Int[Tensor, "B T"],
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the next tokens, plus each predictor's, in nats.

    Args:
        model: a ``DepthLM``, or a function that stands in for one.
        inputs: the tokens read.
        targets: the token that follows each of them.

    Raises:
        TypeError: if model is not callable, or the targets are not int64.
        ValueError: if the targets are not one for each input.
        TypeError, ValueError: as the model does.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> gpt2 = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> ids = torch.tensor([[5, 7, 11, 13, 17]])
    >>> bool(depth_loss(DepthLM(gpt2, 0.5), ids[:, :-1], ids[:, 1:]) > 4)
    True
    """
    if not callable(model):
        raise TypeError(f"model must be callable, got {model!r} ({type(model).__name__})")
    logits, kept = model(inputs)
    check_ids("targets", targets, "B T", logits.shape[-1])
    if targets.shape != inputs.shape:
        raise ValueError(
            f"targets must be one for each input {tuple(inputs.shape)}, "
            f"got shape {tuple(targets.shape)}"
        )
    loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
    return loss + torch.stack([predictor_loss(each) for each in kept]).sum()


@torch.no_grad()
def write_by_prediction(
    model: DepthLM,
    token_ids: Int[Tensor, "1 T"],
    max_new_tokens: int,
    *,
    temperature: float | int = 1.0,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "1 longer"]:
    """Write behind a prompt, each token of which the predictors let through or not.

    What is decided for a token stays decided: nothing that is written later can change it. So the
    cache need not hold what a routed block has not computed.

    Args:
        model: reads and scores.
        token_ids: one prompt, of one token or more.
        max_new_tokens: how many tokens to write.
        temperature: 0 takes the most probable token always.
        generator: draws; torch's own if None.
        use_cache: whether to keep keys and values.

    Returns:
        The prompt and behind it what was written.

    Raises:
        TypeError: if an argument is of another type.
        ValueError: if there is not one prompt, it is empty or would not fit into the positions with
            what is to be written, an id is none of the vocabulary, or the temperature is negative.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> gpt2 = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> model = DepthLM(gpt2, 0.5)
    >>> written = write_by_prediction(model, torch.tensor([[5, 7, 11]]), 4, temperature=0)
    >>> written.shape
    torch.Size([1, 7])
    """
    if not isinstance(model, DepthLM):
        raise TypeError(f"model must be a DepthLM, got {type(model).__name__}")
    check_next_tokens(token_ids, None, model.config)
    if len(token_ids) != 1:
        raise ValueError(f"token_ids must hold one prompt, got shape {tuple(token_ids.shape)}")
    total = token_ids.shape[1] + check_int("max_new_tokens", max_new_tokens)
    if total > model.config.max_positions:
        raise ValueError(
            f"max_new_tokens and the prompt must make at most {model.config.max_positions} "
            f"tokens, got {max_new_tokens}"
        )
    check_generator("generator", generator, or_none=True)
    caches, newest = model.new_caches() if check_flag("use_cache", use_cache) else None, token_ids
    for _ in range(max_new_tokens):
        read = newest if use_cache else token_ids
        logits = model(read, routing="predicted", caches=caches).logits[:, -1]
        chances = next_token_probabilities(logits, temperature=temperature)
        newest = torch.multinomial(chances, 1, generator=generator)
        token_ids = torch.cat((token_ids, newest), dim=1)
    return token_ids
