"""The KV-cache: the keys and values of the tokens so far, which are computed only once."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

from course_utils.checks import check_like
from course_utils.shapes import Float

__all__ = ["KVCache", "whole_step"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class KVCache:
    """The keys and values that one attention layer has computed for one batch of sequences.

    An empty cache takes its sizes, dtype and device from the first keys; later ones must have the
    same. New rows are written into a buffer that doubles when it is full, so each row is copied
    about once more in all. Joining old and new rows at every step would copy all rows every time.
    That is done only while gradients are recorded, because a later write into the buffer would
    change what the backward pass needs: generate text under ``torch.no_grad()``.

    ``copy.copy`` and ``copy.deepcopy`` both return a cache of its own that continues separately,
    with the gradients of the first. A step that stops half-way, by an error or by hand, leaves the
    cache as it was before.

    Attributes:
        length: the number of positions so far, S.

    Source: Shazeer, "Fast transformer decoding", 2019, section 2.4, the incremental form.

    >>> cache = KVCache()
    >>> keys, values = cache.append(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 4))
    >>> keys, values = cache.append(torch.ones(2, 3, 1, 4), torch.ones(2, 3, 1, 4))
    >>> tuple(keys.shape), cache.length, cache.bytes == 2 * (2 * 3 * 6 * 4) * 4
    ((2, 3, 6, 4), 6, True)
    """

    def __init__(self) -> None:
        self.length = 0
        self._buffers: tuple[Tensor, ...] = ()

    @property
    def keys(self) -> Float[Tensor, "B H S D"]:
        """The keys so far; an empty cache has none."""
        return self._buffers[0][:, :, : self.length]

    @property
    def values(self) -> Float[Tensor, "B H S E"]:
        """The values so far; an empty cache has none."""
        return self._buffers[1][:, :, : self.length]

    @property
    def bytes(self) -> int:
        """Bytes of the keys and values so far, without the free part of the buffers."""
        return sum(buffer[:, :, : self.length].nbytes for buffer in self._buffers)

    def append(
        self, k: Float[Tensor, "B H new D"], v: Float[Tensor, "B H new E"]
    ) -> tuple[Float[Tensor, "B H S D"], Float[Tensor, "B H S E"]]:
        """Add new keys and values at the end, and return all of them.

        Args:
            k: keys of one or more new positions.
            v: their values.

        Raises:
            TypeError, ValueError: if k or v differs from those before in its batch, heads, width,
                dtype or device, or v has another number of positions than k.
        """
        if not self.length:
            self._buffers = k[:, :, :0], v[:, :, :0]
        self._check(k, v)
        pairs = zip(self._buffers, (k, v), strict=True)
        self._buffers = tuple(self._with_rows(buffer, rows) for buffer, rows in pairs)
        self.length += k.shape[2]
        return self.keys, self.values

    def __copy__(self) -> "KVCache":
        # A shared buffer would be written to by both.
        fork = KVCache()
        fork.length = self.length
        fork._buffers = tuple(buffer[:, :, : self.length].clone() for buffer in self._buffers)
        return fork

    def __deepcopy__(self, memo: dict) -> "KVCache":
        return self.__copy__()

    def _check(self, k: Tensor, v: Tensor) -> None:
        """Torch would repeat one sequence to fill a batch, or round to another dtype."""
        __tracebackhide__ = True
        for name, rows, buffer in zip("kv", (k, v), self._buffers, strict=True):
            check_like(name, rows, "the cache", buffer)
            B, H, D = (*buffer.shape[:2], buffer.shape[3])
            if (*rows.shape[:2], rows.shape[3]) != (B, H, D):
                raise ValueError(
                    f"{name} must have the sizes of the cache, ({B}, {H}, new, {D}), "
                    f"got shape {tuple(rows.shape)}"
                )
        if v.shape[2] != k.shape[2]:
            raise ValueError(
                f"v must have a row for each key ({k.shape[2]}), got shape {tuple(v.shape)}"
            )

    def _with_rows(self, buffer: Tensor, rows: Tensor) -> Tensor:
        start, end = self.length, self.length + rows.shape[2]
        if torch.is_grad_enabled():
            return torch.cat((buffer[:, :, :start], rows), dim=2)
        size = buffer.shape[2]
        if end > size:
            size = max(end, 2 * size)
        # A tensor made in torch.inference_mode may not be written to outside it.
        sealed = buffer.is_inference() and not torch.is_inference_mode_enabled()
        if size > buffer.shape[2] or sealed:
            wider = rows.new_empty(*rows.shape[:2], size, rows.shape[3])
            wider[:, :, :start] = buffer[:, :, :start]
            buffer = wider
        buffer[:, :, start:end] = rows
        return buffer


def whole_step(forward: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a forward pass that stops half-way leave its caches as they were before.

    Otherwise some layers would have seen the newest tokens and others not, and a second attempt
    would add them twice. A cache's rows beyond its length count for nothing, so its length is all
    that has to be restored.

    Args:
        forward: a method; its caches are the arguments that are one, or a list of them.
    """

    @functools.wraps(forward)
    def step(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        given = (*args, *kwargs.values())
        lists = (one if isinstance(one, list | tuple) else (one,) for one in given)
        before = [(one, one.length) for each in lists for one in each if isinstance(one, KVCache)]
        try:
            return forward(*args, **kwargs)
        except BaseException:  # KeyboardInterrupt, too
            for cache, length in before:
                cache.length = length
            raise

    return step
