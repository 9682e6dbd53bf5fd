"""Join attention over some keys with attention over others: the same step in every tiled form."""

import torch
from torch import Tensor

from course_utils.checks import check_floating, check_rank
from course_utils.shapes import Float

__all__ = ["merge_partial"]


def merge_partial(
    out_a: Float[Tensor, "*batch T D"],
    lse_a: Float[Tensor, "*batch T"],
    out_b: Float[Tensor, "*batch T D"],
    lse_b: Float[Tensor, "*batch T"],
) -> tuple[Float[Tensor, "*batch T D"], Float[Tensor, "*batch T"]]:
    """Merge the results for two disjoint sets of keys into the result for their union.

    ``lse = log(exp(lse_a) + exp(lse_b))``, ``out = exp(lse_a - lse) out_a + exp(lse_b - lse)
    out_b``: each part counts by its share of the weights. The order of the parts does not matter,
    and a part in which a query attends to nothing (output 0, lse -inf) changes nothing.

    Args:
        out_a: output of attention over the first keys, as ``flash_attend`` returns it.
        lse_a: log-sum-exp of the scores there.
        out_b: output over the other keys.
        lse_b: log-sum-exp there.

    Returns:
        The output in the dtype of ``out_a``, and the log-sum-exp, over all the keys.

    Raises:
        TypeError: if one of them is not a floating-point tensor.
        ValueError: if the shapes or devices do not fit one another.

    Source: Dao et al., "FlashAttention", 2022, section 3.1; Liu et al., "Ring attention", 2023.

    >>> one, lse = torch.tensor([[1.0]]), torch.tensor([0.0])
    >>> out, lse = merge_partial(one, lse, 4 * one, lse + torch.tensor(2.0).log())
    >>> out.round().tolist(), lse.exp().round().tolist()
    ([[3.0]], [3.0])
    """
    _check_part("a", out_a, lse_a)
    _check_part("b", out_b, lse_b)
    if out_b.shape != out_a.shape:
        raise ValueError(
            f"out_b must have the shape of out_a {tuple(out_a.shape)}, got {tuple(out_b.shape)}"
        )
    _check_devices(out_a, {"lse_a": lse_a, "out_b": out_b, "lse_b": lse_b})
    nothing = (lse_a == -torch.inf) & (lse_b == -torch.inf)
    # Any number will do there: -inf minus -inf would be NaN, and so would its gradient.
    base = torch.logaddexp(lse_a.masked_fill(nothing, 0.0), lse_b.masked_fill(nothing, 0.0))
    share_a, share_b = ((part - base).exp().unsqueeze(-1) for part in (lse_a, lse_b))
    out = (share_a * out_a + share_b * out_b).to(out_a.dtype)
    return out, base.masked_fill(nothing, -torch.inf)


def _check_part(letter: str, out: Tensor, lse: Tensor) -> None:
    __tracebackhide__ = True
    check_rank(f"out_{letter}", out, "T D", exactly=False)
    check_floating(f"out_{letter}", out)
    check_floating(f"lse_{letter}", lse)
    if lse.shape != out.shape[:-1]:
        raise ValueError(
            f"lse_{letter} must have a number for each row of out_{letter} "
            f"{tuple(out.shape[:-1])}, got shape {tuple(lse.shape)}"
        )


def _check_devices(out_a: Tensor, others: dict[str, Tensor]) -> None:
    __tracebackhide__ = True
    for name, tensor in others.items():
        if tensor.device != out_a.device:
            raise ValueError(
                f"{name} must be on the device of out_a ({out_a.device}), got {tensor.device}"
            )
