"""Exercise 4: the loop of a causal kernel, in Triton's words.

An answer is launched on the stand-in for Triton, and judged by what it stored. That it visits no
dead tile shows where the values of later tiles are NaN: a weight of 0 times NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from course_utils.attention import attend
from course_utils.kernels.numpy_triton import Kernel
from course_utils.lectures.l08_flash_attention_tiling.exercises.to_mend import ToMend
from course_utils.masks import causal_mask
from course_utils.teaching.exercise import Mistake
from course_utils.teaching.outcomes import NanAlike

__all__ = ["AS_GIVEN", "CAUSAL_KERNEL"]

BLOCK = 4

AS_GIVEN = '''\
from course_utils.kernels import numpy_triton as tl  # Triton's words, in NumPy


@tl.jit
def causal_flash(q_ptr, k_ptr, v_ptr, out_ptr, N, D, BLOCK):
    block, d = tl.arange(0, BLOCK)[:, None], tl.arange(0, D)[None, :]
    rows = tl.program_id(0) * BLOCK + block  # (BLOCK, 1): the queries of this program
    q = tl.load(q_ptr + rows * D + d, mask=rows < N) / D**0.5
    m, l = tl.full((BLOCK,), -float("inf"), tl.float32), tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for first in range(0, N, BLOCK):
        keys = first + block  # (BLOCK, 1): the keys of this tile
        ...
    tl.store(out_ptr + rows * D + d, acc / l[:, None], mask=rows < N)
'''


def _launched(answer: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as a function of q, k and v that returns the first rows of what it stored."""
    if not isinstance(answer, Kernel):
        return answer

    def run(q, k, v, rows):
        out = torch.full_like(q, torch.nan)
        with np.errstate(all="ignore"):  # NaN and infinity are diagnosed, not warned about
            answer[(-(-len(q) // BLOCK),)](q, k, v, out, len(q), q.shape[1], BLOCK)
        return out[:rows]

    return run


def _by_tiles(
    *,
    may_attend=lambda keys, rows: keys <= rows,
    hidden=-torch.inf,
    stop=lambda first_row, N: first_row + BLOCK,
    on_acc=lambda alpha: alpha,
    maximum=torch.maximum,
):
    """The loop but for what is given: the mask, what a hidden score is, where the loop ends."""

    def run(q, k, v, rows):
        N, D = q.shape
        out = torch.empty_like(q)
        for first_row in range(0, N, BLOCK):
            these = torch.arange(first_row, min(first_row + BLOCK, N))[:, None]
            m = torch.full((len(these), 1), -torch.inf)
            l = torch.zeros_like(m)  # noqa: E741
            acc = torch.zeros(len(these), D)
            for first in range(0, min(stop(first_row, N), N), BLOCK):
                keys = torch.arange(first, min(first + BLOCK, N))
                scores = q[these[:, 0]] @ k[keys].T / D**0.5
                scores = torch.where(may_attend(keys, these), scores, hidden)
                m_new = maximum(m, scores.amax(dim=1, keepdim=True))
                alpha, p = torch.exp(m - m_new), torch.exp(scores - m_new)
                l = alpha * l + p.sum(dim=1, keepdim=True)  # noqa: E741
                acc = on_acc(alpha) * acc + p @ v[keys]
                m = m_new
            out[these[:, 0]] = acc / l
        return out[:rows]

    return run


def _probe(N: int, phase: float, *, size: float = 1.0, poisoned: bool = False) -> Mapping[str, Any]:
    """N tokens of width 3 whose scores rise with the key's place; `rows` of the output count."""
    q = size * (1 + 0.3 * torch.sin(torch.arange(3 * N) * 1.7 + phase).reshape(N, 3))
    k = torch.linspace(-1, 1, N)[:, None] + torch.sin(torch.arange(3 * N) * 2.3).reshape(N, 3)
    v = torch.cos(torch.arange(3 * N) * 1.9 + phase).reshape(N, 3)
    if poisoned:
        v[BLOCK:] = torch.nan
    return {"q": q, "k": k, "v": v, "rows": BLOCK if poisoned else N}


def _right(q, k, v, rows):
    return attend(q[:rows], k[:rows], v[:rows], may_attend=causal_mask(rows))[0]


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The first row that is wrong, what was stored there, and what is right."""
    right = _right(**inputs)
    if not (isinstance(got, torch.Tensor) and got.shape == right.shape):
        return {}
    wrong = ~torch.isclose(got, right, rtol=1e-4, atol=1e-5).all(dim=1)
    row = int(wrong.int().argmax())
    return {"row": row, "gave": float(got[row, 0]), "right": float(right[row, 0])}


_OFF = "Row {row} begins with {gave}, expected {right}. "

CAUSAL_KERNEL = ToMend(
    title="A causal kernel of your own",
    difficulty=3,
    minutes=20,
    function="causal_flash",
    as_given=AS_GIVEN,
    untouched="The kernel is untouched: replace the `...` by the loop, run its cell, then this "
    "one. As it stands, `acc / l` is 0/0.",
    reference=_right,
    watch=_launched,
    probes=(
        _probe(11, 0.3),
        _probe(7, 0.9, poisoned=True),
        # exp of the largest of these scores does not fit in float32; here they rise, there fall.
        _probe(11, 1.1, size=60.0),
        _probe(11, 2.0, size=-60.0),
    ),
    parts=("out",),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="It is causal, it visits no dead tile, and no score is too large for it. With "
    "`tl.constexpr` sizes and several heads this is what runs on a GPU.",
    mistakes=(
        Mistake(
            "not causal",
            _by_tiles(may_attend=lambda keys, rows: keys >= 0, stop=lambda first_row, N: N),
            _OFF + "Your loop is right for attention to every key. Here a key that comes after "
            "its query gets the score −∞ before the maximum is taken: compare `keys.T` with "
            "`rows`.",
        ),
        Mistake(
            "no mask on the diagonal",
            _by_tiles(may_attend=lambda keys, rows: keys >= 0),
            _OFF + "The loop ends in time, and nothing is hidden in its last tile. There some keys "
            "come after some queries: give those scores −∞ before the maximum is taken.",
        ),
        Mistake(
            "dead tiles visited",
            _by_tiles(stop=lambda first_row, N: N),
            "The numbers are right, and the dead tiles are still visited: where the values of "
            "later tiles are NaN, your first rows are, too. A weight of 0 is computed all the "
            "same. Let the loop end with the tile of the block's own rows.",
        ),
        Mistake(
            "the diagonal tile left out",
            _by_tiles(stop=lambda first_row, N: first_row),
            "Row 0 is NaN: its program visits no tile, and `acc / l` is 0/0. The loop ends one "
            "tile early; the tile of the block's own rows belongs to it.",
        ),
        Mistake(
            "not itself",
            _by_tiles(may_attend=lambda keys, rows: keys < rows),
            "Row 0 is NaN: it may attend to no key at all, and −∞ − (−∞) is NaN. A query attends "
            "to its own key as well: `<=`, not `<`.",
        ),
        Mistake(
            "mask upside down",
            _by_tiles(may_attend=lambda keys, rows: keys >= rows),
            _OFF + "Your mask is upside down: row 0 may attend to key 0 alone. A key is hidden "
            "where its place is larger than the query's.",
        ),
        Mistake(
            "hidden scores are 0",
            _by_tiles(hidden=0.0),
            _OFF + "A hidden score is 0 here, and exp(0 − m) is no small weight. Only −∞ gives "
            "a weight of 0.",
        ),
        Mistake(
            "acc not rescaled",
            _by_tiles(on_acc=lambda alpha: 1),
            _OFF + "`l` is rescaled when the maximum rises, and `acc` is not. Both were summed "
            "against the old maximum.",
        ),
        Mistake(
            "m is that of the tile",
            _by_tiles(maximum=lambda m, tile: tile),
            "Right while scores are small. Your maximum is that of the last tile alone; where an "
            "earlier one was larger by 100, `alpha` is exp(100) and infinite. The maximum never "
            "falls: `tl.maximum(m, …)`.",
        ),
        Mistake(
            "no maximum",
            _by_tiles(maximum=lambda m, tile: torch.zeros_like(tile)),
            "Right while scores are small. Without a maximum exp of a score above 88.7 is "
            "infinite in float32, and the output is NaN.",
        ),
    ),
)
