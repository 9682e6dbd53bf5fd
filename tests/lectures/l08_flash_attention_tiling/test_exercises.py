"""Lecture 08's exercises: their references against independent forms, and right answers."""

import itertools
import re

import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels import merge_partial
from course_utils.masks import causal_mask
from course_utils.teaching.parts import my_parts
from lectures import find_lecture
from lectures.l08_flash_attention_tiling.exercises.causal_kernel import CAUSAL_KERNEL
from lectures.l08_flash_attention_tiling.exercises.merge import MERGE
from lectures.l08_flash_attention_tiling.exercises.missing_rescale import (
    AS_GIVEN,
    MISSING_RESCALE,
)
from tests.teaching.support_exercises import cells_before, defined, solution, stub
from tests.teaching.support_reader import Reader, make_copies
from tools.notebook_file import lecture_file, read_cells
from tools.progress import parts as table

CELLS = {cell.id: cell.source for cell in read_cells(lecture_file("08")) if cell.kind == "code"}

RISING, FALLING, _, HIGH_FALLING, _ = MISSING_RESCALE.probes


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
    l_a, acc_a, l_b, acc_b = (part.clone() for part in (l_a, acc_a, l_b, acc_b))
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


def edited(*edits):
    """The published loop after replacing each text by another, once."""
    source = AS_GIVEN
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the loop once"
        source = source.replace(old, new)
    return defined("08", source, "online_attention")


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
MASK = 'scores = tl.where(keys.T <= rows, scores, -float("inf"))'
RANGE = "(tl.program_id(0) + 1) * BLOCK, BLOCK)"
V = "v = tl.load(v_ptr + keys * D + d, mask=keys < N, other=0.0)"


def judged(*edits):
    """What the check says of the published kernel after replacing each text by another."""
    return CAUSAL_KERNEL.check(defined("08", edited_kernel(*edits), "causal_flash"))


def edited_kernel(*edits):
    source = KERNEL
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} is not in the kernel once"
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edits",
    [
        [(RANGE, "tl.minimum(N, tl.program_id(0) * BLOCK + BLOCK), BLOCK)")],
        [("exp(m - m_new)", "exp2((m - m_new) * 1.4426950408889634)")],
        [("l = l * alpha + tl.sum(p, axis=1)", "l *= alpha\n        l += tl.sum(p, axis=1)")],
        [(MASK, 'scores = scores + tl.where(keys.T > rows, -float("inf"), 0.0)')],
        [("tl.dot(p.to(v.dtype), v", "tl.dot(p, v.to(tl.float32)")],
        [(V, V.replace("mask=keys < N, ", "mask=keys <= N - 1, "))],
    ],
    ids=["minimum", "exp2", "in place", "added mask", "wide values", "another mask"],
)
def test_another_right_kernel_passes(edits):
    verdict = judged(*edits)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([(MASK, ""), (RANGE, "N, BLOCK)")], "attention to every key"),
        ([("keys.T <= rows", "keys <= rows")], "attention to every key"),
        ([("keys.T <= rows", "keys.T < N"), (RANGE, "N, BLOCK)")], "attention to every key"),
        ([("keys.T <= rows", "keys.T < rows")], "−∞ − (−∞) is NaN"),
        ([(MASK, "raw = scores\n        " + MASK), ("tl.max(scores", "tl.max(raw")], "Hide first"),
        ([(RANGE, "tl.program_id(0) * BLOCK, BLOCK)")], "skipped too early"),
        ([(RANGE, "N, BLOCK)")], "dead tiles are still visited"),
        ([("l * alpha", "l")], "`l` is not"),
        ([("acc * alpha[:, None]", "acc")], "`acc` is not"),
        ([("        m = m_new\n", "")], "Only the last tile counts"),
        ([("tl.max(scores, axis=1)", "tl.max(scores, axis=0)")], "the largest score of each key"),
        ([("exp(m - m_new)", "exp(m_new - m)")], "`alpha` is upside down"),
        ([("acc * alpha[:, None]", "acc * alpha")], "`acc * alpha[:, None]`"),
        ([(RANGE, RANGE.replace(", BLOCK", ""))], "Your `range` has no step"),
        ([("tl.store(out_ptr", "tl.store(q_ptr")], "nothing was stored"),
        ([(".to(v.dtype)", "")], "needs two factors of one dtype"),
        ([("scores = tl.dot(q, k", "scores = tl.dot(q * scale, k"), ('ieee") * scale', 'ieee")')],
         "needs two factors of one dtype"),
        ([(V, V.replace(", other=0.0", ""))], "nobody knows what is there"),
        ([(V, "v = tl.load(v_ptr + keys * D + d)")], "`mask` says"),
        ([("acc / l[:, None], mask=rows < N)", "acc / l[:, None])")], "`mask` says"),
        ([("@triton.jit\n", "")], "needs `@triton.jit` above it"),
    ],
)  # fmt: skip
def test_a_students_kernel_hears_what_is_wrong(edits, says):
    verdict = judged(*edits)
    assert not verdict.passed and says in verdict.message


def test_torchs_own_attention_is_no_kernel():
    def causal_flash(q, k, v):
        return attend(q, k, v, may_attend=causal_mask(len(q)))[0]

    assert "asks for a kernel" in CAUSAL_KERNEL.judge(causal_flash).message


def test_what_only_triton_finds_is_said():
    """The stand-in has no rule for the size of a block."""
    pytest.importorskip("triton")
    verdict = judged(("tl.zeros((BLOCK,), tl.float32)", "tl.zeros((BLOCK + 0 * N,), tl.float32)"))
    assert not verdict.passed and "RuntimeError" in verdict.message


@pytest.fixture
def reader(tmp_path, monkeypatch):
    monkeypatch.chdir(make_copies(tmp_path / "my_course"))
    reader = Reader(tmp_path / "my_course", find_lecture("08").module("exercises"))
    (steps_import,) = cells_before("08", "causal_flash")
    reader.run(steps_import)
    return reader


CHECK = "exercises.check_causal_flash(causal_flash)"


def test_a_kernel_is_kept_in_a_file_of_its_own_and_runs_from_there(reader, tmp_path):
    reader.run(KERNEL)
    assert reader.run(CHECK).message.endswith("Kept as `causal_flash` in my_kernels.py.")
    assert not (tmp_path / "my_course" / "my_gpt.py").exists()
    kernel = my_parts(tmp_path / "my_course", "my_kernels.py")["causal_flash"]
    q, k, v = torch.randn(3, 53, 32)
    expected = attend(q, k, v, may_attend=causal_mask(53))[0]
    for dtype, off in ((torch.float32, 1e-5), (torch.float16, 4e-3)):
        out = torch.full((53, 32), torch.nan, dtype=dtype)
        kernel[(4,)](q.to(dtype), k.to(dtype), v.to(dtype), out, 53, 32**-0.5, D=32, BLOCK=16)
        torch.testing.assert_close(out.float(), expected, atol=off, rtol=off)


def test_a_kernel_brings_those_that_it_calls(reader, tmp_path):
    reader.run(CELLS["steps-flash-run"].split("\n\n\n")[0])  # take_tile
    body, tile = KERNEL.split("        m_new = tl.maximum")
    after = tile[tile.index("    tl.store(") :]
    reader.run(f"{body}        m, l, acc = take_tile(m, l, acc, scores, v)\n{after}")
    assert reader.run(CHECK).message.endswith("in my_kernels.py, with `take_tile`.")
    assert "def take_tile" in (tmp_path / "my_course" / "my_kernels.py").read_text("utf-8")


def test_the_table_of_parts_has_the_kernel(reader, tmp_path, capsys):
    reader.run(KERNEL)
    reader.run(CHECK)
    assert table.main([str(tmp_path / "my_course")]) == 0
    assert "causal_flash   lecture 08   yours" in capsys.readouterr().out


WORD = re.compile(r"\btl\.\w+|\.to\(|\.T\b|\[:, None\]|\[None, :\]|input_precision|other=|mask=")


def test_each_word_of_the_kernel_was_shown_in_a_step_before_it():
    names = [*CELLS]
    before = "\n".join(CELLS[name] for name in names[: names.index("ex-2-stub")])
    assert {*WORD.findall(KERNEL)} <= {*WORD.findall(before)}
