"""Work, as torch counts it while it computes."""

from torch.utils.flop_counter import FlopCounterMode


def counted_flops(call, *inputs):
    """Run and count what FlopCounterMode counts: matrix products and convolutions."""
    with FlopCounterMode(display=False) as counter:
        call(*inputs)
    return counter.get_total_flops()
