"""What the lecture trains and measures."""

from __future__ import annotations

import torch

from course_utils.shapes import Float


def prepare_entropies(
    scores: Float[torch.Tensor, " S"], temperatures: Float[torch.Tensor, " N"]
) -> Float[torch.Tensor, " N"]:
    """Entropy of softmax(scores / temperature) at each temperature, in nats."""
    weights = torch.softmax(scores / temperatures[:, None], dim=-1)
    return torch.special.entr(weights).sum(dim=-1)
