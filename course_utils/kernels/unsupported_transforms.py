"""What the tiled attention cannot be asked for, and says: vmap, jvp, a second derivative."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["TiledFunction", "differentiable_once"]


class TiledFunction(torch.autograd.Function):
    """A function with a derivative in reverse mode, and neither a mapped nor a forward form."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> None:
        """Refuse to be mapped over an axis."""
        raise RuntimeError(
            "flash_attend must get what is mapped over as its axis B, got torch.vmap; "
            "backend='reference' can be mapped"
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> None:
        """Refuse forward mode."""
        raise RuntimeError(
            "flash_attend must be differentiated in reverse mode, got forward mode (jvp); "
            "backend='reference' has both"
        )


def differentiable_once(
    gradients: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
) -> tuple[Tensor, ...]:
    """Return ``gradients(*inputs)``; differentiating these raises an error.

    For the backward pass of an autograd function. PyTorch's ``once_differentiable`` cuts the
    graph instead: where a second derivative has other paths as well, the sum then silently lacks
    this one.

    Raises:
        RuntimeError: when the result is differentiated.

    >>> x = torch.ones(2, requires_grad=True)
    >>> (double,) = differentiable_once(lambda x: (2 * x,), x)
    >>> double.sum().backward()
    Traceback (most recent call last):
    RuntimeError: flash_attend must be differentiated once at most, got a second time; \
backend='reference' has every derivative
    """
    return _Once.apply(gradients, *inputs)


class _Once(TiledFunction):
    @staticmethod
    def forward(gradients: Callable, *inputs: Tensor) -> tuple[Tensor, ...]:
        return gradients(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> None:
        raise RuntimeError(
            "flash_attend must be differentiated once at most, got a second time; "
            "backend='reference' has every derivative"
        )
