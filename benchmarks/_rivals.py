"""Who computes attention: ours, the naive form, and torch's own kernels.

Every rival is a function of q, k and v that returns the output. T = S throughout: torch's
`is_causal` is aligned at the top left and ours at the bottom right, and only there they agree.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks._cases import Case
from course_utils.kernels import fast_cpu, flash_attend

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
LABELS = {
    "ours": "flash_attend",
    "ours_mha": "flash_attend, G = H",
    "plain": "flash_attend, plain tiles",
    "naive": "naive",
    "sdpa": "SDPA",
    "flash": "SDPA flash",
    "cudnn": "SDPA cuDNN",
}
FORCED = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


def attend_with(rival: str, case: Case, device: str) -> Attend:
    """Return the function that a rival is."""
    if rival in ("ours", "ours_mha"):
        backend = "tiled" if device == "cpu" else "triton"
        return partial(flash_attend, causal=case.causal, backend=backend)
    if rival == "plain":
        return partial(attend_plain, causal=case.causal)
    if rival == "naive":
        return partial(attend_naive, causal=case.causal)
    return partial(attend_sdpa, case=case, backend=FORCED.get(rival))


def attend_plain(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """Compute tile by tile without what is there for processors' speed, forward and backward."""
    before, fast_cpu.ENABLED = fast_cpu.ENABLED, False
    try:
        return flash_attend(q, k, v, causal=causal, backend="tiled")
    finally:
        fast_cpu.ENABLED = before


def attend_naive(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    """The formula in its shortest form, with the whole (N, N) matrix and nothing beside it."""
    (B, H, N, D), G = q.shape, k.shape[1]
    scores = (q * D**-0.5).view(B, G, H // G, N, D) @ k.unsqueeze(2).mT
    if causal:
        later = torch.ones(N, N, dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill_(later, -torch.inf)
    return (scores.softmax(dim=-1) @ v.unsqueeze(2)).view(B, H, N, D)


def attend_sdpa(
    q: Tensor, k: Tensor, v: Tensor, *, case: Case, backend: SDPBackend | None
) -> Tensor:
    """Compute with torch's own attention; with a backend, that kernel or an error."""
    with sdpa_kernel(backend) if backend else nullcontext():
        return scaled_dot_product_attention(
            q, k, v, is_causal=case.causal, enable_gqa=case.G < case.H
        )
