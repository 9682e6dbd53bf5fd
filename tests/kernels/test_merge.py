"""merge_partial: attention over two sets of keys gives attention over all of them."""

import pytest
import torch
from support_checks import sized, through
from support_error import check_agreement
from support_oracle import exact, solve, whole_matrix
from support_problems import DTYPES, make_problem

from course_utils.kernels import merge_partial

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
SIZES = ((5, 17), (2, 6, 3), 11)


def merged_at(cut: int, attend=whole_matrix):
    """Attention over the first ``cut`` keys and over the others, merged."""

    def attend_merged(q, k, v, *, causal, scale):
        assert not causal
        parts = [
            attend(q, k[:, :, half], v[:, :, half], causal=False, scale=scale)
            for half in (slice(None, cut), slice(cut, None))
        ]
        return merge_partial(*parts[0], *parts[1])

    return attend_merged


@pytest.mark.parametrize("cut", [0, 1, 5, 16, 17])
def test_parts_merge_into_the_whole(cut):
    problem = make_problem(*SIZES, dtype=torch.float64)
    for (_, mine), (_, true) in zip(
        solve(merged_at(cut), problem).items(), exact(problem).items(), strict=True
    ):
        assert torch.allclose(mine, true, **CLOSE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_backend_returns_can_be_merged(backend, device, dtype):
    problem = sized((67, 139), device, dtype=dtype)
    attend = through(backend)
    found = solve(merged_at(61, attend), problem)
    assert found.out.dtype == dtype and found.lse.dtype == torch.float32
    check_agreement(found, solve(attend, problem), problem)


def test_merging_in_any_order():
    out, lse = torch.randn(3, 5, 7), torch.randn(3, 5)
    other, other_lse = torch.randn(3, 5, 7), 3 * torch.randn(3, 5)
    one, two = merge_partial(out, lse, other, other_lse), merge_partial(other, other_lse, out, lse)
    assert torch.allclose(one[0], two[0]) and torch.equal(one[1], two[1])
    nothing, never = torch.zeros(3, 5, 7), torch.full((3, 5), -torch.inf)
    assert torch.equal(merge_partial(out, lse, nothing, never)[0], out)
    assert torch.equal(merge_partial(nothing, never, out, lse)[1], lse)
    both = merge_partial(nothing, never, nothing, never)
    assert torch.equal(both[0], nothing) and torch.equal(both[1], never)


def test_gradients_of_an_empty_part():
    inputs = [torch.randn(2, 3), torch.tensor([0.5, -torch.inf])]
    inputs += [torch.zeros(2, 3), torch.full((2,), -torch.inf)]
    inputs = [x.requires_grad_() for x in inputs]
    out, lse = merge_partial(*inputs)
    for gradient in torch.autograd.grad(out.sum() + lse[0], inputs):
        assert gradient.isfinite().all()


def test_large_logarithms_do_not_overflow():
    one = torch.ones(1, 2)
    out, lse = merge_partial(one, torch.tensor([1e30]), 5 * one, torch.tensor([-1e30]))
    assert torch.equal(out, one) and lse.item() == torch.tensor(1e30).item()
    shown = merge_partial(one, torch.tensor([torch.nan]), one, torch.tensor([0.0]))
    assert shown[0].isnan().all() and shown[1].isnan().all()


OUT, LSE = torch.zeros(2, 3), torch.zeros(2)
META = OUT.to("meta"), LSE.to("meta")
BAD = [
    ((None, LSE, OUT, LSE), TypeError, "out_a"),
    ((OUT.long(), LSE, OUT, LSE), TypeError, "out_a"),
    ((OUT[0], LSE, OUT, LSE), ValueError, "out_a"),
    ((OUT, LSE, OUT, LSE.long()), TypeError, "lse_b"),
    ((OUT, LSE, OUT, LSE[:1]), ValueError, "lse_b"),
    ((OUT, LSE, OUT[:1], LSE[:1]), ValueError, "out_b"),
    ((OUT, LSE, *META), ValueError, "out_b"),
]


@pytest.mark.parametrize(("parts", "error", "name"), BAD)
def test_parts_that_do_not_fit_are_refused(parts, error, name):
    with pytest.raises(error, match=f"^{name} "):
        merge_partial(*parts)
