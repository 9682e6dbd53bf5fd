"""How exact the backends are, over lengths, widths, heads, dtypes and layouts in memory."""

from itertools import combinations

import pytest
import torch
from support_checks import sized, through
from support_error import check_agreement, check_error
from support_oracle import solve
from support_problems import DTYPES, LONG, covering_cases, make_problem, title

from course_utils.kernels import available_backends

CASES = covering_cases()


@pytest.mark.parametrize("case", CASES, ids=title)
def test_error_beside_plain_torch(attend, device, case):
    check_error(attend, make_problem(**case, device=device))


# Each two of lengths, dtype, and causal or not.
PAIRS = [
    (lengths, (row + column) % 2 == 1, dtype)
    for row, lengths in enumerate(LONG)
    for column, dtype in enumerate(DTYPES)
]


@pytest.mark.parametrize(("lengths", "causal", "dtype"), PAIRS)
def test_error_over_many_tiles(attend, backend, device, interpreted, lengths, causal, dtype):
    if backend == "triton" and interpreted and dtype != torch.float32:
        pytest.skip("the interpreter takes seconds for each of these, and three show it")
    problem = make_problem(lengths, (1, 1, 1), 64, device=device, dtype=dtype, causal=causal)
    check_error(attend, problem)


@pytest.mark.parametrize("scale", [-0.7, 0.0, 6.0, 1e-30])
@pytest.mark.parametrize("causal", [False, True])
def test_any_finite_scale_keeps_the_rule(attend, device, scale, causal):
    check_error(attend, sized((67, 139), device, scale=scale, causal=causal))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
def test_the_backends_agree_with_each_other(device, dtype, causal):
    problem = sized((97, 131), device, dtype=dtype, causal=causal)
    found = [solve(through(backend), problem) for backend in available_backends()]
    assert len(found) >= 2
    for one, other in combinations(found, 2):
        check_agreement(one, other, problem)
