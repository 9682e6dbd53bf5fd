"""How an attention layer learns of positions: it rotates q and k, or adds a bias to the scores.

``MultiHeadAttention`` calls a scheme for both, and each scheme does one. A scheme has no
parameters: it is set when the layer is built, and may be replaced after training.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.positions import (
    alibi_bias,
    apply_rope,
    interpolated_positions,
    ntk_base,
)
from course_utils.shapes import Float

__all__ = ["Alibi", "PositionScheme", "Rotary"]


@dataclass(frozen=True)
class Rotary:
    """RoPE: queries and keys are rotated by their positions, so that scores depend on distances.

    The last two fields adapt a trained layer to longer sequences. They may be combined.

    Attributes:
        base: sets the frequencies, ``base^(-2i/D)``.
        pairing: which coordinates rotate together, ``"half"`` or ``"interleaved"``.
        interpolation: positions are divided by this; 4 brings 0 to 127 back to 0 to 31.75.
        ntk: the base is multiplied by ``ntk^(D/(D-2))``: the slowest pair is slowed by this factor,
            the fastest keeps its speed.

    Source: Su et al., "RoFormer", 2021; Chen et al., "Extending context window of large language
    models via positional interpolation", 2023; Peng et al., "YaRN", 2023, section 3.1, on ntk.
    """

    base: float | int = 10_000.0
    pairing: str = "half"
    interpolation: float | int = 1.0
    ntk: float | int = 1.0

    def rotate(self, x: Float[Tensor, "B H T D"], start: int) -> Float[Tensor, "B H T D"]:
        """Return x rotated by the positions start, start + 1, ..."""
        T, D = x.shape[-2:]
        positions = torch.arange(start, start + T, device="cpu")  # as the angles
        positions = interpolated_positions(positions, self.interpolation)
        # Heads of width 2 have a single pair, which no base can slow.
        base = self.base if self.ntk == 1 else ntk_base(self.ntk, D, base=self.base)
        return apply_rope(x, positions, base=base, pairing=self.pairing)

    def bias(self, q: Float[Tensor, "B H T D"], S: int) -> None:
        """Nothing is added to the scores: the rotated queries and keys encode the positions."""


@dataclass(frozen=True)
class Alibi:
    """ALiBi: scores fall with the distance, with a different slope in each head.

    Source: Press, Smith, Lewis, "Train short, test long", 2022.

    >>> print(Alibi().bias(torch.zeros(1, 2, 1, 4), S=3))
    tensor([[[-0.1250, -0.0625, -0.0000]],
    <BLANKLINE>
            [[-0.0078, -0.0039, -0.0000]]])
    """

    def rotate(self, x: Float[Tensor, "B H T D"], start: int) -> Float[Tensor, "B H T D"]:
        """Queries and keys stay as they are."""
        return x

    def bias(self, q: Float[Tensor, "B H T D"], S: int) -> Float[Tensor, "H T S"]:
        """Return ``-slope * distance`` for the queries q, which are the newest of S tokens."""
        _, H, T, _ = q.shape
        return alibi_bias(H, T, S).to(device=q.device, dtype=q.dtype)


PositionScheme = Rotary | Alibi
