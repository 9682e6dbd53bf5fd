"""Lecture 05's exercises: diagnoses, and the references against the course's own masks."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.attention import attend
from course_utils.lectures.l05_causal_mask.exercises.cached_step import (
    CACHE_STEP,
    check_cached_step,
)
from course_utils.lectures.l05_causal_mask.exercises.leak import LEAK, check_leak
from course_utils.lectures.l05_causal_mask.exercises.leak_models import (
    KINDS,
    LEAKS,
    Suspect,
    leak_suspects,
    reach,
    tokens,
)
from course_utils.lectures.l05_causal_mask.exercises.masks import MASKS, check_masks
from course_utils.masks import causal_mask, padding_mask, prefix_mask, sliding_window_mask
from course_utils.teaching.outcomes import observe, same
from tests.lectures.l05_causal_mask.support_masks_05 import (
    MASK_NAMES,
    WRONG_MASKS,
    causal,
    left_open,
    other_mask,
    right_masks,
)
from tests.lectures.l05_causal_mask.support_wrong_answers_05 import (
    WRONG_CACHED_STEP,
    WRONG_LEAK,
    append,
    grown_with,
    right_leak,
    right_step,
)
from tests.support_errors import raises_saying
from tests.teaching.support_diagnoses import diagnoses, published

LECTURE = "05_causal_mask.ipynb"

STAGES = {check_masks: (MASKS,), check_cached_step: (CACHE_STEP,), check_leak: (LEAK,)}


def by_comparisons(T, S, window, prefix, lengths, document):
    place = torch.arange(T)[:, None] + S - T
    key = torch.arange(S)
    causal = key <= place
    sliding = causal & (key > place - window)
    prefixed = causal | (key < prefix)
    padding = key < lengths[:, None, None]
    packed = causal & (document == document[place])
    return causal, sliding, prefixed, padding, packed


def cached_by_hand(q, k, v, keys, values):
    keys = torch.cat([keys, k], dim=-2)
    values = torch.cat([values, v], dim=-2)
    weights = (q @ keys.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ values, keys, values


def leak_by_gradient(models, x):
    ahead = {}
    for name, model in models.items():
        gradient = torch.autograd.functional.jacobian(model, x)  # (T, C, T, C)
        t, s = gradient.abs().sum(dim=(1, 3)).nonzero().T
        ahead[name] = (s - t).max().item()
    return max(ahead.items(), key=lambda pair: pair[1])


TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_masks: WRONG_MASKS,
        check_cached_step: WRONG_CACHED_STEP,
        check_leak: WRONG_LEAK,
    },
    right={
        check_masks: {
            "comparisons": by_comparisons,
            "loops": right_masks,
            "a list": lambda *inputs: [*right_masks(*inputs)],
        },
        check_cached_step: {
            "by hand": cached_by_hand,
            "torch's attention": right_step,
            "ours": grown_with(lambda *cached: attend(*cached)[0]),
        },
        check_leak: {"gradient": leak_by_gradient, "perturbation": right_leak},
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {check_masks: "five_masks", check_cached_step: "cached_step", check_leak: "find_leak"},
)


class TestMasks:
    def test_nothing_filled_in_is_untouched(self):
        assert not check_masks(left_open(*MASK_NAMES)).started

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_whoever_fills_them_in_one_by_one_hears_how_far_it_goes(self, count):
        filled, open_ones = MASK_NAMES[:count], MASK_NAMES[count:]
        message = check_masks(left_open(*open_ones)).message
        so_far = "; ".join(f"`{name}`, right" for name in filled)
        assert message == f"`{open_ones[0]}` is still `...`. Filled in so far: {so_far}."

    def test_a_known_mistake_is_told_before_what_is_open(self):
        def five_masks(*inputs):
            return WRONG_MASKS["causal: one ahead"][0](*inputs)[0], ..., ..., ..., ...

        assert "one key too many, and it is the future" in check_masks(five_masks).message

    def test_an_unknown_mistake_beside_an_open_one_is_not_called_right(self):
        def five_masks(*inputs):
            return torch.zeros(*inputs[:2], dtype=torch.bool), ..., ..., ..., ...

        message = check_masks(five_masks).message
        assert message == "`sliding` is still `...`. Filled in so far: `causal`, wrong."

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (causal(lambda p, s, _: False), "you gave 0 for `causal` at (0, 0), expected about 1"),
            (
                lambda *inputs: [mask.numpy() for mask in right_masks(*inputs)],
                "`causal` should be a torch tensor, you gave a numpy array",
            ),
            (lambda *inputs: right_masks(*inputs)[0], "5 results, `causal`, `sliding`,"),
            (other_mask("sliding", lambda *_: None), "`sliding` should be a torch tensor"),
            (other_mask("sliding", lambda *_: {}), "`sliding` should be a torch tensor"),
            (other_mask("packed", lambda T, S, *_: torch.ones(S, T)), "`packed` has shape (11, 5)"),
        ],
        ids=["all hidden", "arrays", "one mask", "nothing", "a dict", "transposed"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_masks(answer).message

    @pytest.mark.parametrize("probe", MASKS.probes, ids=["end", "square", "step"])
    def test_the_library_has_the_same_masks(self, probe):
        T, S, window, prefix, lengths, document = probe.values()
        made = MASKS.reference(*probe.values())
        same = torch.tensor([[a == b for a in document] for b in document])
        expected = (
            causal_mask(T, S),
            sliding_window_mask(S, window)[-T:],
            prefix_mask(S, prefix)[-T:],
            padding_mask(lengths, S)[:, 0],
            (same & causal_mask(S))[-T:],
        )
        for name, mask, other in zip(MASK_NAMES, made, expected, strict=True):
            assert torch.equal(mask, other), name

    def test_every_mistake_shows_on_the_first_probe(self):
        right = observe(MASKS.reference, MASKS.probes[0])
        for mistake in MASKS.mistakes:
            shown = observe(mistake.answer, MASKS.probes[0])
            assert not same(shown, right, MASKS.tolerance, mistake.part), mistake.name


class TestCachedStep:
    def test_step_by_step_it_is_the_full_pass(self):
        q, k, v = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 11)
        keys, values, rows = k[:, :, :0], v[:, :, :0], []
        for t in range(7):
            new = (x[:, :, t : t + 1] for x in (q, k, v))
            out, keys, values = CACHE_STEP.reference(*new, keys, values)
            rows.append(out)
        full = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(torch.cat(rows, dim=2), full)
        assert torch.equal(keys, k) and torch.equal(values, v)

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (lambda *inputs: right_step(*inputs)[:2], "3 results, `out`, `keys`, `values`"),
            (grown_with(lambda q, keys, values: q * torch.nan), "`out` has shape"),
            (grown_with(lambda q, keys, values: attend(q, keys, values)[0] * torch.nan), "is NaN"),
            (grown_with(lambda q, keys, values: 2 * attend(q, keys, values)[0]), "ratio 2."),
        ],
        ids=["two results", "shape", "nan", "twice"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_cached_step(answer).message

    def test_a_mask_that_hides_the_newest_is_told_like_reading_too_early(self):
        def cached_step(q, k, v, keys, values):
            keys, values = append(keys, k), append(values, v)
            before = torch.arange(keys.shape[2]) < keys.shape[2] - 1
            return attend(q, keys, values, may_attend=before[None])[0], keys, values

        assert "with a mask that hides the last one" in check_cached_step(cached_step).message


class TestLeak:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "leak"])
    def test_the_honest_models_let_nothing_through(self, kind):
        assert reach(Suspect("", kind, 0)).triu(1).count_nonzero() == 0

    @pytest.mark.parametrize("index", range(len(LEAKS)), ids=[name for name, _, _ in LEAKS])
    def test_the_leaks_reach_as_far_as_they_say_and_no_further(self, index):
        grid = reach(Suspect("", "leak", index))
        t, s = grid.nonzero(as_tuple=True)
        assert (s - t).max() == LEAKS[index][1]

    def test_the_faint_leak_is_far_below_the_others(self):
        strongest = [reach(Suspect("", "leak", i)).triu(1).max().item() for i in range(len(LEAKS))]
        assert 1e-3 < strongest[2] < 0.01 < 0.3 < min(strongest[:2] + strongest[3:])

    def test_the_models_read_what_their_kind_says(self):
        grids = {kind: reach(Suspect("", kind, 0)) > 0 for kind in KINDS}
        T = len(tokens())
        full = torch.ones(T, T, dtype=torch.bool).tril()
        assert torch.equal(grids["causal"], full)
        assert torch.equal(grids["recurrent"], full)
        assert torch.equal(grids["window"], full.triu(-4))
        assert torch.equal(grids["token by token"], torch.eye(T, dtype=torch.bool))
        assert torch.equal(grids["earlier"], full)

    def test_the_probes_hold_every_leak_under_different_names(self):
        kinds = [tuple(m.kind for m in probe["models"].values()) for probe in LEAK.probes]
        leaks = [{m.leak for m in probe["models"].values()} for probe in LEAK.probes]
        assert len(set(kinds)) == len(kinds)
        assert leaks == [{0}, {1}, {2}, {3}]

    def test_the_same_seed_gives_the_same_models(self):
        for name, model in leak_suspects(5).items():
            assert torch.equal(model(tokens()), leak_suspects(5)[name](tokens()))

    def test_a_suspect_does_not_give_itself_away(self):
        assert not any("kind" in repr(m) or "leak" in repr(m) for m in leak_suspects().values())

    def test_a_suspect_refuses_other_widths(self):
        with raises_saying(ValueError, "x must have shape (tokens, 5), got (3, 11)"):
            leak_suspects()["opal"](torch.ones(3, 11))

    @pytest.mark.parametrize(
        ("answer", "quoted"),
        [
            (lambda models, x: "jet", "2 results, `name`, `offset`; you gave 'jet'"),
            (lambda models, x: (3, 2), "`name` should be a text, you gave 3"),
            (lambda models, x: (right_leak(models, x)[0], 9), "you gave 9 for `offset`, expected"),
            (lambda models, x: (right_leak(models, x)[0], float("nan")), "`offset` is NaN"),
        ],
        ids=["no pair", "no name", "other offset", "nan"],
    )
    def test_other_wrong_answers_hear_what_and_where(self, answer, quoted):
        assert quoted in check_leak(answer).message


class TestQuiz:
    """What the explanations of the quiz state in numbers."""

    def test_open_places_of_two_queries_and_five_keys(self):
        assert causal_mask(2, 5).sum() == 9
        top_left = torch.ones(2, 5, dtype=torch.bool).tril()
        v = torch.randn(5, 3)
        rows = F.scaled_dot_product_attention(torch.zeros(2, 3), v, v, is_causal=True)
        torch.testing.assert_close(rows, top_left.float() @ v / top_left.sum(dim=1, keepdim=True))
        assert top_left.sum() == 3

    def test_one_hidden_row_makes_all_rows_nan_in_the_second_layer(self):
        may_attend = causal_mask(5)
        may_attend[:, 0] = False

        def layer(x):
            return (x @ x.T).masked_fill(~may_attend, -torch.inf).softmax(dim=-1) @ x

        x = torch.randn(5, 3)
        assert layer(x).isnan().any(dim=1).tolist() == [True, False, False, False, False]
        assert layer(layer(x)).isnan().any(dim=1).all()
        assert attend(x, x, x, may_attend=may_attend)[0][0].tolist() == [0, 0, 0]
        ours = F.scaled_dot_product_attention(x, x, x, attn_mask=may_attend)
        assert ours[0].tolist() == [0, 0, 0]

    def test_four_windows_of_three_reach_eight_back(self):
        window = sliding_window_mask(17, 3).float()
        through = torch.linalg.matrix_power(window, 4) > 0
        assert through[16].nonzero().min() == 16 - 8

    def test_bytes_of_the_cache(self):
        keys = torch.empty(32, 8, 8192, 128, dtype=torch.bfloat16, device="meta")
        assert 2 * keys.nbytes == 131_072 * 8192 == 1_073_741_824
        assert round(2 * keys.nbytes / 32 / 1e6) == 34
