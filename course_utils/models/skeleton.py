"""A model's shapes without its weights, for a loader that brings them from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["shapes_alone"]


class _WithoutNormal(TorchFunctionMode):
    """Leave out draws from a normal distribution.

    torch 2.13 imports its compiler for the first one on the meta device: 890 modules, seconds, and
    75 MB that every kernel would keep.
    """

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in (torch.nn.init.normal_, torch.Tensor.normal_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def shapes_alone() -> Iterator[None]:
    """Let models that are made inside the block have shapes and no numbers.

    No weights are drawn that would be thrown away, and the caller's random numbers stay as they
    were. ``load_state_dict(..., assign=True)`` then gives the model its weights.

    >>> with shapes_alone():
    ...     layer = torch.nn.Embedding(1_000_000, 1_000)
    >>> layer.weight.device.type, tuple(layer.weight.shape)
    ('meta', (1000000, 1000))
    """
    with torch.device("meta"), _WithoutNormal():
        yield
