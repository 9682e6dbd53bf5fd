"""What `flash_attend` refuses, by name, whichever backend is asked for."""

import math

import pytest
import torch
from torch import ones

from course_utils.kernels import flash_attend
from course_utils.kernels.dispatch import DTYPES

B, H, G, T, S, D = 2, 6, 3, 5, 7, 16


def good() -> dict:
    k = torch.randn(B, G, S, D)
    return {"q": torch.randn(B, H, T, D), "k": k, "v": k.clone()}


BAD = [
    # Of one tensor: its type, its axes, its dtype.
    ("q", [1.0]),
    ("k", None),
    ("q", ones(H, T, D)),
    ("v", ones(1, B, G, S, D)),
    ("q", ones(B, H, T, D).long()),
    ("k", ones(B, G, S, D).cfloat()),
    ("v", ones(B, G, S, D) > 0),
    ("q", ones(B, H, T, D).to(torch.float8_e4m3fn)),
    ("q", ones(B, H, T, D).to_sparse()),
    # Of two: one dtype, one device.
    ("k", ones(B, G, S, D).half()),
    ("v", ones(B, G, S, D).bfloat16()),
    ("k", ones(B, G, S, D, device="meta")),
    # Axes that have to be there, or to agree.
    ("q", ones(B, 0, T, D)),
    ("k", ones(B, 0, S, D)),
    ("q", ones(B, H, T, 0)),
    ("k", ones(3, G, S, D)),
    ("v", ones(1, G, S, D)),
    ("k", ones(B, G, S, 17)),
    ("v", ones(B, G, S, 8)),
    ("v", ones(B, G, 11, D)),
    ("v", ones(B, H, S, D)),
    # Numbers, flags and names.
    ("scale", -math.inf),
    ("scale", "1"),
    ("causal", 1),
    ("return_lse", "no"),
    ("backend", "Triton"),
    ("backend", None),
]


@pytest.mark.parametrize(("argument", "value"), BAD)
def test_bad_input_is_refused(argument, value):
    given = {**good(), "backend": "triton", argument: value}
    with pytest.raises((TypeError, ValueError), match=f"^{argument} must"):
        flash_attend(**given)


def test_heads_that_cannot_be_shared_are_refused():
    with pytest.raises(ValueError, match=r"heads G of k \(3\) must divide the heads H of q \(7\)"):
        flash_attend(**{**good(), "q": ones(B, 7, T, D)})


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_refused(layout):
    with pytest.raises(TypeError, match=r"^v must"):
        flash_attend(
            **{**good(), "v": torch.nested.nested_tensor([ones(G, S, D)] * B, layout=layout)}
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [(6, 3), (1, 1)])
@pytest.mark.parametrize("lengths", [(5, 7), (0, 7), (5, 0)])
def test_what_fits_is_taken(dtype, heads, lengths):
    q = torch.randn(2, heads[0], lengths[0], 3, dtype=dtype)
    k = torch.randn(2, heads[1], lengths[1], 3, dtype=dtype)
    assert flash_attend(q, k, k).dtype == dtype
    assert len(flash_attend(q, k, k, causal=True, scale=-2, return_lse=True)) == 2
    assert flash_attend(q[:0], k[:0], k[:0]).shape == (0, *q.shape[1:])


def test_the_error_points_at_the_call():
    with pytest.raises(ValueError, match="scale must be finite") as caught:
        flash_attend(**good(), scale=math.inf)
    shown = [entry for entry in caught.traceback if not entry.ishidden(caught)]
    assert [entry.name for entry in shown][-1] == "flash_attend"
