"""Wrong answers to the exercises of lecture 08, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: the merges with other torch functions than
the exercise's own, the loops as edits of the published stub.
"""

import math

import torch
from support_exercises import defined


def merge_with(shrink, larger=torch.fmax):
    """The merge with other factors: `shrink(m of a part, common m)`."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = larger(m_a, m_b)
        parts = [(shrink(m_a, m), l_a, acc_a), (shrink(m_b, m), l_b, acc_b)]
        l = sum(factor * l for factor, l, _ in parts)
        return m, l, sum(factor.unsqueeze(1) * acc for factor, _, acc in parts)

    return merge


def shrunk(part, m):
    return (part - m).exp()


def same_size(part, m):
    return torch.ones(len(m))


def right_merge(*parts):
    return merge_with(shrunk)(*parts)


def other_sums(l_of=None, acc_of=None):
    """The right m and factors, and other sums: each takes two parts (factor, l, acc)."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m, l, acc = right_merge(m_a, l_a, acc_a, m_b, l_b, acc_b)
        parts = [(shrunk(m_a, m), l_a, acc_a), (shrunk(m_b, m), l_b, acc_b)]
        columns = [(f.view(-1, 1), l.view(-1, 1), acc) for f, l, acc in parts]
        return m, l if l_of is None else l_of(parts), acc if acc_of is None else acc_of(columns)

    return merge


def one_sided(left):
    """Only the left part, or only the right one, gets its factor."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = torch.fmax(m_a, m_b)
        if left:
            f = shrunk(m_a, m)
            return m, f * l_a + l_b, f.view(-1, 1) * acc_a + acc_b
        f = shrunk(m_b, m)
        return m, l_a + f * l_b, acc_a + f.view(-1, 1) * acc_b

    return merge


def swapped(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    f_a, f_b = shrunk(m_a, m), shrunk(m_b, m)
    return m, f_b * l_a + f_a * l_b, f_b.view(-1, 1) * acc_a + f_a.view(-1, 1) * acc_b


def finished(m_a, l_a, acc_a, m_b, l_b, acc_b):
    lse = torch.logaddexp(m_a + l_a.log(), m_b + l_b.log())
    out = (m_a - lse).exp().view(-1, 1) * acc_a + (m_b - lse).exp().view(-1, 1) * acc_b
    return lse, torch.ones(len(lse)), out


def pythons_max(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = max(m_a, m_b)
    return merge_with(shrunk, lambda *_: m)(m_a, l_a, acc_a, m_b, l_b, acc_b)


def factor_as_a_row(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    f_a, f_b = shrunk(m_a, m), shrunk(m_b, m)
    return m, f_a * l_a + f_b * l_b, f_a * acc_a + f_b * acc_b


def factor_as_a_row_on_the_right(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.fmax(m_a, m_b)
    acc_a *= shrunk(m_a, m)
    acc_b *= shrunk(m_b, m)
    return m, l_a * shrunk(m_a, m) + l_b * shrunk(m_b, m), acc_a + acc_b


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
    "factors upside down": (
        merge_with(lambda part, m: (m - part).exp()),
        "exp(m − m_a) is 21.28 in row 1",
    ),
    "factors swapped": (swapped, "Each part has the other's factor"),
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
    "only the output": (lambda *parts: finished(*parts)[2], "You return the finished output"),
    "results in another order": (
        lambda *parts: list(reversed(right_merge(*parts))),
        "in the other order",
    ),
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
    "lse in the format of q": (
        lambda T, S, D, M, size: count(lse=size)(T, S, D, M, size),
        "count the log-sum-exp at 2 bytes a number",
    ),
    "numbers, not bytes": (lambda T, S, D, M, size: count()(T, S, D, M, 1), "That counts numbers"),
    "bits": (lambda T, S, D, M, size: 8 * count()(T, S, D, M, size), "8 times the 640 bytes"),
    "no head width": (lambda T, S, D, M, size: count()(T, S, 1, M, size), "one number a row"),
}

# The cell as the lecture publishes it.
LOOP = '''
def online_attention(q, k, v, block_n):
    """Softmax attention, block_n keys at a time. One factor is missing."""
    m = torch.full((len(q),), -torch.inf)
    l, acc = torch.zeros(len(q)), torch.zeros(len(q), v.shape[1])
    for start in range(0, len(k), block_n):
        tile = slice(start, start + block_n)
        scores = q @ k[tile].T / q.shape[1] ** 0.5
        m_new = torch.maximum(m, scores.max(dim=1).values)
        alpha = torch.exp(m - m_new)
        p = torch.exp(scores - m_new[:, None])
        l = alpha * l + p.sum(dim=1)
        acc = acc + p @ v[tile]
        m = m_new
    return acc / l[:, None]
'''

MENDED = ("acc = acc +", "acc = alpha[:, None] * acc +")


def edited(*edits):
    """Return the published loop after replacing each text by another, once."""
    source = LOOP
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the loop once"
        source = source.replace(old, new)
    return defined(source, "online_attention")


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
