"""Lecture 08's exercises: their references against measurements, and what only they have."""

import itertools

import pytest
import torch

from course_utils.attention import attend
from course_utils.kernels import merge_partial
from course_utils.lectures.l08_flash_attention_tiling.exercises.merge import MERGE, check_merge
from course_utils.lectures.l08_flash_attention_tiling.exercises.missing_rescale import (
    AS_GIVEN,
    MISSING_RESCALE,
    check_missing_rescale,
)
from course_utils.lectures.l08_flash_attention_tiling.exercises.tiled_bytes import (
    TILED_BYTES,
    check_tiled_bytes,
)
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import tiled_forward
from tests.lectures.l08_flash_attention_tiling.support_loops_08 import LOOP, MENDED, edited
from tests.lectures.l08_flash_attention_tiling.support_merges_08 import (
    outputs_in_the_running_state,
    right_merge,
)
from tests.teaching.support_exercises import NOTEBOOKS, defined, stub_source

RISING, FALLING, HIGH_RISING, HIGH_FALLING = MISSING_RESCALE.probes


def state_over(scores, v):
    """m, l and acc over some keys, summed in float64."""
    m = scores.amax(dim=1)
    p = (scores - m[:, None]).double().exp()
    return m, p.sum(dim=1).float(), (p @ v.double()).float()


class TestMerge:
    @pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
    def test_three_parts_give_the_softmax_in_every_order(self, order):
        scores, v = 3 * torch.randn(5, 11), torch.randn(11, 3)
        cuts = zip(scores.split([2, 7, 2], dim=1), v.split([2, 7, 2]), strict=True)
        parts = [state_over(*cut) for cut in cuts]
        first, second, third = (parts[i] for i in order)
        m, l, acc = MERGE.reference(*MERGE.reference(*first, *second), *third)
        assert torch.equal(m, scores.amax(dim=1))
        torch.testing.assert_close(acc / l[:, None], scores.softmax(dim=1) @ v)

    @pytest.mark.parametrize("probe", MERGE.probes, ids=["plain", "empty", "large"])
    def test_it_agrees_with_the_librarys_merge_of_finished_parts(self, probe):
        def finish(m, l, acc):
            return (acc / l[:, None]).nan_to_num(), m + l.log()

        m_a, l_a, acc_a, m_b, l_b, acc_b = probe.values()
        out, lse = finish(*MERGE.reference(*probe.values()))
        expected = merge_partial(*finish(m_a, l_a, acc_a), *finish(m_b, l_b, acc_b))
        torch.testing.assert_close((out, lse), expected)

    def test_the_probes_hold_what_they_are_for(self):
        plain, empty, large = MERGE.probes
        assert (plain["m_a"] < plain["m_b"]).any() and (plain["m_a"] > plain["m_b"]).any()
        nothing = [empty[name] == -torch.inf for name in ("m_a", "m_b")]
        assert nothing[0].any() and nothing[1].any()
        assert not any((p["m_a"] == p["m_b"]).any() for p in MERGE.probes)
        assert torch.exp(large["m_b"]).isinf().all()

    @pytest.mark.parametrize("name", ["m", "l", "acc"])
    def test_one_nan_does_not_pass(self, name):
        def merge(*parts):
            results = dict(zip(("m", "l", "acc"), right_merge(*parts), strict=True))
            results[name].view(-1)[0] = torch.nan
            return tuple(results.values())

        verdict = check_merge(merge)
        assert not verdict.passed
        assert f"`{name}` is NaN" in verdict.message

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (lambda *parts: (parts[0], parts[1], parts[2]), "Your m is always m_a"),
            (lambda *parts: (parts[3], parts[4], parts[5]), "Your m is always m_b"),
            (
                lambda *parts: (torch.where(parts[0] > parts[3], parts[0], parts[3]),),
                "3 results, `m`, `l`, `acc`; you gave a tuple of 1",
            ),
            (
                lambda *parts: parts[:3] if parts[0] > parts[3] else parts[3:],
                "you compare 5 rows at once",
            ),
            (outputs_in_the_running_state, "You merge finished outputs by their lse"),
        ],
        ids=["first part alone", "second part alone", "only m", "if", "m, l and the output"],
    )
    def test_other_roads_to_a_mistake(self, answer, quoted):
        assert quoted in check_merge(answer).message


class TestTiledBytes:
    @pytest.mark.parametrize("probe", TILED_BYTES.probes[:3])
    @pytest.mark.parametrize("block_n", [1, 3, 64])
    def test_it_is_what_a_loop_over_tiles_reads_and_writes(self, probe, block_n):
        T, S, D, block_m, size = probe.values()
        dtype = {1: torch.int8, 2: torch.float16, 4: torch.float32}[size]
        q, k, v = (torch.zeros(length, D, dtype=dtype) for length in (T, S, S))
        lse, moved = torch.zeros(T), 0
        for rows in range(0, T, block_m):
            rows = slice(rows, rows + block_m)
            moved += q[rows].nbytes
            for keys in range(0, S, block_n):
                keys = slice(keys, keys + block_n)
                moved += k[keys].nbytes + v[keys].nbytes
            moved += torch.zeros_like(q[rows]).nbytes + lse[rows].nbytes
        assert TILED_BYTES.reference(**probe) == moved

    @pytest.mark.parametrize("probe", TILED_BYTES.probes)
    @pytest.mark.parametrize("block_n", [1, 7, 128])
    def test_the_library_counts_the_same_for_every_tile_of_keys(self, probe, block_n):
        T, S, D, block_m, size = probe.values()
        cost = tiled_forward(T, S, D, block_m=block_m, block_n=block_n, element_size=size)
        assert TILED_BYTES.reference(**probe) == cost.bytes

    def test_a_byte_too_many_does_not_pass(self):
        def tiled_bytes(*sizes):
            return TILED_BYTES.reference(*sizes) + 1

        assert (
            "you gave 641 for `bytes`, expected about 640" in check_tiled_bytes(tiled_bytes).message
        )


class TestMissingRescale:
    def test_the_published_cell_is_the_loop_that_the_wrong_answers_edit(self):
        notebook = NOTEBOOKS / "08_flash_attention_tiling.ipynb"
        published = stub_source(notebook, "online_attention").strip()
        assert published == LOOP.strip() == AS_GIVEN.strip()

    @pytest.mark.parametrize(
        ("probe", "right"), [(RISING, False), (FALLING, True), (HIGH_FALLING, True)]
    )
    def test_the_published_loop_is_right_where_no_maximum_rises(self, probe, right):
        q, k, v, block_n = probe.values()
        scores = q @ k.T / q.shape[1] ** 0.5
        tops = torch.stack([tile.amax(dim=1) for tile in scores.split(block_n, dim=1)])
        assert ((tops.diff(dim=0) > 0) != right).all()
        assert torch.allclose(edited()(q, k, v, block_n), attend(q, k, v)[0], atol=1e-5) is right

    def test_the_high_scores_overflow(self):
        for probe in (HIGH_RISING, HIGH_FALLING):
            q, k = probe["q"], probe["k"]
            assert torch.exp(q @ k.T / q.shape[1] ** 0.5).isinf().any(dim=1).all()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("    m = torch.full", "    # The maximum so far.\n    m = torch.full"),
            ("def online_attention(q, k, v,", "def online_attention(\n    q, k, v,"),
            ("(q, k, v, block_n):", "(q, k, v, block_n: int):"),
            (" / q.shape[1] ** 0.5", " / (q.shape[1] ** 0.5)"),
        ],
        ids=["comment", "line break", "annotation", "brackets"],
    )
    def test_it_stays_untouched_when_only_its_looks_change(self, old, new):
        verdict = check_missing_rescale(edited((old, new)))
        assert (verdict.passed, verdict.started) == (False, False)
        assert verdict.message.startswith("The loop is untouched.")
        assert verdict.exercise == MISSING_RESCALE.heading

    @pytest.mark.parametrize(
        ("edits", "quoted"),
        [
            ([("acc = acc +", "alpha[:, None] * acc\n        acc = acc +")], "assign it to `acc`"),
            ([MENDED, ("alpha * l + p", "l + p"), ("alpha[:, None] * acc", "acc")], "Neither `l`"),
            (
                [("acc = acc +", "acc = acc / alpha[:, None] +"), ("alpha * l", "l / alpha")],
                "Every output is NaN",
            ),
            (
                [MENDED, ("        m = m_new\n", "        m_old = m_new\n")],
                "attention over the last tile alone",
            ),
            ([MENDED, ("    return acc / l[:, None]", "    return acc")], "the division by `l`"),
        ],
        ids=["thrown away", "alpha nowhere", "all upside down", "m kept elsewhere", "no division"],
    )
    def test_other_roads_to_a_mistake(self, edits, quoted):
        assert quoted in check_missing_rescale(edited(*edits)).message

    @pytest.mark.parametrize(
        "edits",
        [
            [("acc = acc +", "acc *= alpha[:, None]\n        acc = acc +")],
            [("acc = acc +", "acc = acc * alpha.unsqueeze(1) +")],
            [("        p = torch", "        acc = acc * alpha.view(-1, 1)\n        p = torch")],
            [("acc = acc +", "acc = torch.diag(alpha) @ acc +")],
        ],
    )
    def test_every_way_to_mend_it_passes(self, edits):
        assert check_missing_rescale(edited(*edits)).passed

    def test_a_softmax_over_whole_rows_passes(self):
        source = (
            "def online_attention(q, k, v, block_n):\n"
            "    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v"
        )
        assert check_missing_rescale(defined(source, "online_attention")).passed

    def test_what_is_no_function_is_told_so(self):
        message = check_missing_rescale(torch.zeros(5, 2)).message
        assert "needs the function itself, without a call" in message
