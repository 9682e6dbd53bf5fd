"""What is said when memory runs out, forward and backward."""

import importlib
import re

import pytest
import torch

from course_utils.kernels import flash_attend

# Rows of one and the same vector: the inputs take no memory, and what comes out of them takes
# 512 TiB, more than a process can address.
T = 2**43
BACKWARD = {"tiled": ("tiled", "backward_tiles"), "triton": ("launch", "_gradients")}


def test_out_of_memory_names_sizes(backend, device):
    q, k = torch.ones(1, 1, 1, 16, device=device).expand(1, 1, T, 16), torch.ones(1, 1, 7, 16)
    # q, out: 2 × 16, lse: 1, the formula's scores: 7 numbers of 4 bytes to a row.
    GiB = "1.31e+06 GiB" if backend == "reference" else "1.08e+06 GiB"
    sizes = re.escape(f"q (1, 1, {T}, 16) and k (1, 1, 7, 16) in torch.float32")
    with pytest.raises(torch.OutOfMemoryError, match=f"{sizes} need at least {re.escape(GiB)} "):
        flash_attend(q, k.to(device), k.to(device), backend=backend)


def test_the_backward_pass_says_it_too(backend, device, monkeypatch):
    if backend == "reference":
        pytest.skip("its backward pass is that of autograd")
    module, name = BACKWARD[backend]

    def full(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    q = torch.ones(2, 3, 5, 16, device=device, requires_grad=True)
    monkeypatch.setattr(importlib.import_module(f"course_utils.kernels.{module}"), name, full)
    out = flash_attend(q, q, q, backend=backend)
    with pytest.raises(torch.OutOfMemoryError, match=r"need at least 7\.26e-06 GiB"):
        out.sum().backward()
