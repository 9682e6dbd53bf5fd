"""Wrong answers to the exercises of lecture 08, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: the merges with other torch functions than
the exercise's own (``support_merges_08``), the loops as edits of the published stub
(``support_loops_08``).
"""

import math

import torch

from tests.lectures.l08_flash_attention_tiling.support_loops_08 import MENDED, edited
from tests.lectures.l08_flash_attention_tiling.support_merges_08 import (
    against_each_other,
    factor_as_a_row,
    factor_as_a_row_on_the_right,
    finished,
    merge_with,
    one_maximum,
    one_sided,
    other_sums,
    pythons_max,
    reordered,
    right_merge,
    same_size,
    section_7,
    shrunk,
    swapped,
)

WRONG_MERGE = {
    "nothing rescaled": (merge_with(same_size), "You add `l` and `acc` as they are"),
    "acc not rescaled": (
        other_sums(acc_of=lambda parts: sum(acc for _, _, acc in parts)),
        "in row 1 that is 0.047 for `acc_a`",
    ),
    "l not rescaled": (
        other_sums(l_of=lambda parts: sum(l for _, l, _ in parts)),
        "in row 1 that is 0.047 for `l_a`",
    ),
    "only the first part rescaled": (one_sided(left=True), "part b needs exp(m_b − m) = 0.3676"),
    "only the second part rescaled": (one_sided(left=False), "part a that needs exp(m_a − m) ="),
    "maxima added": (merge_with(shrunk, torch.add), "the sum of both maxima, 0.9382 in row 1"),
    "the smaller maximum": (merge_with(shrunk, torch.fmin), "the smaller of both maxima"),
    "keeps the first maximum": (
        merge_with(shrunk, lambda m_a, m_b: m_a.clone()),
        "always m_a. In row 1 the larger one is m_b = 1.998",
    ),
    "takes the second maximum": (
        merge_with(shrunk, lambda m_a, m_b: m_b.clone()),
        "always m_b. In row 4 the larger one is m_a = 1.944",
    ),
    "maxima merged as lse": (
        merge_with(shrunk, lambda m_a, m_b: (m_a.double().exp() + m_b.double().exp()).log()),
        "how two log-sum-exps merge. These are maxima",
    ),
    "one maximum for all rows": (one_maximum, "Your m is one number, 1.998"),
    "factors upside down": (
        merge_with(lambda part, m: (m - part).exp()),
        "exp(m − m_a) is 21.28 in row 1",
    ),
    "factors swapped": (swapped, "Each part has the other's factor"),
    "a against b": (
        against_each_other(on_a=True, on_b=False),
        "In row 4 m_a = 1.944 is larger, and the factor grows to 2.72",
    ),
    "b against a": (
        against_each_other(on_a=False, on_b=True),
        "In row 1 m_b = 1.998 is larger, and the factor grows to 21.28",
    ),
    "each against the other": (
        against_each_other(on_a=True, on_b=True),
        "exp(m_a − m_b) for a and exp(m_b − m_a) for b",
    ),
    "powers of two": (merge_with(lambda part, m: 2 ** (part - m)), "powers of 2"),
    "nothing subtracted": (merge_with(lambda part, m: part.exp()), "against no maximum at all"),
    "averages the outputs": (
        other_sums(acc_of=lambda parts: sum(0.5 * acc / l for _, l, acc in parts)),
        "the mean of the two outputs",
    ),
    "divides by l already": (
        lambda *parts: (*right_merge(*parts)[:2], finished(*parts)[2]),
        "`acc` is divided by `l` already",
    ),
    "takes acc for an output": (
        other_sums(acc_of=lambda parts: sum(f * l * acc for f, l, acc in parts)),
        "`acc` is weighted by `l` as well",
    ),
    "through the finished outputs": (
        other_sums(acc_of=lambda parts: sum(acc / l * f * l for f, l, acc in parts)),
        "In row 1 part a saw none",
    ),
    "a finished softmax": (finished, "the log-sum-exp as `m`, 1 as `l`"),
    "merged by lse": (section_7(torch.logaddexp), "where a part saw no key, `acc/l` is 0/0"),
    "merged by lse without a maximum": (
        section_7(lambda a, b: (a.exp() + b.exp()).log()),
        "on large scores its exponentials overflow",
    ),
    "only the output": (lambda *parts: finished(*parts)[2], "You return the finished output"),
    "returns m, acc, l": (reordered([0, 2, 1]), "you return `m, acc, l`"),
    "returns l, m, acc": (reordered([1, 0, 2]), "you return `l, m, acc`"),
    "returns l, acc, m": (reordered([1, 2, 0]), "you return `l, acc, m`"),
    "returns acc, m, l": (reordered([2, 0, 1]), "you return `acc, m, l`"),
    "returns acc, l, m": (reordered([2, 1, 0]), "you return `acc, l, m`"),
    "one comparison for all rows": (pythons_max, "you compare 5 rows at once"),
    "factor along the width": (factor_as_a_row, "`factor[:, None] * acc_a`"),
    "factor along the width, on the right": (
        factor_as_a_row_on_the_right,
        "`acc_a * factor[:, None]`",
    ),
}


def count(q=1, kv=2, out=1, lse=4, passes=None):
    """Bytes with one thing counted otherwise: `passes(T, S, M)` is how often k and v are read."""

    def tiled_bytes(T, S, D, M, size):
        times = -(-T // M) if passes is None else passes(T, S, M)
        return T * (lse + size * D * (q + out)) + size * D * S * kv * times

    return tiled_bytes


def keys_in_the_outer_loop(T, S, D, M, size):
    total = 4 * T
    for _ in range(0, S, M):
        total += 2 * T * D * size
    return total + 2 * S * D * size


def everything_in_every_block(T, S, D, M, size):
    return 4 * T + sum(size * D * (T + S + S + T) for _ in range(0, T, M))


def whole_blocks_of_rows(T, S, D, M, size):
    return 4 * T + sum(size * D * (M + S + S + M) for _ in range(0, T, M))


WRONG_TILED_BYTES = {
    "the whole-matrix form": (
        lambda T, S, D, M, size: 2 * size * (T * D + S * D + 2 * T * S),
        "you gave 832: the count of the whole-matrix form",
    ),
    "k and v read once": (count(passes=lambda T, S, M: 1), "4 times 66 bytes for k and for v"),
    "k and v for every query": (count(passes=lambda T, S, M: T), "for each of 7 queries"),
    "k and v block_m times": (
        count(passes=lambda T, S, M: M),
        "reads k and v block_m times: 2. block_m is the size",
    ),
    "rounded down": (count(passes=lambda T, S, M: T // M), "you gave 508: 3 whole blocks"),
    "not rounded": (count(passes=lambda T, S, M: T / M), "with 3.5 blocks"),
    "always one block more": (
        count(passes=lambda T, S, M: 1 + T // M),
        "Where block_m divides T, as here",
    ),
    "blocks of keys": (
        count(passes=lambda T, S, M: math.ceil(S / M)),
        "divided the 11 keys into 6 blocks",
    ),
    "loops the other way round": (keys_in_the_outer_loop, "moves q and out for each of 6 blocks"),
    "q and out with every block": (everything_in_every_block, "moves all of q and out"),
    "whole last block": (whole_blocks_of_rows, "counts 8 rows of q and out"),
    "q or out missing": (count(q=0), "q is read and out is written, 42 bytes each"),
    "k alone": (count(kv=1), "reads one of k and v"),
    "no lse": (count(lse=0), "you gave 612, which is 28 too few"),
    "one lse": (lambda T, S, D, M, size: count(lse=0)(T, S, D, M, size) + 4, "one number"),
    "one lse for each block": (
        lambda T, S, D, M, size: count(lse=0)(T, S, D, M, size) + 4 * len(range(0, T, M)),
        "one log-sum-exp for each of 4 blocks",
    ),
    "every lse with each block": (
        lambda T, S, D, M, size: count(lse=0)(T, S, D, M, size) + 4 * T * len(range(0, T, M)),
        "all of the log-sum-exp for each of 4 blocks",
    ),
    "lse in the format of q": (
        lambda T, S, D, M, size: count(lse=size)(T, S, D, M, size),
        "count the log-sum-exp at 2 bytes a number",
    ),
    "numbers, not bytes": (lambda T, S, D, M, size: count()(T, S, D, M, 1), "That counts numbers"),
    "bits": (lambda T, S, D, M, size: 8 * count()(T, S, D, M, size), "8 times the 640 bytes"),
    "no head width": (lambda T, S, D, M, size: count()(T, S, 1, M, size), "one number a row"),
}

WRONG_LOOP = {
    "acc not rescaled": (
        edited(("acc = acc +", "acc * alpha[:, None]\n        acc = acc +")),
        "`l` shrinks it by 0.01969, and `acc` still does not",
    ),
    "l not rescaled": (edited(MENDED, ("alpha * l", "l")), "`acc` is rescaled now, and `l` is not"),
    "nothing rescaled": (
        edited(
            MENDED,
            ("        m = m_new\n", ""),
            ("        alpha =", "        m = m_new\n        alpha ="),
        ),
        "Neither `l` nor `acc` is rescaled",
    ),
    "l rescaled twice": (
        edited(("        l = alpha", "        l = l * alpha\n        l = alpha")),
        "You rescale `l` a second time",
    ),
    "acc rescaled twice": (
        edited(("acc = acc +", "acc *= alpha[:, None]\n        acc = alpha[:, None] * acc +")),
        "`acc` is multiplied by `alpha` twice",
    ),
    "factor upside down": (
        edited(("acc = acc +", "acc = torch.exp(m_new - m)[:, None] * acc +")),
        "Every output is NaN",
    ),
    "rescaled after adding": (
        edited(("acc + p @ v[tile]", "(acc + p @ v[tile]) * alpha[:, None]")),
        "You add the new tile first and rescale then",
    ),
    "the new tile rescaled": (
        edited(("acc + p @ v[tile]", "acc + alpha[:, None] * (p @ v[tile])")),
        "You multiply the new tile by `alpha`",
    ),
    "p rescaled": (
        edited(("scores - m_new[:, None])", "scores - m_new[:, None]) * alpha[:, None]")),
        "`p` was made with `m_new`, so nothing is left to correct in it",
    ),
    "p rescaled instead of both sums": (
        edited(
            ("alpha * l + p", "l + p"),
            ("        l =", "        p *= alpha.unsqueeze(1)\n        l ="),
        ),
        "instead of the old `l` and `acc`: the wrong way round",
    ),
    "everything rescaled": (
        edited(
            ("alpha * l + p.sum(dim=1)", "(l + p.sum(dim=1)) * alpha"),
            ("acc + p @ v[tile]", "(acc + p @ v[tile]) * alpha[:, None]"),
        ),
        "the old sums and the new tile alike",
    ),
    "the tile not added": (
        edited(("acc + p @ v[tile]", "acc * alpha[:, None]")),
        "Every output is 0",
    ),
    "the last tile alone": (
        edited(MENDED, ("        m = m_new\n", "")),
        "attention over the last tile alone",
    ),
    "not divided by l": (
        edited(MENDED, (" / l[:, None]", "")),
        "the division by `l` after the loop",
    ),
    "divided in every tile": (
        edited(
            MENDED,
            (" / l[:, None]", ""),
            ("        m = m_new\n", "        m = m_new\n        acc = acc / l[:, None]\n"),
        ),
        "so the first tile is divided three times",
    ),
    "each tile divided, acc not rescaled": (
        edited((" @ v[tile]", " @ v[tile] / l[:, None]")),
        "The missing factor is no division",
    ),
    "each tile divided, and again at the end": (
        edited(MENDED, (" @ v[tile]", " @ v[tile] / l[:, None]")),
        "and everything again after it",
    ),
    "each tile divided by the l so far": (
        edited(MENDED, (" @ v[tile]", " @ v[tile] / l[:, None]"), ("acc / l[:, None]\n", "acc\n")),
        "divided by the `l` of its time",
    ),
    "each tile divided by the l so far, acc not rescaled": (
        edited(
            (" @ v[tile]", " @ v[tile] / l[:, None]"), ("return acc / l[:, None]", "return acc")
        ),
        "You moved the division by `l` into the loop",
    ),
    "each tile's own maximum": (
        edited(MENDED, ("torch.maximum(m, scores.max(dim=1).values)", "scores.max(dim=1).values")),
        "`m_new` is the tile's own maximum",
    ),
    "no maximum": (
        edited(MENDED, ("torch.maximum(m, scores.max(dim=1).values)", "torch.zeros(len(q))")),
        "You subtract no maximum",
    ),
    "factor along the width": (
        edited(("acc = acc +", "acc = alpha * acc +")),
        "`alpha[:, None] * acc`",
    ),
    "factor along the width, on the right": (
        edited(("acc = acc +", "acc = acc * alpha +")),
        "`acc * alpha[:, None]`",
    ),
}
