"""How an attention layer gets to know positions: it turns q and k, or adds to the scores.

``MultiHeadAttention`` asks a scheme for both, and each scheme does one. A scheme has no
parameters: it is set when the layer is built, and may be exchanged after training.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils.checks import check_choice, check_int, check_positive, check_rank
from course_utils.positions import (
    PAIRINGS,
    alibi_bias,
    apply_rope,
    interpolated_positions,
    ntk_base,
)
from course_utils.positions.checks import check_factor
from course_utils.shapes import Float

__all__ = ["Alibi", "PositionScheme", "Rotary"]


@dataclass(frozen=True)
class Rotary:
    """RoPE: queries and keys are turned by their positions, so that scores see distances.

    The two last fields stretch a trained layer to longer sequences, and may be combined.

    Attributes:
        base: sets the frequencies, ``base^(-2i/D)``.
        pairing: which coordinates turn together, ``"half"`` or ``"interleaved"``.
        interpolation: positions are divided by this; 4 brings 0 to 127 back to 0 to 31.75.
        ntk: the base is raised by ``ntk^(D/(D-2))``: slow pairs are slowed by this factor, the
            fastest keeps its speed.

    Raises:
        TypeError: if a number is none.
        ValueError: if the base is not positive and finite, a factor is below 1 or not finite, or
            the pairing is unknown.

    Source: Su et al., "RoFormer", 2021; Chen et al., "Extending context window of large language
    models via positional interpolation", 2023; Peng et al., "YaRN", 2023, section 3.1, on ntk.
    """

    base: float | int = 10_000.0
    pairing: str = "half"
    interpolation: float | int = 1.0
    ntk: float | int = 1.0

    def __post_init__(self) -> None:
        check_positive("base", self.base)
        check_choice("pairing", self.pairing, PAIRINGS)
        for name in ("interpolation", "ntk"):
            check_factor(name, getattr(self, name))

    def turn(self, x: Float[Tensor, "B H T D"], start: int) -> Float[Tensor, "B H T D"]:
        """Return x turned by the positions start, start + 1, ...

        Raises:
            TypeError, ValueError: as ``apply_rope`` does, or if start is not an integer of at
                least 0.
        """
        check_rank("x", x, "B H T D")
        start = check_int("start", start, minimum=0)
        T, D = x.shape[-2:]
        positions = torch.arange(start, start + T, device=x.device)
        positions = interpolated_positions(positions, self.interpolation)
        # Heads of width 2 have a single pair, and no base that would slow it.
        base = self.base if self.ntk == 1 else ntk_base(self.ntk, D, base=self.base)
        return apply_rope(x, positions, base=base, pairing=self.pairing)

    def bias(self, q: Float[Tensor, "B H T D"], S: int) -> None:
        """Nothing is added to the scores: the turned queries and keys hold the positions."""


@dataclass(frozen=True)
class Alibi:
    """ALiBi: each head's scores fall with the distance, at a slope of its own.

    Source: Press, Smith, Lewis, "Train short, test long", 2022.

    >>> print(Alibi().bias(torch.zeros(1, 2, 1, 4), S=3))
    tensor([[[-0.1250, -0.0625, -0.0000]],
    <BLANKLINE>
            [[-0.0078, -0.0039, -0.0000]]])
    """

    def turn(self, x: Float[Tensor, "B H T D"], start: int) -> Float[Tensor, "B H T D"]:
        """Queries and keys stay as they are."""
        return x

    def bias(self, q: Float[Tensor, "B H T D"], S: int) -> Float[Tensor, "H T S"]:
        """Return ``-slope * distance`` for the queries q, which are the newest of S tokens.

        Raises:
            TypeError, ValueError: if q has a wrong rank, or S is not a positive integer.
        """
        check_rank("q", q, "B H T D")
        _, H, T, _ = q.shape
        return alibi_bias(H, T, S).to(device=q.device, dtype=q.dtype)


PositionScheme = Rotary | Alibi
