"""The timed rivals compute attention, and differ in what they say they do."""

import torch

from course_utils.attention import attend
from course_utils.kernels import fast_cpu
from lectures.l08_flash_attention_tiling.experiments import (
    attend_in_place,
    tiles_with_torch_products,
)


def test_both_are_attention():
    q, k, v = (torch.randn(2, 3, length, 8) for length in (601, 607, 607))
    expected = attend(q, k, v)[0]
    for attention in (attend_in_place(q, k), tiles_with_torch_products):
        for _ in range(2):  # what the first call left in memory does no harm
            torch.testing.assert_close(attention(q, k, v), expected, atol=2e-6, rtol=1e-5)


def test_one_memory_serves_every_call():
    q, k, v = torch.randn(3, 1, 2, 13, 4)
    attention = attend_in_place(q, k)
    assert attention(q, k, v).data_ptr() == attention(q, k, v).data_ptr()


def test_tiles_leave_onednn_alone_and_give_it_back(monkeypatch):
    seen = []
    monkeypatch.setattr(
        fast_cpu, "faster_by_onednn", lambda dtype: seen.append(torch.backends.mkldnn.enabled)
    )
    monkeypatch.setattr(fast_cpu, "_WORTH_THREADS", 0)  # however many threads there are
    before = torch.backends.mkldnn.enabled
    q = torch.randn(1, 1, 1031, 16)
    tiles_with_torch_products(q, q, q)
    assert torch.backends.mkldnn.enabled == before and seen and not any(seen)
