"""Squeeze and excitation: a convolutional network that turns its channels up and down by input."""

from torch import Tensor, nn

from course_utils.checks import (
    check_divides,
    check_floating,
    check_like,
    check_not_empty,
    check_rank,
)
from course_utils.shapes import Float

__all__ = ["SqueezeExcitation"]


class SqueezeExcitation(nn.Module):
    """Scale each channel by a number in (0, 1) that depends on the whole input.

    ``squeeze = mean of each channel over all places``, then
    ``scale = sigmoid(W2 relu(W1 squeeze + b1) + b2)``, and ``out = scale * x``, channel by channel.

    It is half dynamic: how much of a channel passes depends on the input, but each channel has been
    computed by then, and one scaled to nearly 0 costs as much as any other.

    Args:
        channels: number of channels.
        reduction: by how much the layer in between is narrower; it divides the channels.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, or the reduction does not divide
            the channels.

    Source: Hu, Shen, Sun, "Squeeze-and-excitation networks", 2018, equations 2 to 4.

    >>> import torch
    >>> out, scales = SqueezeExcitation(channels=6, reduction=2)(torch.randn(3, 6, 5, 7))
    >>> tuple(out.shape), tuple(scales.shape)
    ((3, 6, 5, 7), (3, 6))
    """

    def __init__(self, channels: int, reduction: int) -> None:
        check_divides("reduction", reduction, "channels", channels)
        super().__init__()
        self.narrow = nn.Linear(channels, channels // reduction)
        self.widen = nn.Linear(channels // reduction, channels)

    def forward(
        self, x: Float[Tensor, "B channels *space"]
    ) -> tuple[Float[Tensor, "B channels *space"], Float[Tensor, "B channels"]]:
        """Return the scaled input, and each channel's scale.

        Args:
            x: channels before places: a sequence has one axis of places, a picture two.

        Raises:
            TypeError: if x is not a floating-point tensor of the weights' dtype.
            ValueError: for another number of channels, no axis of places, or no place.
        """
        check_rank("x", x, "B channels places", exactly=False)
        check_not_empty("x", x, axes=x.ndim - 1)
        check_floating("x", x)
        check_like("x", x, "the layer's weights", self.narrow.weight)
        if x.shape[1] != (channels := self.narrow.in_features):
            raise ValueError(f"x must have {channels} channels, got shape {tuple(x.shape)}")
        places = x.flatten(2)  # (B, channels, places)
        squeezed = places.mean(dim=2)
        scales = self.widen(self.narrow(squeezed).relu()).sigmoid()
        return (scales[..., None] * places).view_as(x), scales
