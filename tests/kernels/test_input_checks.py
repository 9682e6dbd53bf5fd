"""What `flash_attend` refuses, word for word, whichever backend is asked for."""

import math

import pytest
import torch
from support_errors import raises_saying, refusal
from torch import ones

from course_utils.kernels import flash_attend
from course_utils.kernels.input_checks import DTYPES, check_flash_inputs

B, H, G, T, S, D = 2, 6, 3, 5, 7, 16
ANY_OF = "must be one of float32, float16, bfloat16, float64"


def good() -> dict:
    k = torch.randn(B, G, S, D)
    return {"q": torch.randn(B, H, T, D), "k": k, "v": k.clone()}


BAD = [
    # Of one tensor: its type, its axes, its dtype.
    ("q", [1.0], "TypeError: q must be a torch.Tensor, got list"),
    ("k", None, "TypeError: k must be a torch.Tensor, got NoneType"),
    ("q", ones(H, T, D), "ValueError: q must have 4 axes (B, H, T, D), got shape (6, 5, 16)"),
    ("v", ones(1, B, G, S, D),
     "ValueError: v must have 4 axes (B, G, S, D), got shape (1, 2, 3, 7, 16)"),
    ("q", ones(B, H, T, D).long(), f"TypeError: q {ANY_OF}, got torch.int64"),
    ("k", ones(B, G, S, D).cfloat(), f"TypeError: k {ANY_OF}, got torch.complex64"),
    ("v", ones(B, G, S, D) > 0, f"TypeError: v {ANY_OF}, got torch.bool"),
    ("q", ones(B, H, T, D).to(torch.float8_e4m3fn),
     f"TypeError: q {ANY_OF}, got torch.float8_e4m3fn"),
    ("q", ones(B, H, T, D).to_sparse(),
     "TypeError: q must be a dense tensor, got torch.sparse_coo"),
    # Of two: one dtype, one device.
    ("k", ones(B, G, S, D).half(),
     "TypeError: k must have the dtype of q (torch.float32), got torch.float16"),
    ("v", ones(B, G, S, D).bfloat16(),
     "TypeError: v must have the dtype of q (torch.float32), got torch.bfloat16"),
    ("k", ones(B, G, S, D, device="meta"),
     "ValueError: k must be on the device of q (cpu), got meta"),
    # Axes that have to be there, or to agree.
    ("q", ones(B, 0, T, D), "ValueError: q must have at least one query head, H, got 0"),
    ("k", ones(B, 0, S, D), "ValueError: k must have at least one key/value head, G, got 0"),
    ("q", ones(B, H, T, 0), "ValueError: q must have at least one coordinate in a head, D, got 0"),
    ("k", ones(3, G, S, D),
     "ValueError: k must have the batch of q, B (2), got shape (3, 3, 7, 16)"),
    ("v", ones(1, G, S, D),
     "ValueError: v must have the batch of q, B (2), got shape (1, 3, 7, 16)"),
    ("k", ones(B, G, S, 17),
     "ValueError: k must have the head width of q, D (16), got shape (2, 3, 7, 17)"),
    ("v", ones(B, G, S, 8),
     "ValueError: v must have the head width of q, D (16), got shape (2, 3, 7, 8)"),
    ("v", ones(B, G, 11, D),
     "ValueError: v must have the heads and the length of k, G (3) and S (7), got shape "
     "(2, 3, 11, 16)"),
    ("v", ones(B, H, S, D),
     "ValueError: v must have the heads and the length of k, G (3) and S (7), got shape "
     "(2, 6, 7, 16)"),
    ("q", ones(B, 7, T, D), "ValueError: the heads G of k (3) must divide the heads H of q (7)"),
    # Numbers, flags and names.
    ("scale", -math.inf, "ValueError: scale must be finite, got -inf"),
    ("scale", "1", "TypeError: scale must be a real number, got '1' (str)"),
    ("causal", 1, "TypeError: causal must be True or False, got 1 (int)"),
    ("return_lse", "no", "TypeError: return_lse must be True or False, got 'no' (str)"),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "value", "message"), BAD)
def test_bad_input_is_refused(argument, value, message):
    given = {**good(), argument: value}
    assert refusal(lambda: flash_attend(**given, backend="triton")) == message


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_is_refused(layout):
    nested = torch.nested.nested_tensor([torch.ones(G, S, D)] * B, layout=layout)
    with raises_saying(TypeError, "v must be a dense tensor, got a nested tensor"):
        flash_attend(**{**good(), "v": nested})


@pytest.mark.parametrize("wrong", ["Triton", None])
def test_an_unknown_backend_is_refused(wrong):
    message = f"backend must be one of auto, triton, tiled, reference, got {wrong!r}"
    with raises_saying(ValueError, message):
        flash_attend(**good(), backend=wrong)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("heads", [(6, 3), (1, 1)])
@pytest.mark.parametrize("lengths", [(5, 7), (0, 7), (5, 0)])
def test_what_fits_is_taken(dtype, heads, lengths):
    q = torch.randn(2, heads[0], lengths[0], 3, dtype=dtype)
    k = torch.randn(2, heads[1], lengths[1], 3, dtype=dtype)
    check_flash_inputs(q, k, k, causal=True, scale=-2, return_lse=True)
    check_flash_inputs(q[:0], k[:0], k[:0])
    assert flash_attend(q, k, k).dtype == dtype


def test_the_error_points_at_the_call():
    with pytest.raises(ValueError, match="scale must be finite") as caught:
        flash_attend(**good(), scale=math.inf)
    shown = [entry for entry in caught.traceback if not entry.ishidden(caught)]
    assert [entry.name for entry in shown][-1] == "flash_attend"
