"""Static pruning: choose connections once, after training, and set them to zero for every input.

Which of the weights w_k can go? Each rule gives a weight a *saliency*, and those of smallest
saliency go, over all layers together.

- Magnitude: ``|w_k|``. It asks how large a weight is, and not what the loss makes of it.
- Optimal Brain Damage: ``h_kk w_k^2 / 2``, with ``h_kk = d²L / dw_k²``: by how much the loss
  rises, to second order, if this weight alone becomes zero where the gradient is zero.

Only weight matrices are pruned. Biases are few, and stay.

Zeros save nothing by themselves: a matrix with nine zeros in ten takes as many numbers in memory,
and a dense product multiplies them all.
"""

import copy
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import one_hot

from course_utils.checks import (
    check_callable,
    check_finite,
    check_instance,
    check_int,
    check_rank,
)
from course_utils.shapes import Bool, Float

__all__ = [
    "brain_damage_saliency",
    "check_sparsity",
    "kept_weights",
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

    Raises:
        TypeError: if model is not a module.
        ValueError: if it has no weight matrix.

    Source: Han et al., "Learning both weights and connections for efficient neural networks", 2015.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> magnitude_saliency(layer)
    {'weight': tensor([[3., 2.]])}
    """
    return {name: weight.detach().abs() for name, weight in _matrices(model).items()}


def brain_damage_saliency(
    model: nn.Module, loss: Callable[..., Tensor], *data: Tensor, at_once: int = 256
) -> dict[str, Tensor]:
    """Return Optimal Brain Damage's saliency of each weight, ``h_kk w_k^2 / 2``, in units of loss.

    The loss around the trained weights is ``L + g · δ + δ^T H δ / 2``. At a minimum g = 0; with
    the entries of H off the diagonal left out, deleting weight k (δ_k = -w_k) costs
    ``h_kk w_k^2 / 2``.

    The diagonal is exact here: for each k the gradient is differentiated once more, along the k-th
    weight (``jvp`` of ``grad``). That is one pass for each weight, so it is for small networks;
    LeCun et al. give a recursion that costs as much as one gradient, and leaves out the second
    derivatives of the units. An exact h_kk may be negative; then deleting the weight is expected to
    lower the loss. With ReLU units and a convex loss it is not: between the kinks the outputs are
    linear in each single weight.

    Args:
        model: trained; at least one of its parameters is a matrix.
        loss: ``loss(model, *data)`` returns a single number, and takes the model as a function.
        data: on which the loss is taken: the training set, or much of it.
        at_once: how many weights share a pass. More need more memory.

    Raises:
        TypeError: if model is not a module, loss not callable or returns no tensor, or at_once is
            not an integer.
        ValueError: if the model has no weight matrix, the loss is not a single finite number, or
            at_once is less than 1.

    Source: LeCun, Denker, Solla, "Optimal brain damage", 1990, equations 3 to 5.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> layer.weight.data = torch.tensor([[3.0, 2.0]])
    >>> def half_squares(model, x, y):
    ...     return (model(x) - y).square().mean() / 2
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 4.0]])  # a weight counts as much as its inputs
    >>> brain_damage_saliency(layer, half_squares, x, torch.zeros(2, 1))
    {'weight': tensor([[ 2.2500, 16.0000]])}
    """
    at_once = check_int("at_once", at_once)
    weights = {name: weight.detach() for name, weight in _matrices(model).items()}
    _check_loss(model, loss, data)
    rest = {name: p.detach() for name, p in model.named_parameters() if name not in weights}

    def loss_of(flat: Tensor) -> Tensor:
        parameters = {**rest, **_unflatten(flat, weights)}

        def with_these_weights(*inputs: object, **keywords: object) -> object:
            return functional_call(model, parameters, inputs, keywords)

        return loss(with_these_weights, *data)

    flat = torch.cat([weight.flatten() for weight in weights.values()])

    def curvature_along(direction: Tensor) -> Tensor:
        return grad(lambda w: grad(loss_of)(w) @ direction)(flat) @ direction

    places = torch.arange(len(flat), device=flat.device).split(at_once)
    units = (one_hot(part, len(flat)).to(flat.dtype) for part in places)
    diagonal = torch.cat([vmap(curvature_along)(of_part) for of_part in units])  # h_kk
    return _unflatten(diagonal * flat.square() / 2, weights)


def saliency_mask(saliency: Saliency, sparsity: float | int) -> dict[str, Tensor]:
    """Return what to keep: False for the share of weights of smallest saliency, over all matrices.

    Args:
        saliency: one number for each weight, by the matrix's name.
        sparsity: the share to take away, at least 0 and below 1; of n weights
            ``round(sparsity * n)`` go. Of equal ones at the border, those that come first.

    Returns:
        For each matrix a boolean one, True = keep.

    Raises:
        TypeError: if the saliency does not map names to tensors, or the sparsity is not a number.
        ValueError: if there is no number, one is NaN, or the sparsity is out of range.

    >>> saliency_mask({"a": torch.tensor([[4.0, 1.0]]), "b": torch.tensor([[2.0, 3.0]])}, 0.5)
    {'a': tensor([[ True, False]]), 'b': tensor([[False,  True]])}
    """
    _check_saliency(saliency)
    sparsity = check_sparsity(sparsity)
    flat = torch.cat([of_matrix.flatten() for of_matrix in saliency.values()])
    keep = torch.ones_like(flat, dtype=torch.bool)
    keep[flat.argsort(stable=True)[: round(sparsity * len(flat))]] = False
    return _unflatten(keep, saliency)


def magnitude_mask(model: nn.Module, sparsity: float | int) -> dict[str, Tensor]:
    """Return what to keep of a model's weights by their size: ``saliency_mask`` of ``|w_k|``.

    Raises:
        TypeError, ValueError: as ``magnitude_saliency`` and ``saliency_mask`` do.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> magnitude_mask(layer, 0.5)
    {'weight': tensor([[ True, False]])}
    """
    return saliency_mask(magnitude_saliency(model), sparsity)


@torch.no_grad()
def prune(model: Module, masks: Mapping[str, Bool[Tensor, "out in"]]) -> Module:
    """Return a copy of the model with zeros where a mask is False. The model stays as it is.

    Args:
        model: what to prune.
        masks: for weight matrices, by name; a matrix without a mask keeps all its weights.

    Raises:
        TypeError: if model is not a module, or masks not a mapping from names to boolean tensors.
        ValueError: if a name is none of the model's matrices, or a mask has another shape.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 2.0]])
    >>> prune(layer, magnitude_mask(layer, 0.5)).weight.tolist()
    [[-3.0, 0.0]]
    """
    _check_masks(masks, _matrices(model))
    pruned = copy.deepcopy(model)
    parameters = dict(pruned.named_parameters())
    for name, mask in masks.items():
        parameters[name].mul_(mask)
    return pruned


def kept_weights(model: nn.Module) -> int:
    """Return how many of a model's parameters are not zero: what a sparse format would store.

    Raises:
        TypeError: if model is not a module.

    >>> layer = nn.Linear(2, 1)
    >>> layer.weight.data = torch.tensor([[-3.0, 0.0]])
    >>> layer.bias.data = torch.tensor([5.0])
    >>> kept_weights(layer)
    2
    """
    check_instance("model", model, nn.Module, "an nn.Module")
    return sum(int(parameter.count_nonzero()) for parameter in model.parameters())


def check_sparsity(sparsity: float | int, name: str = "sparsity") -> float:
    """Return the sparsity if it is a share that can be taken away: at least 0, and below 1.

    Raises:
        TypeError: if it is not a real number.
        ValueError: if it is out of range.

    >>> check_sparsity(1)
    Traceback (most recent call last):
    ValueError: sparsity must be at least 0 and below 1, got 1.0
    """
    __tracebackhide__ = True
    sparsity = check_finite(name, sparsity)
    if not 0 <= sparsity < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {sparsity}")
    return sparsity


def _matrices(model: nn.Module) -> Mapping[str, Float[Tensor, "out in"]]:
    __tracebackhide__ = True
    check_instance("model", model, nn.Module, "an nn.Module")
    found = {name: each for name, each in model.named_parameters() if each.ndim == 2}
    if not found:
        raise ValueError(f"model must have a weight matrix, got {type(model).__name__}")
    return found


def _unflatten(flat: Tensor, like: Saliency) -> dict[str, Tensor]:
    """Cut one long row of numbers into matrices of these names and shapes."""
    parts = flat.split([each.numel() for each in like.values()])
    return {name: part.view(like[name].shape) for name, part in zip(like, parts, strict=True)}


@torch.no_grad()
def _check_loss(model: nn.Module, loss: Callable[..., Tensor], data: tuple[Tensor, ...]) -> None:
    __tracebackhide__ = True
    check_callable("loss", loss)
    value = loss(model, *data)
    if not isinstance(value, Tensor):
        raise TypeError(f"loss must return a torch.Tensor, got {type(value).__name__}")
    if value.ndim or not bool(value.isfinite()):
        came = f"shape {tuple(value.shape)}" if value.ndim else f"{value.item()}"
        raise ValueError(f"loss must return a single finite number, got {came}")


def _check_saliency(saliency: Saliency) -> None:
    __tracebackhide__ = True
    check_instance("saliency", saliency, Mapping, "a mapping from names to tensors")
    if not saliency:
        raise ValueError("saliency must not be empty, got {}")
    for name, of_matrix in saliency.items():
        check_rank(f"saliency[{name!r}]", of_matrix, "out in")
        if bool(of_matrix.isnan().any()):
            raise ValueError(f"saliency[{name!r}] must be numbers that can be ranked, got NaN")


def _check_masks(masks: Mapping[str, Tensor], matrices: Mapping[str, Tensor]) -> None:
    __tracebackhide__ = True
    check_instance("masks", masks, Mapping, "a mapping from names to boolean tensors")
    for name, mask in masks.items():
        if name not in matrices:
            known = ", ".join(matrices)
            raise ValueError(f"masks must name the model's matrices ({known}), got {name!r}")
        check_rank(f"masks[{name!r}]", mask, "out in")
        if mask.dtype != torch.bool:
            raise TypeError(f"masks[{name!r}] must be boolean, True = keep, got {mask.dtype}")
        if mask.shape != matrices[name].shape:
            raise ValueError(
                f"masks[{name!r}] must have the matrix's shape {tuple(matrices[name].shape)}, "
                f"got {tuple(mask.shape)}"
            )
