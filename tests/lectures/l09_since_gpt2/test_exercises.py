"""Lecture 09's exercises: references, right answers, and what the checks see besides numbers."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import attend
from course_utils.masks import sliding_window_mask
from lectures.l09_since_gpt2.exercises.absorb import ABSORB, work_of
from lectures.l09_since_gpt2.exercises.recurrent import RECURRENT
from lectures.l09_since_gpt2.exercises.rolling_step import ROLLING_STEP, SEVERAL
from tests.support_flops import counted_flops

# 1 · A cache that never grows


def read_in_parts(step, parts, window):
    """Read 13 tokens in parts; return how far the outputs are from the masked pass, and caches."""
    q, k = torch.randn(2, 2, 3, 13, 5, generator=torch.Generator().manual_seed(7))
    v = torch.randn(2, 3, 13, 11, generator=torch.Generator().manual_seed(11))
    keys, values, rows = k[:, :, :0], v[:, :, :0], []
    for new in zip(*(x.split(parts, dim=2) for x in (q, k, v)), strict=True):
        out, keys, values = step(*new, keys, values, window)
        rows.append(out)
        end = sum(row.shape[2] for row in rows)
        kept = slice(max(0, end - window + 1), end)
        assert torch.equal(keys, k[:, :, kept]) and torch.equal(values, v[:, :, kept])
    whole = F.scaled_dot_product_attention(q, k, v, attn_mask=sliding_window_mask(13, window))
    return (torch.cat(rows, dim=2) - whole).abs().nan_to_num(nan=torch.inf).max().item()


PARTS = [(1,) * 13, (13,), (7, 1, 1, 3, 1), (2, 11)]


@pytest.mark.parametrize("window", [1, 2, 5, 13, 17])
@pytest.mark.parametrize("parts", PARTS)
def test_in_parts_it_is_the_pass_with_a_window(parts, window):
    assert read_in_parts(ROLLING_STEP.reference, parts, window) < 1e-5


@pytest.mark.parametrize("mistake", SEVERAL.mistakes[:-1], ids=lambda mistake: mistake.name)
def test_what_is_wrong_for_several_is_not_seen_token_by_token(mistake):
    assert read_in_parts(mistake.answer, PARTS[0], 5) < 1e-5
    assert read_in_parts(mistake.answer, PARTS[2], 5) > 0.1


def query_by_query(q, k, v, keys, values, window):
    keys, values, rows = torch.cat([keys, k], 2), torch.cat([values, v], 2), []
    for t in range(q.shape[2]):
        end = keys.shape[2] - q.shape[2] + t + 1
        near = slice(max(0, end - window), end)
        now = q[:, :, t : t + 1], keys[:, :, near], values[:, :, near]
        rows.append(F.scaled_dot_product_attention(*now))
    start = max(0, keys.shape[2] - window + 1)
    return torch.cat(rows, 2), keys[:, :, start:], values[:, :, start:]


def through_the_library(q, k, v, keys, values, window):
    keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
    mask = sliding_window_mask(keys.shape[2], window)[-q.shape[2] :]
    out, _ = attend(q, keys, values, may_attend=mask)
    kept = [x[:, :, -(window - 1) :] if window > 1 else x[:, :, :0] for x in (keys, values)]
    return [out, *kept]


@pytest.mark.parametrize("answer", [query_by_query, through_the_library])
def test_other_right_steps_pass(answer):
    assert ROLLING_STEP.judge(answer).passed


def test_each_stage_is_asked_after_the_one_before():
    one, several, of_one = (stage.mistakes[0] for stage in ROLLING_STEP.stages)
    for mistake in (several, of_one):
        assert ROLLING_STEP.recognise(mistake.answer) is None
    assert SEVERAL.recognise(of_one.answer) is None
    said = [ROLLING_STEP.judge(mistake.answer).message for mistake in (one, several, of_one)]
    assert "attends to itself and 4" not in said[0] and "sees 4, itself included" in said[0]
    assert "Right for one new token." in said[1] and "of which 3 are left" in said[1]
    assert said[2].startswith("Right for every window but 1.")


# 2 · Scores without keys


def test_work_is_what_torch_counts():
    q, k, w = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 11, 5), torch.randn(13, 5)
    for call in (lambda: torch.bmm(q[0], k[0].mT), lambda: q[0, 0] @ w.T):
        result, work, peak = work_of(call)
        assert work == counted_flops(call) // 2 and peak == result.numel()
    # What torch's counter leaves out: a row times a vector, and a sum that is not a product.
    assert work_of(lambda: w @ q[0, 0, 0])[1] == 13 * 5
    assert work_of(lambda: (q * q).sum(-1))[1] == q.numel() + q[..., 0].numel()
    assert work_of(lambda: q.mT[:, :, 1:])[1:] == (0, 0)
    assert work_of(lambda: torch.cat([q, k], dim=2))[1:] == (0, q.numel() + k.numel())

    def in_inference_mode():
        with torch.inference_mode():
            return q @ k.mT

    assert work_of(in_inference_mode)[1] >= 2 * 3 * 7 * 11 * 5


@pytest.mark.parametrize("probe", ABSORB.probes, ids=["two queries", "one query"])
def test_absorbed_scores_are_those_of_keys(probe):
    q, latents, w_uk = (x.double() for x in probe.values())
    keys = torch.einsum("bsr,hrd->bhsd", latents, w_uk)
    expected = torch.einsum("bhtd,bhsd->bhts", q, keys) / q.shape[-1] ** 0.5
    torch.testing.assert_close(ABSORB.reference(q, latents, w_uk), expected)


def in_one_einsum(q, latents, w_uk):
    return torch.einsum("bhtd,hrd,bsr->bhts", q, w_uk, latents) / q.shape[-1] ** 0.5


def head_by_head(q, latents, w_uk):
    rows = [q[:, h] @ w_uk[h].T @ latents.mT for h in range(q.shape[1])]
    return torch.stack(rows, dim=1) / q.shape[-1] ** 0.5


def with_latents_laid_out(q, latents, w_uk):
    queries = ((q / q.shape[-1] ** 0.5) @ w_uk.mT).flatten(1, 2)
    return torch.bmm(queries, latents.mT.contiguous()).reshape(*q.shape[:3], -1)


def in_float64(q, latents, w_uk):
    return head_by_head(q.double(), latents.double(), w_uk.double())


@pytest.mark.parametrize("answer", [in_one_einsum, head_by_head, with_latents_laid_out, in_float64])
def test_other_right_scores_pass(answer):
    assert ABSORB.judge(answer).passed


MAKING_KEYS = {
    "matmul": lambda q, c, w: q @ (c[:, None] @ w).mT,
    "head by head": lambda q, c, w: torch.stack(
        [q[:, h] @ (c @ w[h]).mT for h in range(len(w))], dim=1
    ),
    "without a product": lambda q, c, w: q @ (c[:, None, :, :, None] * w[:, None]).sum(-2).mT,
}


@pytest.mark.parametrize("making", MAKING_KEYS.values(), ids=MAKING_KEYS)
def test_every_key_is_seen(making):
    message = ABSORB.judge(lambda q, c, w: making(q, c, w) / q.shape[-1] ** 0.5).message
    assert "as making keys takes, 211090 times" in message


COPYING = {
    "broadcast": lambda queries, c: queries @ c.mT[:, None],
    "repeated": lambda queries, c: queries @ torch.stack([c] * queries.shape[1], dim=1).mT,
}


@pytest.mark.parametrize("copying", COPYING.values(), ids=COPYING)
def test_every_copy_of_the_latents_is_seen(copying):
    message = ABSORB.judge(lambda q, c, w: copying(q @ w.mT, c) / q.shape[-1] ** 0.5).message
    assert "No key is made, but the cache of 2222 numbers is copied for each of 5" in message


# 3 · Attention as a recurrence


def test_the_recurrence_is_the_lower_triangle():
    q, k = torch.randn(2, 2, 3, 17, 5).double()
    v = torch.randn(2, 3, 17, 11).double()
    expected = torch.zeros_like(v)
    for t in range(17):
        for s in range(t + 1):
            expected[:, :, t] += (q[:, :, t] * k[:, :, s]).sum(-1, keepdim=True) * v[:, :, s]
    torch.testing.assert_close(RECURRENT.reference(q, k, v), expected)


def in_place(q, k, v):
    out = torch.zeros_like(v)
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    for t in range(q.shape[2]):
        state += torch.einsum("bhd,bhe->bhde", k[:, :, t], v[:, :, t])
        out[:, :, t] = torch.einsum("bhd,bhde->bhe", q[:, :, t], state)
    return out


def state_as_values_by_keys(q, k, v):
    """With v kᵀ for a state, and rows that are joined as they come."""
    state, out = 0, v[:, :, :0]
    for t in range(q.shape[2]):
        state = state + v[:, :, t, :, None] * k[:, :, t, None]
        out = torch.cat([out, (state @ q[:, :, t, :, None]).mT], dim=2)
    return out


def in_chunks(q, k, v):
    """As training does: the triangle within chunks of 16, the state between them."""
    state, rows = 0, []
    for some_q, some_k, some_v in zip(*(x.split(16, dim=2) for x in (q, k, v)), strict=True):
        before = some_q @ state if rows else 0
        rows.append(before + (some_q @ some_k.mT).tril() @ some_v)
        state = state + some_k.mT @ some_v
    return torch.cat(rows, dim=2)


def in_float64_throughout(q, k, v):
    return state_as_values_by_keys(q.double(), k.double(), v.double())


@pytest.mark.parametrize(
    "answer", [in_place, state_as_values_by_keys, in_chunks, in_float64_throughout]
)
def test_other_right_recurrences_pass(answer):
    assert RECURRENT.judge(answer).passed


def row_by_row(q, k, v):
    rows = [(q[:, :, t, None] @ k[:, :, : t + 1].mT) @ v[:, :, : t + 1] for t in range(q.shape[2])]
    return torch.cat(rows, dim=2)


def pair_by_pair(q, k, v):
    out = torch.zeros_like(v)
    for t in range(q.shape[2]):
        for s in range(t + 1):
            out[:, :, t] += (q[:, :, t] * k[:, :, s]).sum(-1, keepdim=True) * v[:, :, s]
    return out


def masked(q, k, v):
    T = q.shape[2]
    scores = torch.einsum("bhtd,bhsd->bhts", q, k)
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), 0) @ v


@pytest.mark.parametrize("answer", [row_by_row, pair_by_pair, masked])
def test_every_square_is_seen(answer):
    assert "T × T = 3721 scores" in RECURRENT.judge(answer).message


def every_state_listed(q, k, v):
    states = [k[:, :, 0, :, None] * v[:, :, 0, None]]
    for t in range(1, q.shape[2]):
        states.append(states[-1] + k[:, :, t, :, None] * v[:, :, t, None])
    return torch.cat([q[:, :, t, None] @ state for t, state in enumerate(states)], dim=2)


def by_cumsum(q, k, v):
    return (q[..., None] * (k[..., None] * v[..., None, :]).cumsum(2)).sum(-2)


@pytest.mark.parametrize("answer", [every_state_listed, by_cumsum])
def test_every_state_kept_is_seen(answer):
    assert "you keep all 61 states: 2135 numbers" in RECURRENT.judge(answer).message


def test_twice_the_text_is_twice_the_work():
    def growth(answer):
        work = [work_of(lambda T=T: answer(*torch.randn(3, 1, 2, T, 7)))[1:] for T in (64, 128)]
        return [round(twice / once, 1) for once, twice in zip(*work, strict=True)]

    assert growth(RECURRENT.reference)[0] == 2
    assert growth(masked)[0] > 3.5 and growth(row_by_row)[0] > 3.5
