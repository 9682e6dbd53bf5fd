"""The part: a causal kernel in Triton's words.

An answer is launched on the stand-in for Triton, which says more than a GPU does, and judged by
what it stored: one tile, several, a last one that is not full; then whether it leaves out the dead
ones. That shows where the values of later tiles are NaN, since a weight of 0 times NaN is NaN. Then
inputs of 16 bits, and at last Triton itself, where it is installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

from course_utils.attention import attend
from course_utils.masks import causal_mask
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike, Outcome, is_untouched
from course_utils.teaching.parts import PartsFile
from lectures.l08_flash_attention_tiling import numpy_triton

BLOCK = 4
TRITONS_BLOCK = 16  # its `dot` takes no smaller one
# A file of its own: a reader without Triton loses no other part.
MY_KERNELS = PartsFile(
    "my_kernels.py",
    '''\
"""Your kernels: each is what you wrote in a lecture, and it passed its check.

The file is yours to change. `make parts` shows which are here and whether they still pass.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported
try:
    import triton
    import triton.language as tl
except ModuleNotFoundError:  # Triton is made for Linux; this runs the same source in NumPy
    from lectures.l08_flash_attention_tiling import numpy_triton as triton

    tl = triton
''',
)


def _launched(answer: Any) -> Callable[..., Any]:
    """A kernel as a function of q, k and v that returns what it stored, on the stand-in."""
    if not hasattr(answer, "fn"):
        if callable(answer) and len(inspect.signature(answer).parameters) > 3:
            return _without_jit
        return answer
    if is_untouched(answer.fn, Outcome()):
        return lambda *inputs: ...
    kernel = numpy_triton.stand_in(answer)

    def run(q, k, v):
        with np.errstate(all="ignore"):  # NaN and infinity are diagnosed, not warned about
            return _stored(kernel, q, k, v, BLOCK)

    return run


def _stored(kernel: Any, q, k, v, block: int):
    N, D = q.shape
    out = torch.full_like(q, torch.nan)
    kernel[(-(-N // block),)](q, k, v, out, N, D**-0.5, D, block)
    return out[: _rows(v)]


def _without_jit(q, k, v):
    raise TypeError("the kernel needs `@triton.jit` above it")


def _on_triton(answer: Any) -> Callable[..., Any]:
    """The same in Triton: on a GPU, or in its interpreter. Where neither is there, it passes."""
    if not hasattr(answer, "fn"):
        return answer
    on_gpu = torch.cuda.is_available()
    if isinstance(answer, numpy_triton.Kernel):
        return _right
    if not on_gpu and type(answer).__name__ != "InterpretedFunction":
        return _right

    def run(*inputs):
        q, k, v = (x.cuda() if on_gpu else x for x in inputs)
        try:
            return _stored(answer, q, k, v, TRITONS_BLOCK).cpu()
        except Exception as error:
            raise RuntimeError(str(error.__cause__ or error).strip().splitlines()[-1]) from None

    return run


def _rows(v) -> int:
    """How many rows count: where later values are NaN, those of the first block alone."""
    return BLOCK if v.isnan().any() else len(v)


def _right(q, k, v):
    rows = _rows(v)
    q, k, v = (x[:rows].float() for x in (q, k, v))
    return attend(q, k, v, may_attend=causal_mask(rows))[0]


def _by_tiles(
    q,
    k,
    v,
    *,
    may_attend=lambda keys, rows, N: keys <= rows,
    hide=lambda scores, mask: torch.where(mask, scores, -torch.inf),
    stop=lambda first_row, N: first_row + BLOCK,
    order=lambda tiles: tiles,
    scale=lambda D: D**-0.5,
    top=lambda scores, hidden: hidden.amax(dim=1, keepdim=True),
    maximum=torch.maximum,
    on_l=lambda alpha: alpha,
    on_acc=lambda alpha: alpha,
    next_m=lambda m, m_new: m_new,
    beyond=0.0,
):
    """The loop but for what is given. As in a kernel, rows and keys beyond the end are 0."""
    N, D = q.shape
    q = pad(q, (0, 0, 0, -N % BLOCK))
    k, v = (pad(x, (0, 0, 0, -N % BLOCK), value=beyond) for x in (k, v))
    out = torch.empty_like(q)
    for first_row in range(0, N, BLOCK):
        rows = torch.arange(first_row, first_row + BLOCK)[:, None]
        m = torch.full((BLOCK, 1), -torch.inf)
        l, acc = torch.zeros(BLOCK, 1), torch.zeros(BLOCK, D)  # noqa: E741
        for first in order(range(0, stop(first_row, N), BLOCK)):
            keys = torch.arange(first, first + BLOCK)
            scores = q[rows[:, 0]] @ k[keys].T * scale(D)
            hidden = hide(scores, may_attend(keys, rows, N))
            m_new = maximum(m, top(scores, hidden))
            alpha, p = torch.exp(m - m_new), torch.exp(hidden - m_new)
            l = on_l(alpha) * l + p.sum(dim=1, keepdim=True)  # noqa: E741
            acc = on_acc(alpha) * acc + p @ v[keys]
            m = next_m(m, m_new)
        out[rows[:, 0]] = acc / l
    return out[: _rows(v[:N])]


def _probe(N: int, phase: float, *, size: float = 1.0) -> dict[str, torch.Tensor]:
    """N tokens of width 3 whose scores rise with the key's place, or fall if size < 0."""
    q = size * (1 + 0.3 * torch.sin(torch.arange(3 * N) * 1.7 + phase).reshape(N, 3))
    k = torch.linspace(-1, 1, N)[:, None] + torch.sin(torch.arange(3 * N) * 2.3).reshape(N, 3)
    v = torch.cos(torch.arange(3 * N) * 1.9 + phase).reshape(N, 3)
    return {"q": q, "k": k, "v": v}


def _with_values_unknown(probe: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
    v = probe["v"].clone()
    v[BLOCK:] = torch.nan
    return {**probe, "v": v}


def _with_large_future(probe: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The last key points along all queries, a hundred times as long as the others."""
    k = probe["k"].clone()
    k[-1] = 100.0
    return {**probe, "k": k}


def _wide(N: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """N tokens, as wide as Triton's `dot` wants them."""
    waves = (torch.sin(torch.arange(16 * N) * step).reshape(N, 16) for step in (1.7, 2.3, 1.9))
    return {name: x.to(dtype) for name, x in zip("qkv", waves, strict=True)}


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The first row that is wrong, what was stored there, and what is right."""
    right = _right(**inputs)
    if not (isinstance(got, torch.Tensor) and got.shape == right.shape):
        return {}
    wrong = ~torch.isclose(got.float(), right, rtol=1e-4, atol=1e-5).all(dim=1)
    row = int(wrong.int().argmax())
    return {"row": row, "gave": float(got[row, 0]), "right": float(right[row, 0])}


_OFF = "Row {row} begins with {gave}, expected {right}. "

CAUSAL_KERNEL = Exercise(
    title="A causal kernel of your own",
    difficulty=3,
    minutes=25,
    function="causal_flash",
    reference=_right,
    watch=_launched,
    # One tile: here the end of the loop does not matter.
    probes=(_probe(BLOCK, 0.7), _probe(BLOCK, 0.3), _with_large_future(_probe(BLOCK, 1.3))),
    parts=("out",),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="One tile gives the right rows.",
    kept_as="causal_flash",
    kept_in=MY_KERNELS,
)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def not_causal(*inputs):
    """Your loop is right for attention to every key. Here a key that comes after its query gets the
    score −∞: compare `keys.T`, a row, with `rows`, a column."""
    return _by_tiles(*inputs, may_attend=lambda keys, rows, N: keys < N)


@CAUSAL_KERNEL.mistake()
def not_itself(*inputs):
    """Row 0 is NaN: it may attend to no key at all, and −∞ − (−∞) is NaN. A query attends to its
    own key as well: `<=`, not `<`."""
    return _by_tiles(*inputs, may_attend=lambda keys, rows, N: keys < rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def mask_upside_down(*inputs):
    """Your mask is upside down: row 0 may attend to key 0 alone. A key is hidden where its place is
    larger than the query's."""
    return _by_tiles(*inputs, may_attend=lambda keys, rows, N: keys >= rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def the_other_two_of_where(*inputs):
    """You hide what may be seen. `tl.where(condition, a, b)` is a where the condition holds, so the
    scores come first and −∞ second."""
    return _by_tiles(*inputs, may_attend=lambda keys, rows, N: keys > rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def hidden_scores_are_0(*inputs):
    """A hidden score is 0 here, and exp(0 − m) is no small weight. Only −∞ gives a weight of 0."""
    return _by_tiles(*inputs, hide=lambda scores, mask: scores * mask)


@CAUSAL_KERNEL.mistake()
def maximum_of_hidden_scores(*inputs):
    """Right while scores are small. You take the maximum before you hide the later keys: where one
    of them scores hundreds more than the rest, exp(score − m) is 0 for all that may be seen, and
    0/0 is NaN. Hide first."""
    return _by_tiles(*inputs, top=lambda scores, hidden: scores.amax(dim=1, keepdim=True))


@CAUSAL_KERNEL.mistake()
def no_maximum(*inputs):
    """Right while scores are small. Without a maximum exp of a score above 88.7 is infinite in
    float32, and the output is NaN."""
    return _by_tiles(*inputs, top=lambda scores, hidden: torch.zeros(len(scores), 1))


@CAUSAL_KERNEL.mistake(begins=_OFF)
def scaled_twice(*inputs):
    """Your scores are too small by the root of D: they are scaled twice."""
    return _by_tiles(*inputs, scale=lambda D: 1 / D)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def not_scaled(*inputs):
    """Your scores are too large by the root of D: multiply them by `scale`."""
    return _by_tiles(*inputs, scale=lambda D: 1)


@CAUSAL_KERNEL.mistake()
def the_diagonal_tile_left_out(*inputs):
    """The first rows are NaN: their program visits no tile, and `acc / l` is 0/0. A tile is skipped
    too early: the one of the block's own rows belongs to the loop."""
    return _by_tiles(*inputs, stop=lambda first_row, N: first_row)


TILES = CAUSAL_KERNEL.stage(
    probes=(_probe(12, 0.3), _probe(12, 1.1, size=60.0), _probe(12, 2.0, size=-60.0)),
    praise="Several tiles give the right rows.",
)


@TILES.mistake(begins=_OFF)
def acc_not_rescaled(*inputs):
    """`l` is rescaled when the maximum rises, and `acc` is not. Both were summed against the old
    maximum."""
    return _by_tiles(*inputs, on_acc=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def l_not_rescaled(*inputs):
    """`acc` is rescaled when the maximum rises, and `l` is not. Both were summed against the old
    maximum."""
    return _by_tiles(*inputs, on_l=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def nothing_rescaled(*inputs):
    """Neither `l` nor `acc` is rescaled when the maximum rises: multiply both by `alpha`, which is
    exp(m − m_new)."""
    return _by_tiles(*inputs, on_l=lambda alpha: 1, on_acc=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def m_stays_minus_infinity(*inputs):
    """Only the last tile counts. `m` stays −∞, so `alpha` is 0 in every round and wipes out what
    came before: at the end of a round `m = m_new`."""
    return _by_tiles(*inputs, next_m=lambda m, m_new: m)


@TILES.mistake()
def m_is_that_of_the_tile(*inputs):
    """Right while scores are small. Your maximum is that of the last tile alone; where an earlier
    one was larger by 100, `alpha` is exp(100) and infinite. The maximum never falls:
    `tl.maximum(m, …)`."""
    return _by_tiles(*inputs, maximum=lambda m, tile: tile)


@TILES.mistake()
def a_hidden_tile_first(*inputs):
    """Rows are NaN, since their first tile is all hidden: its maximum is −∞, and −∞ − (−∞) is NaN.
    Begin with the tile of key 0, of which every query may see something, or guard the difference as
    section 2 does."""
    return _by_tiles(*inputs, stop=lambda first_row, N: N, order=reversed)


RAGGED = CAUSAL_KERNEL.stage(
    probes=(_probe(11, 0.3), _probe(7, 1.1)), praise="The last tile may have fewer rows."
)


@RAGGED.mistake()
def nobody_knows_what_is_beyond(*inputs):
    """The last rows are NaN. Their tile of values goes beyond the end, and you load it with `mask`
    and without `other`: then nobody knows what is there. A weight of 0 does not help, since 0 times
    NaN is NaN: `other=0.0`."""
    return _by_tiles(*inputs, beyond=torch.nan)


DEAD_TILES = CAUSAL_KERNEL.stage(
    probes=(_with_values_unknown(_probe(7, 0.9)), _with_values_unknown(_probe(11, 0.2))),
    praise="No dead tile is visited.",
)


@DEAD_TILES.mistake()
def dead_tiles_visited(*inputs):
    """The numbers are right, and the dead tiles are still visited: where the values of later tiles
    are NaN, your first rows are, too. A weight of 0 is computed all the same. Let the loop end with
    the tile of the block's own rows."""
    return _by_tiles(*inputs, stop=lambda first_row, N: N)


HALF = CAUSAL_KERNEL.stage(
    probes=(_wide(7, torch.float16), _wide(11, torch.float16)),
    tolerance=NanAlike(relative=4e-3, absolute=2e-3),
    praise="It takes 16 bits.",
)


@HALF.mistake()
def two_dtypes_in_a_product(q, k, v):
    """Right in float32. Now q, k and v are float16, and `tl.dot` needs two factors of one dtype.
    One of yours is float32: q, if you multiply it by `scale` (multiply the scores, after the
    product), or p, which becomes `p.to(v.dtype)`."""
    wide = numpy_triton.full((4, 4), 1, numpy_triton.float32)
    return numpy_triton.dot(wide, wide.to(numpy_triton.float16))


CAUSAL_KERNEL.stage(
    watch=_on_triton,
    probes=(_wide(37, torch.float32), _wide(37, torch.float16)),
    tolerance=HALF.tolerance,
    praise="It is causal, it visits no dead tile, its maximum keeps large scores finite, and it "
    "takes 16 bits as well.",
)
