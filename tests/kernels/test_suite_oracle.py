"""The oracles themselves, against PyTorch and the course's own `attend`, in float64."""

from itertools import combinations

import pytest
import torch
from support_oracle import Results, exact, may_read, row_by_row, solve, whole_matrix
from support_problems import APART, KIND, LAYOUTS, LENGTHS, covering_cases, make_problem
from torch.nn.functional import scaled_dot_product_attention

from course_utils.attention import attend
from course_utils.masks import causal_mask

# float64 sums of some dozen terms.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
PAIRS = [(5, 7), (7, 5), (1, 11), (11, 1), (13, 13)]


def problem(lengths, causal):
    return make_problem(lengths, (2, 6, 3), 17, dtype=torch.float64, causal=causal, scale=0.3)


def close(one: Results, other: Results) -> bool:
    pairs = zip(one.items(), other.items(), strict=True)
    return all(torch.allclose(mine, theirs, **CLOSE) for (_, mine), (_, theirs) in pairs)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", PAIRS)
def test_the_oracle_agrees_with_pytorch(lengths, causal):
    mask = may_read(*lengths, causal)

    def sdpa(q, k, v, *, causal, scale):
        # PyTorch gives NaN or 0 to a row without a key, by version: give it one, then take it out.
        reads = mask.any(dim=-1, keepdim=True)
        out = scaled_dot_product_attention(
            q, k, v, attn_mask=mask | ~reads, scale=scale, enable_gqa=True
        )
        scores = scale * q @ k.repeat_interleave(2, dim=1).mT
        lse = scores.masked_fill(~mask, -1e30).logsumexp(dim=-1)
        return out * reads, lse.where(reads[:, 0], -torch.inf)

    asked = problem(lengths, causal)
    assert close(exact(asked), solve(sdpa, asked))


@pytest.mark.parametrize("lengths", PAIRS)
def test_the_oracle_agrees_with_the_course(lengths):
    asked = problem(lengths, causal=True)
    k, v = (x.repeat_interleave(2, dim=1) for x in (asked.k, asked.v))
    out, _ = attend(asked.q, k, v, may_attend=causal_mask(*lengths), scale=asked.scale)
    assert torch.allclose(exact(asked).out, out, **CLOSE)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", PAIRS)
def test_row_by_row_agrees(lengths, causal):
    asked = problem(lengths, causal)
    assert close(exact(asked), solve(row_by_row, asked))


def test_the_oracle_is_aligned_bottom_right():
    assert may_read(2, 4, causal=True).tolist() == [[True, True, True, False], [True] * 4]
    assert may_read(3, 2, causal=True).tolist() == [[False, False], [True, False], [True, True]]
    assert bool(may_read(3, 2, causal=False).all())
    assert whole_matrix(*[torch.ones(1, 1, 3, 2)] * 3, causal=True, scale=1.0)[0].shape[2] == 3


def test_cases_cover_every_pair():
    cases = covering_cases()
    for one, other in combinations(KIND, 2):
        if {one, other} not in APART:
            met = {(str(case[one]), str(case[other])) for case in cases}
            assert met == {(str(a), str(b)) for a in KIND[one] for b in KIND[other]}
    for name, values in (("dtype", 3), ("causal", 2)):
        assert len({(case["lengths"], case[name]) for case in cases}) == values * len(LENGTHS)
    assert len(cases) < 60


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_what_it_says(layout):
    made = make_problem((5, 7), (2, 6, 3), 17, layout=layout)
    strides = [x.stride() for x in (made.q, made.k, made.v)]
    straight = [x.is_contiguous() for x in (made.q, made.k, made.v)]
    assert all(straight) == (layout == "contiguous")
    assert (layout == "expanded") == (strides[1][:2] == (0, 0))
    assert (layout == "upright") == (strides[0][3] != 1)
    # A kernel that reads k or v by the strides of another is wrong in the last one.
    assert layout != "mixed" or len({stride[1:] for stride in strides}) == 3
