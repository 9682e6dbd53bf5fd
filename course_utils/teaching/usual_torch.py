"""PyTorch as it starts, for as long as an answer is judged; the reader's settings come back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch

from course_utils.seeds import own_random_numbers


@contextlib.contextmanager
def usual_torch(dtype: torch.dtype = torch.float32) -> Iterator[None]:
    """Run the block with PyTorch's own settings; afterwards restore what was set before.

    Gradients are recorded, autocast is off, and tensors are made on the CPU in ``dtype``. Random
    numbers drawn inside are not missing outside. What the block itself sets ends with it.

    >>> with torch.no_grad(), usual_torch():
    ...     torch.is_grad_enabled()
    True
    """
    device = torch.get_default_device()
    with contextlib.ExitStack() as restored:
        restored.callback(_make_tensors_on, device)
        restored.callback(torch.set_default_dtype, torch.get_default_dtype())
        restored.enter_context(own_random_numbers())
        restored.enter_context(torch.inference_mode(False))
        restored.enter_context(torch.enable_grad())
        restored.enter_context(torch.autocast("cpu", enabled=False))
        restored.enter_context(torch.autocast("cuda", enabled=False))
        restored.enter_context(np.errstate(all="warn", under="ignore"))
        _make_tensors_on(torch.device("cpu"))
        torch.set_default_dtype(dtype)
        yield


def _make_tensors_on(device: torch.device) -> None:
    """Set the default device if it is another: a setting, even of the CPU, slows every call."""
    if torch.get_default_device() != device:
        torch.set_default_device(device)
