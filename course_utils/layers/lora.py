"""LoRA: freeze a trained matrix, and learn a low-rank change to it.

Full fine-tuning changes every entry of W, (out, in). LoRA keeps W and adds ``B A`` to it, with A
(r, in) and B (out, r). Only these ``r * (in + out)`` numbers are trained, stored and tracked by the
optimiser. B starts at zero, so the model starts unchanged.
"""

import copy
from collections.abc import Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.shapes import Float

__all__ = ["LoRALinear", "add_lora"]

Model = TypeVar("Model", bound=nn.Module)


class LoRALinear(nn.Module):
    """A linear layer with frozen weights, and a trainable change of rank r.

    ``y = x W^T + b + (alpha / r) * (x A^T) B^T``. A (``down``) is initialised like a fresh
    ``nn.Linear``, B (``up``) is zero, so the output starts as the base's, bit for bit. The gradient
    of each factor contains the other one: if both were zero, neither would ever change.

    ``state_dict()`` has the original weights, merged or not, and ``load_state_dict`` leaves the
    layer unmerged: so the change is never added twice.

    Args:
        base: the layer to adapt. It is not copied, and its weights are frozen.
        rank: rank of the change, r; at least 1.
        alpha: the change is multiplied by ``alpha / r``, so that a learning rate tuned for one
            rank works for others; r if None, a factor of 1.

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
        rank = check_int("rank", rank)
        super().__init__()
        self.base = base.requires_grad_(False)
        self.in_features, self.out_features = base.in_features, base.out_features
        self.rank, self.alpha = rank, rank if alpha is None else alpha
        drawn = nn.Linear(self.in_features, rank, bias=False).to(base.weight)
        self.down = nn.Parameter(drawn.weight.detach())  # A, (r, in)
        self.up = nn.Parameter(base.weight.new_zeros(self.out_features, rank))  # B, (out, r)
        self._before_merge: Tensor | None = None
        self.register_state_dict_post_hook(_save_unmerged)
        self.register_load_state_dict_pre_hook(_load_unmerged)

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
        """Whether the change is currently added to the base's weights."""
        return self._before_merge is not None

    @property
    def change(self) -> Float[Tensor, "out in"]:
        """The learned change as a matrix: ``(alpha / r) B A``."""
        return (self.alpha / self.rank) * (self.up @ self.down)

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """Return the adapted layer's output."""
        if self.merged:
            return self.base(x)
        return self.base(x) + (self.alpha / self.rank) * (x @ self.down.T) @ self.up.T

    @torch.no_grad()
    def merge(self) -> None:
        """Add the change to the base's weights, so that the layer costs no more than the base.

        The original weights are stored for ``unmerge``.

        Raises:
            ValueError: if it is merged already.
        """
        self._must_be(merged=False)
        self._before_merge = self.base.weight.clone()
        self.base.weight += self.change

    @torch.no_grad()
    def unmerge(self) -> None:
        """Restore the original weights, bit for bit. Subtracting the change would round.

        Raises:
            ValueError: if it is not merged.
        """
        self._must_be(merged=True)
        self.base.weight.copy_(self._before_merge)  # type: ignore[arg-type]
        self._before_merge = None

    def _must_be(self, *, merged: bool) -> None:
        __tracebackhide__ = True
        if self.merged != merged:
            raise ValueError(f"the layer must have merged={merged}, got merged={self.merged}")


def _save_unmerged(layer: LoRALinear, state: dict, prefix: str, _: object) -> None:
    if layer.merged:
        state[f"{prefix}base.weight"] = layer._before_merge


def _load_unmerged(layer: LoRALinear, *_: object) -> None:
    if layer.merged:
        layer.unmerge()


def add_lora(
    model: Model,
    rank: int,
    *,
    alpha: float | int | None = None,
    names: Iterable[str] = ("query", "value"),
) -> Model:
    """Return a copy of a model in which only changes of rank r to the named layers are trainable.

    All other weights of the copy are frozen. The model itself is not changed.

    Args:
        model: any module with nn.Linear layers.
        rank: rank of each change, r.
        alpha: as in ``LoRALinear``.
        names: the layers to adapt: ``"query"`` is every layer of that name,
            ``"blocks.0.attention.query"`` is one of them.

    Raises:
        ValueError: if a name is not that of an nn.Linear.

    Source: Hu et al., 2021, section 4.2, for queries and values alone.

    >>> model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    >>> adapted = add_lora(model, rank=1, names=["0"])
    >>> sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    12
    """
    adapted = copy.deepcopy(model).requires_grad_(False)
    linear = [name for name, part in adapted.named_modules() if isinstance(part, nn.Linear)]
    for full in sorted({full for name in names for full in _matching(linear, name)}):
        parent, _, own = full.rpartition(".")
        wrapped = LoRALinear(adapted.get_submodule(full), rank, alpha=alpha)  # type: ignore
        setattr(adapted.get_submodule(parent), own, wrapped)
    return adapted


def _matching(linear: list[str], name: str) -> list[str]:
    __tracebackhide__ = True
    found = [full for full in linear if full == name or full.endswith(f".{name}")]
    if not found:
        raise ValueError(f"names must each be that of an nn.Linear in the model, got {name!r}")
    return found
