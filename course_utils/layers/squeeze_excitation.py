"""Squeeze and excitation: scaling the channels of a convolutional network by its input."""

from torch import Tensor, nn

from course_utils.checks import check_divides
from course_utils.shapes import Float

__all__ = ["SqueezeExcitation"]


class SqueezeExcitation(nn.Module):
    """Scale each channel by a number in (0, 1) that depends on the whole input.

    ``squeeze = mean of each channel over all places``, then
    ``scale = sigmoid(W2 relu(W1 squeeze + b1) + b2)``, and ``out = scale * x``, channel by channel.

    The scale depends on the input, but every channel has already been computed: one that is scaled
    to nearly 0 costs as much as any other.

    Args:
        channels: number of channels.
        reduction: how many times narrower the hidden layer is; it divides the channels.

    Raises:
        ValueError: if the reduction does not divide the channels.

    Source: Hu, Shen, Sun, "Squeeze-and-excitation networks", 2018, equations 2 to 4.

    >>> import torch
    >>> out, scales = SqueezeExcitation(channels=6, reduction=2)(torch.randn(3, 6, 5, 7))
    >>> tuple(out.shape), tuple(scales.shape)
    ((3, 6, 5, 7), (3, 6))
    """

    def __init__(self, channels: int, reduction: int) -> None:
        reduction, channels = check_divides("reduction", reduction, "channels", channels)
        super().__init__()
        self.narrow = nn.Linear(channels, channels // reduction)
        self.widen = nn.Linear(channels // reduction, channels)

    def forward(
        self, x: Float[Tensor, "B channels *space"]
    ) -> tuple[Float[Tensor, "B channels *space"], Float[Tensor, "B channels"]]:
        """Return the scaled input, and each channel's scale.

        Args:
            x: the axis of channels, then the positions: one axis in a sequence, two in a picture.
        """
        places = x.flatten(2)  # (B, channels, places)
        squeezed = places.mean(dim=2)
        scales = self.widen(self.narrow(squeezed).relu()).sigmoid()
        return (scales[..., None] * places).view_as(x), scales
