"""The feed-forward sublayer: the same two-layer network for each token."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from course_utils.checks import check_choice
from course_utils.layers.checks import check_vectors
from course_utils.shapes import Float, check_int

__all__ = ["ACTIVATIONS", "FeedForward"]

# "gelu" is x times the normal distribution function. GPT-2 has a formula with tanh in its place,
# which differs by less than 5e-4, and enough to be seen in a comparison to 1e-5.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """Widen each token's vector, bend it, and narrow it again: ``W2 f(W1 x + b1) + b2``.

    Args:
        width: model width, C.
        hidden: width in between, mostly 4 * C.
        activation: f, one of ``ACTIVATIONS``.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, or the activation is unknown.

    Source: Vaswani et al., "Attention is all you need", 2017, equation 2, with ReLU; Hendrycks,
    Gimpel, "Gaussian error linear units", 2016.

    >>> import torch
    >>> tuple(FeedForward(6, 24)(torch.zeros(2, 5, 6)).shape)
    (2, 5, 6)
    """

    def __init__(self, width: int, hidden: int, activation: str = "gelu") -> None:
        width, hidden = check_int("width", width), check_int("hidden", hidden)
        self.activation = check_choice("activation", activation, ACTIVATIONS)
        super().__init__()
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the new vectors. Each depends on its own token alone.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: if x has another width or device.
        """
        check_vectors("x", x, self.expand.weight, self.expand.in_features)
        return self.contract(ACTIVATIONS[self.activation](self.expand(x)))
