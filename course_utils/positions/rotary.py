"""RoPE: queries and keys are rotated by their position, so scores depend on the distance.

Every angle is computed in float64, and only its sine and cosine are rounded. The CPU does that,
since some devices have no float64. Most code uses float32, where the angles are off by up to 3.5e-4
radians at position 10,000 and by 4.7e-3 at 100,000 (width 64). Then scores change with the position
in the text, not only with the distance.
"""

import torch
from torch import Tensor

from course_utils.checks import check_choice
from course_utils.shapes import Float, Int

__all__ = [
    "PAIRINGS",
    "apply_rope",
    "interpolated_positions",
    "ntk_base",
    "pairing_permutation",
    "rope_frequencies",
]

PAIRINGS = ("half", "interleaved")


def rope_frequencies(D: int, *, base: float | int = 10_000.0) -> Float[Tensor, " half_D"]:
    """Return how fast each pair of coordinates rotates: ``base^(-2i/D)`` radians per position.

    The first pair rotates by 1 radian per position, the last by nearly 1 / base.

    Args:
        D: head width; even.
        base: what the frequencies are powers of.

    Returns:
        The D / 2 frequencies, in float64 on the CPU.

    Raises:
        ValueError: if D is odd.

    Source: Su et al., "RoFormer", 2021, section 3.2.2.

    >>> rope_frequencies(8).tolist()
    [1.0, 0.1, 0.01, 0.001]
    """
    if D % 2:  # arange would round D up in silence
        raise ValueError(f"D must be even, as coordinates rotate in pairs, got {D}")
    return base ** -(torch.arange(0, D, 2, dtype=torch.float64, device="cpu") / D)


def apply_rope(
    x: Float[Tensor, "*batch T D"],
    positions: Int[Tensor, "*#batch T"] | Float[Tensor, "*#batch T"],
    *,
    base: float | int = 10_000.0,
    pairing: str = "half",
) -> Float[Tensor, "*batch T D"]:
    """Rotate each pair of coordinates of x by its position times the frequency of the pair.

    With the pair as a complex number z: ``z -> z * exp(1j * position * w_i)``. Lengths do not
    change. For queries at positions m and keys at positions n, the dot product of each pair is
    ``Re(q * conj(k) * exp(1j * (m - n) * w_i))``: it depends only on m - n.

    Which two coordinates form pair i is a convention of each checkpoint:

    - ``"half"``: i and i + D/2 (Llama and GPT-NeoX as ``transformers`` has them)
    - ``"interleaved"``: 2i and 2i + 1 (the paper; GPT-J; Meta's own Llama code)

    Queries and keys must use the same one. ``pairing_permutation`` converts.

    Args:
        x: queries or keys; values are not rotated.
        positions: one per token, integers or not. Leading axes broadcast to those of x: pass
            positions per sequence as (B, 1, T) with x of shape (B, H, T, D).
        base: what the frequencies are powers of.
        pairing: one of ``PAIRINGS``.

    Returns:
        The rotated vectors, in the dtype of x. A 16-bit x is rotated in float32, rounded once.

    Raises:
        ValueError: if D is odd, or the pairing unknown.

    Source: Su et al., "RoFormer", 2021, equation 34.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> print(apply_rope(x, torch.tensor([0, 1])))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    check_choice("pairing", pairing, PAIRINGS)
    frequencies = rope_frequencies(x.shape[-1], base=base)
    angles = positions.cpu().double().unsqueeze(-1) * frequencies  # (..., T, D/2)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = (part.to(wide).to(x.device) for part in (angles.cos(), angles.sin()))
    # The two coordinates of a pair get their own axis.
    sizes, axis = ((2, -1), -2) if pairing == "half" else ((-1, 2), -1)
    a, b = x.unflatten(-1, sizes).unbind(axis)  # (..., T, D/2) each
    rotated = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=axis)
    return rotated.flatten(-2).to(x.dtype)


def pairing_permutation(D: int) -> Int[Tensor, " D"]:
    """Return the order of coordinates that converts the interleaved pairing to the half pairing.

    ``x[..., permutation]`` has the first coordinates of all pairs, then the second ones. With this
    permutation of the rows of W_q and W_k, a checkpoint for one pairing gives the same scores in
    code for the other. ``permutation.argsort()`` is the inverse.

    Args:
        D: head width; even.

    >>> pairing_permutation(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.arange(D).unflatten(0, (-1, 2)).mT.flatten()


def interpolated_positions(
    positions: Int[Tensor, "*batch T"] | Float[Tensor, "*batch T"], factor: float | int
) -> Float[Tensor, "*batch T"]:
    """Scale positions to the range a model was trained on: ``positions / factor``.

    Every angle is then one of training. But neighbours are closer together than the model has ever
    seen, so a short fine-tuning should follow.

    Args:
        positions: one per token.
        factor: how many times longer the text is than those of training, at least 1.

    Returns:
        The positions, in float64 on the CPU.

    Source: Chen et al., "Extending context window of large language models via positional
    interpolation", 2023, equation 4.

    >>> interpolated_positions(torch.arange(5), 4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return positions.cpu().double() / factor


def ntk_base(factor: float | int, D: int, *, base: float | int = 10_000.0) -> float:
    """Return the base that slows the last pair by ``factor`` and does not change the first.

    ``base * factor^(D / (D - 2))``. Interpolation slows all pairs by the same factor, and blurs the
    fast ones, which distinguish neighbours. A larger base slows mostly the slow pairs.

    Args:
        factor: how many times longer the text is than those of training, at least 1.
        D: head width; even, at least 4.
        base: the base in training.

    Source: bloc97, "NTK-aware scaled RoPE", 2023; Peng et al., "YaRN", 2023, section 3.1.

    >>> round(ntk_base(8, 64))
    85550
    """
    return base * factor ** (D / (D - 2))
