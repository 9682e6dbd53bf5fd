"""Counted memory against allocations of known size, and against torch's own profiler."""

import json

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from course_utils.attention import attend
from course_utils.measure.peak_memory import peak_bytes

KILO = 4 * 1000  # bytes of a thousand float32 numbers


def test_freed_tensors_count_no_more():
    def run():
        first, second = torch.zeros(7000), torch.zeros(5000)  # 12
        del first
        third = torch.zeros(3000)  # 8
        return second, third

    assert peak_bytes(run) == 12 * KILO


@pytest.mark.parametrize(
    "in_place",
    [
        lambda x: x.view(10, 100).mT[3:].unsqueeze(0),
        lambda x: x.mul_(2).add_(1),
        lambda x: torch.add(x, 1, out=x),
        lambda x: x.expand(7, 1000),
        lambda x: x.detach(),
    ],
)
def test_views_take_nothing(in_place):
    x = torch.ones(1000)
    assert peak_bytes(lambda: in_place(x)) == 0
    assert peak_bytes(lambda: in_place(x).contiguous() + 0) > 0


def test_earlier_tensors_do_not_count():
    before = [torch.zeros(9000)]

    def run():
        before[0].sum()
        before.clear()
        return torch.zeros(2000)

    assert peak_bytes(run) == 2 * KILO


def test_the_backward_pass_counts():
    x = torch.ones(1000, requires_grad=True)

    def forward():
        return (x.exp() * 2).sum()

    def both():
        forward().backward()

    assert peak_bytes(both) >= peak_bytes(forward) + KILO


def profiled_peak(function, folder):
    """What the allocator handed out at most, by torch's profiler, which sees temporaries too."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        function()
    seen.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    moves = [event for event in events if event.get("name") == "[memory]"]
    held = peak = 0
    for event in sorted(moves, key=lambda each: each["args"]["Ev Idx"]):
        held += event["args"]["Bytes"]
        peak = max(peak, held)
    return peak


def test_it_is_what_the_allocator_sees(tmp_path):
    q, k, v = torch.randn(3, 1, 2, 331, 16)
    counted = peak_bytes(lambda: attend(q, k, v))
    # The allocator also sees a few bytes of scalars; a matrix more would be 876,488 bytes.
    assert counted == pytest.approx(profiled_peak(lambda: attend(q, k, v), tmp_path), abs=1024)
    assert counted >= 2 * 2 * 331 * 331 * 4
