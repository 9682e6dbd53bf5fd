"""Static pruning: choose connections once, after training, and set them to zero for every input.

Which of the weights w_k can be removed? Each rule gives a weight a *saliency*, and the weights with
the smallest saliency are removed, over all layers together.

- Magnitude: ``|w_k|``. It ignores how the loss depends on the weight.
- Optimal Brain Damage: ``h_kk w_k^2 / 2``, with ``h_kk = d²L / dw_k²``: at a minimum, the
  second-order estimate of how much the loss rises if only this weight becomes zero.

Only weight matrices are pruned, not biases.

Zeros alone save nothing: a matrix with 90 % zeros takes as much memory, and a dense product
multiplies by all of them.
"""

import copy
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn.functional import one_hot

from course_utils.shapes import Bool, Float
from course_utils.training import with_weights

__all__ = [
    "brain_damage_saliency",
    "magnitude_mask",
    "magnitude_saliency",
    "prune",
    "saliency_mask",
]

Saliency = Mapping[str, Tensor]
Module = TypeVar("Module", bound=nn.Module)


def magnitude_saliency(model: nn.Module) -> dict[str, Tensor]:
    """Return the size of each weight, ``|w_k|``, matrix by matrix.

    Args:
        model: at least one of its parameters is a matrix.

    Source: Han et al., "Learning both weights and connections for efficient neural networks", 2015.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> magnitude_saliency(layer)
    {'weight': tensor([[3., 2.]])}
    """
    return {name: weight.detach().abs() for name, weight in _matrices(model).items()}


def brain_damage_saliency(
    model: nn.Module, loss: Callable[..., Tensor], *data: Tensor, chunk_size: int = 256
) -> dict[str, Tensor]:
    """Return Optimal Brain Damage's saliency of each weight, ``h_kk w_k^2 / 2``, in units of loss.

    The loss around the trained weights is ``L + g · δ + δ^T H δ / 2``. At a minimum g = 0; with
    the entries of H off the diagonal left out, deleting weight k (δ_k = -w_k) costs
    ``h_kk w_k^2 / 2``.

    The diagonal is exact: for each k, the gradient is differentiated again along the k-th weight.
    That takes one pass per weight, so it is for small networks. LeCun et al. approximate it at the
    cost of one gradient, by ignoring the second derivatives of the units. An exact h_kk may be
    negative; removing that weight should lower the loss. With ReLU units and a convex loss it is
    never negative, because the outputs are piecewise linear in each weight.

    Args:
        model: trained; at least one of its parameters is a matrix.
        loss: ``loss(model, *data)`` returns a single number. It gets the model as a function.
        data: the training set, or a large part of it.
        chunk_size: number of weights per pass. More need more memory.

    Source: LeCun, Denker, Solla, "Optimal brain damage", 1990, equations 3 to 5.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, 2.0]])
    >>> def half_squares(model, x, y):
    ...     return (model(x) - y).square().mean() / 2
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 4.0]])  # a weight counts as much as its inputs
    >>> brain_damage_saliency(layer, half_squares, x, torch.zeros(2, 1))
    {'weight': tensor([[ 2.2500, 16.0000]])}
    """
    weights = {name: weight.detach() for name, weight in _matrices(model).items()}
    rest = {name: p.detach() for name, p in model.named_parameters() if name not in weights}

    def loss_of(flat: Tensor) -> Tensor:
        return loss(with_weights(model, {**rest, **_unflatten(flat, weights)}), *data)

    flat = torch.cat([weight.flatten() for weight in weights.values()])

    def curvature_along(direction: Tensor) -> Tensor:
        return grad(lambda w: grad(loss_of)(w) @ direction)(flat) @ direction

    chunks = torch.arange(len(flat), device=flat.device).split(chunk_size)
    units = (one_hot(chunk, len(flat)).to(flat.dtype) for chunk in chunks)
    diagonal = torch.cat([vmap(curvature_along)(of_part) for of_part in units])  # h_kk
    return _unflatten(diagonal * flat.square() / 2, weights)


def saliency_mask(saliency: Saliency, sparsity: float | int) -> dict[str, Tensor]:
    """Return what to keep: False for the share of weights with the smallest saliency.

    Args:
        saliency: one number for each weight, by the matrix's name.
        sparsity: the share to remove over all matrices, at least 0 and below 1; of n weights
            ``round(sparsity * n)``. Of equal ones, the first are removed.

    Returns:
        For each matrix a boolean one, True = keep.

    Raises:
        ValueError: if the sparsity is not at least 0 and below 1.

    >>> saliency_mask({"a": torch.tensor([[4.0, 1.0]]), "b": torch.tensor([[2.0, 3.0]])}, 0.5)
    {'a': tensor([[ True, False]]), 'b': tensor([[False,  True]])}
    """
    if not 0 <= sparsity < 1:
        raise ValueError(f"sparsity must be at least 0 and below 1, got {sparsity}")
    flat = torch.cat([of_matrix.flatten() for of_matrix in saliency.values()])
    keep = torch.ones_like(flat, dtype=torch.bool)
    keep[flat.argsort(stable=True)[: round(sparsity * len(flat))]] = False
    return _unflatten(keep, saliency)


def magnitude_mask(model: nn.Module, sparsity: float | int) -> dict[str, Tensor]:
    """Return what to keep of a model's weights by their size: ``saliency_mask`` of ``|w_k|``.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> magnitude_mask(layer, 0.5)
    {'weight': tensor([[ True, False]])}
    """
    return saliency_mask(magnitude_saliency(model), sparsity)


@torch.no_grad()
def prune(model: Module, masks: Mapping[str, Bool[Tensor, "out in"]]) -> Module:
    """Return a copy of the model with zeros where a mask is False.

    Args:
        model: the model to prune. It is not changed.
        masks: for weight matrices, by name; a matrix without a mask keeps all its weights.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> prune(layer, magnitude_mask(layer, 0.5)).weight.tolist()
    [[-3.0, 0.0]]
    """
    pruned = copy.deepcopy(model)
    parameters = dict(pruned.named_parameters())
    for name, mask in masks.items():
        parameters[name].mul_(mask)
    return pruned


def _matrices(model: nn.Module) -> Mapping[str, Float[Tensor, "out in"]]:
    return {name: weight for name, weight in model.named_parameters() if weight.ndim == 2}


def _unflatten(flat: Tensor, like: Saliency) -> dict[str, Tensor]:
    """Split one vector into matrices of these names and shapes."""
    parts = flat.split([each.numel() for each in like.values()])
    return {name: part.view(like[name].shape) for name, part in zip(like, parts, strict=True)}
