"""RoPE: queries and keys are turned by their position, so scores depend on the distance.

Every angle is computed in float64, and only its sine and cosine are rounded. In float32, as most
code has it, position times frequency is off by up to 3.5e-4 radians at position 10,000 and by
4.7e-3 at 100,000 (width 64): enough for scores that should depend on the distance alone to drift
with the place in the text.
"""

import math

import torch
from torch import Tensor

from course_utils.checks import check_choice, check_positive
from course_utils.positions.checks import (
    check_even,
    check_factor,
    check_positions,
    check_rope_inputs,
)
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
    """Return how fast each pair of coordinates turns: ``base^(-2i/D)`` radians a position.

    The first pair turns by 1 radian a position, the last by nearly 1 / base.

    Args:
        D: head width; even.
        base: what the frequencies are powers of.

    Returns:
        The D / 2 frequencies, in float64: their products with positions are angles.

    Raises:
        TypeError: if D is not an integer, or the base not a number.
        ValueError: if D is not even and positive, or the base not positive and finite.

    Source: Su et al., "RoFormer", 2021, section 3.2.2.

    >>> rope_frequencies(8).tolist()
    [1.0, 0.1, 0.01, 0.001]
    """
    exponents = torch.arange(0, check_even("D", D), 2, dtype=torch.float64) / D
    return check_positive("base", base) ** -exponents


def apply_rope(
    x: Float[Tensor, "*batch T D"],
    positions: Int[Tensor, "*#batch T"] | Float[Tensor, "*#batch T"],
    *,
    base: float | int = 10_000.0,
    pairing: str = "half",
) -> Float[Tensor, "*batch T D"]:
    """Turn each pair of coordinates of x by its position times the frequency of the pair.

    With the pair read as a complex number z, ``z -> z * exp(1j * position * w_i)``. Lengths stay.
    Applied to queries at positions m and to keys at positions n, the dot product of each pair is
    ``Re(q * conj(k) * exp(1j * (m - n) * w_i))``: it depends on m - n alone.

    Which two coordinates form pair i is a convention that a checkpoint fixes:

    - ``"half"``: i and i + D/2 (Llama and GPT-NeoX as ``transformers`` has them)
    - ``"interleaved"``: 2i and 2i + 1 (the paper; GPT-J; Meta's own Llama code)

    Queries and keys must be turned with the same one. ``pairing_permutation`` converts.

    Args:
        x: queries or keys; values are not turned.
        positions: one a token, whole numbers or not. Leading axes broadcast to those of x:
            positions per sequence, (B, T), go with x of shape (B, H, T, D) as (B, 1, T).
        base: what the frequencies are powers of.
        pairing: one of ``PAIRINGS``.

    Returns:
        The turned vectors, in the dtype of x. A 16-bit x is turned in float32, rounded once.

    Raises:
        TypeError: if x is not floating point, or positions neither integers nor numbers of 32
            bits or more (float16 counts only to 2048, bfloat16 to 256).
        ValueError: for an odd D, positions that do not fit x, an unknown pairing, or a base that
            is not positive and finite.

    Source: Su et al., "RoFormer", 2021, equation 34.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> print(apply_rope(x, torch.tensor([0, 1])))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    check_rope_inputs(x, positions)
    check_choice("pairing", pairing, PAIRINGS)
    frequencies = rope_frequencies(x.shape[-1], base=base).to(positions.device)
    angles = positions.double().unsqueeze(-1) * frequencies  # (..., T, D/2)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = (part.to(x.device, wide) for part in (angles.cos(), angles.sin()))
    # The two coordinates of a pair come to lie on an axis of their own.
    sizes, axis = ((2, -1), -2) if pairing == "half" else ((-1, 2), -1)
    a, b = x.unflatten(-1, sizes).unbind(axis)  # (..., T, D/2) each
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=axis)
    return turned.flatten(-2).to(x.dtype)


def pairing_permutation(D: int) -> Int[Tensor, " D"]:
    """Return the order of coordinates that turns the interleaved pairing into the half pairing.

    ``x[..., permutation]`` puts the first coordinates of all pairs in front, the second ones
    behind. With the same permutation on the rows of W_q and W_k, a checkpoint of one pairing
    gives the same scores in code of the other. ``permutation.argsort()`` goes back.

    Args:
        D: head width; even.

    Raises:
        TypeError: if D is not an integer.
        ValueError: if D is not even and positive.

    >>> pairing_permutation(6).tolist()
    [0, 2, 4, 1, 3, 5]
    """
    return torch.arange(check_even("D", D)).unflatten(0, (-1, 2)).mT.flatten()


def interpolated_positions(
    positions: Int[Tensor, "*batch T"] | Float[Tensor, "*batch T"], factor: float | int
) -> Float[Tensor, "*batch T"]:
    """Squeeze positions into the range a model was trained on: ``positions / factor``.

    Every angle then lies within those of training, at the price that neighbours stand closer
    together than the model ever saw; a short fine-tuning is meant to follow.

    Args:
        positions: one a token.
        factor: how many times longer the text is than those of training, at least 1.

    Returns:
        The positions, in float64.

    Raises:
        TypeError: if positions or the factor are not numbers, as in ``apply_rope``.
        ValueError: if positions has no axis, or the factor is below 1 or not finite.

    Source: Chen et al., "Extending context window of large language models via positional
    interpolation", 2023, equation 4.

    >>> interpolated_positions(torch.arange(5), 4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_positions(positions)
    return positions.double() / check_factor("factor", factor)


def ntk_base(factor: float | int, D: int, *, base: float | int = 10_000.0) -> float:
    """Return the base that slows the last pair ``factor`` times and leaves the first as it is.

    ``base * factor^(D / (D - 2))``. Interpolation slows every pair alike, and blurs the fast ones
    that tell neighbours apart; a larger base slows each pair the more, the slower it is.

    Args:
        factor: how many times longer the text is than those of training, at least 1.
        D: head width; even, at least 4: with one pair alone, the first is the last.
        base: the base in training.

    Raises:
        TypeError: for a factor or base that is not a number, or a D that is not an integer.
        ValueError: for a factor below 1, an odd D or one below 4, a base that is not positive
            and finite, or a result that is too large for a float.

    Source: bloc97, "NTK-aware scaled RoPE", 2023; Peng et al., "YaRN", 2023, section 3.1.

    >>> round(ntk_base(8, 64))
    85550
    """
    base, factor = check_positive("base", base), check_factor("factor", factor)
    D = check_even("D", D, minimum=4)
    try:
        raised = base * factor ** (D / (D - 2))
    except OverflowError:  # of the power; the product becomes infinite in silence
        raised = math.inf
    if math.isinf(raised):
        raise ValueError(
            f"factor must leave base * factor^(D / (D - 2)) finite, "
            f"got {factor} with D = {D}, base = {base}"
        )
    return raised
