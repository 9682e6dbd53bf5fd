"""Inputs for the tiled backend alone, and its results with their gradients."""

import torch

from course_utils.kernels.tiled import attend_tiled


def qkv(T=5, S=7, *, B=2, H=6, G=2, D=3, dtype=torch.float64, grad=False):
    shapes = ((B, H, T, D), (B, G, S, D), (B, G, S, D))
    return tuple(torch.randn(shape).to(dtype).requires_grad_(grad) for shape in shapes)


def run(inputs, *, causal=True, attend=attend_tiled):
    inputs = [x.detach().requires_grad_() for x in inputs]
    out, lse = attend(*inputs, causal=causal, scale=0.2)
    given = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.dtype)
    return out, lse, *torch.autograd.grad(out, inputs, given)
