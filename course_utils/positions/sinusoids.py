"""Sinusoidal positions: rows of sines and cosines, added to the token vectors."""

import torch
from torch import Tensor

from course_utils.positions.rotary import rope_frequencies
from course_utils.shapes import Float

__all__ = ["shift_matrix", "sinusoidal_positions"]


def sinusoidal_positions(T: int, C: int, *, base: float | int = 10_000.0) -> Float[Tensor, "T C"]:
    """Return the sinusoidal position table: one row a position, from 0.

    ``PE[t, 2i] = sin(t * w_i)`` and ``PE[t, 2i + 1] = cos(t * w_i)`` with ``w_i = base^(-2i/C)``
    radians per position. Column pairs are like clocks: the first goes round in 2 pi positions, each
    later one more slowly, the last nearly ``base`` times as slowly.

    Args:
        T: number of positions.
        C: width of the vectors that the rows are added to; even.
        base: what the frequencies are powers of.

    Returns:
        The table, in torch's default dtype and on its default device.

    Raises:
        ValueError: if C is odd.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.5.

    >>> print(sinusoidal_positions(2, 4)[1])
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """
    positions = torch.arange(T, device="cpu")[:, None]
    angles = positions * rope_frequencies(C, base=base)  # (T, C/2)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return table.to(torch.get_default_dtype()).to(torch.get_default_device())


def shift_matrix(
    offset: float | int, C: int, *, base: float | int = 10_000.0
) -> Float[Tensor, "C C"]:
    """Return the matrix A with ``PE(position + offset) = A @ PE(position)`` at every position.

    It rotates each pair of columns by the angle ``offset * w_i``: its diagonal consists of blocks
    ``[[cos, sin], [-sin, cos]]``, for the layout (sin, cos) of ``sinusoidal_positions``. A depends
    only on the offset, so a linear layer can look a fixed distance away. ``A.mT`` shifts back.

    Args:
        offset: how many positions to move; it may be negative.
        C: width of the table; even.
        base: what the frequencies are powers of.

    Returns:
        An orthogonal matrix, in torch's default dtype and on its default device.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.5, states that it exists.

    >>> table = sinusoidal_positions(8, 6)
    >>> torch.allclose(table[7], shift_matrix(4, 6) @ table[3], atol=1e-6)
    True
    """
    angles = offset * rope_frequencies(C, base=base)
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))  # (C/2, 2, 2)
    matrix = torch.block_diag(*blocks).to(torch.get_default_dtype())
    return matrix.to(torch.get_default_device())
