"""LoRA: leave a trained matrix alone, and learn a change to it that has a low rank.

A full fine-tune changes every number of W, (out, in). LoRA keeps W and adds ``B A`` to it, with A
(r, in) and B (out, r): ``r * (in + out)`` numbers to learn, to keep and to send, and no more than
those for the optimiser to carry. B starts at zero, so the model starts as it was.
"""

import copy
from collections.abc import Iterable, Iterator
from typing import TypeVar

import torch
from torch import Tensor, nn

from course_utils.checks import (
    check_instance,
    check_int,
    check_positive,
    check_sequence,
    check_text,
)
from course_utils.layers.checks import check_vectors
from course_utils.shapes import Float

__all__ = [
    "LoRALinear",
    "add_lora",
    "lora_layers",
]

Model = TypeVar("Model", bound=nn.Module)


class LoRALinear(nn.Module):
    """A linear layer whose weights stay, with a learned change of rank r beside them.

    ``y = x W^T + b + (alpha / r) * (x A^T) B^T``. A (``down``) is drawn as the weights of a fresh
    ``nn.Linear`` are, B (``up``) is zero: at the start the output is that of the base, bit for bit.
    Both gradients have the other factor in them, so B must not be drawn and A not be zero: were
    both zero, neither would ever move.

    Args:
        base: the layer to adapt. It is taken over, not copied: its weights are frozen.
        rank: rank of the change, r; from 1 to the smaller of the base's two widths.
        alpha: the change is multiplied by ``alpha / r``, so that a learning rate found for one
            rank serves for others; r if None, a factor of 1.

    Raises:
        TypeError: if base is not an nn.Linear, rank not an integer, or alpha not a number.
        ValueError: if the rank is below 1 or above a width, or alpha not finite and positive.

    Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2021, section 4.1 and
    equation 3, whose letters A and B these are; for A's size their code.

    >>> layer = LoRALinear(nn.Linear(5, 7), rank=2)
    >>> x = torch.randn(3, 5)
    >>> torch.equal(layer(x), layer.base(x))
    True
    >>> [name for name, weight in layer.named_parameters() if weight.requires_grad]
    ['down', 'up']
    """

    def __init__(self, base: nn.Linear, rank: int, *, alpha: float | int | None = None) -> None:
        check_instance("base", base, nn.Linear, "an nn.Linear")
        rank = check_int("rank", rank, maximum=min(base.in_features, base.out_features))
        alpha = float(rank) if alpha is None else check_positive("alpha", alpha)
        super().__init__()
        self.base = base.requires_grad_(False)
        self.in_features, self.out_features = base.in_features, base.out_features
        self.rank, self.alpha = rank, alpha
        drawn = nn.Linear(self.in_features, rank, bias=False).to(base.weight)
        self.down = nn.Parameter(drawn.weight.detach())  # A, (r, in)
        self.up = nn.Parameter(base.weight.new_zeros(self.out_features, rank))  # B, (out, r)
        self._before_merge: Tensor | None = None

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The base's weights: W, or W + (alpha / r) B A while merged."""
        return self.base.weight

    @property
    def bias(self) -> Float[Tensor, " out"] | None:
        """The base's bias."""
        return self.base.bias

    @property
    def merged(self) -> bool:
        """Whether the change is part of the base's weights at present."""
        return self._before_merge is not None

    @property
    def original_weight(self) -> Float[Tensor, "out in"]:
        """The base's weights without the change, merged or not: W."""
        return self.base.weight if self._before_merge is None else self._before_merge

    @property
    def change(self) -> Float[Tensor, "out in"]:
        """What is learned, as a matrix: ``(alpha / r) B A``."""
        return (self.alpha / self.rank) * (self.up @ self.down)

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """Return the adapted layer's output.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: if x has another width or device.
        """
        check_vectors("x", x, self.base.weight, self.in_features)
        if self.merged:
            return self.base(x)
        return self.base(x) + (self.alpha / self.rank) * (x @ self.down.T) @ self.up.T

    @torch.no_grad()
    def merge(self) -> None:
        """Add the change to the base's weights: from now on the layer costs what the base did.

        The weights as they were are kept aside, for ``unmerge``.

        Raises:
            ValueError: if it is merged already.
        """
        self._must_be(merged=False)
        self._before_merge = self.base.weight.clone()
        self.base.weight += self.change

    @torch.no_grad()
    def unmerge(self) -> None:
        """Take the change out again. The base's weights are what they were, bit for bit.

        To subtract it would not do: a sum that was rounded does not come back exactly.

        Raises:
            ValueError: if it is not merged.
        """
        self._must_be(merged=True)
        self.base.weight.copy_(self._before_merge)  # type: ignore[arg-type]
        self._before_merge = None

    def _must_be(self, *, merged: bool) -> None:
        __tracebackhide__ = True
        if self.merged != merged:
            rule, came = ("merged", "unmerged") if merged else ("unmerged", "merged")
            raise ValueError(f"the layer must be {rule}, got one that is {came}")

    def extra_repr(self) -> str:
        """What the layer's printed form says."""
        return f"rank={self.rank}, alpha={self.alpha:g}, merged={self.merged}"


def add_lora(
    model: Model,
    rank: int,
    *,
    alpha: float | int | None = None,
    names: Iterable[str] = ("query", "value"),
) -> Model:
    """Return a copy of a model that learns nothing but changes of rank r to the layers named.

    All of the copy's own weights are frozen. The model itself is left as it is.

    Args:
        model: any module, whose nn.Linear layers bear names.
        rank: rank of each change, r.
        alpha: as in ``LoRALinear``.
        names: of the layers to adapt, each the last part of a name, or more of it: ``"query"``
            means every layer of that name, ``"blocks.0.attention.query"`` this one.

    Raises:
        TypeError: if model is not a module, or names not a sequence of texts.
        ValueError: if a name is that of no nn.Linear, or the model has been adapted before.
        TypeError, ValueError: as ``LoRALinear`` does.

    Source: Hu et al., 2021, section 4.2, for queries and values alone.

    >>> model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    >>> adapted = add_lora(model, rank=1, names=["0"])
    >>> sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    12
    """
    check_instance("model", model, nn.Module, "an nn.Module")
    if any(True for _ in lora_layers(model)):
        raise ValueError("model must not have been adapted before, got one with LoRALinear layers")
    names = check_sequence("names", names)
    adapted = copy.deepcopy(model).requires_grad_(False)
    linear = [name for name, part in adapted.named_modules() if isinstance(part, nn.Linear)]
    wanted = [_matching(linear, check_text(f"names[{i}]", name)) for i, name in enumerate(names)]
    for full in sorted({full for each in wanted for full in each}):
        parent, _, own = full.rpartition(".")
        wrapped = LoRALinear(adapted.get_submodule(full), rank, alpha=alpha)  # type: ignore
        setattr(adapted.get_submodule(parent), own, wrapped)
    return adapted


def lora_layers(model: nn.Module) -> Iterator[tuple[str, LoRALinear]]:
    """Yield the name of each adapted layer of a model, and the layer.

    Raises:
        TypeError: if model is not a module.

    >>> adapted = add_lora(nn.Sequential(nn.Linear(5, 7)), rank=1, names=["0"])
    >>> [(name, layer.rank) for name, layer in lora_layers(adapted)]
    [('0', 1)]
    """
    check_instance("model", model, nn.Module, "an nn.Module")
    return ((name, part) for name, part in model.named_modules() if isinstance(part, LoRALinear))


def _matching(linear: list[str], name: str) -> list[str]:
    __tracebackhide__ = True
    found = [full for full in linear if full == name or full.endswith(f".{name}")]
    if not found:
        raise ValueError(f"names must each be that of an nn.Linear in the model, got {name!r}")
    return found
