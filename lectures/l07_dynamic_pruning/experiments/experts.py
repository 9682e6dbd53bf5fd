"""A task in the plane on which experts collapse, and two ways to keep them all at work.

Points lie in eight blobs on a circle. In each blob another rule holds: a point's distance from the
blob's centre, turned by an angle that is the blob's own, is what to predict. One small network does
badly on eight rules; four experts of the same size, two blobs each, do better.

Tokens have a third coordinate, ``common``, that is the same for all. A router's random weights for
it prefer one expert for every token, before any training, and training undoes that slowly. Where
these weights start at 0, who is chosen learns, and is chosen more, for a while. The common part of
a trained GPT's tokens is shorter than what is left of them; ours, up to 5, is longer, so that a few
hundred steps show it. To learn nothing at all is an error of 1.
"""

import torch
from torch import Tensor, nn

from course_utils.layers.moe import MixtureOfExperts, Routing
from course_utils.shapes import Float

BALANCES = ("none", "loss", "bias")
BLOBS, SPREAD, TURN = 8, 0.18, 2.4  # blobs, their standard deviation, radians from rule to rule
COMMON = 5.0
BIAS_RATE, LEARNING_RATE = 0.005, 0.01


def plane_batch(
    generator: torch.Generator, *, batch: int = 256
) -> tuple[Float[Tensor, "N 2"], Float[Tensor, "N 2"]]:
    """Draw points of the eight blobs, and what to predict for each.

    Blob b has its centre at the angle ``2 pi b / 8`` of the unit circle, and its points scatter
    around it by 0.18. The target is ``R(2.4 b) (point - centre) / 0.18``, R being a rotation: of
    variance 1, so that predicting zero costs 1.
    """
    blob = torch.randint(BLOBS, (batch,), generator=generator)
    offset = torch.randn(batch, 2, generator=generator)
    place = 2 * torch.pi / BLOBS * blob
    centre = torch.stack([place.cos(), place.sin()], dim=-1)
    turn = torch.polar(torch.ones(batch), TURN * blob)
    targets = torch.view_as_real(torch.view_as_complex(offset) * turn)
    return centre + SPREAD * offset, targets


class PlaneExperts(nn.Module):
    """A mixture of experts on the residual of points in the plane: ``(token + moe(token))[:2]``.

    A token is ``(x, y, common)``. Each expert is a network of 3 to 16 to 3 with ReLU. One expert
    gets all points with a gate of 1: a dense network.
    """

    def __init__(
        self,
        num_experts: int = 4,
        k: int = 1,  # experts that a point takes
        *,
        common: float = COMMON,  # the coordinate that all tokens share
        even_start: bool = False,  # whether the router's weights for it start at 0
        capacity: float | None = None,  # the capacity factor; None for no limit
        hidden: int = 16,  # width of each expert
    ) -> None:
        super().__init__()
        self.common = common
        self.layer = MixtureOfExperts(
            3, hidden, num_experts, k, activation="relu", capacity=capacity
        )
        if even_start:
            self.layer.router.weight.data[:, 2] = 0

    def forward(
        self,
        points: Float[Tensor, "N 2"],
        *,
        every_expert: bool = False,
        bias_rate: float | None = None,  # one balance_step of the bias, for the next batch
    ) -> tuple[Float[Tensor, "N 2"], Routing]:
        """Return the predictions, and how the points were routed.

        With ``every_expert`` all experts compute all points, those not chosen for nothing: the
        result is the same. ``torch.func.vmap`` needs it: it stacks runs, in each of which an expert
        gets another number of points.
        """
        tokens = nn.functional.pad(points, (0, 1), value=self.common)[None]  # (1, N, 3)
        if every_expert:
            routing = self.layer.route(tokens)
            out = _mix_all(self.layer, tokens, routing)
        else:
            out, routing = self.layer(tokens)
        if bias_rate is not None:
            self.layer.rebalance(routing, bias_rate)
        return (tokens + out)[0, :, :2], routing


def _mix_all(
    layer: MixtureOfExperts, x: Float[Tensor, "B T C"], routing: Routing
) -> Float[Tensor, "B T C"]:
    """Return the layer's output, each expert run on each token: a gate of 0 where not chosen."""
    gates = torch.zeros_like(routing.probabilities)
    gates = gates.scatter(1, routing.chosen, routing.gates * routing.kept)  # (N, experts)
    gates = gates.view(*x.shape[:2], -1)
    return sum(gates[..., [i]] * expert(x) for i, expert in enumerate(layer.experts))  # type: ignore


@torch.no_grad()
def expert_angles(
    layer: MixtureOfExperts, x: Float[Tensor, "B T C"]
) -> Float[Tensor, "experts experts"]:
    """Return the angles between experts, in degrees; 0 on the diagonal.

    They are the angles between what two experts make of the same tokens, read as two vectors of
    ``B * T * C`` numbers. Weights would say little: networks of one function may have their hidden
    units in different orders.
    """
    rows = torch.stack([expert(x).flatten() for expert in layer.experts]).double()
    rows = nn.functional.normalize(rows, dim=-1)
    return (rows @ rows.T).clamp(-1, 1).fill_diagonal_(1).arccos().rad2deg().to(torch.float32)
