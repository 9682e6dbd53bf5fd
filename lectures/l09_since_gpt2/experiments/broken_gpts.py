"""A small GPT that can be built with one of ten mistakes, each of a line or two of its code.

It has rotated queries and keys, experts in its last block, tied weights and a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import attend
from course_utils.layers.cache import KVCache
from course_utils.layers.moe import MixtureOfExperts
from course_utils.layers.moe_routing import balance_step
from course_utils.masks import causal_mask
from course_utils.models.story_gpt import SHORT_STORIES, story_batch
from course_utils.positions import apply_rope

SOUND = "sound"
FAULTS = (
    "no causal mask",
    "wrong head split",
    "no scaling",
    "unshifted targets",
    "RoPE pairing",
    "positions off by one in the cache",
    "norm missing",
    "dead experts",
    "tied weights untied",
    "learning rate",
)
V, C, H = 180, 64, 4  # words, width, heads
LENGTH, ROWS, EXPERTS = 64, 8, 4
STEPS, WARMUP, RATE, BALANCE = 250, 30, 0.005, 0.01


class Attention(nn.Module):
    """Causal attention with rotated queries and keys. `weights` are those of the last pass."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.project, self.out = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.weights = torch.empty(0)

    def forward(self, x: Tensor, start: int, cache: KVCache | None) -> Tensor:
        """(B, T, C) → (B, T, C); the first token is at position `start`."""
        q, k, v = (self.split(part) for part in self.project(x).chunk(3, dim=-1))
        positions = start + torch.arange(x.shape[1])
        # Read after this token's key is in the cache, the cache's length is one too many.
        late = self.fault == "positions off by one in the cache" and cache is not None
        q = apply_rope(q, positions + late)
        mixed = self.fault == "RoPE pairing"
        k = apply_rope(k, positions, pairing="interleaved" if mixed else "half")
        if cache is not None:
            k, v = cache.append(k, v)
        may_attend = causal_mask(q.shape[2], k.shape[2])
        out, weights = attend(
            q, k, v,
            may_attend=None if self.fault == "no causal mask" else may_attend,
            scale=1.0 if self.fault == "no scaling" else None,
        )  # fmt: skip
        self.weights = weights.detach()
        return self.out(self.merge(out))

    def split(self, x: Tensor) -> Tensor:
        """(B, T, C) → (B, H, T, D)."""
        B, T, _ = x.shape
        if self.fault == "wrong head split":
            return x.reshape(B, H, T, C // H)
        return x.view(B, T, H, C // H).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        """(B, H, T, D) → (B, T, C)."""
        B, _, T, _ = x.shape
        return (x if self.fault == "wrong head split" else x.transpose(1, 2)).reshape(B, T, C)


class FeedForward(nn.Module):
    """Two layers with a curve between them."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.contract = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x: Tensor) -> Tensor:
        """Widen, and narrow again."""
        return self.contract(F.gelu(self.expand(x)))


class Experts(MixtureOfExperts):
    """Four experts, one for each token. `routing` is that of the last pass."""

    def __init__(self) -> None:
        super().__init__(C, 2 * C, EXPERTS, 1)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The output; `routing` keeps the rest."""
        out, self.routing = super().forward(x)
        return out


class Block(nn.Module):
    """The block of lecture 06."""

    def __init__(self, feedforward: nn.Module, fault: str) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.attention, self.feedforward = Attention(fault), feedforward

    def forward(self, x: Tensor, start: int, cache: KVCache | None) -> Tensor:
        """Attention, then the feed-forward part."""
        x = x + self.attention(self.norm1(x), start, cache)
        return x + self.feedforward(self.norm2(x))


class SmallGPT(nn.Module):
    """Two blocks between an embedding and its transpose."""

    def __init__(self, fault: str = SOUND) -> None:
        super().__init__()
        self.fault = fault
        self.tokens, self.norm = nn.Embedding(V, C), nn.LayerNorm(C)
        self.blocks = nn.ModuleList([Block(FeedForward(), fault), Block(Experts(), fault)])
        self.head = nn.Linear(C, V, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        if fault != "tied weights untied":
            self.head.weight = self.tokens.weight

    @property
    def layers(self) -> list[Block]:
        """Its blocks."""
        return cast(list[Block], list(self.blocks))

    @property
    def experts(self) -> Experts:
        """The mixture of its second block."""
        return cast(Experts, self.layers[1].feedforward)

    def forward(
        self, token_ids: Tensor, start: int = 0, caches: list[KVCache] | None = None
    ) -> Tensor:
        """(B, T) → (B, T, V). With caches, the tokens come after those that these have."""
        start = caches[0].length if caches else start
        x = self.tokens(token_ids)
        for layer, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = layer(x, start, cache)
        return self.head(x if self.fault == "norm missing" else self.norm(x))


@dataclass
class Run:
    """A training: the trained model, and the loss at each step."""

    model: SmallGPT
    losses: list[float] = field(default_factory=list)


def shifted(model: SmallGPT, inputs: Tensor, targets: Tensor) -> Tensor:
    """The targets that this training has: the next words, or by mistake the words themselves."""
    return inputs if model.fault == "unshifted targets" else targets


def train(
    fault: str,
    seed: int,
    steps: int = STEPS,
    begun: Callable[[SmallGPT], object] = lambda model: None,
) -> Run:
    """Train one GPT on short stories; `begun` sees it before the first step."""
    torch.manual_seed(seed)
    run = Run(SmallGPT(fault))
    begun(run.model)
    draw, dice = story_batch(LENGTH, ROWS, SHORT_STORIES), torch.Generator().manual_seed(seed)
    rate = 10 * RATE if fault == "learning rate" else RATE
    update = torch.optim.Adam(run.model.parameters())
    for step in range(steps):
        inputs, targets = draw(dice)
        targets = shifted(run.model, inputs, targets)
        loss = F.cross_entropy(run.model(inputs).flatten(0, 1), targets.flatten())
        update.zero_grad()
        loss.backward()
        update.param_groups[0]["lr"] = rate * min(1, (step + 1) / WARMUP)
        update.step()
        balance(run.model)
        run.losses.append(loss.item())
    return run


@torch.no_grad()
def balance(model: SmallGPT) -> None:
    """Make experts with few tokens easier to choose, or by a wrong sign those with many."""
    experts = model.experts
    sign = -1 if model.fault == "dead experts" else 1
    bias, load = experts.balance_bias, experts.routing.assigned
    bias.copy_(balance_step(bias, load, sign * BALANCE))
