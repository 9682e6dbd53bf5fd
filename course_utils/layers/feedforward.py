"""The feed-forward sublayer: the same two-layer network for each token, plain or with a gate."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.shapes import Float

__all__ = ["ACTIVATIONS", "FeedForward", "SwiGLU"]

# "gelu" is x times the normal distribution function. GPT-2 approximates that with tanh. The two
# differ by less than 5e-4, which a comparison to 1e-5 still sees.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
    "gelu_tanh": partial(nn.functional.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """A two-layer network for each token: ``W2 f(W1 x + b1) + b2``.

    Args:
        width: model width, C.
        hidden: width of the hidden layer, usually 4 * C.
        activation: f, one of ``ACTIVATIONS``.

    Source: Vaswani et al., "Attention is all you need", 2017, equation 2, with ReLU; Hendrycks,
    Gimpel, "Gaussian error linear units", 2016.

    >>> import torch
    >>> tuple(FeedForward(6, 24)(torch.zeros(2, 5, 6)).shape)
    (2, 5, 6)
    """

    def __init__(self, width: int, hidden: int, activation: str = "gelu") -> None:
        width, hidden = check_int("width", width), check_int("hidden", hidden)
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the new vectors. Each depends only on its own token."""
        return self.contract(self.activation(self.expand(x)))


class SwiGLU(nn.Module):
    """A feed-forward sublayer with a gate: ``W2 (swish(Wg x) * W1 x)``; swish(z) is z sigmoid(z).

    The product is elementwise: each of the F hidden numbers has its own gate. There are three
    matrices and no biases, ``3 * C * F`` parameters. A plain sublayer with 4 C hidden numbers has
    ``8 * C^2``, so the same number of parameters needs ``F = 8 C / 3``.

    Args:
        width: model width, C.
        hidden: width of the hidden layer, F; None for ``8 * C / 3``, rounded.

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
        width = check_int("width", width)
        super().__init__()
        self.hidden = round(8 * width / 3) if hidden is None else check_int("hidden", hidden)
        self.gate = nn.Linear(width, self.hidden, bias=False)
        self.expand = nn.Linear(width, self.hidden, bias=False)
        self.contract = nn.Linear(self.hidden, width, bias=False)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the new vectors. Each depends only on its own token."""
        return self.contract(nn.functional.silu(self.gate(x)) * self.expand(x))
