"""How far back the last state of a layer depends on its inputs: the gradient by distance.

The layers are fresh, without any training, and start as PyTorch starts them unless told otherwise.
The probe shows what a layer can pass back before it has learnt anything.
"""

from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.seeds import own_random_numbers
from course_utils.shapes import Float
from course_utils.threads import one_thread

Kind = Literal["rnn", "lstm", "attention"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Input sequences, each with its direction, on which a drawn layer's norm is estimated.
SEQUENCES = 8


@lru_cache(maxsize=128)
def gradient_by_distance(
    kind: Kind,
    *,
    width: int,
    length: int,
    seed: int = 0,
    trials: int = 5,
    **start: bool | float,
) -> Float[Tensor, " length"]:
    """The share of the last state's gradient that goes to the input t steps back.

    ``g[t]`` is the Frobenius norm of the Jacobian d(last state) / d(input t steps back). In each
    trial a layer is drawn anew. Each trial is divided by its sum over t, and the median over the
    trials is returned; medians add up to about 1 only. ``start`` is how the layer starts:
    ``orthogonal=True`` for the recurrent matrix of an RNN, ``forget_bias`` of an LSTM.

    Why the sum, and not the value at distance 0? A share means the same for every layer: a layer
    that spreads itself evenly over N inputs has 1 / N everywhere, and that is a price, which
    dividing by the nearest input would hide. And attention's own input is a special case: it acts
    through the query as well, so its gradient would be a crooked yardstick for the others.

    Source: Bengio, Simard, Frasconi, "Learning long-term dependencies with gradient descent is
    difficult", 1994; Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural
    networks", 2013, section 2.
    """
    with one_thread(), own_random_numbers(seed):
        norms = torch.stack([_gradient_norms(kind, width, length, **start) for _ in range(trials)])
    shares = norms / norms.sum(dim=-1, keepdim=True)
    return shares.quantile(0.5, dim=0)


def _gradient_norms(
    kind: Kind, width: int, length: int, **start: bool | float
) -> Float[Tensor, " length"]:
    """Draw a layer, and estimate the Jacobian's norm for each distance.

    With a random direction u, standard normal, the mean square of |d(u . last state) / d(input)|
    is the squared norm; the mean is over inputs as well.
    """
    # float64: at distance 500 a vanilla RNN's gradient is below float32's smallest number.
    layer = _fresh_layer(kind, width, **start).double()  # type: ignore[arg-type]
    inputs = torch.randn(SEQUENCES, length, width, dtype=torch.float64, requires_grad=True)
    directions = torch.randn(SEQUENCES, width, dtype=torch.float64)
    last_states = layer(inputs)[0][:, -1]  # (sequences, C)
    (gradient,) = torch.autograd.grad((last_states * directions).sum(), inputs)
    return gradient.square().sum(dim=-1).mean(dim=0).sqrt().flip(0)


def _fresh_layer(
    kind: Kind, width: int, *, orthogonal: bool = False, forget_bias: float = 0.0
) -> nn.Module:
    if kind == "attention":
        return _AttentionLayer(width)
    layer = {"rnn": nn.RNN, "lstm": nn.LSTM}[kind](width, width, batch_first=True)
    with torch.no_grad():
        if orthogonal:
            nn.init.orthogonal_(layer.weight_hh_l0)
        if forget_bias:
            layer.bias_ih_l0[width : 2 * width] += forget_bias  # gates: in, forget, new, out
    return layer


class _AttentionLayer(nn.Module):
    """One head with the last query alone; the output comes first, as in recurrent layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        # The last query of a causal layer attends to everything, so no mask is needed.
        return attend(self.query(x[:, -1:]), self.key(x), self.value(x))
