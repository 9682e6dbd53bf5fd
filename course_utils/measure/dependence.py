"""What each output of a model depends on, by its gradients: does the future leak in?

A mask is a promise about every number behind it. The gradient checks the promise on the finished
model: where output t does not depend on input s, d out_t / d x_s is zero, not small but 0.0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks import (
    check_callable,
    check_floating,
    check_int,
    check_may_attend,
    check_not_empty,
    check_rank,
    check_values,
)
from course_utils.shapes import Bool, Float, Int

__all__ = ["gradient_reach", "leaks", "reach_through"]

# Output numbers whose gradients are formed at a time: bounds the memory.
_AT_ONCE = 512


def gradient_reach(
    model: Callable[[Tensor], Tensor], x: Float[Tensor, "S C"]
) -> Float[Tensor, "T S"]:
    """Return how much each output row depends on each input row: ``sum over e, c of |J|``.

    ``J = d out[t, e] / d x[s, c]`` is formed in full, by backpropagation. Summing the outputs over
    e first would be cheaper, and wrong: the sum over the channels of a LayerNorm is constant, so
    its gradient is zero whatever the model reads.

    What a mask hides has a gradient of exactly 0.0, because hidden weights are exactly 0; through
    any number of layers too. Other numbers prove a dependence. A zero proves nothing by
    itself: at another input the weight that is too small to write here, or the unit that is
    switched off (ReLU), may let it through. So take ordinary inputs, and more than one.

    Args:
        model: any function of a floating-point tensor (S, C) that returns one (T, E), built from
            operations that torch can differentiate. For a layer that takes a batch and returns
            its weights too: ``lambda x: layer(x[None])[0][0]``. The time grows with T * E; of a
            wide model a few output channels will do: ``lambda x: model(x)[:, :8]``.
        x: the input at which the gradients are taken.

    Raises:
        TypeError: if the model cannot be called, or the input or its output is not a
            floating-point tensor.
        ValueError: if one of them has not two axes or is empty, or the input is not finite.

    >>> running_mean = lambda x: x.cumsum(0) / torch.arange(1, 4)[:, None]
    >>> gradient_reach(running_mean, torch.zeros(3, 1))
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.3333, 0.3333, 0.3333]])
    """
    check_callable("model", model)
    check_values("x", x, "S C")
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        out = model(x)
        _check_output(out)
        numbers = out.flatten()
    if not out.requires_grad:  # it does not depend on x at all
        return x.new_zeros(len(out), len(x))
    parts = torch.arange(len(numbers), device=x.device).split(_AT_ONCE)
    per_number = torch.cat([_sizes(numbers, part, x) for part in parts])
    return per_number.unflatten(0, out.shape).sum(dim=1)


def _check_output(out: Tensor) -> None:
    __tracebackhide__ = True
    check_rank("the output of model", out, "T E")
    check_floating("the output of model", out)
    check_not_empty("the output of model", out, axes=2)


def _sizes(
    numbers: Float[Tensor, " N"], part: Int[Tensor, " P"], x: Float[Tensor, "S C"]
) -> Float[Tensor, "P S"]:
    """Sizes of the gradients of part of the output's numbers by each input row."""
    one_hot = numbers.new_zeros(len(part), len(numbers)).scatter(1, part[:, None], 1.0)
    (gradient,) = torch.autograd.grad(
        numbers, x, one_hot, is_grads_batched=True, retain_graph=True, allow_unused=True
    )
    if gradient is None:  # they depend on other things, but not on x
        return x.new_zeros(len(part), len(x))
    return gradient.abs().sum(dim=-1)


def leaks(reach: Float[Tensor, "T S"], may_attend: Bool[Tensor, "#T #S"]) -> list[tuple[int, int]]:
    """List the pairs (t, s) in which output t depends on input s and may not.

    Args:
        reach: what each output depends on, from ``gradient_reach``.
        may_attend: True where output t may depend on input s; for several layers, from
            ``reach_through``.

    Returns:
        The pairs row by row; an empty list says that nothing was found to leak at this input.

    Raises:
        TypeError: if the reach is not a floating-point tensor, or the mask not a boolean one.
        ValueError: if the reach has not two axes, is empty or not finite, or the mask does not
            fit it.

    >>> causal = torch.ones(3, 3).tril() > 0
    >>> leaks(torch.ones(3, 3).tril(1), causal)
    [(0, 1), (1, 2)]
    """
    check_values("reach", reach, "T S")
    check_rank("may_attend", may_attend, "T S")
    check_may_attend(may_attend, reach.shape, reach.device)
    found = (reach != 0) & ~may_attend
    return [(t, s) for t, s in found.nonzero().tolist()]


def reach_through(may_attend: Bool[Tensor, "T T"], num_layers: int) -> Bool[Tensor, "T T"]:
    """Return which inputs can reach which outputs through a stack of masked layers.

    One layer carries token s to token t if t may attend to s. Through L layers s reaches t if there
    is a chain of L such steps: the L-th power of the mask, as a matrix of truth values. Each token
    reaches itself whatever the mask says, by its own query and by the residual connection.

    A causal mask is its own power. A window of w reaches (w - 1) * L tokens back.

    Args:
        may_attend: the mask of each layer, with as many queries as keys.
        num_layers: number of layers, L.

    Raises:
        TypeError: if the mask is not a boolean tensor, or L not an integer.
        ValueError: if the mask is not square or empty, or L is below 1.

    >>> window = torch.ones(5, 5).tril().triu(-1) > 0
    >>> reach_through(window, 3).int()
    tensor([[1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [0, 1, 1, 1, 1]], dtype=torch.int32)
    """
    check_rank("may_attend", may_attend, "T T")
    check_not_empty("may_attend", may_attend, axes=2)
    T = len(may_attend)
    check_may_attend(may_attend, (T, T), may_attend.device)
    if may_attend.shape != (T, T):
        raise ValueError(
            f"may_attend must have as many queries as keys, got shape {tuple(may_attend.shape)}"
        )
    num_layers = check_int("num_layers", num_layers)
    step = (may_attend | torch.eye(T, dtype=torch.bool, device=may_attend.device)).float()
    reach = step
    for _ in range(num_layers - 1):
        reach = (step @ reach > 0).float()  # back to 0 and 1, lest the counts of chains overflow
    return reach > 0
