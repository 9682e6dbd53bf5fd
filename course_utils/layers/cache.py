"""The KV-cache: the keys and values of the tokens so far, which are computed only once."""

import torch
from torch import Tensor

from course_utils.shapes import Float

__all__ = ["KVCache"]


class KVCache:
    """The keys and values that one attention layer has computed for one batch of sequences.

    An empty cache takes its sizes, dtype and device from the first keys. New rows are written into
    a buffer that doubles when it is full, so each row is copied about once more in all. Joining old
    and new rows at every step would copy all rows every time. That is done only while gradients
    are recorded, because a later write into the buffer would change what the backward pass needs:
    generate text under ``torch.no_grad()``.

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
        """
        buffers = self._buffers or (k[:, :, :0], v[:, :, :0])
        pairs = zip(buffers, (k, v), strict=True)
        self._buffers = tuple(self._with_rows(buffer, rows) for buffer, rows in pairs)
        self.length += k.shape[2]
        return self.keys, self.values

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
