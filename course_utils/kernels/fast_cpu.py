"""A faster form of ``tiled.py`` for processors: all that is there for speed alone, in one place.

``tiled.py`` is the algorithm, for every device and input. Here the same tiles are computed, and
the results are the same to within rounding. What differs:

One key/value head at a time. Its tile stays in the processor's second-level cache, and a matrix is
multiplied faster than a batch of them.

No running maximum, and so no rescaling: only inputs are taken whose weights are bounded.

Whole heads go to Python's threads, each with one thread of torch's. torch splits each operation and
waits for the slowest thread: a third of the time, and more where another program holds a core.

On AMD's processors with AVX-512 oneDNN multiplies. torch multiplies float32 with MKL, which uses
half of their vector width.

``ENABLED = False`` leaves all of it out; ``torch.backends.mkldnn.enabled = False`` leaves out
oneDNN. ``python -m benchmarks.attention`` measures both forms in one run.
"""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

from course_utils.shapes import Float
from course_utils.threads import one_thread

__all__ = ["ENABLED", "can_attend_fast", "fast_backward", "fast_forward", "faster_by_onednn"]

ENABLED = True
LOG2_E = math.log2(math.e)
# Weights within 2 ** ±32, and longest vectors within 2 ** ±60: sums of 2 ** 24 products of a weight
# and a value stay below 2 ** 116, and what float32 loses of small ones is below 2 ** -116.
_LARGEST_SCORE, _LENGTHS = 32.0, (2.0**-60, 2.0**60)
# Scores of a head that are worth a call for each head, and multiply-adds that are worth threads.
_FEWEST_SCORES, _WORTH_THREADS = 2**17, 2**28
# Queries in a tile: of each on the diagonal half is in vain.
_ROWS, _CAUSAL_ROWS, _FEWEST_ROWS = 512, 256, 128


def can_attend_fast(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    scale: float,
) -> bool:
    """Say whether this form takes the inputs: enough scores of a head, and bounded weights.

    No score exceeds ``scale * length(query) * length(key)`` (Cauchy-Schwarz). The answer is no with
    NaN or infinity in an input, on other devices, and where somebody watches operators (tracing,
    counting), since a watcher sees those of its own thread.

    >>> q = torch.ones(1, 1, 8192, 4)
    >>> can_attend_fast(q, q, q, 0.5), can_attend_fast(1e3 * q, q, q, 0.5)
    (True, False)
    """
    plain = q.device.type == "cpu" and type(q) in (Tensor, torch.nn.Parameter)
    watched = torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None
    if not ENABLED or not plain or watched or not _many_scores(q, k):
        return False
    try:
        lengths = [_longest(x) for x in (q, k, v)]
    except RuntimeError:  # there is no number to look at, as in torch.vmap
        return False
    in_range = all(_LENGTHS[0] <= length <= _LENGTHS[1] for length in lengths)
    return in_range and abs(scale) * LOG2_E * lengths[0] * lengths[1] <= _LARGEST_SCORE


@torch.no_grad()
def fast_forward(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    *,
    causal: bool,
    scale: float,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T"]]:
    """Return what ``forward_tiles`` does: the output, and the log-sum-exp over log(2).

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> out, lse_log2 = fast_forward(q, q, v, causal=True, scale=1.0)
    >>> lse_log2.exp2().tolist()
    [[[1.0, 2.0]]]
    """
    tiles = _Tiles(q, k, causal)
    # A query that may attend to no key keeps these.
    out = torch.zeros_like(q)
    lse_log2 = q.new_full(q.shape[:3], -torch.inf, dtype=tiles.dtype)

    def attend(head: tuple[int, int]) -> None:
        keys, values = tiles.matrix(k[head]), tiles.matrix(v[head])
        products = tiles.products(keys)
        for rows in tiles.blocks_of_rows():
            queries = tiles.rows_of(q, head, rows) * (scale * LOG2_E)
            acc, l = torch.zeros_like(queries), queries.new_zeros(len(queries), 1)
            for at in tiles.blocks_of_keys(rows):
                weights = products.product(queries, keys[at].T).exp2_()
                tiles.drop_later(weights, rows, at)
                l.add_(weights.sum(dim=1, keepdim=True))
                products.add(acc, weights, values[at])
                del weights  # the next tile takes its memory
            tiles.write(out, head, rows, acc.div_(l))
            tiles.write(lse_log2, head, rows, l.log2_())

    tiles.spread(attend)
    return out, lse_log2


@torch.no_grad()
def fast_backward(
    q: Float[Tensor, "B H T D"],
    k: Float[Tensor, "B G S D"],
    v: Float[Tensor, "B G S D"],
    out: Float[Tensor, "B H T D"],
    lse_log2: Float[Tensor, "B H T"],
    dout: Float[Tensor, "B H T D"],
    dlse: Float[Tensor, "B H T"],
    *,
    causal: bool,
    scale: float,
) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B G S D"], Float[Tensor, "B G S D"]]:
    """Return what ``backward_tiles`` does, by its formulas: the gradients of q, k and v.

    >>> q, v = torch.zeros(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
    >>> saved = q, q, v, *fast_forward(q, q, v, causal=True, scale=1.0)
    >>> given = torch.ones(1, 1, 2, 4), torch.zeros(1, 1, 2)
    >>> fast_backward(*saved, *given, causal=True, scale=1.0)[2][0, 0, :, 0].tolist()
    [1.5, 0.5]
    """
    tiles = _Tiles(q, k, causal)
    dq, dk, dv = torch.zeros_like(q), torch.empty_like(k), torch.empty_like(v)

    def differentiate(head: tuple[int, int]) -> None:
        keys, values = tiles.matrix(k[head]), tiles.matrix(v[head])
        dkeys, dvalues = torch.zeros_like(keys), torch.zeros_like(values)
        of_scores, of_gradients = tiles.products(keys), tiles.products(keys)
        for rows in tiles.blocks_of_rows():
            queries = tiles.rows_of(q, head, rows) * (scale * LOG2_E)
            douts, lse = tiles.rows_of(dout, head, rows), tiles.rows_of(lse_log2, head, rows)
            delta = (douts * tiles.rows_of(out, head, rows)).sum(dim=1, keepdim=True)
            delta -= tiles.rows_of(dlse, head, rows)
            dqueries = torch.zeros_like(queries)
            for at in tiles.blocks_of_keys(rows):
                weights = of_scores.product(queries, keys[at].T).sub_(lse).exp2_()
                tiles.drop_later(weights, rows, at)
                of_scores.add(dvalues[at], weights.T, douts)
                dscores = of_gradients.product(douts, values[at].T).sub_(delta).mul_(weights)
                of_gradients.add(dqueries, dscores, keys[at])
                of_gradients.add(dkeys[at], dscores.T, queries)
                del weights, dscores  # the next tile takes their memory
            tiles.write(dq, head, rows, dqueries.mul_(scale))
        dk[head], dv[head] = dkeys.div_(LOG2_E), dvalues  # what makes scale * q of queries

    tiles.spread(differentiate)
    return dq, dk, dv


class _Tiles:
    """How q and k are cut, for a head of k and the group of query heads that attend to it.

    The query heads of a group lie below one another in a tile: no head of k or v is copied.
    """

    def __init__(self, q: Tensor, k: Tensor, causal: bool) -> None:
        (B, H, self.T, _), (G, self.S) = q.shape, k.shape[1:3]
        self.dtype = torch.promote_types(q.dtype, torch.float32)
        self.causal, self.group = causal, H // G
        self.heads = [(b, g) for b in range(B) for g in range(G)]
        rows = max(_FEWEST_ROWS, min(_CAUSAL_ROWS, self.T // 4)) if causal else _ROWS
        self.block_m = max(1, min(rows // self.group, self.T))
        self._products = _OneDNNProducts if faster_by_onednn(self.dtype) else _TorchProducts
        self.block_n = min(self._products.keys, self.S)
        self.threads = torch.get_num_threads() if q.numel() * self.S >= _WORTH_THREADS else 1

    def blocks_of_rows(self) -> Iterable[range]:
        """Yield all queries that may attend to a key, block by block."""
        first = max(0, self.T - self.S) if self.causal else 0
        for start in range(first, self.T, self.block_m):
            yield range(start, min(start + self.block_m, self.T))

    def blocks_of_keys(self, rows: range) -> Iterable[slice]:
        """Yield the keys that one of these queries may attend to, block by block."""
        stop = rows.stop + self.S - self.T if self.causal else self.S
        for start in range(0, stop, self.block_n):
            yield slice(start, min(start + self.block_n, stop))

    def drop_later(self, weights: Tensor, rows: range, keys: slice) -> None:
        """Set to 0 the weights of keys that are later than the query."""
        last = rows.start + self.S - self.T - keys.start  # the last key of the first query
        if self.causal and last < weights.shape[1] - 1:
            weights.view(self.group, len(rows), -1).tril_(last)

    def products(self, like: Tensor) -> "_TorchProducts | _OneDNNProducts":
        """Return products of tiles, for one thread."""
        return self._products(like, self.group * self.block_m * self.block_n)

    def matrix(self, head: Tensor) -> Tensor:
        """Return one head without gaps: with gaps oneDNN takes a thousand times as long."""
        return head.to(self.dtype).contiguous()

    def rows_of(self, x: Tensor, head: tuple[int, int], rows: range) -> Tensor:
        """Return the rows of x (B, H, T, n) or (B, H, T) as a matrix (group * rows, n or 1)."""
        part = self._group_of(x, head, rows)
        return part.to(self.dtype).reshape(self.group * len(rows), -1)

    def write(self, x: Tensor, head: tuple[int, int], rows: range, matrix: Tensor) -> None:
        """Put such a matrix back."""
        part = self._group_of(x, head, rows)
        part.copy_(matrix.view(part.shape))

    def _group_of(self, x: Tensor, head: tuple[int, int], rows: range) -> Tensor:
        b, g = head
        return x[b, g * self.group : (g + 1) * self.group, rows.start : rows.stop]

    def spread(self, work: Callable[[tuple[int, int]], None]) -> None:
        """Call ``work`` with each head, in several threads where that is worth their start.

        All queries of a head add to the gradients of the same keys: one thread has them all.
        """
        if self.threads == 1 or len(self.heads) < self.threads:
            for head in self.heads:
                work(head)
            return
        inference = torch.is_inference_mode_enabled()  # a new thread has its own

        def in_a_thread(head: tuple[int, int]) -> None:
            with torch.inference_mode(inference), torch.no_grad():
                work(head)

        with one_thread(), ThreadPoolExecutor(self.threads, initializer=_one_thread_here) as pool:
            list(pool.map(in_a_thread, self.heads))  # an error cancels those that have not begun


def _one_thread_here() -> None:
    torch.set_num_threads(1)


def _many_scores(q: Tensor, k: Tensor) -> bool:
    """Say whether there are enough scores: of a head, for threads, and to look for the bound."""
    scores = q.shape[:3].numel() * k.shape[2]
    heads = k.shape[:2].numel()
    # Between, torch would split many operations of one head over its threads: slower than plain.
    if torch.get_num_threads() > 1 and q.numel() * k.shape[2] < _WORTH_THREADS:
        return False
    return scores >= max(1, _FEWEST_SCORES * heads) and scores > q.numel() + 2 * k.numel()


def _longest(x: Tensor) -> float:
    """Return the length of the longest vector in x (B, H, T, D); NaN if one has NaN."""
    wide = torch.promote_types(x.dtype, torch.float32)
    return float(torch.linalg.vector_norm(x.detach(), dim=-1, dtype=wide).amax())


# Whose products


class _TorchProducts:
    """Products of tiles by torch, each in the memory of the one before."""

    keys = 512  # in a tile that stays in the cache

    def __init__(self, like: Tensor, most: int) -> None:
        self._memory = like.new_empty(most)

    def product(self, a: Tensor, b: Tensor) -> Tensor:
        """Return ``a @ b``; the next product overwrites it."""
        shape = len(a), b.shape[1]
        return torch.mm(a, b, out=self._memory[: math.prod(shape)].view(shape))

    def add(self, total: Tensor, a: Tensor, b: Tensor) -> None:
        """Add ``a @ b`` to a total, in place."""
        total.addmm_(a, b)


class _OneDNNProducts:
    """The same by oneDNN, which gives new memory each time."""

    keys = 1024  # worth the ten microseconds that it takes to start

    def __init__(self, like: Tensor, most: int) -> None:
        _keep_freed_memory()

    def product(self, a: Tensor, b: Tensor) -> Tensor:
        """Return ``a @ b``."""
        return _multiply_by_onednn(a, b)

    def add(self, total: Tensor, a: Tensor, b: Tensor) -> None:
        """Add ``a @ b`` to a total, in place."""
        total.add_(_multiply_by_onednn(a, b))


def faster_by_onednn(dtype: torch.dtype) -> bool:
    """Say whether oneDNN multiplies matrices of that dtype faster than torch: by AMD, with AVX-512.

    >>> faster_by_onednn(torch.float64)
    False
    """
    can = getattr(torch.cpu, "get_capabilities", dict)()  # absent in older torch
    half_used = str(can.get("cpu_name", "")).startswith("AMD") and can.get("avx512_f", False)
    asked = dtype == torch.float32 and half_used and torch.backends.mkl.is_available()
    return bool(asked and torch.backends.mkldnn.enabled and _onednn_multiplies())


@cache
def _onednn_multiplies() -> bool:
    """Whether this torch lets oneDNN multiply, and right: the operator is not public.

    torch calls it for float32 only from code that its compiler wrote.
    """
    here = {"dtype": torch.float32, "device": "cpu"}  # whatever the caller's defaults are
    a, b = torch.arange(6.0, **here).view(2, 3), torch.arange(12.0, **here).view(3, 4)
    try:
        return torch.equal(_multiply_by_onednn(a, b), a @ b)
    except (AttributeError, RuntimeError, TypeError):
        return False


def _multiply_by_onednn(a: Tensor, b: Tensor) -> Tensor:
    if a.stride(1) != 1:
        # It would copy a transposed tile; as the second operand it reads it as it lies.
        return _linear(b.T, a).T
    return _linear(a, b.T)


def _linear(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")


@cache
def _keep_freed_memory() -> None:
    """Let the next product have the memory of the last, without page faults.

    The products come in new memory. On Linux the C library returns freed blocks to the system above
    a size that follows the largest block freed so far. With small blocks before it, every tile
    would fault on each of its pages anew: up to a third of the time. This block is larger than what
    a product takes, and freed untouched, so it costs nothing itself.
    """
    torch.empty(2**23, dtype=torch.uint8, device="cpu")
