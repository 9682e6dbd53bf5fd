"""The part: a causal kernel in Triton's words.

An answer is launched on the stand-in for Triton, which says more than a GPU does, and judged by
what it stored: one tile, several, a last one that is not full; then whether it leaves out the dead
ones. That shows where the values of later tiles are NaN, since a weight of 0 times NaN is NaN. Then
inputs of 16 bits, and at last Triton itself, where it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.parts import PartsFile
from lectures.l08_flash_attention_tiling import numpy_triton
from lectures.l08_flash_attention_tiling.exercises.kernel_by_tiles import BLOCK, by_tiles, right
from lectures.l08_flash_attention_tiling.exercises.kernel_launch import launched, on_triton

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


def _with_one_high_score(probe: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Queries 0 and 3 of four score hundreds with key 2, and nothing else scores."""
    q, k = torch.zeros_like(probe["q"]), torch.zeros_like(probe["k"])
    q[0, 0] = q[3, 0] = 1.0
    k[2, 0] = 300.0
    return {**probe, "q": q, "k": k}


def _wide(N: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """N tokens, as wide as Triton's `dot` wants them."""
    waves = (torch.sin(torch.arange(16 * N) * step).reshape(N, 16) for step in (1.7, 2.3, 1.9))
    return {name: x.to(dtype) for name, x in zip("qkv", waves, strict=True)}


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The first row that is wrong, what was stored there, and what is right."""
    expected = right(**inputs)
    if not (isinstance(got, torch.Tensor) and got.shape == expected.shape):
        return {}
    wrong = ~torch.isclose(got.float(), expected, rtol=1e-4, atol=1e-5).all(dim=1)
    row = int(wrong.int().argmax())
    return {"row": row, "gave": float(got[row, 0]), "right": float(expected[row, 0])}


def _of_columns(scores, hidden):
    return hidden.amax(dim=0)[:, None]


_OFF = "Row {row} begins with {gave}, expected {right}. "

CAUSAL_KERNEL = Exercise(
    title="A causal kernel of your own",
    difficulty=3,
    minutes=25,
    function="causal_flash",
    reference=right,
    watch=launched,
    # One tile: here the end of the loop does not matter.
    probes=(
        _probe(BLOCK, 0.7),
        _probe(BLOCK, 0.3),
        _with_large_future(_probe(BLOCK, 1.3)),
        _with_one_high_score(_probe(BLOCK, 1.9)),
    ),
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
    return by_tiles(*inputs, may_attend=lambda keys, rows, N: keys < N)


@CAUSAL_KERNEL.mistake()
def not_itself(*inputs):
    """Row 0 is NaN: it may attend to no key at all, and −∞ − (−∞) is NaN. A query attends to its
    own key as well: `<=`, not `<`."""
    return by_tiles(*inputs, may_attend=lambda keys, rows, N: keys < rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def mask_upside_down(*inputs):
    """Your mask is upside down: row 0 may attend to key 0 alone. A key is hidden where its place is
    larger than the query's."""
    return by_tiles(*inputs, may_attend=lambda keys, rows, N: keys >= rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def the_other_two_of_where(*inputs):
    """You hide what may be seen. `tl.where(condition, a, b)` is a where the condition holds, so the
    scores come first and −∞ second."""
    return by_tiles(*inputs, may_attend=lambda keys, rows, N: keys > rows)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def hidden_scores_are_0(*inputs):
    """A hidden score is 0 here, and exp(0 − m) is no small weight. Only −∞ gives a weight of 0."""
    return by_tiles(*inputs, hide=lambda scores, mask: scores * mask)


@CAUSAL_KERNEL.mistake()
def maximum_of_hidden_scores(*inputs):
    """Right while scores are small. You take the maximum before you hide the later keys: where one
    of them scores hundreds more than the rest, exp(score − m) is 0 for all that may be seen, and
    0/0 is NaN. Hide first."""
    return by_tiles(*inputs, top=lambda scores, hidden: scores.amax(dim=1, keepdim=True))


@CAUSAL_KERNEL.mistake()
def maximum_of_columns(*inputs):
    """Right while scores are small. `tl.max(scores, axis=0)` is the largest score of each key; `m`
    is that of each query, a row: `axis=1`. Where a key scores hundreds more with another query,
    exp(score − m) is 0 for all that this one may see, and 0/0 is NaN."""
    return by_tiles(*inputs, top=_of_columns)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def sum_of_columns(*inputs):
    """Your sum is over the queries, `axis=0`. Each query, a row of `p`, has a sum of its own:
    `axis=1`."""
    return by_tiles(*inputs, total=lambda p: p.sum(dim=0)[:, None])


@CAUSAL_KERNEL.mistake(begins=_OFF)
def maximum_and_sum_of_columns(*inputs):
    """Your maximum and your sum are over the queries, `axis=0`. Each query, a row, has its own:
    `axis=1`."""
    return by_tiles(*inputs, top=_of_columns, total=lambda p: p.sum(dim=0)[:, None])


@CAUSAL_KERNEL.mistake(begins=_OFF)
def not_divided(*inputs):
    """You store `acc` as it is. The weights in it do not add up to 1 until it is divided by
    `l[:, None]`, once, after the loop."""
    return by_tiles(*inputs, finish=lambda acc, sums: acc)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def a_range_without_a_step(*inputs):
    """Your `range` has no step, so a tile begins at every key: the tiles overlap, and keys are
    counted several times. The third argument of `range` is the step, `BLOCK`."""
    return by_tiles(*inputs, order=lambda tiles: range(tiles.start, tiles.stop))


_VECTOR = f"`alpha` has shape ({BLOCK},), `acc` ({BLOCK}, 3): the last axes are lined up, {BLOCK} "
_VECTOR += "against 3. A factor belongs to a row, so make it a column: "


@CAUSAL_KERNEL.mistake(begins=_VECTOR)
def alpha_along_the_width(q, k, v):
    """`acc * alpha[:, None]`."""
    return np.zeros((BLOCK, 3)) * np.ones(BLOCK)


@CAUSAL_KERNEL.mistake(begins=_VECTOR)
def alpha_along_the_width_in_front(q, k, v):
    """`alpha[:, None] * acc`."""
    return np.ones(BLOCK) * np.zeros((BLOCK, 3))


@CAUSAL_KERNEL.mistake()
def no_maximum(*inputs):
    """Right while scores are small. Without a maximum exp of a score above 88.7 is infinite in
    float32, and the output is NaN."""
    return by_tiles(*inputs, top=lambda scores, hidden: torch.zeros(len(scores), 1))


@CAUSAL_KERNEL.mistake(begins=_OFF)
def scaled_twice(*inputs):
    """Your scores are too small by the root of D: they are scaled twice."""
    return by_tiles(*inputs, scale=lambda D: 1 / D)


@CAUSAL_KERNEL.mistake(begins=_OFF)
def not_scaled(*inputs):
    """Your scores are too large by the root of D: multiply them by `scale`."""
    return by_tiles(*inputs, scale=lambda D: 1)


@CAUSAL_KERNEL.mistake()
def the_diagonal_tile_left_out(*inputs):
    """Every row is NaN, which has two usual causes. Either the first program visits no tile, and
    `acc / l` is 0/0: the tile of a block's own rows is skipped too early. Or `alpha` is upside
    down: at first `m` is −∞, so exp(m_new − m) is infinite; `alpha` is exp(m − m_new)."""
    return by_tiles(*inputs, stop=lambda first_row, N: first_row)


TILES = CAUSAL_KERNEL.stage(
    probes=(_probe(12, 0.3), _probe(12, 1.1, size=60.0), _probe(12, 2.0, size=-60.0)),
    praise="Several tiles give the right rows.",
)


@TILES.mistake(begins=_OFF)
def acc_not_rescaled(*inputs):
    """`l` is rescaled when the maximum rises, and `acc` is not. Both were summed against the old
    maximum."""
    return by_tiles(*inputs, on_acc=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def l_not_rescaled(*inputs):
    """`acc` is rescaled when the maximum rises, and `l` is not. Both were summed against the old
    maximum."""
    return by_tiles(*inputs, on_l=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def nothing_rescaled(*inputs):
    """Neither `l` nor `acc` is rescaled when the maximum rises: multiply both by `alpha`, which is
    exp(m − m_new)."""
    return by_tiles(*inputs, on_l=lambda alpha: 1, on_acc=lambda alpha: 1)


@TILES.mistake(begins=_OFF)
def m_stays_minus_infinity(*inputs):
    """Only the last tile counts. `m` stays −∞, so `alpha` is 0 in every round and wipes out what
    came before: at the end of a round `m = m_new`."""
    return by_tiles(*inputs, next_m=lambda m, m_new: m)


@TILES.mistake(begins=_OFF)
def every_tile_compared_as_the_first(*inputs):
    """You compare `block`, which is 0 to BLOCK − 1 in every tile, with the rows. That is right in
    the first tile alone; the places of the others begin at `first`: `keys`."""
    return by_tiles(*inputs, may_attend=lambda keys, rows, N: keys % BLOCK <= rows)


@TILES.mistake()
def m_is_that_of_the_tile(*inputs):
    """Right while scores are small. Your maximum is that of the last tile alone; where an earlier
    one was larger by 100, `alpha` is exp(100) and infinite. The maximum never falls:
    `tl.maximum(m, …)`."""
    return by_tiles(*inputs, maximum=lambda m, tile: tile)


@TILES.mistake()
def a_hidden_tile_first(*inputs):
    """Rows are NaN, since their first tile is all hidden: its maximum is −∞, and −∞ − (−∞) is NaN.
    Begin with the tile of key 0, of which every query may see something, or guard the difference as
    section 2 does."""
    return by_tiles(*inputs, stop=lambda first_row, N: N, order=reversed)


RAGGED = CAUSAL_KERNEL.stage(
    probes=(_probe(11, 0.3), _probe(7, 1.1)), praise="The last tile may have fewer rows."
)


@RAGGED.mistake()
def nobody_knows_what_is_beyond(*inputs):
    """The last rows are NaN. Their tile of values goes beyond the end, and you load it with `mask`
    and without `other`: then nobody knows what is there. A weight of 0 does not help, since 0 times
    NaN is NaN: `other=0.0`."""
    return by_tiles(*inputs, beyond=torch.nan)


DEAD_TILES = CAUSAL_KERNEL.stage(
    probes=(_with_values_unknown(_probe(7, 0.9)), _with_values_unknown(_probe(11, 0.2))),
    praise="No dead tile is visited.",
)


@DEAD_TILES.mistake()
def dead_tiles_visited(*inputs):
    """The numbers are right, and the dead tiles are still visited: where the values of later tiles
    are NaN, your first rows are, too. A weight of 0 is computed all the same. Let the loop end with
    the tile of the block's own rows."""
    return by_tiles(*inputs, stop=lambda first_row, N: N)


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
    watch=on_triton,
    probes=(_wide(37, torch.float32), _wide(37, torch.float16)),
    tolerance=HALF.tolerance,
    praise="It is causal, it visits no dead tile, its maximum keeps large scores finite, and it "
    "takes 16 bits as well.",
)
