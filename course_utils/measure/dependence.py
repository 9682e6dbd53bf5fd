"""What each output of a model depends on, by its gradients: does the future leak in?

A mask should hide some inputs from some outputs. The gradient tests that on the finished model: if
output t does not depend on input s, then d out_t / d x_s is exactly 0.0.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks import check_may_attend, check_rank
from course_utils.shapes import Bool, Float, Int

__all__ = ["gradient_reach", "leaks", "reach_through"]

# How many output numbers share a backward pass: bounds the memory.
_CHUNK_SIZE = 512


def gradient_reach(
    model: Callable[[Tensor], Tensor], x: Float[Tensor, "S C"]
) -> Float[Tensor, "T S"]:
    """Return how much each output row depends on each input row: ``sum over e, c of |J|``.

    The whole ``J = d out[t, e] / d x[s, c]`` is computed by backpropagation. Summing the outputs
    over e first would be cheaper, and wrong: the sum over the channels of a LayerNorm is constant,
    so its gradient is always zero.

    A hidden input has a gradient of exactly 0.0, because hidden weights are exactly 0. Any other
    number proves a dependence. A zero does not prove independence: at another input, a weight may
    not underflow, and a ReLU may be on. So take ordinary inputs, and more than one.

    Args:
        model: a differentiable function of a tensor (S, C) that returns one (T, E). For a layer
            that takes a batch and returns its weights too: ``lambda x: layer(x[None])[0][0]``. The
            time grows with T * E; a few output channels are enough: ``lambda x: model(x)[:, :8]``.
        x: the input at which the gradients are taken.

    Raises:
        ValueError: if the input or the output has not two axes.

    >>> running_mean = lambda x: x.cumsum(0) / torch.arange(1, 4)[:, None]
    >>> gradient_reach(running_mean, torch.zeros(3, 1))
    tensor([[1.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.3333, 0.3333, 0.3333]])
    """
    check_rank("x", x, "S C")
    x = x.detach().requires_grad_()
    with torch.enable_grad():
        out = model(x)
        check_rank("the output of model", out, "T E")
        numbers = out.flatten()
    if not out.requires_grad:  # it does not depend on x at all
        return x.new_zeros(len(out), len(x))
    parts = torch.arange(len(numbers), device=x.device).split(_CHUNK_SIZE)
    per_number = torch.cat([_sizes(numbers, part, x) for part in parts])
    return per_number.unflatten(0, out.shape).sum(dim=1)


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
        The pairs row by row; an empty list if no leak was found at this input.

    Raises:
        TypeError, ValueError: if the mask is not boolean, or does not fit the reach.

    >>> causal = torch.ones(3, 3).tril() > 0
    >>> leaks(torch.ones(3, 3).tril(1), causal)
    [(0, 1), (1, 2)]
    """
    check_may_attend(may_attend, reach.shape)
    found = (reach != 0) & ~may_attend
    return [(t, s) for t, s in found.nonzero().tolist()]


def reach_through(may_attend: Bool[Tensor, "T T"], num_layers: int) -> Bool[Tensor, "T T"]:
    """Return which inputs can reach which outputs through a stack of masked layers.

    In one layer s reaches t if t may attend to s. Through L layers s reaches t if there is a chain
    of L such steps: the L-th power of the mask, as a boolean matrix. Each token always reaches
    itself, by its own query and by the residual connection.

    A causal mask is its own power. A window of w reaches (w - 1) * L tokens back.

    Args:
        may_attend: the mask of each layer, with as many queries as keys.
        num_layers: number of layers, L.

    >>> window = torch.ones(5, 5).tril().triu(-1) > 0
    >>> reach_through(window, 3).int()
    tensor([[1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [0, 1, 1, 1, 1]], dtype=torch.int32)
    """
    T = len(may_attend)
    step = (may_attend | torch.eye(T, dtype=torch.bool, device=may_attend.device)).float()
    reach = step
    for _ in range(num_layers - 1):
        reach = (step @ reach > 0).float()  # back to 0 and 1, so that the counts do not overflow
    return reach > 0
