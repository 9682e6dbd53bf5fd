"""Lecture 08's exercises: their references against independent forms, and right answers."""

import itertools

import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels import merge_partial
from lectures.l08_flash_attention_tiling.exercises.causal_kernel import CAUSAL_KERNEL
from lectures.l08_flash_attention_tiling.exercises.merge import MERGE
from lectures.l08_flash_attention_tiling.exercises.missing_rescale import (
    AS_GIVEN,
    MISSING_RESCALE,
)
from lectures.l08_flash_attention_tiling.exercises.tiled_bytes import TILED_BYTES
from tests.teaching.support_exercises import defined, solution, stub

RISING, FALLING, _, HIGH_FALLING = MISSING_RESCALE.probes


def state_over(scores, v):
    """m, l and acc over some keys, summed in float64."""
    m = scores.amax(dim=1)
    p = (scores - m[:, None]).double().exp()
    return m, p.sum(dim=1).float(), (p @ v.double()).float()


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_merged_parts_give_the_softmax(order):
    scores, v = 3 * torch.randn(5, 11), torch.randn(11, 3)
    cuts = zip(scores.split([2, 7, 2], dim=1), v.split([2, 7, 2]), strict=True)
    parts = [state_over(*cut) for cut in cuts]
    first, second, third = (parts[i] for i in order)
    m, l, acc = MERGE.reference(*MERGE.reference(*first, *second), *third)
    assert torch.equal(m, scores.amax(dim=1))
    torch.testing.assert_close(acc / l[:, None], scores.softmax(dim=1) @ v)


@pytest.mark.parametrize("probe", MERGE.probes, ids=["plain", "empty", "large"])
def test_the_librarys_merge_agrees(probe):
    def finish(m, l, acc):
        return (acc / l[:, None]).nan_to_num(), m + l.log()

    m_a, l_a, acc_a, m_b, l_b, acc_b = probe.values()
    out, lse = finish(*MERGE.reference(*probe.values()))
    expected = merge_partial(*finish(m_a, l_a, acc_a), *finish(m_b, l_b, acc_b))
    torch.testing.assert_close((out, lse), expected)


def merge_by_stacking(*parts):
    m, l, acc = (torch.stack(pair) for pair in zip(parts[:3], parts[3:], strict=True))
    top = m.amax(dim=0)
    factor = (m - top).exp()
    return top, (factor * l).sum(dim=0), torch.einsum("pt,ptd->td", factor, acc)


def merge_in_place(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    l_a *= (m_a - m).exp()
    l_b *= (m_b - m).exp()
    acc_a *= (m_a - m).exp().unsqueeze(1)
    acc_b *= (m_b - m).exp().view(-1, 1)
    return [m, l_a + l_b, acc_a + acc_b]


@pytest.mark.parametrize("merge", [merge_by_stacking, merge_in_place])
def test_another_right_merge_passes(merge):
    assert MERGE.check(merge).passed


@pytest.mark.parametrize("name", ["m", "l", "acc"])
def test_a_merge_with_one_nan_does_not_pass(name):
    def merge(*parts):
        results = dict(zip(("m", "l", "acc"), merge_by_stacking(*parts), strict=True))
        results[name].view(-1)[0] = torch.nan
        return tuple(results.values())

    assert not MERGE.check(merge).passed


@pytest.mark.parametrize("block_n", [1, 3, 64])
def test_the_bytes_are_those_of_a_loop(block_n):
    def tiled_bytes(T, S, D, block_m, size):
        moved = 0
        for rows in torch.arange(T).split(block_m):
            moved += 2 * len(rows) * D * size + 4 * len(rows)
            for keys in torch.arange(S).split(block_n):
                moved += 2 * len(keys) * D * size
        return moved

    assert TILED_BYTES.check(tiled_bytes).passed
    assert not TILED_BYTES.check(lambda *sizes: tiled_bytes(*sizes) + 1).passed


def edited(*edits):
    """The published loop after replacing each text by another, once."""
    source = AS_GIVEN
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the loop once"
        source = source.replace(old, new)
    return defined(source, "online_attention")


def test_the_loop_is_the_published_cell():
    published = stub("08", "online_attention").source
    assert published.strip() == AS_GIVEN.strip()


@pytest.mark.parametrize(
    ("probe", "right"), [(RISING, False), (FALLING, True), (HIGH_FALLING, True)]
)
def test_the_loop_fails_where_a_maximum_rises(probe, right):
    q, k, v, block_n = probe.values()
    assert torch.allclose(edited()(q, k, v, block_n), attend(q, k, v)[0], atol=1e-5) is right


@pytest.mark.parametrize(
    "edits",
    [
        [("acc = acc +", "acc = alpha[:, None] * acc +")],
        [("acc = acc +", "acc *= alpha[:, None]\n        acc = acc +")],
        [("        p = torch", "        acc = acc * alpha.view(-1, 1)\n        p = torch")],
        [("acc = acc +", "acc = torch.diag(alpha) @ acc +")],
    ],
)
def test_another_way_to_fix_it_passes(edits):
    assert MISSING_RESCALE.check(edited(*edits)).passed


# A causal kernel

KERNEL = solution("08", "causal_flash")[0]
MASK = 'scores = nt.where(keys.T <= rows, scores, -float("inf"))'
RANGE = "(nt.program_id(0) + 1) * BLOCK, BLOCK)"


def judged(*edits):
    """What the check says of the published kernel after replacing each text by another."""
    source = KERNEL
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the kernel once"
        source = source.replace(old, new)
    return CAUSAL_KERNEL.check(defined(source, "causal_flash"))


def test_the_kernel_is_the_published_cell():
    published = stub("08", "causal_flash").source
    assert published.strip() == CAUSAL_KERNEL.as_given.strip()


@pytest.mark.parametrize(
    "edits",
    [
        [(RANGE, "nt.minimum(N, nt.program_id(0) * BLOCK + BLOCK), BLOCK)")],
        [("exp(m - m_new)", "exp2((m - m_new) * 1.4426950408889634)")],
        [("l = l * alpha + nt.sum(p, axis=1)", "l *= alpha\n        l += p.sum(axis=1)")],
        [(MASK, 'scores = scores + nt.where(keys.T > rows, -float("inf"), 0.0)')],
    ],
    ids=["minimum", "exp2", "in place", "added mask"],
)
def test_another_right_kernel_passes(edits):
    assert judged(*edits).passed


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([(MASK, ""), (RANGE, "N, BLOCK)")], "Nothing is hidden"),
        ([("keys.T <= rows", "keys <= rows")], "Nothing is hidden"),
        ([("keys.T <= rows", "keys.T < N"), (RANGE, "N, BLOCK)")], "attention to every key"),
        ([(MASK, "raw = scores\n        " + MASK), ("nt.max(scores", "nt.max(raw")], "Hide first"),
        ([('q, k.T, input_precision="ieee")', "q, k.T) * scale")], "scaled when it is loaded"),
        ([("@nt.jit\n", "")], "needs `@nt.jit` above it"),
        ([("(k_ptr + keys * D + d, mask=keys < N,", "(k_ptr + keys * D + d,")], "`mask` says"),
    ],
)  # fmt: skip
def test_a_students_kernel_hears_what_is_wrong(edits, says):
    verdict = judged(*edits)
    assert not verdict.passed and says in verdict.message
