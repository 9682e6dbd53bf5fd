"""The feed-forward sublayer: the same small network for each token, plain or with a gate."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from course_utils.checks import check_choice, check_int
from course_utils.layers.checks import check_vectors
from course_utils.shapes import Float

__all__ = ["ACTIVATIONS", "FeedForward", "SwiGLU"]

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


class SwiGLU(nn.Module):
    """A feed-forward sublayer with a gate: ``W2 (swish(Wg x) * W1 x)``; swish(z) is z sigmoid(z).

    The product is taken number by number: each of the F hidden numbers is let through by a gate of
    its own. There are three matrices and no biases, ``3 * C * F`` parameters. A plain sublayer of
    4 C hidden numbers has ``8 * C^2``, so equal parameters need ``F = 8 C / 3``.

    Args:
        width: model width, C.
        hidden: width in between, F; None for ``8 * C / 3``, rounded.

    Raises:
        TypeError, ValueError: if a size is not a positive integer.

    Source: Shazeer, "GLU variants improve transformer", 2020, equation 6 and section 3.1. Its order
    of the factors, ``swish(x W) * x V``, is the one here.

    >>> import torch
    >>> layer = SwiGLU(768)
    >>> layer.hidden, sum(parameter.numel() for parameter in layer.parameters()) == 8 * 768**2
    (2048, True)
    >>> tuple(layer(torch.zeros(2, 5, 768)).shape)
    (2, 5, 768)
    """

    def __init__(self, width: int, hidden: int | None = None) -> None:
        check_int("width", width)
        self.hidden = round(8 * width / 3) if hidden is None else check_int("hidden", hidden)
        super().__init__()
        self.gate = nn.Linear(width, self.hidden, bias=False)
        self.expand = nn.Linear(width, self.hidden, bias=False)
        self.contract = nn.Linear(self.hidden, width, bias=False)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the new vectors. Each depends on its own token alone.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: if x has another width or device.
        """
        check_vectors("x", x, self.gate.weight, self.gate.in_features)
        return self.contract(nn.functional.silu(self.gate(x)) * self.expand(x))
